import numpy as np
import pytest

from problems import (
    charged_block,
    hide,
    inverted,
    solve_from,
    sparse_text,
    two_blobs,
    weight_step,
)
from semisvm import TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.labels.hierarchy import flat
from semisvm.losses import LOSSES, SQUARED_HINGE
from semisvm.solvers import woodbury
from semisvm.solvers.woodbury import LabeledPreconditioner, preconditioner_of
from semisvm.tasks import ManyScoreBlock, ManyScoreRows
from semisvm.tasks import weight_steps as sharing
from semisvm.tasks.weight_steps import RowsProblem

REG = 1e-2


def data(kind, n=150):
    X, y = sparse_text(n, 300) if kind == "sparse" else two_blobs(n, 12)
    return X, y, X.toarray() if kind == "sparse" else X


def with_bias(X, bias):
    return np.column_stack([X, np.full(len(X), bias)])


def heavy_of(design, index, weight, reg=REG):
    return preconditioner_of(design, design.rows(index), weight, reg, design.all_rows.work)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("idle", [[], [1], [0, 3, 4]])
@pytest.mark.parametrize("usual", [True, False])
def test_inverse_is_that_of_the_dense_matrix(kind, m, idle, usual):
    X, _, dense = data(kind)
    bias, index = 0.7, np.array([3, 10, 11, 77, 149])
    design = make_design(X, bias, Workers())
    rng = np.random.default_rng(0)
    weight = rng.uniform(5.0, 10.0, 5)
    labeled_preconditioner = heavy_of(design, index, weight)
    A = with_bias(dense[index], bias)
    np.testing.assert_allclose(labeled_preconditioner.gram, A @ A.T, rtol=1e-12)
    curvature = np.repeat(weight[:, None], m, axis=1) if usual else rng.random((5, m))
    curvature[idle, 0] = 0.0
    r = rng.standard_normal((design.n_weights, m))
    inverse = labeled_preconditioner.inverse(curvature, REG)
    found = inverted(inverse, r.ravel(), m).reshape(r.shape)
    for y in range(m):
        M = REG * np.eye(len(r)) + A.T @ (curvature[:, y, None] * A)
        np.testing.assert_allclose(M @ found[:, y], r[:, y], atol=1e-9)
    # the smaller part of the rows is factorised if their curvatures are the usual ones
    alone = not usual or len(idle) > 2
    assert inverse.factors.alone[0] == alone
    assert inverse.factors.ends[1] == (5 - len(idle) if alone else len(idle))


@pytest.mark.parametrize("reg", [1e-3, 1e-6, 1e-10])
def test_weak_regularisation_costs_no_digits(reg):
    X, _, dense = data("dense")
    design, index = make_design(X, 1.0, Workers()), np.arange(8)
    weight = np.full(8, 0.1)
    labeled_preconditioner = preconditioner_of(design, design.rows(index), weight, reg, 10**9)
    curvature = weight[:, None] * np.ones((1, 2))
    curvature[:3, 1] = 0.0
    inverse = labeled_preconditioner.inverse(curvature, reg)
    # from some eigenvalue on there is no common inverse
    assert labeled_preconditioner.whole(reg).known == (reg > 1e-5)
    assert inverse.factors.alone.all() == (reg < 1e-5)
    A = with_bias(dense[index], 1.0)
    # what the rows span, where M is far from reg I
    r = (A.T @ np.random.default_rng(0).standard_normal((8, 2))).ravel()
    found = inverted(inverse, r, 2, rtol=1e-3).reshape(-1, 2)
    for y in range(2):
        M = reg * np.eye(len(found)) + A.T @ (curvature[:, y, None] * A)
        scale = abs(r).max()
        np.testing.assert_allclose(M @ found[:, y], r.reshape(-1, 2)[:, y], atol=1e-5 * scale)


@pytest.mark.parametrize("usual", [True, False])
def test_large_systems_are_like_small_ones(usual, monkeypatch):
    X, _, _ = data("sparse")
    design, index = make_design(X, 1.0, Workers()), np.arange(30)
    rng = np.random.default_rng(0)
    curvature = np.full((30, 4), 10.0) if usual else rng.random((30, 4))
    curvature[rng.random((30, 4)) < 0.3] = 0.0
    curvature[:20, 3] = 0.0
    r = rng.standard_normal(4 * design.n_weights)
    found = []
    for limit in (64, 0):
        monkeypatch.setattr(woodbury, "SMALL_SYSTEM", limit)
        labeled_preconditioner = preconditioner_of(
            design, design.rows(index), np.full(30, 10.0), REG, 10**9
        )
        found.append(inverted(labeled_preconditioner.inverse(curvature, REG), r, 4))
    np.testing.assert_allclose(*found, rtol=1e-9, atol=1e-12)


