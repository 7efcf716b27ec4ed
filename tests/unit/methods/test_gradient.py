import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import approx_fprime
from sklearn.datasets import load_digits, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import normalize

from problems import hide, short_texts, sparse_text, two_blobs, two_class_task
from semisvm import GradientTSVC, NewtonSVC, TransductiveSVC
from semisvm.methods import Level
from semisvm.methods.gradient_descent import Descending, Outputs


def function_of(kind, lam=0.7):
    X, y = sparse_text(60, 20) if kind == "sparse" else two_blobs(60, 5)
    task = two_class_task(X, hide(y, 12), bias=0.6)
    method = Descending(task, np.zeros(task.n_weights - 1), 1)
    return Outputs(task, method.block, lam, method.mu, method.mean_output)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_gradient_by_finite_differences(kind):
    function = function_of(kind)
    v = 0.3 * np.random.default_rng(0).standard_normal(function.task.n_weights - 1)

    def value(v):
        return function.at(v, function.scores(v)).value

    point = function.at(v, function.scores(v))
    np.testing.assert_allclose(point.gradient, approx_fprime(v, value, 1e-7), atol=1e-5)
    step = np.random.default_rng(1).standard_normal(len(v))
    along = function.along(point, step, function.scores(step))
    for t in (0.0, 0.4, 1.3):
        there, slope = along(t)
        assert there == pytest.approx(value(v + t * step), rel=1e-12)
        rise = (along(t + 1e-6)[0] - along(t - 1e-6)[0]) / 2e-6
        assert slope == pytest.approx(rise, rel=1e-5)


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_the_mean_output_follows_the_prior_whatever_the_weights(kind):
    function = function_of(kind)
    block, design = function.block, function.block.design
    v = np.random.default_rng(0).standard_normal(design.n_weights - 1)
    w = function.weights(v, function.level)
    outputs = design.scores(w, design.all_rows, np.zeros(design.n_rows))
    assert outputs[block.unlabeled].mean() == pytest.approx(function.level, abs=1e-12)
    np.testing.assert_allclose(outputs, function.scores(v) + function.level, atol=1e-12)


def test_a_finished_fit_is_a_first_order_point_and_keeps_the_mean():
    X, y = two_blobs(200, 4, gap=3.0)
    labels = hide(y, 10)
    model = GradientTSVC(class_prior=[0.5, 0.5], balance_tol=None, tol=1e-10).fit(X, labels)
    free = labels == -1
    assert model.decision_function(X[free]).mean() == pytest.approx(0.0, abs=1e-9)
    assert model.trace_["gradient_norm"][-1] < 1e-5
    assert model.score(X[free], y[free]) > 0.95
    falls = [row["objective"] for row in model.trace_ if row["level"] == model.trace_[-1]["level"]]
    assert falls[-1] == pytest.approx(model.objective_)


def test_sparse_rows_and_dense_rows_agree():
    X, y = sparse_text(300, 200)
    labels = hide(y, 20)
    thin = GradientTSVC(class_prior=[0.5, 0.5], tol=1e-9).fit(X, labels)
    full = GradientTSVC(class_prior=[0.5, 0.5], tol=1e-9).fit(X.toarray(), labels)
    np.testing.assert_array_equal(thin.transduction_, full.transduction_)
    assert thin.objective_ == pytest.approx(full.objective_, rel=1e-6)


def test_it_gains_over_the_supervised_machine():
    X, y = make_moons(200, noise=0.05, random_state=0)
    labels = hide(y, 6)
    shared = {"kernel": "rbf", "gamma": 5.0, "reg": 1e-2}
    supervised = NewtonSVC(**shared).fit(X, labels).score(X, y)
    model = GradientTSVC(class_prior=[0.5, 0.5], **shared).fit(X, labels)
    assert model.score(X, y) > supervised + 0.02


def test_many_classes_are_one_against_the_rest():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    X = sparse.csr_matrix(3.0 * np.eye(4)[y] + 0.7 * rng.standard_normal((240, 4)))
    labels = hide(y, 8)
    model = GradientTSVC(1e-2, class_prior=np.full(4, 0.25)).fit(X, labels)
    assert model.coef_.shape == (4, 4)
    assert model.score(X, y) > 0.97
    again = GradientTSVC(1e-2, class_prior=np.full(4, 0.25), warm_start=True).fit(X, labels)
    levels = again.n_iter_
    assert again.fit(X, labels).n_iter_ < levels


def test_a_rare_class_keeps_its_share():
    X, y = two_blobs(400, 4, gap=2.5, positive=0.1)
    labels, free = hide(y, 30), slice(None)
    model = GradientTSVC(class_prior=[0.9, 0.1]).fit(X, labels)
    share = np.mean(model.predict(X)[free] == 1)
    assert 0.08 <= share <= 0.12


def solved(X, partly, reg=1e-3):
    """Return the function and the point of the last level, on a path like that of a fit."""
    method = Descending(two_class_task(X, partly, reg=reg), np.zeros(X.shape[1]), 500)
    for lam in 2.0 ** np.arange(-10, 1):
        method.weight_step(Level(lam, 1e-9, last=False))
    return method._solved


def test_outputs_without_the_own_push_are_those_of_a_fit_without_the_row():
    """Rows that share no column: only the own push and the mean bind them to the others."""
    n = 80
    partly = np.where(np.arange(n) < 20, np.arange(n) % 2, -1)
    X = sparse.csr_matrix(np.eye(n) * np.linspace(0.99, 1.01, n)[:, None])
    function, point = solved(X, partly)
    unseen = function.unseen(point.scores)[partly < 0]
    # the weights of a new row's own column are zero, so its output is the intercept
    intercept = function.weights(point.w, function.level)[-1] * function.block.design.bias
    np.testing.assert_allclose(unseen, intercept, atol=0.1 * np.abs(point.scores).max())
    seen = (point.scores + function.level)[partly < 0]
    assert np.abs(seen - intercept).min() > 0.3


