"""Estimates of the class prior, for users; `semisvm.methods.shares` does the work."""

from typing import Any

from numpy.typing import ArrayLike

from semisvm.designs import Floats
from semisvm.designs.validation import read_rows
from semisvm.labels.partial import encode
from semisvm.labels.weights import checked_weights
from semisvm.losses import LOSSES
from semisvm.methods.shares import MAX_ITER, TOL, estimate_shares
from semisvm.validation import check_choice, check_count, check_real, check_same_length


def estimate_prior(
    X: Any,
    y: ArrayLike,
    *,
    reg: float | None = None,
    loss: str = "squared_hinge",
    fit_intercept: bool = True,
    intercept_scaling: float = 1.0,
    unlabeled: Any = -1,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    n_jobs: int | None = None,
    sample_weight: ArrayLike | None = None,
) -> Floats:
    """Estimate the shares of the classes among the unlabelled rows.

    This is what estimators use for ``class_prior=None``. Transductive models are fitted
    with a part of the labels hidden. Their scores of the hidden rows show what scores the
    classes have, and those of the unlabelled rows which shares explain them, together with
    the labelled fractions, which are drawn to equal shares where the labels allow it (see
    `semisvm.methods.shares`). Where the hidden labels do not speak for transductive models, the
    estimate moves towards what a supervised model predicts, by half a standard error at most.
    This assumes that labels were drawn at random, at least
    within each class.

    Parameters
    ----------
    X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    reg : float or None, default=None
    loss : str, default="squared_hinge"
    fit_intercept : bool, default=True
    intercept_scaling : float, default=1.0
        Of the models, as in `TransductiveSVC`.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    tol : float, default=0.01
    max_iter : int, default=200
    n_jobs : int, default=None
        Of the models, as in `TransductiveSVC`.
    sample_weight : array-like of shape (n,), default=None
        A row of weight two counts like two rows.

    Returns
    -------
    prior : array of shape (m,)
        In the order of the sorted classes.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm.model_selection import estimate_prior, hide_labels
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> partly = hide_labels(y, np.arange(len(y)) % 12 > 0)  # 48 labels
    >>> estimate_prior(scale(X), partly, reg=0.1).round(2).tolist()
    [0.35, 0.65]
    >>> float(y.mean().round(2)), float(partly[partly >= 0].mean().round(2))
    (0.63, 0.56)
    """
    check_choice("loss", loss, LOSSES)
    check_real("tol", tol, above=0)
    check_count("max_iter", max_iter)
    if reg is not None:
        check_real("reg", reg, above=0)
    if fit_intercept:
        check_real("intercept_scaling", intercept_scaling, above=0)
    X, labels = read_rows(X, in_passes=True), encode(y, unlabeled)
    check_same_length(X, labels.codes, "y")
    return estimate_shares(
        X,
        labels,
        weight=checked_weights(sample_weight, X, labels),
        loss=LOSSES[loss],
        reg=reg,
        bias=float(intercept_scaling) if fit_intercept else 0.0,
        tol=tol,
        max_iter=max_iter,
        n_jobs=n_jobs,
    ).values
