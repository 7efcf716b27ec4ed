import numpy as np
import pytest
from scipy import optimize
from sklearn.datasets import make_moons
from sklearn.svm import LinearSVC

from problems import charged_block, hide, sparse_text, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.losses import HINGE
from semisvm.solvers.crammer_singer import HingeState, minimize_hinge


def hinge_objective(model, X, labels, lam, given):
    """J of the fitted model, from its outputs and the labels that it chose."""
    outputs = model.decision_function(X)
    losses = np.maximum(0.0, 1.0 - (2.0 * labels - 1.0) * outputs)
    # two opposite weight vectors of half the length, and as many intercepts
    norm = np.sum(model.coef_**2) + np.sum(model.intercept_**2)
    rest = lam * losses[~given].mean() if (~given).any() else 0.0
    return 0.5 * model.reg_ * norm + 0.5 * losses[given].mean() + 0.5 * rest


def quadratic_program(X, a, b, reg):
    """The least reg/2 ||w||^2 + 1/2 (a r + b s), with slacks r and s, by a general solver."""
    (n, d), costs = X.shape, 0.5 * np.concatenate([a, b])
    M = np.hstack([np.vstack([X, -X]), np.eye(2 * n)])
    answer = optimize.minimize(
        lambda p: reg / 2 * p[:d] @ p[:d] + costs @ p[d:],
        np.concatenate([np.zeros(d), np.ones(2 * n)]),
        jac=lambda p: np.concatenate([reg * p[:d], costs]),
        constraints={"type": "ineq", "fun": lambda p: M @ p - 1.0, "jac": lambda p: M},
        bounds=[(None, None)] * d + [(0, None)] * (2 * n),
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 1000},
    )
    assert answer.success
    return answer.fun


@pytest.mark.parametrize("seed", range(3))
def test_costs_of_both_labels_against_a_quadratic_program(seed):
    X, _ = two_blobs(20, 3, gap=1.0, seed=seed)
    a, b = np.random.default_rng(seed).random((2, 20)) / 20
    design, reg = make_design(X, 0.7, Workers()), 0.05
    block = charged_block(design, HINGE.two, a, b)
    state = minimize_hinge(block, HingeState(np.zeros(4)), reg, tol=1e-4)
    assert state.converged
    whole = np.column_stack([X, np.full(20, 0.7)])
    o, values = whole @ state.w, HINGE.two.values
    direct = reg / 2 * state.w @ state.w + 0.5 * (a @ values(o) + b @ values(-o))
    assert state.objective == pytest.approx(direct, rel=1e-12)
    np.testing.assert_allclose(block.scores, o, atol=1e-12)
    best = quadratic_program(whole, a, b, reg)
    assert best * (1 - 1e-7) <= state.objective <= best + state.gap + 1e-9
    assert state.gap <= 1e-4 * state.objective


def test_a_hinge_goes_on_from_its_duals_and_a_copy_keeps_them():
    X, y = two_blobs(60, 4, gap=1.0)
    design, cost = make_design(X, 1.0, Workers()), np.full(60, 1 / 60)

    def solve(positive, state):
        a, b = np.where(positive, cost, 0.0), np.where(positive, 0.0, cost)
        block = charged_block(design, HINGE.two, a, b)
        return minimize_hinge(block, state, 0.05, tol=1e-4)

    state = solve(y == 1, HingeState(np.zeros(5)))
    kept = state.copy()
    assert solve(y == 1, state).n_iter == 0
    before = kept.w.copy()
    assert solve(y != 1, state).n_iter > 0
    np.testing.assert_array_equal(kept.w, before)
    assert solve(y == 1, kept).n_iter == 0


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_supervised_fit_against_liblinear(kind):
    X, y = sparse_text(200, 300) if kind == "sparse" else two_blobs(200, 5, gap=1.5)
    model = NewtonSVC(0.05, loss="hinge", tol=1e-4).fit(X, y)
    peer = LinearSVC(C=1 / (2 * 200 * 0.05), loss="hinge", dual=True, tol=1e-8, max_iter=10**6)
    peer.fit(X, y)
    everything = np.ones(200, dtype=bool)
    peer.reg_ = 0.05
    best = hinge_objective(peer, X, y, 1.0, everything)
    assert model.objective_ == pytest.approx(best, rel=2e-4)
    assert hinge_objective(model, X, y, 1.0, everything) == pytest.approx(
        model.objective_, rel=1e-9
    )


@pytest.mark.parametrize("estimator", [TransductiveSVC, AnnealedSVC])
def test_objective_is_in_the_units_of_the_family(estimator):
    X, y = two_blobs(120, 4, gap=3.0)
    labels = hide(y, 10)
    model = estimator(0.05, loss="hinge", unlabeled_weight=0.7, class_prior=[0.5, 0.5])
    model.fit(X, labels)
    given = labels >= 0
    expected = hinge_objective(model, X, model.transduction_, 0.7, given)
    assert model.objective_ == pytest.approx(expected, rel=1e-9)
    assert model.score(X, y) > 0.9


def test_annealing_follows_the_moons_where_the_squared_hinge_does_not():
    wins = {"hinge": 0, "squared_hinge": 0}
    for seed in range(3):
        X, y = make_moons(200, noise=0.05, random_state=seed)
        rng = np.random.default_rng(seed)
        labels = np.full(200, -1)
        for k in (0, 1):
            labels[rng.choice(np.flatnonzero(y == k))] = k
        for loss in wins:
            model = AnnealedSVC(
                0.01, loss=loss, kernel="rbf", gamma=1 / (2 * 0.3**2), class_prior=[0.5, 0.5]
            ).fit(X, labels)
            wins[loss] += np.mean(model.transduction_ != y) <= 0.02
    assert wins["hinge"] >= 2 > wins["squared_hinge"]


def test_many_classes_are_refused_with_a_remedy():
    X, y = two_blobs(30)
    y[:5] = 2
    with pytest.raises(ValueError, match="crammer_singer"):
        NewtonSVC(loss="hinge").fit(X, y)
