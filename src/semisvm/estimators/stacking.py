r"""Weights of the members of a committee, learned from folds of the labelled rows.

Member k gives row i one score per class, z_ki, scaled to mean square one over the rows. The
committee adds them up, p_i = softmax(sum_k w_k z_ki). Its weights minimise ::

    - sum_i log p_i(y_i)  +  pull sum_k (w_k log(w_k / e_k) - w_k + e_k),     sum_k e_k = slope,

the log-loss of the held-out labels and a pull to first weights e, which are those of the plain
average unless something is known about the members. The problem is convex in w, and w_k > 0.
With few labels the pull decides, with many the labels. The probabilities are calibrated on the
same rows, so nothing else needs to be fitted.
"""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import log_softmax, logsumexp, softmax
from sklearn.exceptions import ConvergenceWarning

from semisvm.designs import Floats, Index, Workers, thread_count
from semisvm.estimators.class_shares import class_shares
from semisvm.estimators.held_out import (
    NEW_ROWS,
    MappedRowsCache,
    held_out_scores,
    outside_parts,
    use_mass,
)
from semisvm.estimators.transductive import TransductiveSVC
from semisvm.labels.partial import PartialLabels, deal, prior_counts
from semisvm.labels.weights import UNIT_WEIGHT, Counts, RowWeights
from semisvm.losses.log import probabilities
from semisvm.methods.solution import BALANCE_TOL
from semisvm.solvers.trace import Recorder

PULL = 2.0
SLOPE = 1.0
"""Sum of the weights to which they are drawn. With 2 committees of 20 labels were too sure."""
LARGEST = 150.0
SMALLEST = 1e-9
"""Bounds of a weight, for scores that separate all rows, or carry no information."""
TOL = 1e-10
SMOOTHING = 0.02
"""Temperature, in units of the spread of scores, at which largest scores are counted."""
ROUNDING = 1e-12
"""Differences of scores, relative to their size, that are rounding errors."""
NOTABLE = 0.1
"""Difference of a predicted share from the estimate that is noted."""
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


def near_shares(
    scores: Floats, shares: Floats, errors: Floats, mass: Floats, names: Sequence[Any]
) -> tuple[Floats, str]:
    """Compute offsets at which two classes are predicted about as often as is estimated.

    The offset moves the predicted share just into the range around the estimate: two standard
    errors, or `BALANCE_TOL` if that is more. With more classes estimates are no better than
    predictions, so nothing is moved.

    Parameters
    ----------
    scores : array of shape (n,) or (n, m)
        Of the unlabelled rows.
    shares, errors : arrays of shape (m,)
        Estimates with their standard errors.
    mass : array of shape (n,) or (1,)
        For how many rows each row counts.
    names : sequence of m classes

    Returns
    -------
    offsets : array of shape (1,) or (m,)
    note : str
        What differs, in words; empty if it is little.
    """
    each = np.broadcast_to(mass, len(scores))
    predicted = np.bincount(columns(scores).argmax(axis=1), each, minlength=len(shares))
    predicted = predicted / each.sum()
    k = int(np.abs(predicted - shares).argmax()) if scores.ndim > 1 else 1
    about = (
        f"the share of {names[k]} among the unlabelled rows is estimated at {shares[k]:.0%}, but "
        f"{predicted[k]:.0%} "
    )
    if scores.ndim > 1:
        far = abs(predicted[k] - shares[k]) > max(NOTABLE, 2.0 * errors[k])
        note = f"{about}are predicted as it: if the estimate is right, many of them are wrong"
        return np.zeros(scores.shape[1]), note if far else ""
    slack = max(BALANCE_TOL * float(shares.min()), 2.0 * float(errors[1]), 1.0 / len(scores))
    wanted = float(np.clip(predicted[1], shares[1] - slack, shares[1] + slack))
    if wanted == predicted[1]:
        return np.zeros(1), ""
    counts = each.sum() * np.array([1.0 - wanted, wanted])
    note = f"{about}would be predicted as it: the threshold was moved so that {wanted:.0%} are"
    return meeting_counts(scores, counts, mass), note


LOGGED = 1e-300


