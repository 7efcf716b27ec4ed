"""Against other solvers on problems of middle size."""

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize as scipy_minimize
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import Ridge
from sklearn.preprocessing import scale
from sklearn.svm import LinearSVC

from problems import hide, sparse_text, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC


def objective(model, X, y, reg, weight=None):
    weight = np.ones(len(y)) if weight is None else weight
    margin = (2 * y - 1) * (X @ model.coef_[0] + model.intercept_[0])
    loss = weight @ np.maximum(0, 1 - margin) ** 2 / (2 * weight.sum())
    return loss + reg / 2 * (model.coef_[0] @ model.coef_[0] + model.intercept_[0] ** 2)


PROBLEMS = {
    "breast cancer": lambda: (
        scale(load_breast_cancer().data),
        load_breast_cancer().target,
    ),
    "n > d": lambda: two_blobs(500, 8, gap=1.0),
    "d > n": lambda: two_blobs(40, 80, gap=1.0),
    "sparse": lambda: sparse_text(300, 800),
}


@pytest.mark.parametrize("problem", PROBLEMS)
@pytest.mark.parametrize("reg", [1e-1, 1e-3, 1e-5])
def test_newton_against_liblinear(problem, reg):
    X, y = PROBLEMS[problem]()
    ours = NewtonSVC(reg, tol=1e-12).fit(X, y)
    peer = LinearSVC(
        C=1 / (2 * reg * len(y)), loss="squared_hinge", dual=False, tol=1e-10, max_iter=100_000
    ).fit(X, y)
    best = objective(ours, X, y, reg)
    assert ours.objective_ == pytest.approx(best, rel=1e-9)
    assert best <= objective(peer, X, y, reg) * (1 + 1e-6)
    assert best >= objective(peer, X, y, reg) * (1 - 1e-6)


def test_weights_against_liblinear():
    X, y = two_blobs(200, 6, gap=0.8)
    weight = np.random.default_rng(0).random(200) * 3
    ours = NewtonSVC(0.01, tol=1e-12).fit(X, y, sample_weight=weight)
    peer = LinearSVC(C=1 / (2 * 0.01 * weight.sum()), dual=False, tol=1e-10, max_iter=100_000).fit(
        X, y, sample_weight=weight
    )
    assert objective(ours, X, y, 0.01, weight) == pytest.approx(
        objective(peer, X, y, 0.01, weight), rel=1e-6
    )


def test_squared_loss_against_ridge():
    X, y = two_blobs(150, 7)
    model = NewtonSVC(0.05, loss="squared", tol=1e-14).fit(X, y)
    A = np.column_stack([X, np.ones(150)])
    ridge = Ridge(alpha=0.05 * 150, fit_intercept=False, tol=1e-12).fit(A, 2 * y - 1)
    np.testing.assert_allclose(model.coef_[0], ridge.coef_[:-1], atol=1e-6)
    assert model.intercept_[0] == pytest.approx(ridge.coef_[-1], abs=1e-6)


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_finished_fit_is_a_solution_for_its_labels(cls, form):
    """Given the labels it chose, no other solver finds better weights."""
    X, y = two_blobs(120, 5, gap=1.5)
    partly = hide(y, 10)
    reg, lam = 1e-2, 0.7
    model = cls(reg, lam, tol=1e-12, balance_tol=None).fit(form(X), partly)
    labels = 2 * model.transduction_ - 1
    unlabeled = partly == -1
    cost = np.where(unlabeled, lam / unlabeled.sum(), 1 / (~unlabeled).sum())
    A = np.column_stack([X, np.ones(120)])

    def value(w):
        gap = np.maximum(0, 1 - labels * (A @ w))
        slope = reg * w - A.T @ (cost * labels * gap)
        return 0.5 * cost @ gap**2 + reg / 2 * w @ w, slope

    peer = scipy_minimize(value, np.zeros(6), jac=True, method="L-BFGS-B", tol=1e-14)
    w = np.append(model.coef_[0], model.intercept_[0])
    assert value(w)[0] == pytest.approx(model.objective_, rel=1e-10)
    assert value(w)[0] <= peer.fun * (1 + 1e-8)
    assert np.abs(value(w)[1]).max() < 1e-6


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
def test_no_pair_of_labels_is_left_to_switch(cls):
    X, y = two_blobs(200, 5, gap=1.0)
    partly = hide(y, 10)
    model = cls(balance_tol=None).fit(X, partly)
    unlabeled = partly == -1
    scores = model.decision_function(X)[unlabeled]
    positive = model.transduction_[unlabeled] == 1
    assert scores[positive].min() >= scores[~positive].max()
