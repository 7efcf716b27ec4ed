"""`SemiSupervisedClassifier`: from a data frame with few labels to a model."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from copy import copy
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils import check_random_state, estimator_html_repr
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from semisvm.designs.disk import RowsOnDisk
from semisvm.designs.validation import FLOATS
from semisvm.estimators.interop import TakesCallbacks, fit_task, subtask_hook, with_callbacks
from semisvm.estimators.registry import AUTO
from semisvm.estimators.scoring import refuse_wrapper
from semisvm.model import Model
from semisvm.reporting.short import short_report
from semisvm.tables.errors import DataError
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.frames import as_data, as_labels, with_labels
from semisvm.tables.labels import count_labels, count_repeated
from semisvm.tables.table import MatrixData, Table
from semisvm.tables.votes import take_votes
from semisvm.training import UNWATCHED, Progress, train

if TYPE_CHECKING:
    from numpy.random import RandomState

    from semisvm.tables.encoders import Encoder


class SemiSupervisedClassifier(TakesCallbacks, ClassifierMixin, BaseEstimator):
    """A classifier of rows of any kind, most of them without a label.

    It does what ``semisvm fit`` does. Features are made of the columns, methods are tried on labels
    that are held out, and the best one, or a committee, is fitted to all rows. ``report_`` has what
    was chosen and how good it is.

    Parameters
    ----------
    method : str, default="auto"
        A name of `semisvm.estimators.registry` such as "tsvm", or "auto" to choose.
    features : ColumnFeatures or transformer, optional
        What makes features of columns; by default `semisvm.tables.ColumnFeatures`, which finds out
        what each column holds. ``ColumnFeatures(numeric=["zip"])`` tells it. Any transformer of
        scikit-learn's kind is fitted to all rows, without labels.
    encoder : str or callable, optional
        What makes vectors of texts, as of `ColumnFeatures`: "model2vec:NAME" for instance, or a
        function of a list of texts. Words are used besides, unless ``features`` leave them out.
    column_weights : mapping of str to float, optional
        Factors of columns, as of `ColumnFeatures`; zero leaves a column out.
    class_prior : array-like, dict, "estimate" or "labels", optional
        Class shares of the unlabelled rows; by default the method's own.
    classes : array-like of shape (m,), optional
        All classes, where some have no label, as in `TransductiveSVC`: with ``["spam", "ham"]``,
        labels of "spam" alone are enough. No method can be chosen by held-out labels then, and
        "auto" is `AnnealedSVC`.
    label_noise : float or mapping of class to float, optional
        Probability that a given label is wrong, of all labels or by class, as in
        `TransductiveSVC`. Labels that the others contradict then count as evidence only, in the
        methods that take evidence.
    use : {"new_rows", "transduction"}, default="new_rows"
        What the model is for: rows that come later, or only the unlabelled rows of the fit.
    time_limit : float, optional
        Seconds for the choice of a method; by default 20. The last fit comes on top.
    exportable : bool, default=False
        Whether to choose only among methods that `to_onnx` can write.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, besides None, NaN, NaT, NA and blank.
    na_is_class : bool, default=False
        Whether words for missing values, such as "NA", are classes.
    random_state : int, RandomState or None, default=0
        Seed of the folds.

    Attributes
    ----------
    classes_ : array of shape (m,)
        The classes, sorted, of the type they have in y.
    transduction_ : array of shape (n,)
        The given labels, and the classes found for the unlabelled rows of the fit.
    report_ : ShortReport
        What was chosen, its accuracy on held-out labels, and notes; ``print(model.report_)``, or
        ``model.report_.data``.
    model_ : Model
        With more methods, and what `semisvm.save` writes.
    features_ : transformer or None
        The fitted ``features``, if they are not `ColumnFeatures`.
    n_features_in_ : int
        Number of columns of X.
    feature_names_in_ : array of shape (d,)
        Names of the columns, where there are any.

    See Also
    --------
    semisvm.train : The same for files, with more options.
    semisvm.compare : Compare methods by held-out labels.

    Examples
    --------
    >>> from semisvm import SemiSupervisedClassifier
    >>> mail = {
    ...     "subject": ["cheap pills", "lunch on monday", "cheap flights", "monday plans"] * 5,
    ...     "kind": ["spam", "ham", "spam", "ham", *[None] * 16],
    ... }
    >>> model = SemiSupervisedClassifier("tsvm").fit(mail, "kind")
    >>> model.predict({"subject": ["cheap lunch pills", "plans for monday"]}).tolist()
    ['spam', 'ham']
    """

    def __init__(
        self,
        method: str = AUTO,
        *,
        features: Any = None,
        encoder: "str | Encoder | None" = None,
        column_weights: Mapping[str, float] | None = None,
        class_prior: ArrayLike | Mapping[Any, float] | str | None = None,
        classes: ArrayLike | None = None,
        label_noise: float | Mapping[Any, float] | None = None,
        use: str = "new_rows",
        time_limit: float | None = None,
        exportable: bool = False,
        unlabeled: Any = -1,
        na_is_class: bool = False,
        random_state: "int | RandomState | None" = 0,
    ) -> None:
        self.method = method
        self.features = features
        self.encoder = encoder
        self.column_weights = column_weights
        self.class_prior = class_prior
        self.classes = classes
        self.label_noise = label_noise
        self.use = use
        self.time_limit = time_limit
        self.exportable = exportable
        self.unlabeled = unlabeled
        self.na_is_class = na_is_class
        self.random_state = random_state

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | str | None = None,
        *,
        evidence: Any = None,
        weak: Any = None,
    ) -> Self:
        """Choose a method and fit it.

        Parameters
        ----------
        X : data frame, list of texts, array, sparse matrix, or path of a file
            A frame of pandas, polars or pyarrow, a dataset of Hugging Face, or a dict of columns.
            An array of shape (n, d) has numbers; a list or array of n texts is one column.
        y : array-like of shape (n,), or name of a column of X
            Labels; rows without one have None, NaN, NA, a blank, or the marker ``unlabeled``.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows: one of weight two counts like two.
        groups : array-like of shape (n,), or name of a column of X, optional
            Rows that belong together, such as the messages of one sender. Labels of a group are
            held out together, so that accuracy and probabilities are those of other groups. A
            column that is named is no feature.
        evidence : array-like, sparse matrix or data frame of shape (n, m), or list of n sets, \
