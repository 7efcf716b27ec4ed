"""Fingerprint of a fit, checked when it is resumed from a checkpoint."""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.designs.fingerprints import fingerprint, fingerprint_of_rows
from semisvm.labels.partial import PartialLabels
from semisvm.solvers.snapshots import Identity

WITHOUT_EFFECT = ("callback", "verbose", "n_jobs")
"""Parameters that do not change the model, up to rounding."""


def identity_of(
    estimator: Any, X: Any, labels: PartialLabels, weight: Floats | None, threads: int
) -> Identity:
    """Return what the fit of an estimator depends on, as plain data.

    Parameters
    ----------
    estimator : estimator
    X : matrix of shape (n, d)
        What the fit reads: of a kernel, its features.
    labels : PartialLabels
    weight : array of shape (n,), optional
        Sample weights.
    threads : int
        They change the last bits.
    """
    parameters = estimator.get_params(deep=False)
    warm = parameters.get("warm_start") and hasattr(estimator, "coef_")
    start = [estimator.node_coef_, estimator.node_intercept_] if warm else []
    classes = np.frombuffer(repr(labels.classes.tolist()).encode(), dtype=np.uint8)
    return {
        "estimator": type(estimator).__name__,
        "parameters": {
            name: value for name, value in parameters.items() if name not in WITHOUT_EFFECT
        },
        "shape": list(X.shape),
        "classes": len(labels.classes),
        "type": X.dtype.str,
        "rows": fingerprint_of_rows(X),
        "labels": fingerprint(labels.codes, classes),
        "weights": fingerprint(*([] if weight is None else [weight])),
        "start": fingerprint(*start),
        "threads": threads,
    }
