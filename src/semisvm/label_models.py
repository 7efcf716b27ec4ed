"""A fitted model of several labels per row, with all it needs to predict from a file."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from semisvm.model import Model
from semisvm.trust.conformal import Conformal
from semisvm.trust.explaining import column_weights

ONE_LABEL = (
    "a model of several labels per row has no {}: that is for models of one label per row. It has "
    "predict, decision_function and, if it was fitted with probabilities=True, predict_proba."
)


@dataclass
class LabelsModel(Model):
    """A `MultiLabelSVC`, and how the rows of a file become its features.

    Attributes
    ----------
    estimator : MultiLabelSVC
    calibrator : Calibrator, optional
        One slope per label.
    features, settings, summary, scaling, familiarity
        As of `Model`.
    """

    @property
    def label_names(self) -> list[str]:
        """Names of the labels."""
        return [str(name) for name in self.estimator.label_names_.tolist()]

    def predict(self, data: Any) -> NDArray[Any]:
        """Predict which labels rows have, shape (n, k), in the values of the fit."""
        return self.values_at(self._scores(self.matrix(data)))

    def values_at(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the values (n, k) of labels with these scores."""
        return np.asarray(self.classes_[(scores > 0.0).astype(np.intp)])

    def probabilities(self, X: Any) -> NDArray[np.float64]:
        """Compute the probability of each label for rows of a matrix, shape (n, k)."""
        return self.probabilities_at(self._scores(X))

    def probabilities_at(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the probabilities of labels with these scores, shape (n, k)."""
        if self.calibrator is not None:
            scores = self.calibrator.slope * scores + self.calibrator.offset
        # the scores of maxent machines are log-odds
        return np.asarray(expit(scores))

    def _weights_by_label(self) -> tuple[list[Any], NDArray[np.float64] | None]:
        return list(self.label_names), column_weights(self.estimator)

    def score_columns(self, X: Any) -> NDArray[np.float64]:
        """Raise ValueError: there is one score per label, and not per class."""
        raise ValueError(ONE_LABEL.format("one score per class"))

    def codes(self, X: Any) -> NDArray[np.intp]:
        """Raise ValueError: a row has several labels."""
        raise ValueError(ONE_LABEL.format("one class per row"))

    def reasons_of_rows(
        self, X: Any, codes: NDArray[np.intp], count: int, names: NDArray[Any]
    ) -> list[list[tuple[str, float]]]:
        """Raise ValueError: reasons are those of one prediction per row."""
        raise ValueError(ONE_LABEL.format("reasons of predictions"))

    def _held_out(self) -> tuple[Conformal | None, Any]:
        raise ValueError(ONE_LABEL.format("sets of classes"))

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        raise ValueError(ONE_LABEL.format("decisions by probabilities"))