optional
            What is known about unlabelled rows, as in ``TransductiveSVC.fit``: probabilities, or
            possible classes. Methods that take evidence use it.
        weak : str, sequence of str, array-like of shape (n,), mapping or data frame, optional
            Unreliable labels, as of a language model, rules or crowd workers: names of columns of
            X, which are then no features, or the labels themselves, of one source or of several by
            name. How far to trust them is learnt from ``y`` (`WeakLabels`), and ``report_`` has
            what they were worth.
        """
        refuse_wrapper(self.unlabeled)
        with fit_task(self):
            return self._fit(X, y, sample_weight, groups, evidence, weak)

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, groups: Any, evidence: Any, weak: Any
    ) -> Self:
        if isinstance(groups, str):
            X, groups = _without_groups(X, groups)
        given = self._with_labels(X, y)
        data, votes = take_votes(given, weak, self.unlabeled)
        self._publish_columns(data)
        features, foreign = self._column_features(), self._foreign_features()
        if self.encoder is not None and isinstance(data, MatrixData):
            raise ValueError("an encoder is for columns of text, but X is a matrix of numbers.")
        if foreign is not None:
            rows = _frame(data) if isinstance(y, str) or data is not given else X
            made = as_data(foreign.fit_transform(rows))
            data = replace(made, labels=data.labels, missing_words=data.missing_words)
        seed = self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31)
        both = {"class_prior": self.class_prior, "label_noise": self.label_noise}
        known: dict[str, Any] = {name: one for name, one in both.items() if one is not None}
        labels = data.labels
        assert labels is not None
        model = train(
            data,
            self.method,
            features=features,
            settings={"label": y} if isinstance(y, str) else None,
            probabilities=self.method != AUTO and self._can_hold_out(labels),
            exportable=self.exportable,
            time_limit=self.time_limit,
            use=self.use,
            random_state=int(seed),
            progress=self._progress(),
            sample_weight=None if sample_weight is None else np.asarray(sample_weight, float),
            groups=groups,
            evidence=evidence,
            weak=votes or None,
            classes=self.classes,
            **known,
        )
        self.features_ = foreign
        return self._publish(model)

    def _progress(self) -> Progress:
        called = subtask_hook(self)
        return UNWATCHED if called is None else _Tasks(called)

    def _can_hold_out(self, labels: NDArray[Any]) -> bool:
        """Return whether every class has labels, and some can be held out."""
        declared = [] if self.classes is None else np.asarray(self.classes).tolist()
        return count_repeated(labels) > 1 and set(declared) <= set(count_labels(labels))

    def _publish(self, model: Model) -> Self:
        self.model_ = model
        self.classes_ = model.classes_
        self.report_ = short_report(model)
        if hasattr(model.estimator, "transduction_"):
            self.transduction_ = model.estimator.transduction_
        return self

    def _with_labels(self, X: Any, y: Any) -> Table | MatrixData:
        """Return the rows of a fit with their labels, and publish what they look like."""
        about = {"na_is_class": self.na_is_class}
        data = with_labels(X, y, self.unlabeled, **about, classes=self.classes)
        if isinstance(data, MatrixData) and not isinstance(data.X, RowsOnDisk):
            rows = validate_data(self, data.X, accept_sparse="csr", dtype=FLOATS)
            data = replace(data, X=rows)
        return data

    def _publish_columns(self, data: Table | MatrixData) -> None:
        if isinstance(data, MatrixData):
            self.n_features_in_ = int(data.X.shape[1])
            return
        self.n_features_in_ = len(data.names)
        self.feature_names_in_ = np.array(data.names, dtype=object)

    def _column_features(self) -> ColumnFeatures | None:
        """Return the features of columns, not fitted; None where other ones are given."""
        own = self.features is None or isinstance(self.features, ColumnFeatures)
        weights = None if self.column_weights is None else dict(self.column_weights)
        given = {"column_weights": weights, "encoder": self.encoder}
        given = {name: value for name, value in given.items() if value is not None}
        if not given:
            return clone(self.features) if own and self.features is not None else None
        if not own:
            raise ValueError(f"{' and '.join(given)}: for features=None or ColumnFeatures only.")
        made = ColumnFeatures() if self.features is None else clone(self.features)
        return made.set_params(**given)

    def _foreign_features(self) -> Any:
        if self.features is None or isinstance(self.features, ColumnFeatures):
            return None
        if not hasattr(self.features, "fit_transform") or not hasattr(self.features, "transform"):
            raise TypeError(
                "features must be a transformer with fit_transform and transform, got "
                f"{type(self.features).__name__}."
            )
        return clone(self.features)

    def _rows(self, X: Any) -> Any:
        """Return rows as the model takes them."""
        check_is_fitted(self, "model_")
        refuse_wrapper(self.unlabeled)
        if self.features_ is not None:
            found = as_data(self.features_.transform(X))
            return found if isinstance(found, Table) else found.X
        data, on_columns = as_data(X), self.model_.features is not None
        if isinstance(data, Table):
            # a frame may be the matrix of a model of arrays
            return data if on_columns or data is X else self._matrix(X)
        if isinstance(data.X, RowsOnDisk) or data.made_by is not None:
            return data
        return self._named(data.X) if on_columns else replace(data, X=self._matrix(data.X))

    def _matrix(self, X: Any) -> Any:
        return validate_data(self, X, accept_sparse="csr", dtype=FLOATS, reset=False)

    def _named(self, X: Any) -> Table:
        """Give the columns of an array the names of the fit, as scikit-learn does, with a word."""
        rows = validate_data(self, X, dtype=None, ensure_all_finite=False, reset=False)
        return Table(dict(zip(self.feature_names_in_.tolist(), rows.T, strict=True)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes, shape (n,).

        Parameters
        ----------
        X : what `fit` takes
            Columns are found by their names, in any order; others are ignored.
        """
        rows = self._rows(X)
        return self.model_.predict(rows)

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Compute probabilities of the classes, shape (n, m)."""
        rows = self._rows(X)
        return self.model_.predict_proba(rows)

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Compute scores, shape (n,) for two classes, (n, m) for more."""
        rows = self._rows(X)
        return self.model_.decision_function(rows)

    def score(self, X: Any, y: Any, sample_weight: ArrayLike | None = None) -> float:
        """Compute the accuracy on the rows that have a label.

        Parameters
        ----------
        X : what `fit` takes
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
        """
        found = self.predict(X)
        labels, _ = as_labels(y, self.unlabeled, na_is_class=self.na_is_class)
        check_consistent_length(found, labels)
        known = np.flatnonzero([label is not None for label in labels])
        if len(known) == 0:
            raise ValueError("no row has a label, so there is nothing to score.")
        right = [found[k] == labels[k] for k in known]
        weights = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(np.average(right, weights=weights))

    def adapt(self, shares: Mapping[Any, float] | ArrayLike | None = None, X: Any = None) -> Self:
        """Return the classifier for rows in which the classes have other shares.

        Parameters
        ----------
        shares : mapping of class to share, or array-like of shape (m,), optional
            By default an estimate from X.
        X : what `fit` takes, optional

        See Also
        --------
        semisvm.Model.adapt : What is computed.
        """
        rows = None if X is None else self._rows(X)
        check_is_fitted(self, "model_")
        adapted = copy(self)
        adapted.model_ = self.model_.adapt(shares, rows)
        return adapted

    def trained_on(self, X: Any) -> NDArray[np.bool_] | None:
        """Find the rows that equal labelled rows of the fit, as ``Model.trained_on``."""
        rows = self._rows(X)
        return self.model_.trained_on(rows)

    def explain(self, X: Any, count: int = 5) -> list[list[tuple[str, float]]]:
        """Return the features that speak most for the class of each row, as `Model.explain`."""
        rows = self._rows(X)
        return self.model_.explain(rows, count)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """Return the names of the features that the model has weights for."""
        check_is_fitted(self, "model_")
        own = getattr(self.features_, "get_feature_names_out", None)
        names = self.model_.feature_names() if own is None else own()
        return np.array([str(name) for name in names], dtype=object)

    def save(self, path: str | Path | BinaryIO) -> None:
        """Write the model to one file, without pickle, for `load` and the command line."""
        from semisvm.persistence.model_files import save

        self._check_own_features("saved in a model file; pickle or joblib can store it")
        save(self.model_, path)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a model file; safe for untrusted files.

        Of the parameters, the file has ``method``. The columns are those that the model needs.
        """
        from semisvm.persistence.model_files import load

        model = load(path)
        if not isinstance(model, Model) or model.label_names:
            raise DataError("this file has no model of one label per row of data.", path)
        made = cls(model.summary.get("method", AUTO))
        made.features_ = None
        if model.features is None:
            made.n_features_in_ = int(model.estimator.n_features_in_)
        else:
            made._publish_columns(Table({name: [] for name in model.features.columns_}))
        return made._publish(model)

    def to_onnx(self, path: str | Path | BinaryIO, *, columns: bool = False) -> None:
        """Write the model as an ONNX file, where its parts allow; see `semisvm.to_onnx`."""
        from semisvm.persistence.onnx_export import to_onnx

        self._check_own_features("exported")
        to_onnx(self.model_, path, columns=columns)

    def _check_own_features(self, what: str) -> None:
        check_is_fitted(self, "model_")
        if self.features_ is not None:
            name = type(self.features_).__name__
            raise ValueError(f"a model with features of {name} cannot be {what}.")

    def _html_repr(self) -> str:
        """Return what notebooks show: scikit-learn's diagram, and below it the report."""
        from semisvm.reporting.notebook import diagram_view
        from semisvm.reporting.short import report_view

        diagram = diagram_view(str(estimator_html_repr(self)))
        return diagram + report_view(self.report_) if hasattr(self, "report_") else diagram

    def __sklearn_clone__(self) -> Self:
        # as of `ScoringClassifier`: a wrapper may fit the copy in another process
        refuse_wrapper(self.unlabeled)
        return cast(Self, super().__sklearn_clone__())

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "model_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.string = True
        return tags


class _Tasks(Progress):
    """Progress as subtasks of scikit-learn: one for each fit of the choice, and row of the last.

    Parameters
    ----------
    called : callable
        Takes a name and metadata; what ends when it returns True is the choice, or the last fit.
    """

    def __init__(self, called: Callable[[str, Any], bool]) -> None:
        self.called = called

    def choosing(self) -> AbstractContextManager[Any]:
        return nullcontext(lambda step: self.called("choice", asdict(step)))

    def fitting(self, method: str) -> AbstractContextManager[Any]:
        return nullcontext(lambda row: self.called(row["phase"], row))


def _without_groups(X: Any, name: str) -> tuple[Any, Any]:
    """Take the column of the groups out of rows."""
    data = as_data(X)
    if not isinstance(data, Table):
        raise DataError(f"X has no columns with names, so groups={name!r} is not one of them.")
    return data.without([name]), data.column(name)


def _frame(data: Table | MatrixData) -> Any:
    """Return columns for a transformer of another library."""
    if isinstance(data, MatrixData):
        return data.X
    import pandas as pd

    return pd.DataFrame(data.columns)
