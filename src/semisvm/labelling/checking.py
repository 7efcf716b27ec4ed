"""Answers that may be mistakes: models that have not seen them say something else."""

from collections.abc import Callable

import numpy as np

from semisvm.labelling.learning import Fitted, labels_of
from semisvm.model_selection.audit import contradictions
from semisvm.model_selection.crossfit import cross_fit
from semisvm.model_selection.splits import PartialLabelKFold
from semisvm.partial_labels import deal, encode
from semisvm.preparing import Prepared
from semisvm.registry import get

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

    The answers are dealt to folds, and each is scored by a model to which it was unlabelled, as
    `semisvm.model_selection.audit_labels` does. The models take the class shares of the last one.

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
    told = {place: fitted.answers[row] for place, row in enumerate(answered.tolist())}
    y = labels_of(told, len(rows))
    codes = encode(y, None).codes
    counts = np.bincount(codes[:own])
    several = rng.permutation(np.flatnonzero(counts[codes[:own]] > 1))
    if len(several) < 2:
        return {}
    shares = getattr(fitted.estimator, "class_prior_", None)
    found = cross_fit(
        get(fitted.method).make(unlabeled=None, **fitted.parameters),
        X,
        y,
        PartialLabelKFold(FOLDS, unlabeled=None),
        folds=deal(several, codes, min(FOLDS, len(several))),
        shares=shares,
        stop=stop,
    )
    if found is None:
        return None
    return {int(answered[place]): gap for place, gap in contradictions(found).items()}
