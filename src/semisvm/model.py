"""A fitted model with all it needs to predict from a file: features, settings, summary."""

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.columns import ColumnFeatures
from semisvm.io import DataError, DataWarning, MatrixData, Table, count_labels, remarks
from semisvm.margins import describe_unlabeled
from semisvm.registry import get


@dataclass
class Model:
    """An estimator, and how rows of a file become its features.

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
    """

    estimator: Any
    features: ColumnFeatures | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, sorted."""
        return np.asarray(self.estimator.classes_)

    @property
    def has_probabilities(self) -> bool:
        """Whether there is a `predict_proba`."""
        return hasattr(self.estimator, "predict_proba")

    def matrix(self, data: Any) -> Any:
        """Give the features of data.

        Parameters
        ----------
        data : Table, dict of columns or data frame; or MatrixData or matrix
            Tables for models with column features, matrices for the others.
        """
        if isinstance(data, MatrixData):
            if self.features is not None:
                raise DataError("the model was fitted to columns, this is a matrix.", data.path)
            return data.X
        if self.features is None:
            if isinstance(data, Table):
                raise DataError("the model was fitted to a matrix, this is a table.", data.path)
            return data
        return self.features.transform(data)

    def predict(self, data: Any) -> NDArray[Any]:
        """Predict classes, shape (n,)."""
        return np.asarray(self.estimator.predict(self.matrix(data)))

    def decision_function(self, data: Any) -> NDArray[Any]:
        """Give scores, shape (n,) for two classes, (n, m) for more."""
        return np.asarray(self.estimator.decision_function(self.matrix(data)))

    def predict_proba(self, data: Any) -> NDArray[Any]:
        """Give probabilities, shape (n, m), where the estimator has them."""
        return np.asarray(self.estimator.predict_proba(self.matrix(data)))

    def feature_names(self) -> NDArray[Any]:
        """Give the names of the features; positions from 0 for matrices without names."""
        if self.features is not None:
            return self.features.get_feature_names_out()
        width = self.estimator.coef_.shape[1]
        return np.asarray(getattr(self.estimator, "feature_names_in_", np.arange(width)))

    def top_features(self, count: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Give the features with the largest weights for every class.

        Parameters
        ----------
        count : int, default=10
        """
        coef = self.estimator.coef_
        rows = np.vstack([-coef, coef]) if len(coef) == 1 else coef
        names = self.feature_names()
        top = {}
        for label, weights in zip(self.classes_.tolist(), rows, strict=True):
            best = np.argsort(-weights, kind="stable")[:count]
            top[label] = [(str(names[k]), float(weights[k])) for k in best if weights[k] > 0]
        return top


def train(
    data: Table | MatrixData,
    method: str = "tsvm",
    *,
    features: ColumnFeatures | None = None,
    settings: Mapping[str, Any] | None = None,
    **parameters: Any,
) -> Model:
    """Fit a method to data that were read from a file.

    Parameters
    ----------
    data : Table or MatrixData
        With labels; None for rows without one.
    method : str, default="tsvm"
        A name of `semisvm.registry`.
    features : ColumnFeatures, optional
        Not fitted; by default one that looks at all columns.
    settings : mapping, optional
        How the file was read, to be kept with the model.
    **parameters
        Of the estimator.

    Returns
    -------
    model : Model
    """
    entry = get(method)
    notes = _check_labels(data)
    start = perf_counter()
    transformer = None
    X = data.X if isinstance(data, MatrixData) else None
    if isinstance(data, Table):
        transformer = ColumnFeatures() if features is None else features
        X = transformer.fit_transform(data)
        notes += transformer.notes_
    read = perf_counter()
    estimator = entry.make(unlabeled=None, **parameters).fit(X, data.labels)
    # it belongs to the caller of the fit, not to the model
    estimator.callback = None
    fitted = perf_counter()
    summary = {
        "method": entry.name,
        "rows": len(data),
        "labelled": sum(count_labels(_labels(data)).values()),
        "labels": count_labels(_labels(data)),
        **describe_unlabeled(estimator, X, _labels(data)),
        "features": int(estimator.coef_.shape[1]),
        "feature_seconds": read - start,
        "fit_seconds": fitted - read,
        "notes": notes + list(estimator.trace_.notes),
    }
    kept: dict[str, Any] = dict(settings or {})
    if isinstance(data, MatrixData):
        kept.update(data.facts)
    return Model(estimator, transformer, kept, summary)


def _labels(data: Table | MatrixData) -> NDArray[np.object_]:
    if data.labels is None:
        raise DataError(
            "the data have no labels: name the label column (--label) or a file of labels "
            "(--labels).",
            data.path,
        )
    return data.labels


def _check_labels(data: Table | MatrixData) -> list[str]:
    labels = _labels(data)
    classes = list(count_labels(labels))
    if len(classes) < 2:
        have = f"of one class only, {classes[0]!r}" if classes else "nowhere"
        zero = " In svmlight files 0 means unlabelled; if it is a class, say unlabeled='none' "
        hint = zero + "(--unlabeled none)." if isinstance(data, MatrixData) else ""
        raise DataError(
            f"there are labels {have}; two classes or more are needed.{hint}", data.path
        )
    found = remarks(labels)
    for remark in found:
        warnings.warn(remark, DataWarning, stacklevel=3)
    return found
