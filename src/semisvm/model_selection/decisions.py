"""Which class to answer, or whether to answer at all, by probabilities, costs and held-out rows."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats
from semisvm.model_selection.conformal import Conformal
from semisvm.text import did_you_mean
from semisvm.validation import check_count, check_real, check_share


def place_of(name: str, label: Any, classes: NDArray[Any]) -> int:
    """Return the position of a class, also by its text, or raise ValueError."""
    known = {str(known): k for k, known in enumerate(classes.tolist())}
    if str(label) not in known:
        hint = did_you_mean(str(label), known)
        raise ValueError(
            f"{name} names the class {str(label)!r}.{hint} The classes are {', '.join(known)}."
        )
    return known[str(label)]


@dataclass(frozen=True)
class Decision:
    r"""What to answer, given the probabilities p of a row.

    - Thresholds: the most probable one of the classes whose probability reaches their
      threshold. A class without one always does, so with a threshold for "spam" alone, what is
      not certain enough to be spam is something else. Where no class does, there is no answer.
    - Costs: the class k of the least expected cost, ``sum over j of p_j C_jk``.
    - ``abstain_below`` P: no answer if the chosen class has a probability below P. With costs: if
      its expected cost exceeds 1 - P, which is the same thing where every error costs one (Chow's
      rule, with 1 - P as the cost of no answer).

    Attributes
    ----------
    abstain_below : float, optional
    thresholds : array of shape (m,), optional
    costs : array of shape (m, m), optional
        Row: the true class; column: the answer.

    References
    ----------
    Chow, On optimum recognition error and reject tradeoff, IEEE Transactions on Information
    Theory 16, 1970, doi:10.1109/TIT.1970.1054406. Elkan, The foundations of cost-sensitive
    learning, IJCAI 2001.
    """

    abstain_below: float | None = None
    thresholds: Floats | None = None
    costs: Floats | None = None

    @classmethod
    def of(
        cls,
        classes: NDArray[Any],
        *,
        abstain_below: float | None = None,
        thresholds: Mapping[Any, float] | None = None,
        costs: Mapping[tuple[Any, Any], float] | None = None,
    ) -> "Decision":
        """Check rules by the names of classes.

        Parameters
        ----------
        classes : array of shape (m,)
        abstain_below : float, optional
            Between 0 and 1.
        thresholds : mapping, optional
            Class -> probability.
        costs : mapping, optional
            (true class, answer) -> cost; other errors cost one, right answers nothing.

        Raises
        ------
        ValueError
        """
        if thresholds and costs:
            raise ValueError(
                "the parameter thresholds and the parameter costs are two rules for the same "
                "decision: give one of them."
            )
        least = (
            None
            if abstain_below is None
            else check_share("the parameter abstain_below", abstain_below)
        )
        return cls(least, _thresholds(classes, thresholds), _costs(classes, costs))

    @property
    def is_usual(self) -> bool:
        """Whether all rows get the class that the model predicts."""
        return self.abstain_below is None and self.thresholds is None and self.costs is None

    def codes(
        self, probabilities: Floats, usual: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Decide for rows.

        Parameters
        ----------
        probabilities : array of shape (n, m)
        usual : int array of shape (n,)
            What the model predicts without rules.

        Returns
        -------
        codes : int array of shape (n,)
            The class of each row; where there is no answer, what it would have been.
        answered : bool array of shape (n,)
        """
        rows = np.arange(len(usual))
        if self.costs is not None:
            expected = probabilities @ self.costs
            codes = expected.argmin(axis=1)
            most = np.inf if self.abstain_below is None else 1.0 - self.abstain_below
            return codes, expected[rows, codes] <= most
        codes, answered = usual, np.ones(len(rows), dtype=bool)
        if self.thresholds is not None:
            reached = probabilities >= self.thresholds
            answered = np.asarray(reached.any(axis=1))
            best = np.where(reached, probabilities, -1.0).argmax(axis=1)
            # a class that is predicted and reaches its threshold stays, ties included
            codes = np.where(reached[rows, usual] | ~answered, usual, best)
        if self.abstain_below is not None:
            answered &= probabilities[rows, codes] >= self.abstain_below
        return codes, answered


def _thresholds(classes: NDArray[Any], given: Mapping[Any, float] | None) -> Floats | None:
    if not given:
        return None
    found = np.zeros(len(classes))
    for label, value in given.items():
        place = place_of("the parameter thresholds", label, classes)
        found[place] = check_share(f"the threshold of {str(label)!r}", value)
    return found


def _costs(classes: NDArray[Any], given: Mapping[tuple[Any, Any], float] | None) -> Floats | None:
    if not given:
        return None
    found = 1.0 - np.eye(len(classes))
    for (true, answer), value in given.items():
        row, column = (place_of("the parameter costs", label, classes) for label in (true, answer))
        if row == column:
            raise ValueError(
                f"the parameter costs has {str(true)!r} taken for itself, but right answers cost "
                "nothing."
            )
        name = f"the cost of {str(true)!r} taken for {str(answer)!r}"
        found[row, column] = check_real(name, value, at_least=0)
    return found


def labels_or_none(
    classes: NDArray[Any], codes: NDArray[np.intp], answered: NDArray[np.bool_]
) -> NDArray[np.object_]:
    """Return the labels of rows, and None where there is no answer, shape (n,)."""
    found = np.empty(len(codes), dtype=object)
    found[:] = classes[codes].tolist()
    found[~answered] = None
    return found


def most_probable(probabilities: Floats, count: int) -> NDArray[np.intp]:
    """Return the most probable classes of rows, shape (n, min(count, m)), the likeliest first."""
    return np.argsort(-probabilities, axis=1, kind="stable")[:, :count]


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
