"""Evidence in smooth objectives: GradientTSVC and the maxent family."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from problems import hide
from semisvm import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    GradientTSVC,
    LowDensitySeparation,
    PosteriorRegularizedClassifier,
    SemiSupervisedClassifier,
)
from semisvm.methods.gradient_descent import Known, Outputs
from semisvm.methods.maxent import UnlabeledTerms
from semisvm.methods.solution import _evidence_against_rest

SHARES = [EntropyRegularizedClassifier, ExpectationConstrainedClassifier]
MACHINES = [GradientTSVC, *SHARES, PosteriorRegularizedClassifier]
PRIOR = {2: [0.5, 0.5], 3: [0.3, 0.3, 0.4]}


def problem(m, n=60, seed=0):
    """Clusters with few labels, and probabilities that are mostly right."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    rng.shuffle(y)
    X = rng.standard_normal((n, 5))
    X[np.arange(n), y] += 1.2
    guess = np.where(rng.random(n) < 0.85, y, (y + 1) % m)
    q = np.full((n, m), 0.3 / m)
    q[np.arange(n), guess] += 0.7
    return X, y, hide(y, 4 * m, seed), q


def fitted(kind, X, labels, evidence=None, weight=None, **given):
    m = len(set(labels)) - 1
    parameters = {"reg": 0.05, "class_prior": PRIOR[m], **given}
    return kind(**parameters).fit(X, labels, weight, evidence=evidence)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("kind", MACHINES)
def test_equal_probabilities_change_nothing(kind, m):
    X, _, labels, _ = problem(m)
    plain = fitted(kind, X, labels)
    for nothing in (np.full((60, m), 0.2), [None] * 60, np.full((60, m), np.nan)):
        model = fitted(kind, X, labels, nothing)
        np.testing.assert_array_equal(model.coef_, plain.coef_)
        np.testing.assert_array_equal(model.transduction_, plain.transduction_)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("kind", MACHINES)
def test_evidence_that_is_mostly_right_helps(kind, m):
    X, y, labels, q = problem(m)
    free = labels == -1
    plain, model = fitted(kind, X, labels), fitted(kind, X, labels, q, evidence_weight=1.0)
    right = [np.mean(one.transduction_[free] == y[free]) for one in (plain, model)]
    assert right[1] > right[0]
    assert not np.array_equal(plain.coef_, model.coef_)


@pytest.mark.parametrize("kind", MACHINES)
def test_impossible_classes_are_not_chosen(kind):
    X, y, labels, _ = problem(3)
    possible = [{int(k), 2} for k in y]
    possible[5] = {int((y[5] + 1) % 2)}
    model = fitted(kind, X, labels, possible, class_prior=None)
    for row in np.flatnonzero(labels == -1):
        assert model.transduction_[row] in possible[row]
    two = np.where(y == 2, 0, y), np.where(labels == 2, 0, labels)
    rows = np.flatnonzero(two[1] == -1)[:6]
    sets = [None] * 60
    for row in rows:
        sets[row] = {int(1 - two[0][row])}
    model = fitted(kind, X, two[1], sets, class_prior="labels")
    np.testing.assert_array_equal(model.transduction_[rows], 1 - two[0][rows])


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("kind", [ExpectationConstrainedClassifier, EntropyRegularizedClassifier])
def test_one_possible_class_is_a_label(kind, m):
    # all rows have a label or evidence for one class, so that nothing is left to estimate
    X, y, labels, _ = problem(m)
    n_given = np.count_nonzero(labels >= 0)
    shares = np.bincount(y[labels == -1], minlength=m) / (60 - n_given)
    options = {"constraint_weight": 0.0, "tol": 1e-10, "class_prior": shares}
    if kind is EntropyRegularizedClassifier:
        options["unlabeled_weight"] = 0.0
    model = fitted(kind, X, labels, np.eye(m)[y], **options)
    # labelled and unlabelled rows weigh alike together, so the regularisation is half as strong
    weight = np.where(labels >= 0, 0.5 / n_given, 0.5 / (60 - n_given))
    also = np.append(y, -1)
    rows, each = np.vstack([X, X[:1]]), np.append(weight, 1.0)
    same = fitted(kind, rows, also, None, each, **{**options, "reg": 0.025})
    np.testing.assert_allclose(model.node_coef_, same.node_coef_, atol=1e-4)


def test_one_possible_label_is_a_label_of_gradient_tsvm():
    X, y, labels, _ = problem(2)
    free = labels == -1
    counts = np.count_nonzero(~free), np.count_nonzero(free)
    prior = np.bincount(y[free], minlength=2) / counts[1]
    given = {"balance_tol": None, "tol": 1e-10, "class_prior": prior}
    model = fitted(GradientTSVC, X, labels, np.eye(2)[y], **given)

    def objective(w, mean):
        f = X @ w + mean - X[free].mean(axis=0) @ w
        losses = np.maximum(0.0, 1.0 - np.where(y == 1, 1, -1) * f) ** 2
        return 0.5 * (0.05 * w @ w + losses[~free].mean() + losses[free].mean())

    least = objective(model.coef_[0], 2.0 * prior[1] - 1.0)
    assert model.objective_ == pytest.approx(least, rel=1e-9)
    slopes = approx_fprime(model.coef_[0], objective, 1e-6, 2.0 * prior[1] - 1.0)
    np.testing.assert_allclose(slopes, 0.0, atol=1e-4)


