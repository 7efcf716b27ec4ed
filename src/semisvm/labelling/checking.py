"""Answers that may be mistakes: models that have not seen them say something else."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from semisvm.labelling.learning import Fitted, labels_of
from semisvm.partial_labels import deal
from semisvm.registry import get
from semisvm.training import Prepared

FOLDS = 5
MOST_ROWS = 2000
"""Unlabelled rows of the models; of more rows a sample is taken."""
FEWEST = 10
"""Answers below which no model is good enough to doubt one."""


def disagreements(
    prepared: Prepared,
    fitted: Fitted,
    seed: int = 0,
    stop: Callable[[], bool] = lambda: False,
) -> dict[int, float] | None:
    """Find answers that a model without them contradicts.

    The answers are dealt to folds, and each is scored by a model to which it was unlabelled. The
    models take the class shares of the last one.

    Parameters
    ----------
    prepared : Prepared
    fitted : Fitted
        The last model, whose method and answers are used.
    seed : int
    stop : function
        Asked before every fit; if it returns True, nothing is found.

    Returns
    -------
    found : dict of float, or None if it was stopped
        Row -> how much higher the best class scores than the answer.
    """
    if fitted.n_labels < FEWEST:
        return {}
    rng = np.random.default_rng(seed)
    answered = np.array(sorted(fitted.answers), dtype=np.intp)
    others = rng.permutation(np.setdiff1d(np.arange(prepared.X.shape[0]), answered))
    rows = np.concatenate([answered, others[:MOST_ROWS]])
    X, own = prepared.X[rows], len(answered)
    codes = np.full(len(rows), -1, dtype=np.intp)
    codes[:own] = [fitted.classes.index(fitted.answers[row]) for row in answered.tolist()]
    counts = np.bincount(codes[:own])
    several = rng.permutation(np.flatnonzero(counts[codes[:own]] > 1))
    found: dict[int, float] = {}
    for fold in deal(several, codes, min(FOLDS, max(2, len(several)))):
        if stop():
            return None
        scores = _held_out(fitted, X, answered, fold, len(rows))
        best = scores.max(axis=1) - scores[np.arange(len(fold)), codes[fold]]
        pairs = zip(answered[fold].tolist(), best.tolist(), strict=True)
        found |= {row: gap for row, gap in pairs if gap > 0}
    return found


def _held_out(fitted: Fitted, X: Any, answered: Any, fold: Any, n_rows: int) -> Any:
    """Score the rows of a fold by a model that has not seen their answers."""
    hidden = set(answered[fold].tolist())
    told: Mapping[int, str] = {
        place: fitted.answers[row]
        for place, row in enumerate(answered.tolist())
        if row not in hidden
    }
    shares = {}
    if "class_prior" in fitted.estimator.get_params(deep=False):
        shares = {"class_prior": fitted.estimator.class_prior_}
    given = {**fitted.parameters, **shares}
    model = get(fitted.method).make(unlabeled=None, **given).fit(X, labels_of(told, n_rows))
    scores = np.asarray(model.decision_function(X[fold]))
    return np.column_stack([-scores, scores]) if scores.ndim == 1 else scores
