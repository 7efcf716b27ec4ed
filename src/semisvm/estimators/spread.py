"""Fitting to rows in chunks: the same steps as for rows in one place."""

from typing import Any

import numpy as np

from semisvm.designs import Floats, Index, Workers, thread_count
from semisvm.distributed.results import computed, in_chunks
from semisvm.distributed.rows import DistributedRows, opened
from semisvm.distributed.shard import Form
from semisvm.estimators.base import LINEAR, warn_of_length
from semisvm.estimators.identity import identity_of
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.hierarchy import build as build_hierarchy
from semisvm.labels.partial import PartialLabels, encode
from semisvm.labels.weights import checked_weights
from semisvm.losses import SMOOTH_LOSSES
from semisvm.methods.solution import decoded
from semisvm.solvers.snapshots import Identity
from semisvm.solvers.trace import Recorder
from semisvm.tasks.making import Task, has_one_score
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_finite_model, check_same_length

OVER_ROWS = ("transduction_", "label_distribution_")
# Rows among which the pivots of a kernel are chosen, besides the labelled ones.
MOST_CANDIDATES = 5_000


def fit_spread(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit an estimator to a collection of Dask, or to a list of folders.

    Parameters
    ----------
    estimator : TransductiveSVC, AnnealedSVC or NewtonSVC
        Its parameters are checked.
    X : Dask array, Dask dataframe or sequence of RowsOnDisk
    y : array-like or Dask array of shape (n,)
    sample_weight : array-like or Dask array of shape (n,), optional
    """
    n_jobs = estimator._n_jobs()
    with opened(X, n_jobs, thread_count(n_jobs)) as rows:
        labels = encode(computed(y), estimator.unlabeled)
        check_same_length(rows, labels.codes, "y")
        weight = checked_weights(computed(sample_weight), rows, labels)
        sizes, n_features = rows.sizes, rows.shape[1]
        if estimator._loss().smooth:
            _fit(estimator, rows, labels, weight)
        else:
            _fit_here(estimator, rows, labels, weight)
    for name in OVER_ROWS:
        if hasattr(estimator, name):
            setattr(estimator, name, in_chunks(getattr(estimator, name), sizes))
    _name_columns(estimator, X, n_features)


def _fit_here(
    estimator: Any, rows: DistributedRows, labels: PartialLabels, weight: Floats | None
) -> None:
    """Fit with a loss that needs all rows in one place: bring them there if they are few."""
    everything = np.arange(rows.shape[0])
    if not rows.can_load(everything):
        raise TypeError(
            f"loss={estimator.loss!r} needs all rows of X in the memory of one process, and they "
            f"are {rows.nbytes / 2**30:.1f} GiB, more than 1 GiB. Use fewer rows, or "
            f"another loss; {SMOOTH_LOSSES} do not need them together."
        )
    matrix = rows.take(everything)
    rows.shards.close()
    y = np.array([*labels.classes.tolist(), None], dtype=object)[labels.codes]
    estimator._fit_checked(matrix, y, weight)
    estimator.classes_ = labels.classes
    estimator.trace_.notes.append(
        f"loss={estimator.loss!r} needs all rows in one place: they were brought into this process"
    )


def _fit(
    estimator: Any, rows: DistributedRows, labels: PartialLabels, weight: Floats | None
) -> None:
    recorder = Recorder(estimator.callback, estimator.verbose)
    hierarchy = build_hierarchy(getattr(estimator, "hierarchy", None), labels.classes)
    kernel_map = _map_rows(estimator, rows, labels)

    def identity() -> Identity:
        return identity_of(estimator, rows, labels, weight, rows.n_shards)

    with Workers(1) as workers, recorder.keeping(identity):
        if kernel_map is None and estimator.reg is None:
            warn_of_length(rows, recorder)
        shares = estimator._class_shares(labels, weight, rows, recorder)
        recorder.counters = rows.counters()
        task = _task(estimator, rows, labels, shares.values, weight, hierarchy, recorder, workers)
        binary = isinstance(task, TwoClassTask)
        start = estimator._warm_weights(rows, labels, hierarchy, binary)
        solution = estimator._solve_task(task, start)
        nodes = decoded(rows, solution.w)
    check_finite_model(solution.w, rows, solution.objective)
    estimator.kernel_map_ = kernel_map
    estimator.reg_ = estimator._specification().reg
    estimator._publish(labels, shares.values, solution, recorder)
    estimator.class_prior_std_ = shares.errors
    estimator._publish_weights(*nodes, hierarchy)


def _map_rows(estimator: Any, rows: DistributedRows, labels: PartialLabels) -> Any:
    """Turn rows into kernel features, with pivots from a sample; return the map, if any."""
    if estimator.kernel == LINEAR:
        return None
    found, _ = estimator._features(rows.take(_candidates(labels)))
    rows.map_rows(found)
    return found


def _candidates(labels: PartialLabels) -> Index:
    """Return the labelled rows and some of the unlabelled ones, ascending."""
    free = labels.unlabeled
    if len(free) > MOST_CANDIDATES:
        free = free[np.random.RandomState(0).permutation(len(free))[:MOST_CANDIDATES]]
    return np.sort(np.concatenate([labels.labeled, free]))


def _task(
    estimator: Any,
    rows: DistributedRows,
    labels: PartialLabels,
    prior: Floats,
    weight: Floats | None,
    hierarchy: Hierarchy,
    recorder: Recorder,
    workers: Workers,
) -> Task:
    wanted, given = estimator._specification(), labels.labeled
    weights = estimator._row_weights(labels, weight)
    loss, counts = wanted.loss, weights.counts(prior)
    one_score = has_one_score(len(counts), hierarchy, loss, wanted.one_score)
    form = Form(one_score, loss.name, wanted.bias, weights.n_unlabeled, hierarchy)
    blocks: Any = rows.rows(
        form, given, labels.codes[given], weights.labeled, workers, weights.mass
    )
    if one_score:
        reg = wanted.reg * loss.reg_of_two
        return TwoClassTask(blocks, counts[1].item(), loss.two, reg, recorder)
    return ManyClassTask(blocks, counts, loss.many, hierarchy, wanted.reg, recorder)


def _name_columns(estimator: Any, X: Any, n_features: int) -> None:
    estimator.n_features_in_ = n_features
    names = list(getattr(X, "columns", ()))
    estimator.__dict__.pop("feature_names_in_", None)
    if names and all(isinstance(name, str) for name in names):
        estimator.feature_names_in_ = np.array(names, dtype=object)
