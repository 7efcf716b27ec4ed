"""Hostile fits: few rows, numbers of all sizes, and parameters at the edge of what is allowed.

A file describes a fit in JSON. `mutate` draws some of its parts anew. `check` makes the fit: what
comes of it is a model with finite weights, or an error that says what is wrong with the data.
"""

import json
import warnings
from functools import cache
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from benchmarks.fuzzing.checking import expect
from semisvm.estimators import registry

Description = dict[str, Any]

LOSSES = ("squared_hinge", "huber", "rounded_hinge", "hinge", "squared", "log", "crammer_singer")
KERNELS = ("linear", "linear", "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine")
SIZES = (1e-30, 1e-12, 1e-6, 1e-3, 1.0, 1e3, 1e6, 1e12, 1e30)
# methods that try several others, or search until their time is over
LONG = ("committee", "mip")


def _power(rng: Random, most: int) -> float:
    return float(10.0 ** rng.randint(-most, most))


DRAWS: dict[str, Any] = {
    "method": lambda rng: rng.choice([m.name for m in registry.methods() if m.name not in LONG]),
    "seed": lambda rng: rng.randrange(1000),
    "rows": lambda rng: rng.choice((4, 6, 9, 14, 20, 34, 34, 60, 120, 200)),
    "columns": lambda rng: rng.choice((1, 2, 3, 5, 5, 12, 40, 200, 300)),
    "classes": lambda rng: rng.choice((2, 2, 2, 3, 4, 5, 6)),
    "labels": lambda rng: rng.choice((1, 2, 3, 5)),
    "scale": lambda rng: rng.choice((1.0, 1.0, *SIZES)),
    "decades": lambda rng: rng.choice((0, 0, 0, 3, 7, 16, 30)),
    "rows_decades": lambda rng: rng.choice((0, 0, 0, 0, 3, 10, 30)),
    "offset": lambda rng: rng.choice((0.0, 0.0, 0.0, 1.0, 1e6, 1e12)),
    "twice": lambda rng: rng.choice((False, False, True)),
    "constant": lambda rng: rng.choice((None, None, None, 0.0, 7.0, 1e12)),
    "zero_rows": lambda rng: rng.choice((0, 0, 0, 1, 3)),
    "whole": lambda rng: rng.choice((False, False, False, True)),
    "sparse": lambda rng: rng.choice((False, False, True)),
    "float32": lambda rng: rng.choice((False, False, False, True)),
    "loss": lambda rng: rng.choice(LOSSES),
    "kernel": lambda rng: rng.choice(KERNELS),
    "reg": lambda rng: rng.choice((None, None, None, _power(rng, 12))),
    "unlabeled_weight": lambda rng: rng.choice((None, None, None, 0.0, _power(rng, 9))),
    "C": lambda rng: rng.choice((1.0, 1.0, _power(rng, 9))),
    "mu": lambda rng: rng.choice((0.1, 0.1, _power(rng, 9))),
    "temperature": lambda rng: rng.choice((None, None, None, _power(rng, 6))),
    "class_prior": lambda rng: rng.choice((None, None, None, "labels", 1.0, 10.0, 1e6)),
    "weights": lambda rng: rng.choice((0, 0, 0, 0, 1, 6, 15)),
    "fit_intercept": lambda rng: rng.choice((True, True, True, False)),
    "intercept_scaling": lambda rng: rng.choice((1.0, 1.0, 1.0, 1.0, _power(rng, 6))),
}
"""Parts of a description, and how each is drawn."""
PARAMETERS = (
    *("loss", "kernel", "reg", "unlabeled_weight", "C", "mu", "temperature", "fit_intercept"),
    "intercept_scaling",
)


@cache
def seeds() -> list[bytes]:
    """Return descriptions of one fit of every method, with ordinary numbers."""
    plain = dict.fromkeys(DRAWS) | {
        **{"seed": 0, "rows": 20, "columns": 3, "classes": 2, "labels": 3, "scale": 1.0},
        **{"decades": 0, "rows_decades": 0, "offset": 0.0, "zero_rows": 0, "weights": 0},
        **{"kernel": "linear", "loss": "squared_hinge", "fit_intercept": True},
        **{"intercept_scaling": 1.0, "C": 1.0, "mu": 0.1},
    }
    names = [method.name for method in registry.methods() if method.name not in LONG]
    return [_written({**plain, "method": name}) for name in names]


