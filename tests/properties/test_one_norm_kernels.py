"""Machines with the 1-norm and a kernel: exact, whatever the order of the rows.

f(x) = sum_j u_j k(x, a_j) + b over the training rows a_j, with the 1-norm of u.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.base import clone
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import rbf_kernel

import semisvm
from semisvm import ConcaveSVC, FeatureSelectionSVC, MixedIntegerSVC, OneNormSVC, RobustLPC
from semisvm.maps.feature_maps import draw_rows
from semisvm.model_selection.explaining import row_reasons

RBF = {"kernel": "rbf", "gamma": 2.0}
MACHINES = {
    "rlp": RobustLPC(**RBF),
    "one_norm": OneNormSVC(0.3, **RBF),
    "fsv": FeatureSelectionSVC(0.3, **RBF),
    "vs3vm": ConcaveSVC(0.3, **RBF),
    "mip": MixedIntegerSVC(0.3, **RBF),
}


def moons(n, n_labeled, seed, copies=0):
    """Points of two moons, some of them twice, and labels of a few of both classes."""
    X, y = make_moons(n, noise=0.15, random_state=seed)
    rng = np.random.default_rng(seed)
    again = rng.integers(0, n, copies)
    X, y = np.vstack([X, X[again]]), np.append(y, y[again])
    labels = np.full(len(y), -1)
    for k in (0, 1):
        known = np.flatnonzero(y == k)[: n_labeled // 2]
        labels[known] = k
    return X, labels


def machine(name, **changed):
    return clone(MACHINES[name]).set_params(**changed)


@pytest.mark.filterwarnings("ignore:.*unlabelled rows are:UserWarning")
@pytest.mark.parametrize("name", MACHINES)
@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10_000), copies=st.integers(0, 6), few=st.booleans())
def test_the_order_of_the_rows_does_not_matter(name, seed, copies, few):
    n = 14 if name == "mip" else 36
    X, labels = moons(n, 8, seed, copies)
    order = np.random.default_rng(seed).permutation(len(X))
    n_components = 9 if few else None
    one = machine(name, n_components=n_components).fit(X, labels)
    two = machine(name, n_components=n_components).fit(X[order], labels[order])
    assert two.objective_ == pytest.approx(one.objective_, rel=1e-6, abs=1e-6)
    if name == "fsv":
        return  # few labels have several sets of as few rows that separate them: ties
    new = make_moons(50, noise=0.3, random_state=seed + 1)[0]
    np.testing.assert_allclose(
        two.decision_function(new), one.decision_function(new), rtol=1e-4, atol=1e-4
    )


def test_the_optimum_that_is_proven_is_that_of_the_data():
    X, labels = moons(50, 10, 0)
    proven = [MixedIntegerSVC(0.5, **RBF).fit(X, labels)]
    for seed in (1, 2):
        order = np.random.default_rng(seed).permutation(len(X))
        proven.append(MixedIntegerSVC(0.5, **RBF).fit(X[order], labels[order]))
    assert max(model.optimality_gap_ for model in proven) <= 1e-4
    for model in proven[1:]:
        assert model.objective_ == pytest.approx(proven[0].objective_, rel=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_program_is_that_of_the_kernel_matrix(seed):
    """scipy solves the program as it is printed: errors + mu ||u||_1, outputs K u + b."""
    X, labels = moons(40, 14, seed)
    given = labels >= 0
    K, t = rbf_kernel(X[given], X, gamma=2.0), 2.0 * labels[given] - 1.0
    n, n_given, mu = len(X), len(t), 0.3
    cost = np.concatenate([np.full(2 * n, mu), [0.0], np.ones(n_given)])
    rows = -np.hstack([t[:, None] * K, -t[:, None] * K, t[:, None], np.eye(n_given)])
    bounds = [(0, None)] * (2 * n) + [(None, None)] + [(0, None)] * n_given
    found = linprog(cost, rows, -np.ones(n_given), bounds=bounds)
    model = OneNormSVC(mu, **RBF).fit(X, labels)
    assert model.objective_ == pytest.approx(found.fun, rel=1e-6)
    assert model.coef_.shape == (1, n)
    outputs = rbf_kernel(X, gamma=2.0) @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.decision_function(X), outputs, atol=1e-12)


def test_errors_of_a_narrow_kernel_are_fewest():
    """Weights without a norm would be of the order of 1e10 here."""
    X, labels = moons(200, 20, 0)
    model = RobustLPC(kernel="rbf", gamma=20.0).fit(X, labels)
    assert model.objective_ == pytest.approx(0.0, abs=1e-6)
    given = labels >= 0
    assert model.score(X[given], labels[given]) == 1.0


@pytest.mark.parametrize("name", ["rlp", "one_norm", "fsv", "vs3vm"])
def test_equal_rows_have_one_weight(name):
    X, labels = moons(30, 8, 4)
    twice = machine(name).fit(np.vstack([X, X]), np.append(labels, labels))
    assert twice.kernel_map_.rank == 30
    assert np.array_equal(twice.kernel_map_.pivots, np.arange(30))


def test_a_kernel_matrix_is_the_same_machine():
    X, labels = moons(40, 10, 5)
    K = rbf_kernel(X, gamma=2.0)
    by_name = ConcaveSVC(0.3, **RBF).fit(X, labels)
    given = ConcaveSVC(0.3, kernel="precomputed").fit(K, labels)
    assert given.objective_ == pytest.approx(by_name.objective_, rel=1e-6)
    np.testing.assert_allclose(given.decision_function(K), by_name.decision_function(X), atol=1e-5)
    order = np.random.default_rng(5).permutation(40)
    few = [
        ConcaveSVC(0.3, kernel="precomputed", n_components=12).fit(K[p][:, p], labels[p])
        for p in (np.arange(40), order)
    ]
    assert set(order[few[1].kernel_map_.pivots]) == set(few[0].kernel_map_.pivots)
    assert few[1].objective_ == pytest.approx(few[0].objective_, rel=1e-6)


def test_a_kernel_need_not_be_positive_semi_definite():
    X, labels = moons(40, 10, 6)
    K = np.tanh(3.0 * X @ X.T - 1.0)
    assert np.linalg.eigvalsh(K).min() < -1.0
    model = OneNormSVC(0.3, kernel="precomputed").fit(K, labels)
    assert np.isfinite(model.decision_function(K)).all()


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), n=st.integers(1, 30))
def test_the_rows_drawn_depend_on_contents_alone(seed, n):
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (n, 3)) * 1.5
    order = rng.permutation(n)
    drawn = X[draw_rows(X, False)]
    np.testing.assert_array_equal(X[order][draw_rows(X[order], False)], drawn)
    np.testing.assert_array_equal(X[draw_rows(sparse.csr_matrix(X), False)], drawn)
    np.testing.assert_array_equal(np.unique(drawn, axis=0), np.unique(X, axis=0))
    assert len(drawn) == len(np.unique(X, axis=0))


@pytest.mark.parametrize("kind", ["dense", "sparse", "precomputed"])
def test_models_are_saved_and_explained(kind, tmp_path):
    X, labels = moons(40, 10, 7)
    rows = {"dense": X, "sparse": sparse.csr_matrix(X), "precomputed": rbf_kernel(X, gamma=2.0)}
    kernel = {"kernel": "precomputed"} if kind == "precomputed" else RBF
    model = ConcaveSVC(0.3, n_components=15, **kernel).fit(rows[kind], labels)
    assert model.kernel_map_.rank == 15
    semisvm.save(model, tmp_path / "model")
    again = semisvm.load(tmp_path / "model")
    np.testing.assert_array_equal(
        again.decision_function(rows[kind]), model.decision_function(rows[kind])
    )
    outputs = model.decision_function(rows[kind])
    scores, codes = np.column_stack([-outputs, outputs]), (outputs > 0).astype(int)
    for row, parts in enumerate(row_reasons(again, rows[kind], scores, codes, 40)):
        for at, part in parts:
            weight = model.coef_[0][np.flatnonzero(model.kernel_map_.pivots == at)[0]]
            sign = 1.0 if codes[row] else -1.0
            assert part == pytest.approx(sign * weight * rows["precomputed"][row, at])
