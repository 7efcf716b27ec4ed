r"""Estimating the shares of the classes among the unlabelled rows.

With l labels drawn at random, the labelled fraction f_k misses a share pi_k by about
sqrt(pi_k (1 - pi_k) / l): 7% for two classes and 50 labels. The unlabelled rows know
more. For any scores s(x), the mean score of the unlabelled rows is a mixture of the mean
scores of the classes, mu = sum_k pi_k M_k, and M_k is known from labelled rows which the
scores have not seen. Both sources are put together by their precision: ::

    min_pi (mu - M' pi)' V^{-1} (mu - M' pi) + l sum_k (pi_k - f_k)^2 / f_k,   sum pi = 1

with V = 2 sum_k pi_k^2 / l_k S and S the covariance of the scores within classes. Where
the classes lie far apart compared with S, the scores decide; where they do not, the
estimate stays at the labelled fractions. The factor 2 is for what V leaves out: the rows
of a fold train the models of the other folds.
"""

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs.base import Floats
from semisvm.estimators.newton import NewtonSVC
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.partial_labels import PartialLabels, encode

N_SPLITS = 5
CAUTION = 2.0
ROUNDS = 5
# No share is put below this part of its labelled fraction: a class with labels exists.
SMALLEST_PART = 0.1
# Scores of few rows may lie in fewer dimensions than there are classes.
RIDGE = 1e-3
SMALLEST_SPREAD = 1e-9


def estimate_prior(X: Any, y: ArrayLike, *, unlabeled: Any = -1, **parameters: Any) -> Floats:
    """Estimate the shares of the classes among the unlabelled rows.

    Supervised models are fitted to four of five folds of the labelled rows; the mean
    score of the unlabelled rows is explained by the mean scores of the held-out rows of
    each class, and the labelled fractions (see the module). That takes for granted that
    labels were drawn at random within each class. Every class needs two labels.

    Parameters
    ----------
    X : {CSR matrix, array} of shape (n, d)
    y : array-like of shape (n,)
        Labels, and the marker for unlabelled rows.
    unlabeled : scalar, default=-1
        Marker of unlabelled rows in y, besides None and NaN.
    **parameters
        Of the models, `NewtonSVC`.

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
    [0.36, 0.64]
    >>> float(y.mean().round(2)), float(partly[partly >= 0].mean().round(2))
    (0.63, 0.56)
    """
    return estimate_shares(X, encode(y, unlabeled), **parameters)


def estimate_shares(X: Any, labels: PartialLabels, **parameters: Any) -> Floats:
    """Do the work of `estimate_prior` for labels as codes."""
    fractions = labels.fractions()
    given = labels.codes[labels.labeled]
    counts = np.bincount(given, minlength=len(labels.classes))
    if len(labels.unlabeled) == 0:
        return fractions
    if counts.min() < 2:
        few = labels.classes[counts < 2].tolist()
        warnings.warn(
            f"class_prior='estimate' needs two labels of every class, but {few} have one: "
            "the labelled fractions are used.",
            UserWarning,
            stacklevel=2,
        )
        return fractions
    # scores are linear, so their mean over the unlabelled rows is the score of the mean
    centre = np.asarray(X[labels.unlabeled].mean(axis=0), dtype=np.float64).reshape(1, -1)
    scores, mean = held_out_scores(X[labels.labeled], given, centre, parameters)
    return matched_shares(scores, given, mean)


def held_out_scores(
    X: Any, codes: NDArray[np.intp], centre: Floats, parameters: dict[str, Any]
) -> tuple[Floats, Floats]:
    """Score labelled rows by models that did not see them, and the centre by all models.

    Returns
    -------
    scores : array of shape (l, k)
        k is 1 for two classes, else m.
    mean : array of shape (k,)
    """
    k = 1 if codes.max() == 1 else int(codes.max()) + 1
    scores, mean = np.zeros((len(codes), k)), np.zeros(k)
    splits = min(N_SPLITS, len(codes))
    cv = PartialLabelKFold(splits, shuffle=True, random_state=0)
    for fold in cv.folds(codes, warn=False):
        train = np.setdiff1d(np.arange(len(codes)), fold)
        model = NewtonSVC(**{"tol": 1e-5, **parameters}).fit(X[train], codes[train])
        scores[fold] = model.decision_function(X[fold]).reshape(len(fold), k)
        mean += len(fold) / len(codes) * model.decision_function(centre).ravel()
    return scores, mean


def matched_shares(scores: Floats, codes: NDArray[np.intp], mean: Floats) -> Floats:
    """Find the shares that explain the mean score and the labelled fractions.

    Parameters
    ----------
    scores : array of shape (l, k)
        Of labelled rows, by models that did not see them.
    codes : int array of shape (l,)
        Every class has two rows or more.
    mean : array of shape (k,)
        Mean score of the unlabelled rows.
    """
    counts = np.bincount(codes)
    n, m = len(codes), len(counts)
    fractions = counts / n
    smooth = (counts + 1.0) / (n + m)
    M = np.array([scores[codes == k].mean(axis=0) for k in range(m)])
    S = _pooled_covariance(scores - M[codes], n - m)
    S += SMALLEST_SPREAD * np.mean(scores**2) * np.eye(len(S))
    shares = fractions
    for _ in range(ROUNDS):
        V = CAUTION * np.sum(shares**2 / counts) * S
        precision = np.linalg.solve(V, M.T)
        A = M @ precision + n * np.diag(1.0 / smooth)
        b = mean @ precision + n * fractions / smooth
        # the constraint sum pi = 1 enters by its multiplier
        inverse = np.linalg.solve(A, np.column_stack([b, np.ones(m)]))
        free, ones = inverse.T
        shares = free - (free.sum() - 1.0) / ones.sum() * ones
        shares = np.maximum(shares, SMALLEST_PART * smooth)
        shares = shares / shares.sum()
    return np.asarray(shares, dtype=np.float64)


def _pooled_covariance(residuals: Floats, freedom: int) -> Floats:
    S = residuals.T @ residuals / max(freedom, 1)
    level = np.trace(S) / len(S)
    return S + (RIDGE * level + np.finfo(float).tiny) * np.eye(len(S))