def _written(description: Description) -> bytes:
    return json.dumps(description).encode()


def mutate(content: bytes, rng: Random) -> bytes:
    """Draw some of the parts anew."""
    description = json.loads(content)
    for name in rng.sample(list(DRAWS), rng.choice((2, 6, 12, len(DRAWS)))):
        description[name] = DRAWS[name](rng)
    return _written(description)


# From a description to a fit


def problem(of: Description) -> tuple[Any, NDArray[np.intp], NDArray[np.float64] | None]:
    """Make rows, labels and weights."""
    rng = np.random.default_rng(of["seed"])
    n, d, m = of["rows"], of["columns"], of["classes"]
    n = max(n, 2 * m)
    y = np.arange(n) % m
    X = rng.standard_normal((n, d)) + 2.0 * rng.standard_normal((m, d))[y]
    if of["whole"]:
        X = np.round(X)
    if of["twice"]:
        X[n // 2 :] = X[: n - n // 2]
    X += of["offset"]
    X *= of["scale"] * 10.0 ** rng.uniform(-of["decades"] / 2, of["decades"] / 2, d)
    half = of["rows_decades"] / 2
    X *= 10.0 ** rng.uniform(-half, half, (n, 1))
    X[rng.permutation(n)[: of["zero_rows"]]] = 0.0
    if of["constant"] is not None:
        X = np.column_stack([X, np.full(n, of["constant"])])
    partly = np.full(n, -1)
    for label in range(m):
        rows = rng.permutation(np.flatnonzero(y == label))[: of["labels"]]
        partly[rows] = label
    weight = 10.0 ** rng.uniform(-of["weights"], of["weights"], n) if of["weights"] else None
    if of["float32"] and np.abs(X).max(initial=0.0) < 1e38:
        X = X.astype(np.float32)
    return sparse.csr_matrix(X) if of["sparse"] else X, partly, weight


def estimator(of: Description) -> Any:
    """Make the estimator; parameters that it does not have are left out."""
    method = registry.get(of["method"])
    known = method.make().get_params(deep=False)
    given = {
        name: of[name]
        for name in PARAMETERS
        if name in known and name not in method.fixed and of[name] is not None
    }
    prior = of["class_prior"]
    if "class_prior" in known and prior is not None:
        if not isinstance(prior, str):
            prior = np.append(np.ones(of["classes"] - 1), prior)
            prior = prior / prior.sum()
        given["class_prior"] = prior
    if "random_state" in known:
        given["random_state"] = 0
    return method.make(**given)


def fit(of: Description) -> Any:
    """Make a fit; return the model, or the error that refuses the data or the parameters."""
    method, (X, y, weight) = registry.get(of["method"]), problem(of)
    more = {} if weight is None or not method.takes_weights else {"sample_weight": weight}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("error", RuntimeWarning)
        try:
            return estimator(of).fit(X, y, **more)
        except (ValueError, FloatingPointError) as error:
            return error


def check(content: bytes) -> None:
    """Make a fit, and look at the model."""
    try:
        of = json.loads(content)
    except ValueError:
        return
    if not isinstance(of, dict) or not set(DRAWS) <= set(of):
        return
    model = fit(of)
    if isinstance(model, Exception):
        expect(refuses(model), repr(model))
        return
    X, _, _ = problem(of)
    new, _, _ = problem({**of, "seed": of["seed"] + 1})
    for rows in (X, new):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            scores = model.decision_function(rows)
        expect(bool(np.isfinite(scores).all()), "scores are not finite")
    objective = getattr(model, "objective_", 0.0)
    expect(bool(np.isfinite(objective).all()), "the objective is not finite")
    if hasattr(model, "predict_proba"):
        total = model.predict_proba(X).sum(axis=1)
        expect(bool(np.allclose(total, 1.0)), "probabilities do not sum to one")


def refuses(error: Exception) -> bool:
    """Tell whether an error is a sentence of the package, not one from the depths."""
    text = str(error)
    return text.endswith(".") and len(text) > 30