def few_labeled_rows(kind):
    X, y, _ = data(kind, 1500)
    design = make_design(X, 1.0, Workers())
    labeled_preconditioner = np.arange(0, 1500, 150)
    weight = np.full(1500, 1.0 / 1500)
    weight[labeled_preconditioner] = 1.0 / len(labeled_preconditioner)
    return design, y, labeled_preconditioner, weight


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_two_classes_reach_the_same_minimum_in_fewer_steps(kind):
    design, y, labeled_preconditioner, weight = few_labeled_rows(kind)
    a, b = np.where(y == 1, weight, 0.0), np.where(y == 1, 0.0, weight)
    block = charged_block(design, SQUARED_HINGE.two, a, b, labeled=labeled_preconditioner)
    better = heavy_of(design, labeled_preconditioner, weight[labeled_preconditioner], 1e-3)
    assert better is not None
    steps = [weight_step(block, 1e-3, rows) for rows in (None, better)]
    ends = [solve_from(step, max_iter=50) for step in steps]
    assert ends[1].objective == pytest.approx(ends[0].objective, rel=1e-10)
    assert ends[1].converged
    assert ends[1].cg_steps < ends[0].cg_steps


@pytest.mark.parametrize("name", ["squared_hinge", "log"])
def test_many_classes_reach_the_same_minimum(name):
    design, y, labeled_preconditioner, weight = few_labeled_rows("sparse")
    codes = (y + 2 * (np.arange(1500) % 2)).astype(int)
    free = np.setdiff1d(np.arange(1500), labeled_preconditioner)
    given = (
        codes[labeled_preconditioner],
        weight[labeled_preconditioner],
        len(free),
        LOSSES[name].many,
        flat(np.arange(4)),
    )
    block = ManyScoreBlock(design, labeled_preconditioner, free, *given)
    block.take_labels(codes[free])
    block.set_label_costs(len(free) / 1500)
    better = heavy_of(design, labeled_preconditioner, weight[labeled_preconditioner], 1e-3)
    assert better is not None
    steps = [RowsProblem(ManyScoreRows([block]), 1e-3, rows) for rows in (None, better)]
    ends = [solve_from(step, tol=1e-6, max_iter=50) for step in steps]
    assert ends[1].objective == pytest.approx(ends[0].objective, rel=1e-5)
    # the classes of maxent are coupled, which the preconditioner does not see
    assert ends[1].cg_steps <= ends[0].cg_steps


def test_rows_that_weigh_little_or_are_many_are_left_alone():
    design, _, labeled_preconditioner, weight = few_labeled_rows("sparse")
    assert (
        heavy_of(design, labeled_preconditioner, np.full(len(labeled_preconditioner), 1e-9)) is None
    )
    assert heavy_of(design, labeled_preconditioner[:0], weight[:0]) is None
    assert heavy_of(design, np.arange(1500), np.ones(1500)) is None


def test_numbers_out_of_range_give_no_preconditioner():
    X, _, _ = data("dense")
    design = make_design(X * 1e160, 1.0, Workers())
    labeled_preconditioner = heavy_of(design, np.array([0, 1]), np.ones(2))
    assert (
        labeled_preconditioner is None
        or labeled_preconditioner.inverse(np.ones((2, 1)), REG) is None
    )


def test_a_fit_does_not_depend_on_it(monkeypatch):
    X, y = sparse_text(400, 300)
    labels = hide(y, 10)
    found = TransductiveSVC(class_prior=[0.5, 0.5], tol=1e-8).fit(X, labels)
    monkeypatch.setattr(sharing, "preconditioner_of", lambda *_: None)
    plain = TransductiveSVC(class_prior=[0.5, 0.5], tol=1e-8).fit(X, labels)
    np.testing.assert_array_equal(found.transduction_, plain.transduction_)
    assert found.objective_ == pytest.approx(plain.objective_, rel=1e-6)
    assert found.trace_["cg_steps"].sum() < plain.trace_["cg_steps"].sum()


@pytest.mark.parametrize(
    "gram", [-np.ones((3, 3)), np.full((3, 3), np.nan), np.diag([1, np.inf, 1])]
)
@pytest.mark.parametrize("curvature", [np.ones((3, 2)), np.full((3, 2), 0.5)])
def test_a_matrix_without_factor_gives_no_preconditioner(gram, curvature):
    design = make_design(np.eye(3), 1.0, Workers())
    labeled_preconditioner = LabeledPreconditioner(design, design.all_rows, gram, np.ones(3))
    assert labeled_preconditioner.inverse(curvature, REG) is None


def test_only_what_has_changed_is_factorised_again():
    X, _, _ = data("sparse")
    design, index = make_design(X, 1.0, Workers()), np.arange(6)
    labeled_preconditioner, fresh = (heavy_of(design, index, np.full(6, 10.0)) for _ in range(2))
    curvature = np.random.default_rng(0).random((6, 4))
    first = labeled_preconditioner.inverse(curvature, REG).factors
    first.lower[:] *= 2.0
    curvature[2, 1] = 0.0
    kept = labeled_preconditioner.inverse(curvature, REG).factors
    expected = fresh.inverse(curvature, REG).factors

    def lower(factors, k):
        n = factors.ends[k + 1] - factors.ends[k]
        return np.tril(factors.lower[factors.starts[k] : factors.starts[k + 1]].reshape(n, n))

    for k in range(4):
        times = 1.0 if k == 1 else 2.0
        np.testing.assert_array_equal(lower(kept, k), times * lower(expected, k))
    # another strength of the regularisation changes them all
    again = labeled_preconditioner.inverse(curvature, 2 * REG)
    r = np.random.default_rng(1).standard_normal(4 * design.n_weights)
    np.testing.assert_array_equal(
        inverted(again, r, 4), inverted(fresh.inverse(curvature, 2 * REG), r, 4)
    )
