"""Models that see only some of the labels, for the estimate of the class shares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from semisvm.designs import Design, Floats, Index, Workers
from semisvm.designs.validation import is_sparse, project, take_rows
from semisvm.labels.hierarchy import flat
from semisvm.labels.partial import UNLABELED_CODE, PartialLabels
from semisvm.labels.weights import RowWeights, masses
from semisvm.losses import Loss
from semisvm.methods import transductive
from semisvm.methods.loop import Level, decades, settling
from semisvm.methods.supervised import first_state
from semisvm.solvers import State
from semisvm.solvers.trace import Recorder
from semisvm.tasks.task import Task, make_task
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_finite_model

# Five folds and a longer schedule cost twice as much, and were no better.
N_FOLDS = 3
FIRST_WEIGHT = 0.1
# The shares are known to a few parts in a hundred: more rows would not improve them.
MOST_UNLABELED = 5000


@dataclass(frozen=True)
class Models:
    """How the models of the folds are fitted.

    Attributes
    ----------
    loss, reg, tol, max_iter
    order : array of the m classes
        Which of equal shares are rounded up first; names of classes must not matter.
    weight : array of shape (n,), optional
        Sample weights.
    """

    loss: Loss
    reg: float
    tol: float
    max_iter: int
    order: Index
    weight: Floats | None = None


@dataclass
class Fold:
    """Labelled rows that are held out, and what the models without them found.

    Attributes
    ----------
    rows : array of row indices
    w : array of shape (n_weights,), optional
        Weights of the last transductive model.
    scores : array of shape (n, 2, m)
        Of all rows, by the supervised and the transductive model.
    """

    rows: Index
    w: Floats | None
    scores: Floats


def make_folds(X: Any, labels: PartialLabels) -> tuple[list[Index], Index]:
    """Deal the labelled rows to folds, but those that are the only ones of their class.

    They are dealt in the order of their inner product with the mean of the labelled rows, class
    by class, so that neither the order of the rows nor the names of the classes matter.

    Returns
    -------
    folds : list of arrays of row indices, ascending
    order : array of the m classes
    """
    given, codes = X[labels.labeled], labels.codes[labels.labeled]
    # in double precision: products of large numbers overflow in single
    centre = given.mean(axis=0, dtype=np.float64)
    places = np.asarray(safe_sparse_dot(given, centre.T)).ravel()
    counts = np.bincount(codes, minlength=len(labels.classes))
    first = np.full(len(counts), np.inf)
    np.minimum.at(first, codes, places)
    order = np.lexsort((places, first[codes], counts[codes]))
    rows = labels.labeled[order[counts[codes[order]] > 1]]
    dealt = [np.sort(fold) for fold in (rows[k::N_FOLDS] for k in range(N_FOLDS)) if len(fold)]
    return dealt, np.lexsort((first, counts))


def line_places(X: Any) -> Floats:
    """Return the places of the rows on a random line, shape (n,)."""
    # in the precision of the rows, or the product would convert them all
    line = np.random.RandomState(0).standard_normal(X.shape[1]).astype(X.dtype)
    return np.asarray(project(X, line))


def used_rows(
    X: Any, labels: PartialLabels, most: int | None = None, places: Floats | None = None
) -> Index:
    """Return the labelled rows and at most ``most`` others, ascending.

    The others are drawn from the rows sorted by their place on a random line, so neither their
    order nor where they are stored matters.

    Parameters
    ----------
    X : CSR matrix or array, ndarray, RowsOnDisk or DistributedRows, of shape (n, d)
    labels : PartialLabels
    most : int, default=MOST_UNLABELED
    places : array of shape (n,), optional
        What `line_places` returns, if it is known.
    """
    free, most = labels.unlabeled, MOST_UNLABELED if most is None else most
    if len(free) <= most:
        return np.arange(len(labels.codes))
    places = line_places(X) if places is None else places
    in_order = free[np.argsort(places[free], kind="stable")]
    drawn = np.random.RandomState(0).permutation(len(free))[:most]
    return np.sort(np.concatenate([labels.labeled, in_order[drawn]]))


def drawn_rows(X: Any, used: Index) -> Any:
    """Return the rows that are used, X itself if it is here and they are all of it."""
    here = is_sparse(X) or isinstance(X, np.ndarray)
    return X if here and len(used) == X.shape[0] else take_rows(X, used)


def fit_folds(
    folds: Sequence[Fold],
    workers: Workers,
    X: Any,
    design: Design,
    labels: PartialLabels,
    shares: Floats,
    models: Models,
) -> None:
    """Fit the models of all folds.

    If the rows are too few for the threads to share a pass over them, each thread takes folds, and
    fits them as a single thread would, to the last bit.
    """
    apart = len(design.all_rows.blocks) < min(workers.n_threads, len(folds))

    def fit(k: int, *_: int) -> None:
        own = design.alone() if apart else design
        fit_without(folds[k], X, own, labels, shares, models)

    if apart:
        workers.run(fit, tuple((k, k + 1) for k in range(len(folds))))
    else:
        for k in range(len(folds)):
            fit(k)


def fit_without(
    fold: Fold, X: Any, design: Design, labels: PartialLabels, shares: Floats, models: Models
) -> None:
    """Fit the models in which the rows of a fold are unlabelled, from the last ones if any."""
    codes = labels.codes.copy()
    codes[fold.rows] = UNLABELED_CODE
    task = _task(design, PartialLabels(labels.classes, codes), shares, models)
    state = first_state(task, fold.w, models.tol)
    levels = settling(1.0, models.tol)
    if fold.w is None:
        check_finite_model(state.w, X)
        fold.scores[:, 0] = _class_scores(task)
        levels = decades(FIRST_WEIGHT, 1.0, models.tol)
    fold.w = _transductive(task, state, levels, models.max_iter)
    check_finite_model(fold.w, X)
    fold.scores[:, 1] = _class_scores(task)


def _task(design: Design, labels: PartialLabels, shares: Floats, models: Models) -> Task:
    """Return the task of the models of some labels."""
    weights = RowWeights.of(labels, models.weight)
    return make_task(
        design,
        labels.labeled,
        labels.unlabeled,
        labels.codes[labels.labeled],
        weights.labeled,
        counts=weights.counts(shares, models.order),
        hierarchy=flat(np.arange(len(shares))),
        loss=models.loss,
        reg=models.reg,
        recorder=Recorder(),
        mass=weights.mass,
    )


def _transductive(task: Task, state: State, levels: list[Level], max_rounds: int) -> Floats:
    """Fit a transductive model from the supervised one; return its weights."""
    if isinstance(task, TwoClassTask):
        method = transductive.Switching(task, state, None)
        limits: dict[str, Any] = {"max_rounds": max_rounds, "balance_tol": None}
        return transductive.finish_two(method, levels, lam=1.0, **limits).w
    several = transductive.Assigning(task, state)
    return transductive.finish_many(several, levels, lam=1.0, max_rounds=max_rounds).w


def _class_scores(task: Task) -> Floats:
    """Return one score per class of all rows, (n, m); two classes differ by their one score."""
    scores = task.rows.single_shard().scores
    return np.column_stack([np.zeros_like(scores), scores]) if scores.ndim == 1 else scores


def supervised_fractions(X: Any, design: Design, labels: PartialLabels, models: Models) -> Floats:
    """Return the class fractions that a supervised model predicts for the unlabelled rows.

    One row of every class is added, so that no fraction is zero.
    """
    m = len(labels.classes)
    task = _task(design, labels, np.full(m, 1.0 / m), models)
    state = first_state(task, None, models.tol)
    check_finite_model(state.w, X)
    weight = None if models.weight is None else masses(models.weight[labels.unlabeled])[0]
    predicted = task.rows.all.predictions()
    mass = None if weight is None else np.broadcast_to(weight, len(predicted))
    counts = np.bincount(predicted, mass, minlength=m) + 1.0
    return np.asarray(counts / counts.sum(), dtype=np.float64)
