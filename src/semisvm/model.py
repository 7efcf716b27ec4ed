"""A fitted model with all it needs to predict from a file: features, settings, summary."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from semisvm.columns import ColumnFeatures
from semisvm.io import DataError, MatrixData, Table
from semisvm.ondisk import RowsOnDisk
from semisvm.scaling import MatrixScaling

if TYPE_CHECKING:
    from semisvm.model_selection.calibration import Calibrator


@dataclass
class Model:
    """An estimator, and how the rows of a file become its features.

    Attributes
    ----------
    estimator : fitted estimator of this package
    features : ColumnFeatures, optional
        Fitted; None for models of matrices.
    settings : dict
        How files are read: label column, base of svmlight indices, and the like.
    summary : dict
        About the training: rows, labels, method, seconds, notes; of the unlabelled rows,
        the classes found and a histogram of the scores.
    calibrator : Calibrator, optional
        Turns scores into probabilities.
    scaling : MatrixScaling, optional
        What is done to the rows of a matrix first.
    """

    estimator: Any
    features: ColumnFeatures | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    calibrator: "Calibrator | None" = None
    scaling: MatrixScaling | None = None

    @classmethod
    def of(cls, estimator: Any) -> "Model":
        """Make a model of a fitted estimator on its own, calibrated or not."""
        calibrator = getattr(estimator, "calibrator_", None)
        return cls(estimator if calibrator is None else estimator.estimator_, calibrator=calibrator)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        return np.asarray(self.estimator.classes_)

    @property
    def has_probabilities(self) -> bool:
        """Whether there are probabilities: of the method, or calibrated ones."""
        return self.calibrator is not None or hasattr(self.estimator, "predict_proba")

    def matrix(self, data: Any) -> Any:
        """Compute the features of data.

        Parameters
        ----------
        data : Table, dict of columns or data frame; or MatrixData or matrix
            Tables for models with column features, matrices for the others.
        """
        if isinstance(data, MatrixData):
            self._check_made(data)
            return data.X if self.features is not None else self._scaled(data.X)
        if self.features is None:
            if isinstance(data, Table):
                raise DataError("the model was fitted to a matrix, but this is a table.", data.path)
            return self._scaled(data)
        return self.features.transform(data)

    def _check_made(self, data: MatrixData) -> None:
        """Refuse a matrix whose columns are not those of the model."""
        if self.features is None:
            return
        if data.made_by is None:
            raise DataError("the model was fitted to columns, but this is a matrix.", data.path)
        if not self.features.same_as(*data.made_by):
            raise DataError(
                "the columns of these rows are not those of the model: the words, or the scales, "
                "are those of another conversion. Use the file from which they were made.",
                data.path,
            )

    def _scaled(self, X: Any) -> Any:
        if self.scaling is None:
            return X
        return self.scaling.transform(X.load() if isinstance(X, RowsOnDisk) else X)

    def score_columns(self, X: Any) -> NDArray[np.float64]:
        """Compute one score per class, shape (n, m); with two, one is the other's negative."""
        scores = self._scores(X)
        return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores

    def probabilities(self, X: Any) -> NDArray[np.float64]:
        """Compute probabilities of rows of a matrix, shape (n, m)."""
        if self.calibrator is None:
            return np.asarray(_of_rows(self.estimator.predict_proba, X))
        return self.calibrator.probabilities(self._scores(X))

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(_of_rows(self.estimator.decision_function, X))

    def codes(self, X: Any) -> NDArray[np.intp]:
        """Predict the classes of rows of a matrix as positions in `classes_`, shape (n,)."""
        if self.calibrator is not None and self.calibrator.moves_boundary:
            return self.probabilities(X).argmax(axis=1)
        # ties are the first one's, as in the estimators
        return self.score_columns(X).argmax(axis=1)

    def predict(self, data: Any) -> NDArray[Any]:
        """Predict classes, shape (n,)."""
        return self.classes_[self.codes(self.matrix(data))]

    def decision_function(self, data: Any) -> NDArray[Any]:
        """Compute scores, shape (n,) for two classes, (n, m) for more."""
        return self._scores(self.matrix(data))

    def predict_proba(self, data: Any) -> NDArray[Any]:
        """Compute probabilities, shape (n, m), where there are any."""
        return self.probabilities(self.matrix(data))

    def feature_names(self) -> NDArray[Any]:
        """Return the names of the features; positions from 0 for matrices without names."""
        if self.features is not None:
            return self.features.get_feature_names_out()
        width = self.estimator.n_features_in_
        return np.asarray(getattr(self.estimator, "feature_names_in_", np.arange(width)))

    def top_features(self, count: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return the features with the largest weights for every class.

        A model with a kernel has no weights of features, so nothing is listed; of a committee,
        the linear members count. Coordinates of vectors are left out: they tell a reader nothing.

        Parameters
        ----------
        count : int, default=10
        """
        coef = getattr(self.estimator, "column_weights_", None)
        if coef is None and self.estimator.kernel_map_ is not None:
            return {label: [] for label in self.classes_.tolist()}
        coef = self.estimator.coef_ if coef is None else coef
        rows = np.vstack([-coef, coef]) if len(coef) == 1 else coef
        names = self.feature_names()
        if self.features is not None:
            rows = np.where(self.features.is_coordinate(), 0.0, rows)
        top = {}
        for label, weights in zip(self.classes_.tolist(), rows, strict=True):
            best = np.argsort(-weights, kind="stable")[:count]
            top[label] = [(str(names[k]), float(weights[k])) for k in best if weights[k] > 0]
        return top


def _of_rows(function: Callable[[Any], Any], X: Any) -> Any:
    """Call a function of an estimator; what it refuses is wrong with the rows."""
    try:
        return function(X)
    except ValueError as error:
        raise DataError(f"the model cannot be used for these rows: {error}") from error
