"""Weights of the members of a committee, learned from folds of the labelled rows."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
from semisvm.losses.log import probabilities
from semisvm.methods.weighing import SLOPE, spread, stacked_weights, without_small
from semisvm.solvers.trace import Recorder

LOGGED = 1e-300


def share_estimate(
    members: Sequence[Any],
    X: Any,
    labels: PartialLabels,
    n_jobs: int | None,
    recorder: Recorder,
    weight: Floats | None = None,
) -> None:
    """Estimate class shares once for all members that would; for one it does so itself.

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
        return
    shares = class_shares(TransductiveSVC(n_jobs=n_jobs), X, labels, weight, recorder).values
    # as shares that are given, those of less than one row would be refused
    if prior_counts(shares, len(labels.unlabeled)).min() > 0:
        for member in estimating:
            member.take_estimate(shares)


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
