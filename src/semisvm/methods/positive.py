"""The share of a class of which alone some rows have labels, among the unlabelled rows.

A model separates the labelled rows from the unlabelled ones, in folds. Among rows that it scores
highest, nearly all unlabelled ones belong to the class. With q_u(c) and q_p(c) the fractions of
unlabelled and of held-out labelled rows with a score of at least c, the share is at most
q_u(c) / q_p(c), and equal to it where no other row scores so high. The threshold is the one with
the smallest upper confidence limit of that ratio ("best bin", Garg, Wu, Smola, Balakrishnan and
Lipton, Mixture proportion estimation and PU learning: a modern approach, NeurIPS 2021).
"""

from typing import Any

import numpy as np

from semisvm.designs import Floats, Index, Workers, make_design, thread_count
from semisvm.labels.hierarchy import flat
from semisvm.labels.partial import UNLABELED_CODE, PartialLabels, deal
from semisvm.losses import SQUARED_HINGE
from semisvm.methods.fold_fits import drawn_rows, used_rows
from semisvm.methods.shares import Shares
from semisvm.solvers.trace import Recorder
from semisvm.tasks.task import make_task

N_FOLDS = 5
FEWEST = 5
"""Labels from which a share is estimated."""
TOL = 1e-3
# Of the upper limit by which a threshold is chosen, as in the paper.
SLACK, DOUBT = 0.01, 0.1


def positive_share(
    X: Any, labels: PartialLabels, known: int, *, reg: float | None, bias: float, n_jobs: int | None
) -> Shares:
    """Estimate the shares of two classes, of which one has labels.

    Parameters
    ----------
    X : CSR matrix or array, ndarray, RowsOnDisk or DistributedRows, of shape (n, d)
    labels : PartialLabels
    known : int
        The class with labels.
    reg, bias, n_jobs
        Of the models, as in `estimate_shares`.
    """
    used = used_rows(X, labels)
    some = labels.of_rows(used)
    given, free = some.labeled, some.unlabeled
    scores = _held_out_scores(drawn_rows(X, used), some, reg, bias, n_jobs)
    share, error = best_bin(scores[given], scores[free])
    values = np.full(2, 1.0 - share)
    values[known] = share
    return Shares(values, np.full(2, error))


def best_bin(labeled: Floats, unlabeled: Floats) -> tuple[float, float]:
    """Return the share of the class among unlabelled rows by their scores, and its error.

    Parameters
    ----------
    labeled, unlabeled : arrays of shape (l,) and (u,)
        Scores by models that saw neither.
    """
    n_p, n_u = len(labeled), len(unlabeled)
    cuts = np.unique(labeled)
    p = 1.0 - np.searchsorted(np.sort(labeled), cuts) / n_p
    u = 1.0 - np.searchsorted(np.sort(unlabeled), cuts) / n_u
    spare = np.sqrt(np.log(4.0 / DOUBT) / 2.0) * (n_u**-0.5 + n_p**-0.5)
    best = int(np.argmin((u + (1.0 + SLACK) * spare) / p))
    # a row of each class
    share = float(np.clip(u[best] / p[best], 1.0 / n_u, 1.0 - 1.0 / n_u))
    variance = u[best] * (1.0 - u[best]) / n_u + share**2 * p[best] * (1.0 - p[best]) / n_p
    return share, float(np.sqrt(variance) / p[best])


def _held_out_scores(
    X: Any, labels: PartialLabels, reg: float | None, bias: float, n_jobs: int | None
) -> Floats:
    """Score every row by a model that separates labelled from unlabelled rows without it."""
    side = (labels.codes != UNLABELED_CODE).astype(np.intp)
    rows = np.random.RandomState(0).permutation(len(side))
    folds = deal(rows, side, min(N_FOLDS, len(labels.labeled)))
    scores = np.empty(len(side))
    with Workers(thread_count(n_jobs)) as workers:
        design = make_design(X, bias, workers)
        for fold in folds:
            rest = np.delete(np.arange(len(side)), fold)
            scores[fold] = _fitted_scores(design, rest, fold, side, reg)
    return scores


def _fitted_scores(design: Any, rest: Index, fold: Index, side: Index, reg: float | None) -> Floats:
    codes = side[rest]
    # both sides count alike
    weight = 0.5 / np.bincount(codes, minlength=2)[codes]
    task = make_task(
        design,
        rest,
        fold,
        codes,
        weight,
        counts=np.array([0, len(fold)]),
        hierarchy=flat(np.arange(2)),
        loss=SQUARED_HINGE,
        reg=SQUARED_HINGE.default_reg if reg is None else float(reg),
        recorder=Recorder(),
    )
    state = task.at(task.first(TOL))
    assert state is not None
    return np.asarray(task.rows.all.outputs())  # type: ignore[union-attr]