def test_slopes_of_the_likelihood_of_evidence():
    rng = np.random.default_rng(0)
    costs = rng.exponential(size=(7, 3))
    costs[rng.random((7, 3)) < 0.2] = np.inf
    costs[:, 1] = 0.0
    mass = np.array([1.0, 2.0, 0.5, 1.0, 1.0, 3.0, 1.0])
    shares, multipliers = np.array([0.2, 0.3, 0.5]), np.array([0.1, -0.3, 0.2])
    terms = UnlabeledTerms(0.7, shares, multipliers, 4.0, mass, costs)

    def value(flat):
        fit, constraint, _ = terms.evaluate(flat.reshape(7, 3))
        return fit + constraint

    scores = rng.normal(size=(7, 3))
    expected = approx_fprime(scores.ravel(), value, 1e-6).reshape(7, 3)
    np.testing.assert_allclose(terms.evaluate(scores)[2], expected, atol=1e-5)
    # the likelihood itself, by hand
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    alone = UnlabeledTerms(0.0, shares, np.zeros(3), 0.0, mass, costs).evaluate(scores)[0]
    by_hand = -np.log((p * np.exp(-costs)).sum(axis=1))
    assert alone == pytest.approx(np.average(by_hand, weights=mass))


def test_slopes_of_gradient_tsvm_with_evidence(monkeypatch):
    X, _, labels, q = problem(2)
    seen = []
    evaluate = Outputs._losses

    def spied(self, scores):
        seen.append((self, scores))
        return evaluate(self, scores)

    monkeypatch.setattr(Outputs, "_losses", spied)
    fitted(GradientTSVC, X, labels, q, evidence_weight=1.0)
    function, scores = seen[len(seen) // 2]
    assert function.known is not None
    expected = approx_fprime(scores, lambda s: evaluate(function, s)[0], 1e-7)
    np.testing.assert_allclose(evaluate(function, scores)[1], expected, atol=1e-6)


def test_how_much_a_row_counts_like_a_labelled_one():
    q = np.array([[0.5, 0.5], [0.2, 0.8], [1.0, 0.0], [0.0, 1.0]])
    with np.errstate(divide="ignore"):
        known = Known.of(np.log(q[:, 0]) - np.log(q[:, 1]))
    np.testing.assert_allclose(known.share, [0.0, 0.6, 1.0, 1.0])
    np.testing.assert_array_equal(known.sign[1:], [1.0, -1.0, 1.0])
    np.testing.assert_array_equal(
        known.permitted(np.array([True, False, True, False])), [True, False, False, True]
    )


def test_a_class_against_the_rest():
    costs = -np.log(np.array([[1.0, 1.0, 1.0], [1.0, 0.5, 0.5], [1.0, 1e-300, 1e-300]]))
    found = _evidence_against_rest(costs, 0)
    np.testing.assert_allclose(found[:2], [0.0, -np.log(2.0)], atol=1e-15)
    one = np.array([[0.0, np.inf, np.inf], [np.inf, 0.0, 0.0], [0.0, 0.0, np.inf]])
    np.testing.assert_array_equal(_evidence_against_rest(one, 0)[:2], [-np.inf, np.inf])


@pytest.mark.parametrize("kind", MACHINES)
def test_rows_of_weight_two_are_two_rows(kind):
    X, _, labels, q = problem(2, n=40)
    weight = np.where(np.arange(40) % 3, 1.0, 2.0)
    twice = np.repeat(np.arange(40), weight.astype(int))
    given = {"tol": 1e-9, "balance_tol": None} if kind is GradientTSVC else {"tol": 1e-9}
    weighed = fitted(kind, X, labels, q, weight, **given)
    repeated = fitted(kind, X[twice], labels[twice], q[twice], **given)
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=2e-3)


def test_the_posterior_keeps_the_shares_with_evidence():
    X, _, labels, q = problem(3)
    model = fitted(PosteriorRegularizedClassifier, X, labels, q, evidence_weight=1.0)
    soft = model.label_distribution_[labels == -1]
    np.testing.assert_allclose(soft.mean(axis=0), PRIOR[3], atol=0.02)
    # q ~ p e exp(nu): the ratio to p e is the same for all rows, up to a factor per row
    p = model.predict_proba(X[labels == -1]) * q[labels == -1]
    ratio = np.log(soft / p)
    np.testing.assert_allclose(np.ptp(ratio - ratio[:, :1], axis=0), 0.0, atol=1e-6)


def test_other_machines_take_it_too():
    X, y, labels, q = problem(2)
    given = {"reg": 0.01, "n_neighbors": 10, "evidence_weight": 2.0}
    scores = [fitted(LowDensitySeparation, X, labels, e, **given).score(X, y) for e in (None, q)]
    assert scores[1] > scores[0]
    with_it, without = (
        SemiSupervisedClassifier("posterior").fit(X, labels, evidence=e) for e in (q, None)
    )
    assert not np.array_equal(with_it.decision_function(X), without.decision_function(X))
    with pytest.raises(ValueError, match="takes no evidence"):
        SemiSupervisedClassifier("lapsvm").fit(X, labels, evidence=q)
