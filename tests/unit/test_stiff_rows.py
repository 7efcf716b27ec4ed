from dataclasses import replace

import numpy as np
import pytest

from problems import hide, sparse_text, two_blobs
from semisvm import TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.estimators import task as binary_task
from semisvm.hierarchy import flat
from semisvm.losses import SQUARED_HINGE
from semisvm.multi_losses import MULTI_LOSSES
from semisvm.vectors import factorise
from semisvm.weights import BinaryProblem, MultiProblem, State, minimize
from semisvm.weights.stiff_rows import stiff_rows

REG = 1e-2


def data(kind, n=150):
    X, y = sparse_text(n, 300) if kind == "sparse" else two_blobs(n, 12)
    return X, y, X.toarray() if kind == "sparse" else X


def with_bias(X, bias):
    return np.column_stack([X, np.full(len(X), bias)])


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("m", [1, 3])
def test_inverse_is_that_of_the_dense_matrix(kind, m):
    X, _, dense = data(kind)
    bias, index = 0.7, np.array([3, 10, 11, 77, 149])
    design = make_design(X, bias, Workers())
    stiff = stiff_rows(design, index, np.full(5, 10.0), REG)
    A = with_bias(dense[index], bias)
    np.testing.assert_allclose(stiff.gram, A @ A.T, rtol=1e-12)
    rng = np.random.default_rng(0)
    curvature = rng.random((5, m))
    curvature[1] = 0.0
    r = rng.standard_normal((design.n_weights, m))
    found = stiff.inverse(curvature, REG)(r.ravel(), np.empty(r.size)).reshape(r.shape)
    for y in range(m):
        M = REG * np.eye(len(r)) + A.T @ (curvature[:, y, None] * A)
        np.testing.assert_allclose(M @ found[:, y], r[:, y], atol=1e-9)


def few_heavy_rows(kind):
    X, y, _ = data(kind, 1500)
    design = make_design(X, 1.0, Workers())
    heavy = np.arange(0, 1500, 150)
    weight = np.full(1500, 1.0 / 1500)
    weight[heavy] = 1.0 / len(heavy)
    return design, y, heavy, weight


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_two_classes_reach_the_same_minimum_in_fewer_steps(kind):
    design, y, heavy, weight = few_heavy_rows(kind)
    a, b = np.where(y == 1, weight, 0.0), np.where(y == 1, 0.0, weight)
    plain = BinaryProblem(design, design.all_rows, SQUARED_HINGE, a, b, 1e-3)
    better = replace(plain, stiff=stiff_rows(design, heavy, weight[heavy], 1e-3))
    assert better.stiff is not None
    ends = [
        minimize(p, State.at(np.zeros(p.n_weights), p), tol=1e-12, max_iter=50)
        for p in (plain, better)
    ]
    assert ends[1].objective == pytest.approx(ends[0].objective, rel=1e-10)
    assert ends[1].converged
    assert ends[1].cg_steps < ends[0].cg_steps


@pytest.mark.parametrize("name", ["squared_hinge", "log"])
def test_many_classes_reach_the_same_minimum(name):
    design, y, heavy, weight = few_heavy_rows("sparse")
    codes = (y + 2 * (np.arange(1500) % 2)).astype(int)
    costs = np.zeros((1500, 4))
    costs[np.arange(1500), codes] = weight
    plain = MultiProblem(
        design, design.all_rows, MULTI_LOSSES[name], costs, flat(np.arange(4)), 1e-3
    )
    better = replace(plain, stiff=stiff_rows(design, heavy, weight[heavy], 1e-3))
    ends = [
        minimize(p, State.at(np.zeros(p.n_weights), p), tol=1e-6, max_iter=50)
        for p in (plain, better)
    ]
    assert ends[1].objective == pytest.approx(ends[0].objective, rel=1e-5)
    # the classes of maxent are coupled, which the preconditioner does not see
    assert ends[1].cg_steps <= ends[0].cg_steps


def test_rows_that_weigh_little_or_are_many_are_left_alone():
    design, _, heavy, weight = few_heavy_rows("sparse")
    assert stiff_rows(design, heavy, np.full(len(heavy), 1e-9), REG) is None
    assert stiff_rows(design, heavy[:0], weight[:0], REG) is None
    assert stiff_rows(design, np.arange(1500), np.ones(1500), REG) is None


def test_numbers_out_of_range_give_no_preconditioner():
    X, _, _ = data("dense")
    design = make_design(X * 1e160, 1.0, Workers())
    stiff = stiff_rows(design, np.array([0, 1]), np.ones(2), REG)
    assert stiff is None or stiff.inverse(np.ones((2, 1)), REG) is None


def test_a_fit_does_not_depend_on_it(monkeypatch):
    X, y = sparse_text(400, 300)
    labels = hide(y, 10)
    found = TransductiveSVC(class_prior=[0.5, 0.5], tol=1e-8).fit(X, labels)
    monkeypatch.setattr(binary_task, "stiff_rows", lambda *_: None)
    plain = TransductiveSVC(class_prior=[0.5, 0.5], tol=1e-8).fit(X, labels)
    np.testing.assert_array_equal(found.transduction_, plain.transduction_)
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert found.trace_["cg_steps"].sum() < plain.trace_["cg_steps"].sum()


def test_a_singular_matrix_has_no_factor():
    """A pivot of exactly zero is no error of division, but told like all others."""
    a = np.ones((3, 3))
    factorise(a)
    assert np.isnan(a.diagonal()).any()
