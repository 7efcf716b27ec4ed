"""What a linear model is, whatever method has fitted it."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from semisvm.model import Model
from semisvm.scaling import COUNTS, MatrixScaling

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class LinearModel:
    """Scores X w + b of rows, and how they become classes and probabilities.

    Attributes
    ----------
    classes : array of shape (m,)
    coef, intercept : arrays of shape (s, d) and (s,)
        One score for two classes (s = 1), one score per class for more.
    rarities : array of shape (d,), optional
        Counts become tf-idf with these weights before: 1 + log(count), rows of length one.
    slope, offset : arrays of shape (1,) or (s,), optional
        Log-odds of the scores; None if there are no probabilities.
    shared : bool
        Whether probabilities are the softmax of the log-odds; else each is a sigmoid, and they are
        divided by their sum. For two classes it is the same.
    moved : bool
        Whether the class is the likeliest one, rather than that of the highest score.
    """

    classes: NDArray[Any]
    coef: Floats
    intercept: Floats
    rarities: Floats | None = None
    slope: Floats | None = None
    offset: Floats | None = None
    shared: bool = True
    moved: bool = False

    @property
    def n_features(self) -> int:
        """Number of columns of the rows."""
        return int(self.coef.shape[1])

    def calibrated(self) -> tuple[Floats, Floats]:
        """Return weights and intercepts of the log-odds."""
        assert self.slope is not None
        assert self.offset is not None
        return self.coef * self.slope[:, None], self.intercept * self.slope + self.offset


def linear_model(model: Any) -> LinearModel:
    """Take a linear model apart.

    A committee of linear members is linear. Columns of a matrix that were standardised before the
    fit are part of the weights.

    Parameters
    ----------
    model : Model or fitted estimator of this package
        Of a model with column features, the result is for the rows of features.

    Raises
    ------
    ValueError
        If it has a kernel, or several labels per row.
    """
    bundle = model if isinstance(model, Model) else Model.of(model)
    check_is_fitted(bundle.estimator)
    if hasattr(bundle.estimator, "label_names_"):
        raise ValueError(
            "a model of several labels per row is not exported: its labels are no classes of one. "
            "Its weights are coef_ and intercept_, one row per label."
        )
    coef, intercept = _weights(bundle.estimator)
    coef, intercept, rarities = _unscaled(bundle.scaling, coef, intercept)
    linear = LinearModel(bundle.classes_, coef, intercept, rarities)
    return _with_probabilities(linear, bundle)


def _weights(estimator: Any) -> tuple[Floats, Floats]:
    members = getattr(estimator, "estimators_", None)
    if members is None and estimator.kernel_map_ is None:
        return np.asarray(estimator.coef_), np.asarray(estimator.intercept_)
    if members is None or getattr(estimator, "column_weights_", None) is None:
        raise _not_linear(type(estimator).__name__)
    factors = estimator.coef_[0, :: len(estimator.coef_)]
    pairs = [_weights(member) for member in members]
    coef = sum(factor * w for factor, (w, _) in zip(factors, pairs, strict=True))
    offsets = sum(factor * b for factor, (_, b) in zip(factors, pairs, strict=True))
    return np.asarray(coef), np.asarray(offsets + estimator.intercept_)


def _not_linear(name: str) -> ValueError:
    return ValueError(
        f"this {name} is not linear: it has a kernel, or members with one. Linear models are "
        "exported only; fit one with kernel='linear' and a method such as tsvm or da."
    )


def _unscaled(
    scaling: MatrixScaling | None, coef: Floats, intercept: Floats
) -> tuple[Floats, Floats, Floats | None]:
    """Return weights for rows as they are in files, and the weights of counts, if they are."""
    if scaling is None:
        return coef, intercept, None
    if scaling.kind == COUNTS:
        return coef, intercept, scaling.scale
    scaled = coef * scaling.scale
    if scaling.centre is not None:
        intercept = intercept - scaled @ scaling.centre
    return scaled, intercept, None


def _with_probabilities(linear: LinearModel, bundle: Model) -> LinearModel:
    parts = (linear.classes, linear.coef, linear.intercept, linear.rarities)
    found = bundle.calibrator
    if found is None:
        if not bundle.has_probabilities:
            return linear
        return LinearModel(*parts, np.ones(1), np.zeros(1))
    if not found.slope.all():  # scores that say nothing: all classes are equally likely
        return linear
    two = len(linear.classes) == 2
    shared = found.method == "temperature" or two
    return LinearModel(*parts, found.slope, found.offset, shared, found.moves_boundary)