@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_the_average_leverage_is_that_of_all_rows(kind):
    X, y = short_texts(300, 2000) if kind == "sparse" else two_blobs(300, 40, gap=1.0)
    function, point = solved(X, hide(y, 30), 1e-3 if kind == "sparse" else 0.1)
    free = function.block.unlabeled
    found = function._leverage(point.scores, np.ones(len(free)))
    rows = X.toarray() if kind == "sparse" else X
    rows = rows - rows[free].mean(axis=0)
    H = function.reg * np.eye(rows.shape[1])
    H += rows.T @ (function._curvature(point.scores)[:, None] * rows)
    k = np.einsum("ij,ji->i", rows[free], np.linalg.solve(H, rows[free].T))
    exact = np.mean(k / (1.0 - function._curvature(point.scores)[free] * k))
    # in d dimensions the standard error of one probe is at most sqrt(2 / d)
    assert found == pytest.approx(exact, rel=0.1 if kind == "sparse" else 0.5)


@pytest.mark.parametrize("seed", range(4))
def test_shares_of_short_texts_carry_over_to_new_rows(seed):
    """The intercept is chosen by outputs without what a row has pushed itself."""
    X, y = short_texts(1500, seed=seed)
    partly = np.where(np.arange(600) < 60, y[:600], -1)
    model = GradientTSVC().fit(X[:600], partly)
    shares = [model.predict(rows).mean() for rows in (X[60:600], X[600:])]
    assert abs(shares[0] - shares[1]) < 0.1
    wanted = model.class_prior_[1]
    # the labels keep the constraint, which binds the unlabelled rows alone
    rarer = min(wanted, 1.0 - wanted)
    assert abs(model.transduction_[60:].mean() - wanted) <= 0.1 * rarer + 1.0 / 540


@pytest.mark.parametrize(
    "wrong", [{"unlabeled_weight": -1}, {"annealing_rate": 1.0}, {"balance_tol": -1}, {"reg": 0}]
)
def test_parameters_that_make_no_sense(wrong):
    X, y = two_blobs(20)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        GradientTSVC(**wrong).fit(X, y)


def test_steps_are_limited():
    X, y = two_blobs(200, 4)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = GradientTSVC(max_iter=2, tol=1e-12).fit(X, hide(y, 10))
    assert model.trace_["newton_steps"].max() == 2


def many_rare_classes(m=15, n=900, d=300, seed=0):
    """Rows of length one of many classes, that differ in a few of many columns."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    X = rng.standard_normal((n, d)) + 1.6 * rng.standard_normal((m, d))[y] / np.sqrt(m)
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def test_classes_against_the_rest_are_not_pressed_together():
    """With a mean output of 2 r - 1 alone, the accuracy fell below the supervised one."""
    X, y = many_rare_classes()
    partly = hide(y, 45)
    free = partly < 0
    supervised = NewtonSVC().fit(X, partly).score(X[free], y[free])
    model = GradientTSVC(class_prior=np.full(15, 1.0 / 15.0)).fit(X, partly)
    assert model.score(X[free], y[free]) > supervised
    again = GradientTSVC(class_prior=np.full(15, 1.0 / 15.0), warm_start=True).fit(X, partly)
    assert again.fit(X, partly).score(X[free], y[free]) > supervised


def uneven_texts(n=600, d=800, seed=0):
    """Rows of weighted words of five classes, of which some are much larger than others."""
    rng = np.random.default_rng(seed)
    y = rng.choice(5, size=n, p=[0.45, 0.2, 0.15, 0.12, 0.08])
    words = 1.0 / np.arange(1, d + 1)
    words /= words.sum()
    own = [np.random.default_rng(100 + k).permutation(d) for k in range(5)]
    counts = np.array([rng.multinomial(25, 0.5 * words + 0.5 * words[own[k]]) for k in y])
    X = np.log1p(counts) * np.log(n / np.maximum(np.count_nonzero(counts, axis=0), 1))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


def test_uneven_classes_keep_their_rows():
    """Each class against the rest, from nothing, had 0.75 right."""
    X, y = uneven_texts()
    partly = hide(y, 20)
    free = partly < 0
    prior = np.bincount(y[free]) / free.sum()
    assigned = TransductiveSVC(class_prior=prior).fit(X, partly).score(X[free], y[free])
    model = GradientTSVC(class_prior=prior).fit(X, partly)
    assert model.score(X[free], y[free]) > max(assigned, 0.9) - 0.01


@pytest.mark.parametrize(("seed", "harmed"), [(0, False), (4, True)])
def test_notes_name_classes_that_lost_their_shares(seed, harmed):
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(y), 600, replace=False)
    X, y = normalize(X[rows]), y[rows]
    partly = np.full(len(y), -1)
    known = rng.choice(len(y), 40, replace=False)
    partly[known] = y[known]
    free = partly < 0
    model = GradientTSVC(class_prior=np.full(10, 0.1)).fit(X, partly)
    supervised = NewtonSVC().fit(X, partly)
    assert (model.score(X[free], y[free]) < supervised.score(X[free], y[free])) == harmed
    found = np.bincount(model.predict(X[free]), minlength=10) / free.sum()
    missed = 0.5 * np.abs(found - 0.1).sum()
    missed_shares = [note for note in model.trace_.notes if "miss the class shares" in note]
    assert len(missed_shares) == harmed
    assert not harmed or f"by {missed:.1%} of the unlabelled rows" in missed_shares[0]