def share_estimate(
    members: Sequence[Any],
    X: Any,
    labels: PartialLabels,
    n_jobs: int | None,
    recorder: Recorder,
    weight: Floats | None = None,
) -> Floats | None:
    """Estimate class shares once for all members that would; for one it does so itself.

    Returns the standard errors (m,), or None if nothing was estimated.

    Parameters
    ----------
    members : sequence of estimators
        Not fitted; those that would estimate are given the shares.
    X : validated rows
    labels : PartialLabels
    n_jobs : int or None
    recorder : Recorder
        Gets a note of how sure the shares are.
    weight : array of shape (n,), optional
        Sample weights.
    """
    estimating = [m for m in members if getattr(m, "shares_are_estimated", False)]
    if len(estimating) < 2:
        return None
    estimator = TransductiveSVC(n_jobs=n_jobs)
    found = class_shares(estimator, X, labels, weight, recorder)
    weights = RowWeights.of(labels, weight)
    shares = estimator._possible_shares(found, labels, weights, recorder).values
    # as shares that are given, those of less than one row would be refused
    if prior_counts(shares, len(labels.unlabeled)).min() > 0:
        for member in estimating:
            member.take_estimate(shares)
        return found.errors
    return None


def learned_weights(
    members: Sequence[tuple[str, Any]],
    X: Any,
    labels: PartialLabels,
    cv: int,
    n_jobs: int | None,
    recorder: Recorder,
    weight: Floats | None = None,
) -> Floats:
    """Weigh the members by the labels that their folds did not see.

    Half of a fold takes no part in its fit and counts more, since members are to be right on new
    rows.

    Parameters
    ----------
    members : sequence of (name, estimator) pairs
        Not fitted, and not changed.
    X : validated rows
    labels : PartialLabels
    cv : int
        Folds.
    n_jobs : int or None
    recorder : Recorder
        May stop it; members that are not known by then have no weight.
    weight : array of shape (n,), optional
        Sample weights of the fits; labels that are held out count once each.
    """
    folds = folds_of(labels, cv)
    weights = np.zeros(len(members))
    if len(folds) < 2 or len(members) == 1:
        if len(members) > 1:
            recorder.note("too few labels to hold some out: all members have the same weight")
        return weights + SLOPE / len(members)
    rows = np.concatenate(folds)
    codes, outside = labels.codes[rows], np.zeros(len(labels.codes), dtype=bool)
    outside[np.concatenate(outside_parts(folds, labels.codes))] = True
    held: list[Floats] = []
    with Workers(thread_count(n_jobs)) as workers, warnings.catch_warnings():
        # the last fit warns again if it still holds
        warnings.simplefilter("ignore", ConvergenceWarning)
        grounds = MappedRowsCache(X, workers, weight)
        for level, (name, member) in enumerate(members):
            scored = held_out_scores(member, grounds, labels, outside=outside)
            held.append(np.concatenate([scored(fold) for fold in folds]))
            loss = mean_loss(SLOPE * held[-1] / spread(held[-1]), codes)
            facts = {"value": np.nan, "objective": loss, "member": name}
            recorder.add("held out", level=level, iteration=0, **facts)
            recorder.level_done()
            if recorder.stopped:
                break
    mass = use_mass(outside[rows], NEW_ROWS)
    weights[: len(held)] = without_small(stacked_weights(held, codes, mass=mass))
    return weights


def folds_of(labels: PartialLabels, most: int) -> list[Index]:
    """Deal the labelled rows of classes with two labels or more to folds.

    Parameters
    ----------
    labels : PartialLabels
    most : int
        Number of folds, if there are as many rows.
    """
    counts = np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))
    rows = labels.labeled[counts[labels.codes[labels.labeled]] > 1]
    return deal(rows, labels.codes, min(most, len(rows))) if len(rows) > 1 else []


def columns(scores: Floats) -> Floats:
    """Return one column per class; with two classes the first has score zero."""
    return np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores


def mean_loss(scores: Floats, codes: NDArray[np.intp]) -> float:
    """Compute the mean log-loss of scores that are logarithms of probabilities."""
    p = probabilities(columns(scores))[np.arange(len(codes)), codes]
    return -float(np.mean(np.log(np.maximum(p, LOGGED))))
