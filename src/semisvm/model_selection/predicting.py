"""Predictions with rules, for whatever has probabilities."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats
from semisvm.model_selection.conformal import Conformal
from semisvm.model_selection.decisions import Decision, labels_or_none, most_probable
from semisvm.validation import check_count

NO_SETS = (
    "sets of classes need labels that were held out, and this model has none: fit it with "
    "probabilities=True, or with CalibratedPartialClassifier."
)


class TrustedPredictions(ABC):
    """Answers, or none, by probabilities and costs; likeliest classes; sets of classes."""

    @abstractmethod
    def _known_classes(self) -> NDArray[Any]:
        """Return the classes, sorted, shape (m,)."""

    @abstractmethod
    def _rows(self, data: Any) -> Any:
        """Return the rows that the methods below take."""

    @abstractmethod
    def _probabilities(self, X: Any) -> Floats:
        """Compute probabilities of rows, shape (n, m)."""

    @abstractmethod
    def _codes(self, X: Any) -> NDArray[np.intp]:
        """Predict the classes of rows as positions, shape (n,)."""

    @abstractmethod
    def _held_out(self) -> tuple[Conformal | None, Any]:
        """Return what held-out labels showed, and the fitted estimator."""

    def decide(
        self,
        data: Any,
        *,
        abstain_below: float | None = None,
        thresholds: Mapping[Any, float] | None = None,
        costs: Mapping[tuple[Any, Any], float] | None = None,
    ) -> NDArray[np.object_]:
        """Predict classes by rules, and None where there is no answer, shape (n,).

        The probabilities should be calibrated: those of a few dozen labels are rough.

        Parameters
        ----------
        data : what ``predict`` takes
        abstain_below : float, optional
            No answer if the probability of the class is below this; with costs, if the expected
            cost is above one minus this.
        thresholds : mapping, optional
            Class -> probability that it needs.
        costs : mapping, optional
            (true class, answer) -> cost; other errors cost one, right answers nothing.
        """
        classes = self._known_classes()
        rules = Decision.of(
            classes, abstain_below=abstain_below, thresholds=thresholds, costs=costs
        )
        X = self._rows(data)
        codes, answered = rules.codes(self._probabilities(X), self._codes(X))
        return labels_or_none(classes, codes, answered)

    def top_classes(self, data: Any, count: int = 3) -> list[list[tuple[Any, float]]]:
        """Return the most probable classes of each row, with their probabilities.

        Parameters
        ----------
        data : what ``predict`` takes
        count : int, default=3
        """
        check_count("count", count)
        p = self._probabilities(self._rows(data))
        best = most_probable(p, count)
        values = np.take_along_axis(p, best, axis=1)
        pairs = zip(self._known_classes()[best].tolist(), values.tolist(), strict=True)
        return [list(zip(labels, shares, strict=True)) for labels, shares in pairs]

    def predict_sets(self, data: Any, coverage: float = 0.9) -> NDArray[np.bool_]:
        """Return sets of classes that hold the true one with a probability of about ``coverage``.

        The predicted class is always in the set, so none is empty; a row that could be anything
        has them all. ``semisvm.model_selection.conformal.Conformal`` states what is guaranteed.

        Parameters
        ----------
        data : what ``predict`` takes
        coverage : float, default=0.9
            With l held-out labels at most l / (l + 1).

        Returns
        -------
        inside : bool array of shape (n, m)
            In the order of ``classes_``.
        """
        return self.sets_of_rows(self._rows(data), coverage)

    def sets_of_rows(self, X: Any, coverage: float) -> NDArray[np.bool_]:
        """Do the work of `predict_sets` for rows of a matrix."""
        conformal = self.check_coverage(coverage)
        scores = [self._score_columns(model, X) for model in conformal.models(self._held_out()[1])]
        return conformal.sets(scores, self._codes(X), coverage)

    def check_coverage(self, coverage: float) -> Conformal:
        """Return what sets are made from, or raise ValueError if they cannot have the coverage."""
        conformal = self._held_out()[0]
        if conformal is None:
            raise ValueError(NO_SETS)
        conformal.check(coverage)
        return conformal

    def _score_columns(self, model: Any, X: Any) -> Floats:
        return columns_of(model.decision_function(X))


def columns_of(scores: Any) -> Floats:
    """Return one score per class, shape (n, m); with two, one is the other's negative."""
    found = np.asarray(scores, dtype=np.float64)
    return np.column_stack([-found, found]) if found.ndim == 1 else found
