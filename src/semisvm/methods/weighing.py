r"""Weights of the members of a committee, from scores of labelled rows that they did not see.

Member k gives row i one score per class, z_ki, scaled to mean square one over the rows. The
committee adds them up, p_i = softmax(sum_k w_k z_ki). Its weights minimise ::

    - sum_i log p_i(y_i)  +  pull sum_k (w_k log(w_k / e_k) - w_k + e_k),     sum_k e_k = slope,

the log-loss of the held-out labels and a pull to first weights e, which are those of the plain
average unless something is known about the members. The problem is convex in w, and w_k > 0.
With few labels the pull decides, with many the labels. The probabilities are calibrated on the
same rows, so nothing else needs to be fitted.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax

from semisvm.designs import Floats
from semisvm.label_steps.transportation import Counts
from semisvm.labels.weights import UNIT_WEIGHT

PULL = 2.0
SLOPE = 2.0
"""Sum of the weights to which they are drawn."""
LARGEST = 150.0
SMALLEST = 1e-9
"""Bounds of a weight, for scores that separate all rows, or carry no information."""
TOL = 1e-10
SMOOTHING = 0.02
"""Temperature, in units of the spread of scores, at which largest scores are counted."""
ROUNDING = 1e-12
"""Differences of scores, relative to their size, that are rounding errors."""
SMALLEST_SHARE = 0.03
"""Members with less than this share of the weights are left out."""


def contrasts(scores: Floats) -> Floats:
    """Return one score per class, (n, m), whose sum over the classes is zero.

    Parameters
    ----------
    scores : array of shape (n,) or (n, m)
        Of ``decision_function``.
    """
    if scores.ndim == 1:
        return np.stack([-0.5 * scores, 0.5 * scores], axis=1)
    return np.asarray(scores - scores.mean(axis=1, keepdims=True))


def spread(scores: Floats) -> float:
    """Return the root mean square of the contrasts of scores; one for scores that are all equal.

    Scores that differ by no more than rounding are equal.
    """
    found = float(np.sqrt(np.mean(np.square(contrasts(scores)))))
    return found if found > ROUNDING * float(np.abs(scores).max(initial=0.0)) else 1.0


def stacked_weights(
    held: Sequence[Floats],
    codes: NDArray[np.intp],
    first: Sequence[float] | None = None,
    pull: float = PULL,
    slope: float = SLOPE,
    mass: Floats = UNIT_WEIGHT,
) -> Floats:
    """Compute the weights of members.

    Parameters
    ----------
    held : sequence of K arrays of shape (h,) or (h, m)
        Scores of the same h labelled rows, which may be there more than once.
    codes : int array of shape (h,)
        Their classes.
    first : sequence of K positive floats, optional
        Weights to which they are drawn, up to a factor; None are equal ones.
    pull : float
        Strength of the pull to the first weights.
    slope : float
        Sum of the first weights.
    mass : array of shape (h,) or (1,)
        For how many rows each row counts.

    Returns
    -------
    weights : array of shape (K,)
        Positive.
    """
    Z = np.stack([contrasts(scores) / spread(scores) for scores in held])
    e = np.ones(len(held)) if first is None else np.asarray(first, dtype=np.float64)
    rows, log_first = np.arange(len(codes)), np.log(slope * e / e.sum())

    def loss(w: Floats) -> tuple[float, Floats]:
        ahead = np.log(w) - log_first
        log_p = log_softmax(np.tensordot(w, Z, 1), axis=1)
        wrong = np.exp(log_p)
        wrong[rows, codes] -= 1.0
        wrong *= mass[:, np.newaxis]
        value = -(mass * log_p[rows, codes]).sum() + pull * np.sum(w * (ahead - 1.0))
        return float(value), np.einsum("kij,ij->k", Z, wrong) + pull * ahead

    bounds = [(SMALLEST, LARGEST)] * len(held)
    found = minimize(loss, np.exp(log_first), jac=True, method="L-BFGS-B", bounds=bounds, tol=TOL)
    return np.asarray(found.x)


def without_small(weights: Floats, smallest: float = SMALLEST_SHARE) -> Floats:
    """Set weights that are small beside their sum to zero; the others take over their part."""
    kept = np.where(weights >= smallest * weights.sum(), weights, 0.0)
    return np.asarray(kept * (weights.sum() / kept.sum()))


def meeting_counts(scores: Floats, counts: Counts, mass: Floats = UNIT_WEIGHT) -> Floats:
    r"""Compute offsets of the scores at which so many rows have each class as their largest.

    For two classes they are a threshold between two scores. For more they minimise the dual of
    the assignment of rows to classes, whose maximum is smoothed by a temperature T: ::

        T sum_i log sum_k exp((s_ik + b_k) / T) - sum_k n_k b_k

    Parameters
    ----------
    scores : array of shape (n,) or (n, m)
    counts : array of shape (2,) or (m,)
        They sum to n, or to the sum of the masses.
    mass : array of shape (n,) or (1,)
        For how many rows each row counts.

    Returns
    -------
    offsets : array of shape (1,) or (m,)
    """
    if scores.ndim == 1:
        order = np.argsort(-scores, kind="stable")
        ranked, each = scores[order], np.broadcast_to(mass, len(scores))[order]
        above = int(np.argmin(np.abs(np.append(0.0, np.cumsum(each)) - counts[1])))
        low = ranked[above] if above < len(ranked) else ranked[-1] - 2.0
        high = ranked[above - 1] if above > 0 else ranked[0] + 2.0
        return np.array([-0.5 * (low + high)])
    T = SMOOTHING * spread(scores)

    def dual(b: Floats) -> tuple[float, Floats]:
        z = (scores + b) / T
        p = softmax(z, axis=1)
        value = T * float((mass * logsumexp(z, axis=1)).sum()) - float(counts @ b)
        sums = (mass[:, np.newaxis] * p).sum(axis=0)
        return value / counts.sum(), (sums - counts) / counts.sum()

    found = minimize(dual, np.zeros(scores.shape[1]), jac=True, method="L-BFGS-B")
    return np.asarray(found.x - found.x.mean())
