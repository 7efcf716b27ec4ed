import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.svm import LinearSVC

from problems import hide, sparse_text, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC


def hinge_objective(model, X, labels, lam, given):
    """J of the fitted model, from its outputs and the labels that it chose."""
    outputs = model.decision_function(X)
    losses = np.maximum(0.0, 1.0 - (2.0 * labels - 1.0) * outputs)
    # two opposite weight vectors of half the length, and as many intercepts
    norm = np.sum(model.coef_**2) + np.sum(model.intercept_**2)
    rest = lam * losses[~given].mean() if (~given).any() else 0.0
    return 0.5 * model.reg_ * norm + 0.5 * losses[given].mean() + 0.5 * rest


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


def test_many_classes_are_told_what_to_use():
    X, y = two_blobs(30)
    y[:5] = 2
    with pytest.raises(ValueError, match="crammer_singer"):
        NewtonSVC(loss="hinge").fit(X, y)
