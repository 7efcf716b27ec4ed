"""A fitted model with all it needs to predict from a file: features, settings, summary."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.fingerprints import row_fingerprints
from semisvm.designs.validation import is_sparse, take_rows
from semisvm.model_selection.class_shift import ClassShift, estimated_shares, given_shares
from semisvm.model_selection.conformal import Conformal
from semisvm.model_selection.decisions import TrustedPredictions, columns_of
from semisvm.model_selection.explaining import check_weights, column_weights, reasons, row_reasons
from semisvm.model_selection.familiarity import Familiarity, Unlikeness, some_rows, unusual_shares
from semisvm.tables.errors import DataError
from semisvm.tables.feature_states import same_features
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.frames import as_data, as_table
from semisvm.tables.scaling import MatrixScaling
from semisvm.tables.table import MatrixData, Table

if TYPE_CHECKING:
    from semisvm.model_selection.calibration import Calibrator

ONE_LABEL = (
    "a model of several labels per row has no {}: that is for models of one label per row. It has "
    "predict, decision_function and, if it was fitted with probabilities=True, predict_proba."
)


@dataclass
class Model(TrustedPredictions):
    """An estimator, and how the rows of a file become its features.

    A model of several labels per row (of `MultiLabelSVC`) predicts them all, shape (n, k). What is
    about one class per row, such as reasons and sets of classes, raises ValueError there.

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
        Turns scores into probabilities; with several labels per row, one slope per label.
    scaling : MatrixScaling, optional
        What is done to the rows of a matrix first.
    conformal : Conformal, optional
        What was learnt from held-out labels about the scores, for `predict_sets`.
    familiarity : Familiarity, optional
        What the rows of the fit look like, for `unlike`.
    labeled_rows : uint64 array of shape (l,), optional
        Fingerprints of the labelled rows of the fit, for `trained_on`.
    shift : ClassShift, optional
        How much more frequent classes are in the rows to be predicted; see `adapt`.
    """

    estimator: Any
    features: ColumnFeatures | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)
    calibrator: "Calibrator | None" = None
    scaling: MatrixScaling | None = None
    conformal: Conformal | None = None
    familiarity: Familiarity | None = None
    labeled_rows: NDArray[np.uint64] | None = None
    shift: ClassShift | None = None

    @classmethod
    def of(cls, estimator: Any) -> "Model":
        """Make a model of a fitted estimator on its own, calibrated or not."""
        calibrator = getattr(estimator, "calibrator_", None)
        if calibrator is None:
            return cls(estimator)
        return cls(estimator.estimator_, calibrator=calibrator, conformal=estimator.conformal_)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        return np.asarray(self.estimator.classes_)

    @property
    def label_names(self) -> list[str]:
        """Names of the labels, if rows have several; otherwise empty."""
        return [str(name) for name in getattr(self.estimator, "label_names_", ())]

    def _check_one_label(self, what: str) -> None:
        if self.label_names:
            raise ValueError(ONE_LABEL.format(what))

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
        return self.features.matrix(_cells(data))

    def _check_made(self, data: MatrixData) -> None:
        """Refuse a matrix whose columns are not those of the model."""
        if self.features is None:
            return
        if data.made_by is None:
            raise DataError("the model was fitted to columns, but this is a matrix.", data.path)
        if not same_features(self.features, *data.made_by):
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
        self._check_one_label("one score per class")
        return columns_of(self._scores(X))

    def probabilities(self, X: Any) -> NDArray[np.float64]:
        """Compute probabilities of rows of a matrix, shape (n, m), or (n, k) of several labels."""
        if self.label_names:
            return self.label_probabilities(self._scores(X))
        if self.calibrator is None:
            p = np.asarray(_of_rows(self.estimator.predict_proba, X))
        else:
            p = self.calibrator.probabilities(self._scores(X))
        return p if self.shift is None else self.shift.probabilities(p)

    def label_probabilities(self, scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Compute the probabilities of several labels from their scores, shape (n, k)."""
        if self.calibrator is not None:
            scores = self.calibrator.slope * scores + self.calibrator.offset
        # the scores of maxent machines are log-odds
        return np.asarray(expit(scores))

    def label_values(self, scores: NDArray[np.float64]) -> NDArray[Any]:
        """Return the values of several labels from their scores, shape (n, k)."""
        return np.asarray(self.classes_[(scores > 0.0).astype(np.intp)])

    def _scores(self, X: Any) -> NDArray[np.float64]:
        return np.asarray(_of_rows(self.estimator.decision_function, X))

    def codes(self, X: Any) -> NDArray[np.intp]:
        """Predict the classes of rows of a matrix as positions in `classes_`, shape (n,)."""
        self._check_one_label("one class per row")
        moved = self.calibrator is not None and self.calibrator.moves_boundary
        if moved or self.shift is not None:
            return self.probabilities(X).argmax(axis=1)
        # ties are the first one's, as in the estimators
        return self.score_columns(X).argmax(axis=1)

    def predict(self, data: Any) -> NDArray[Any]:
        """Predict classes, shape (n,); of several labels their values, shape (n, k)."""
        if self.label_names:
            return self.label_values(self.decision_function(data))
        return self.classes_[self.codes(self.matrix(data))]

    def decision_function(self, data: Any) -> NDArray[Any]:
        """Compute scores, shape (n,) for two classes, (n, m) for more, (n, k) of labels."""
        return self._scores(self.matrix(data))

    def predict_proba(self, data: Any) -> NDArray[Any]:
        """Compute probabilities, shape (n, m) or (n, k), where there are any."""
        return self.probabilities(self.matrix(data))

    def adapt(
        self, shares: Mapping[Any, float] | ArrayLike | None = None, data: Any = None
    ) -> "Model":
        """Return the model for rows in which the classes have other shares.

        Probabilities p(c | x) become proportional to p(c | x) q_c / p_c, with the new shares q and
        those of the fit p (`shares_of_fit`); predictions are the most probable classes. That is
        right if the rows of each class look as before, and the probabilities are calibrated.

        Parameters
        ----------
        shares : mapping of class to share, or array-like of shape (m,), optional
            By default an estimate from ``data``, by EM.
        data : what `predict` takes, optional

        Returns
        -------
        model : Model
            A copy; ``predict_proba`` and ``predict`` follow the new shares.
        """
        if not self.has_probabilities or self.label_names:
            raise ValueError(
                "only a model of one label per row with probabilities can be adapted to other "
                "shares. Fit with probabilities=True, or a method that has them."
            )
        plain = replace(self, shift=None)
        known = plain.shares_of_fit()
        if shares is None:
            if data is None:
                raise ValueError("adapt needs the shares, or data from which to estimate them.")
            shares = plain.estimate_shares(plain.predict_proba(data))
        new = given_shares(self.classes_, shares)
        return replace(plain, shift=ClassShift(new / known))

    def estimate_shares(self, p: NDArray[np.float64]) -> NDArray[np.float64]:
        """Estimate the class shares of rows from their probabilities (n, m), by EM."""
        return estimated_shares(p, self.shares_of_fit())

    def shares_of_fit(self) -> NDArray[np.float64]:
        """Return the class shares of the fit, those of the labels where the method has none."""
        shares = getattr(self.estimator, "class_prior_", None)
        if shares is None:
            counts = self.summary.get("labels", {})
            shares = [float(counts.get(label, 0.0)) for label in self.classes_.tolist()]
        found = np.asarray(shares, dtype=np.float64)
        # a class without a label has at most about one row in as many
        found = np.maximum(found / found.sum(), 1e-6) if found.sum() > 0 else np.ones_like(found)
        return found / found.sum()

    def feature_names(self) -> NDArray[Any]:
        """Return the names of the features; positions from 0 for matrices without names."""
        if self.features is not None:
            return self.features.get_feature_names_out()
        width = self.estimator.n_features_in_
        return np.asarray(getattr(self.estimator, "feature_names_in_", np.arange(width)))

    def names_of_features(self, names: Sequence[str] | None = None) -> NDArray[Any]:
        """Return names that were given, if there are as many as features, or `feature_names`.

        Raises
        ------
        DataError
        """
        if names is None:
            return self.feature_names()
        if self.features is not None:
            raise DataError(
                "the features of the model have names: other names are for models of matrices."
            )
        if len(names) != self.estimator.n_features_in_:
            raise DataError(
                f"there are {len(names):,} names, but the model has "
                f"{self.estimator.n_features_in_:,} columns: one name per column is needed, in "
                "their order."
            )
        return np.asarray(names, dtype=object)

    def top_features(
        self, count: int = 10, names: Sequence[str] | None = None
    ) -> dict[Any, list[tuple[str, float]]]:
        """Return the features with the largest weights for every class.

        A model with a kernel has no weights of features, so nothing is listed; of a committee,
        the linear members count. Coordinates of vectors are left out: their names mean nothing.

        Parameters
        ----------
        count : int, default=10
        names : sequence of str, optional
            Of the columns of a matrix.
        """
        labels, rows = self._weights_by_label()
        if rows is None:
            return {label: [] for label in labels}
        if self.features is not None:
            rows = np.where(self.features.is_coordinate(), 0.0, rows)
        of = self.names_of_features(names)
        top = {}
        for label, weights in zip(labels, rows, strict=True):
            best = np.argsort(-weights, kind="stable")[:count]
            top[label] = [(str(of[k]), float(weights[k])) for k in best if weights[k] > 0]
        return top

    def _weights_by_label(self) -> tuple[list[Any], NDArray[np.float64] | None]:
        """Return the classes or labels, and the weights of the features that speak for each."""
        coef = column_weights(self.estimator)
        if self.label_names:
            return list(self.label_names), coef
        if coef is not None and len(coef) == 1:
            coef = np.vstack([-coef, coef])
        return self.classes_.tolist(), coef

    def explain(
        self, data: Any, count: int = 5, names: Sequence[str] | None = None
    ) -> list[list[tuple[str, float]]]:
        """Return the features that speak most for the prediction of each row.

        Two classes: x_j w_j, whose sum over all features is the score but for the intercept. More
        classes: x_j (w_cj - w_rj), of the predicted class c against the best other one, r.

        Parameters
        ----------
        data : what `predict` takes
        count : int, default=5
        names : sequence of str, optional
            Of the columns of a matrix.

        Returns
        -------
        reasons : list of lists of (name, contribution)
            At most ``count`` per row, the largest first. Features that speak against the class are
            left out.

        Raises
        ------
        ValueError
            If the model has a kernel: see `explain_by_rows`.
        """
        X = self.matrix(data)
        return self.reasons_of_rows(X, self.codes(X), count, self.names_of_features(names))

    def explain_by_rows(self, data: Any, count: int = 5) -> list[list[tuple[int, float]]]:
        """Return the training rows that speak most for the prediction of each row, with a kernel.

        Two classes: a_p k(p, x), whose sum over the rows p of the kernel expansion is the score but
        for the intercept. More classes: (a_cp - a_rp) k(p, x), of the predicted class c against
        the best other one, r. If the kernel has few components, the expansion has few rows, and
        others act through these.

        Parameters
        ----------
        data : what `predict` takes
        count : int, default=5

        Returns
        -------
        reasons : list of lists of (training row, contribution)
            Rows of the fit, counted from 0; at most ``count`` per row, the largest first. Those
            that speak against the class are left out.

        Raises
        ------
        ValueError
            If the model has no such expansion.
        """
        X = self.matrix(data)
        return self.row_reasons_of_rows(X, self.codes(X), count)

    def row_reasons_of_rows(
        self, X: Any, codes: NDArray[np.intp], count: int
    ) -> list[list[tuple[int, float]]]:
        """Do the work of `explain_by_rows` for rows of a matrix and their classes."""
        X = X.load() if isinstance(X, RowsOnDisk) else X
        return row_reasons(self.estimator, X, self.score_columns(X), codes, count)

    def reasons_of_rows(
        self, X: Any, codes: NDArray[np.intp], count: int, names: NDArray[Any]
    ) -> list[list[tuple[str, float]]]:
        """Do the work of `explain` for rows of a matrix and their classes."""
        weights = check_weights(self.estimator)
        X = X.load() if isinstance(X, RowsOnDisk) else X
        found = reasons(weights, X, self.score_columns(X), codes, count)
        return [[(str(names[k]), part) for k, part in row] for row in found]

    def unlike(self, data: Any) -> Unlikeness | None:
        """Compare rows with those of the fit; None if the model has no sample of these.

        Parameters
        ----------
        data : what `predict` takes

        Returns
        -------
        found : Unlikeness, or None
            Its ``sentences()`` describe what is unusual.
        """
        if self.familiarity is None:
            return None
        found = self.familiarity.judge([self.measure(data)])
        if not self.predicts_shares:
            return found
        return replace(found, shares=self.unusual_shares(self.predict(data).tolist()))

    @property
    def predicts_shares(self) -> bool:
        """Whether it is known how many unlabelled rows of the fit are in each predicted class."""
        moved = self.calibrator is not None and self.calibrator.moves_boundary
        return bool(self.summary.get("found")) and not moved and self.shift is None

    def unusual_shares(self, labels: Iterable[Any]) -> str | None:
        """Return a sentence if predicted classes are mixed differently than in the fit, or None.

        Parameters
        ----------
        labels : iterable
            Predicted labels of rows, or their counts by label.
        """
        if not self.predicts_shares:
            return None
        return unusual_shares(self.summary["found"], Counter(labels))

    def trained_on(self, data: Any) -> NDArray[np.bool_] | None:
        """Find the rows that equal labelled rows of the fit, shape (n,); None if unknown.

        The accuracy on them is no measure of the accuracy on new rows.

        Parameters
        ----------
        data : what `predict` takes
        """
        if self.labeled_rows is None:
            return None
        X = self.matrix(data)
        parts = X.parts() if isinstance(X, RowsOnDisk) else [X if is_sparse(X) else np.asarray(X)]
        found = [np.isin(row_fingerprints(part), self.labeled_rows) for part in parts]
        return np.concatenate(found) if found else np.empty(0, dtype=bool)

    def measure(self, data: Any, most: int | None = None) -> Any:
        """Measure rows, or a sample of at most so many, for ``familiarity.judge``."""
        assert self.familiarity is not None
        sample = _sample(data if self.features is None else _cells(data), most)
        unknown = None
        if self.features is not None and isinstance(sample, Table):
            unknown = self.features.unknown_shares(sample)
        X = self.matrix(sample)
        return self.familiarity.measure(X if is_sparse(X) else np.asarray(X), unknown)

    def _known_classes(self) -> NDArray[Any]:
        return self.classes_

    def _rows(self, data: Any) -> Any:
        return self.matrix(data)

    def _probabilities(self, X: Any) -> NDArray[np.float64]:
        self._check_one_label("decisions by probabilities")
        if not self.has_probabilities:
            raise ValueError(
                "the model has no probabilities. Fit with probabilities=True, or a method that "
                "has them."
            )
        return self.probabilities(X)

    def _codes(self, X: Any) -> NDArray[np.intp]:
        return self.codes(X)

    def _held_out(self) -> tuple[Conformal | None, Any]:
        self._check_one_label("sets of classes")
        return self.conformal, self.estimator

    def _score_columns(self, model: Any, X: Any) -> NDArray[np.float64]:
        return columns_of(_of_rows(model.decision_function, X))


def _of_rows(function: Callable[[Any], Any], X: Any) -> Any:
    """Call a function of an estimator; what it refuses is wrong with the rows."""
    try:
        return function(X)
    except ValueError as error:
        raise DataError(f"the model cannot be used for these rows: {error}") from error


def _cells(data: Any) -> Table | MatrixData:
    found = as_data(data)
    return found if isinstance(found, Table) or isinstance(data, MatrixData) else as_table(data)


def _sample(data: Any, most: int | None) -> Any:
    """Return at most so many rows, evenly spaced; rows on the disk are brought to memory."""
    matrix = data.X if isinstance(data, MatrixData) else data
    if not isinstance(data, Table) and not hasattr(matrix, "shape"):
        return np.asarray(matrix)
    n = len(data) if isinstance(data, Table) else matrix.shape[0]
    if (most is None or n <= most) and not isinstance(matrix, RowsOnDisk):
        return data
    rows = some_rows(n, n if most is None else most)
    if isinstance(data, Table):
        return data.take(rows.tolist())
    if isinstance(data, MatrixData):
        return replace(data, X=take_rows(data.X, rows), labels=None, lines=None)
    return take_rows(data, rows)
