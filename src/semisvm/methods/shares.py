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
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.blocks.many_scores import Codes
from semisvm.designs import Design, Floats, Index, Workers, make_design, thread_count
from semisvm.hierarchy import flat
from semisvm.loop import Recorder
from semisvm.losses import SQUARED_HINGE, Loss
from semisvm.methods.solution import decoded
from semisvm.objectives.tasks import make_task
from semisvm.partial_labels import PartialLabels, deal
from semisvm.validation import check_finite_model

N_FOLDS = 5
CAUTION = 2.0
ROUNDS = 5
# The shares are known to a few parts in a hundred: tighter models would not tell more.
TOL = 1e-5
MAX_ITER = 200
# No share is put below this part of its labelled fraction: a class with labels exists.
SMALLEST_PART = 0.1
# Scores of few rows may lie in fewer dimensions than there are classes.
RIDGE = 1e-3
SMALLEST_SPREAD = 1e-9


def estimate_shares(
    X: Any,
    labels: PartialLabels,
    *,
    loss: Loss = SQUARED_HINGE,
    reg: float | None = None,
    bias: float = 1.0,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    n_jobs: int | None = None,
) -> Floats:
    """Estimate the shares of the classes among the unlabelled rows.

    Parameters
    ----------
    X : CSR matrix or array, ndarray, or RowsOnDisk, of shape (n, d)
        Validated rows, or features of a kernel.
    labels : PartialLabels
    loss, reg, bias, tol, max_iter, n_jobs
        Of the supervised models; ``reg=None`` is the default of the loss.

    Returns
    -------
    shares : array of shape (m,)
    """
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
            stacklevel=3,
        )
        return fractions
    # scores are linear, so their mean over the unlabelled rows is the score of the mean
    reg = loss.default_reg if reg is None else float(reg)
    with Workers(thread_count(n_jobs)) as workers:
        centre = _mean_row(X, labels.unlabeled, workers)
        rows = X[labels.labeled]
        design = make_design(rows, bias, workers)
        model: dict[str, Any] = {"loss": loss, "reg": reg, "tol": tol, "max_iter": max_iter}
        scores, mean = _held_out_scores(rows, design, given, centre, model)
    return matched_shares(scores, given, mean)


def _mean_row(X: Any, index: Index, workers: Workers) -> Floats:
    """Compute the mean of the listed rows, (1, d), without a copy of them."""
    design = make_design(X, 0.0, workers, renumber=False)
    share = np.full(design.n_rows, 1.0 / len(index))
    total = design.pull_back(share, design.rows(index), np.empty(design.n_weights))
    return design.decode(total)[0].reshape(1, -1)


def _held_out_scores(
    rows: Any, design: Design, codes: Codes, centre: Floats, model: dict[str, Any]
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
    # the same folds every time
    mixed = np.random.RandomState(0).permutation(len(codes))
    for fold in deal(mixed, codes, min(N_FOLDS, len(codes))):
        w = _fit_without(fold, design, codes, **model)
        check_finite_model(w, rows)
        weights = decoded(design, w)
        scores[fold] = _scores(rows[fold], *weights)
        mean += len(fold) / len(codes) * _scores(centre, *weights)[0]
    return scores, mean


def _fit_without(
    fold: Index, design: Design, codes: Codes, *, loss: Loss, reg: float, tol: float, max_iter: int
) -> Floats:
    """Fit a supervised model to all rows but those of a fold, and return its weights."""
    train = np.setdiff1d(np.arange(len(codes)), fold)
    counts = np.bincount(codes[fold], minlength=codes.max() + 1)
    task = make_task(
        design,
        train,
        fold,
        codes[train],
        np.full(len(train), 1.0 / len(train)),
        counts=counts,
        hierarchy=flat(np.arange(len(counts))),
        loss=loss,
        reg=reg,
        recorder=Recorder(),
    )
    state = task.start(np.zeros(task.n_weights), tol, max_iter=max_iter)
    if not state.converged:
        warnings.warn(
            "A model of class_prior='estimate' did not converge: the shares may be less exact. "
            "Scale the columns of X.",
            ConvergenceWarning,
            stacklevel=4,
        )
    return state.w


def _scores(X: Any, coef: Floats, intercept: Floats) -> Floats:
    """Compute scores (n, k); k is 1 for two classes, whatever the form of the loss."""
    scores = np.asarray(safe_sparse_dot(X, coef.T, dense_output=True) + intercept)
    return scores[:, 1:] - scores[:, :1] if scores.shape[1] == 2 else scores


def matched_shares(scores: Floats, codes: Codes, mean: Floats) -> Floats:
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
