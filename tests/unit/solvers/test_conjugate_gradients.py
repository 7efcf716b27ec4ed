"""Conjugate gradients on systems whose columns differ by orders of magnitude."""

import numpy as np
import pytest

from semisvm.designs import Workers
from semisvm.solvers import conjugate_gradients as cg


@pytest.mark.parametrize("systems", [1, 3])
def test_a_badly_scaled_system_is_factorised(systems):
    rng = np.random.default_rng(0)
    n, d, reg = 40, 90, 1e-3
    X = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(0, 7, d)
    active = rng.random((systems, n)) < 0.7
    H = np.stack([X[rows].T @ X[rows] for rows in active])

    def product(p, out):
        out.reshape(d, systems)[...] = np.einsum("kij,jk->ik", H, p.reshape(d, systems))
        return out

    def scales():
        return np.einsum("kii->ik", H).ravel().copy()

    # gradients are combinations of rows
    rhs = np.stack([X[rows].T @ rng.normal(size=rows.sum()) for rows in active], axis=1).ravel()
    size = float(np.linalg.norm(rhs))
    with Workers(1) as workers:
        x, residual, steps = cg.solve(
            product,
            reg,
            rhs.copy(),
            inverse=None,
            scales=scales,
            stop=1e-8 * size,
            max_steps=2_000,
            workers=workers,
            systems=systems,
        )
    assert steps <= 3 * cg.PLAIN_STEPS
    assert np.linalg.norm(residual) <= 1e-8 * size
    true = rhs - product(x, np.empty_like(x)) - reg * x
    assert np.linalg.norm(true) <= 1e-6 * size


def test_a_matrix_that_is_not_positive_definite_is_not_factorised():
    def product(p, out):
        out[...] = -p
        return out

    assert cg.factorised(cg._matrices(product, 4, 1), 1e-3) is None


def test_a_system_like_a_slow_one_is_factorised_at_once():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 90)) * 10.0 ** rng.uniform(0, 7, 90)
    rhs = X.T @ rng.normal(size=40)

    def product(p, out):
        out[...] = X.T @ (X @ p)
        return out

    steps = []
    for direct in (False, True):
        *_, taken = cg.solve(
            product,
            1e-3,
            rhs.copy(),
            inverse=None,
            scales=lambda: np.einsum("ij,ij->j", X, X),
            stop=1e-8 * float(np.linalg.norm(rhs)),
            max_steps=2_000,
            workers=Workers(),
            direct=direct,
        )
        steps.append(taken)
    assert cg.is_slow(steps[0], 90)
    assert steps[1] <= 10
