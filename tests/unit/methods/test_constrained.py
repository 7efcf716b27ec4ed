"""Maxent classifiers with class shares as constraints."""

import warnings

import numpy as np
import pytest
from scipy import optimize, sparse
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import scale

from problems import hide, sparse_text, two_blobs
from semisvm import (
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    NewtonSVC,
    PosteriorRegularizedClassifier,
)
from semisvm.designs import Workers, make_design
from semisvm.hierarchy import flat
from semisvm.label_steps import entropic
from semisvm.loop import Recorder
from semisvm.losses import LOG
from semisvm.losses.log import probabilities
from semisvm.methods.augmented_lagrangian import Subproblem, UnlabeledTerms
from semisvm.methods.projecting import Projection
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.partial_labels import prior_counts
from semisvm.solvers.lbfgs import Iterate, line_search, minimize_lbfgs

CONSTRAINED = [ExpectationConstrainedClassifier, EntropyRegularizedClassifier]
EVERY = [*CONSTRAINED, PosteriorRegularizedClassifier]


def blobs(m, n=160, d=5, seed=0):
    if m == 2:
        return two_blobs(n, d, seed=seed, positive=0.3)
    rng = np.random.default_rng(seed)
    y = rng.choice(m, n, p=np.arange(1, m + 1) / np.arange(1, m + 1).sum())
    X = rng.standard_normal((n, d))
    X[:, :2] += 2.5 * np.column_stack([np.cos(2 * np.pi * y / m), np.sin(2 * np.pi * y / m)])
    return X, y


@pytest.fixture(params=[2, 4])
def problem(request):
    X, y = blobs(request.param)
    partly = hide(y, 5 * request.param)
    free = partly == -1
    return X, partly, np.bincount(y[free]) / free.sum()


def central_differences(function, x, h=1e-6):
    out = np.empty(x.size)
    for k in range(x.size):
        step = np.zeros(x.size)
        step[k] = h
        ahead, behind = function(x + step.reshape(x.shape)), function(x - step.reshape(x.shape))
        out[k] = (ahead - behind) / (2 * h)
    return out.reshape(x.shape)


def mean_entropy(S):
    p = probabilities(S)
    return -np.sum(p * np.log(p)) / len(p)


@pytest.mark.parametrize("m", [2, 4])
def test_slopes_of_the_entropy(m):
    S = 2 * np.random.default_rng(0).standard_normal((6, m))
    terms = UnlabeledTerms(0.7, np.full(m, 1 / m), np.zeros(m), 0.0)
    entropy, constraint, slopes = terms.evaluate(S)
    assert entropy == pytest.approx(0.7 * mean_entropy(S), rel=1e-12)
    assert constraint == 0.0
    expected = central_differences(lambda Z: 0.7 * mean_entropy(Z), S)
    np.testing.assert_allclose(slopes, expected, atol=1e-9)


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("penalty", [0.0, 30.0])
def test_slopes_of_the_constraints(m, penalty):
    rng = np.random.default_rng(1)
    S, multipliers = 2 * rng.standard_normal((6, m)), rng.standard_normal(m)
    shares = np.arange(1, m + 1) / np.arange(1, m + 1).sum()

    def terms_of_c(Z):
        c = probabilities(Z).mean(axis=0) - shares
        return multipliers @ c + penalty / 2 * c @ c

    terms = UnlabeledTerms(0.0, shares, multipliers, penalty)
    entropy, constraint, slopes = terms.evaluate(S)
    assert entropy == 0.0
    assert constraint == pytest.approx(terms_of_c(S), rel=1e-12)
    np.testing.assert_allclose(slopes, central_differences(terms_of_c, S), atol=1e-8)


def task_of(m, workers, seed=0):
    X, y = blobs(m, 40, 3, seed)
    labels = hide(y, 3 * m)
    free = np.flatnonzero(labels == -1)
    given = np.flatnonzero(labels != -1)
    return ManyClassTask.of(
        make_design(X, 1.0, workers, True),
        given,
        free,
        labels[given],
        np.full(len(given), 1 / len(given)),
        counts=np.bincount(y[free], minlength=m),
        loss=LOG,
        hierarchy=flat(np.arange(m)),
        reg=1e-2,
        recorder=Recorder(),
    )


def subproblem(m, workers):
    task, multipliers = task_of(m, workers), np.linspace(-0.1, 0.1, m)
    shares = task.counts / task.n_unlabeled
    return Subproblem(task, UnlabeledTerms(0.3, shares, multipliers, 20.0))


@pytest.mark.parametrize("m", [2, 4])
def test_gradient_and_line_of_the_augmented_lagrangian(m):
    with Workers(1) as workers:
        function = subproblem(m, workers)
        rng = np.random.default_rng(2)
        w, step = rng.standard_normal((2, 4 * m))
        point = function.at(w, function.scores(w))

        def value(v):
            return function.at(v, function.scores(v)).value

        np.testing.assert_allclose(point.gradient, central_differences(value, w), atol=1e-7)
        along = function.along(point, step, function.scores(step))
        for t in (0.0, 0.3, 2.0):
            there = function.at(w + t * step, function.scores(w + t * step))
            wanted = (there.value, there.gradient @ step)
            np.testing.assert_allclose(along(t), wanted, rtol=1e-10)


@pytest.mark.parametrize("m", [2, 4])
def test_quasi_newton_finds_a_stationary_point(m):
    with Workers(1) as workers:
        function = subproblem(m, workers)
        start = np.zeros(4 * m)
        before = function.at(start, function.scores(start))
        point, steps = minimize_lbfgs(function, start, 1e-14)
        assert isinstance(point, Iterate)
        assert steps > 0
        assert point.value < before.value
        assert np.abs(point.gradient).max() < 1e-7


def test_line_search_of_a_function_that_is_not_convex():
    def along(t):
        return np.sin(t), np.cos(t)

    for start in (2.0, 3.0, 4.5):
        t = line_search(lambda t, s=start: along(s + t), *along(start))
        value, slope = along(start + t)
        assert t > 0
        assert value < np.sin(start)
        assert slope >= 0.9 * np.cos(start)
    assert line_search(along, *along(0.5)) == 0.0


@pytest.mark.parametrize("cls", EVERY)
def test_published_attributes(cls, problem):
    X, partly, prior = problem
    m, free = len(prior), partly == -1
    model = cls(reg=1e-2, class_prior=prior).fit(X, partly)
    assert model.coef_.shape == ((1, 5) if m == 2 else (m, 5))
    np.testing.assert_array_equal(model.transduction_[~free], partly[~free])
    distribution = model.label_distribution_
    np.testing.assert_array_equal(model.transduction_, distribution.argmax(axis=1))
    np.testing.assert_allclose(distribution.sum(axis=1), 1)
    p = model.predict_proba(X)
    assert p.shape == (len(X), m)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    if cls in CONSTRAINED:
        np.testing.assert_allclose(distribution[free], p[free], atol=1e-9)
        assert model.multipliers_.shape == (m,)
        assert model.multipliers_.sum() == pytest.approx(0, abs=1e-9)
    assert "loss" not in model.get_params()


@pytest.mark.parametrize("cls", CONSTRAINED)
@pytest.mark.parametrize("tol", [1e-4, 1e-6])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_shares_are_met_and_traced(cls, tol, fit_intercept, problem):
    X, partly, prior = problem
    model = cls(reg=1e-2, class_prior=prior, constraint_tol=tol, fit_intercept=fit_intercept)
    model.fit(X, partly)
    free = partly == -1
    wanted = prior_counts(model.class_prior_, free.sum()) / free.sum()
    residual = np.abs(model.predict_proba(X[free]).mean(axis=0) - wanted).max()
    assert residual <= tol
    traced = model.trace_["residual"]
    assert np.isfinite(traced).all()
    assert traced[0] > 1e-3
    assert traced[-1] == pytest.approx(residual, abs=1e-10)


def lagrangian_gradient(model, X, partly, lam):
    """Gradient of f + mu . c with respect to weights and intercepts, by another way."""
    free, m = partly == -1, len(model.classes_)
    A = np.column_stack([X, np.ones(len(X))])
    W = np.column_stack([model.node_coef_, model.node_intercept_]).T
    P = probabilities(A @ W)
    slopes = np.zeros_like(P)
    slopes[~free] = (P[~free] - np.eye(m)[partly[~free]]) / (~free).sum()
    for i in np.flatnonzero(free):
        jacobian = np.diag(P[i]) - np.outer(P[i], P[i])
        slopes[i] = jacobian @ (model.multipliers_ - lam * np.log(P[i])) / free.sum()
    return model.reg * W + A.T @ slopes


@pytest.mark.parametrize("cls", CONSTRAINED)
def test_first_order_conditions_of_the_lagrangian(cls, problem):
    X, partly, prior = problem
    lam = 0.0 if cls is ExpectationConstrainedClassifier else 1.0
    model = cls(reg=1e-2, class_prior=prior, tol=1e-11, constraint_tol=1e-7).fit(X, partly)
    assert np.abs(lagrangian_gradient(model, X, partly, lam)).max() < 1e-6
    assert np.abs(model.multipliers_).max() > 1e-4


def test_constraint_costs_no_more_than_it_must(problem):
    """A small step that keeps the shares cannot lower the objective (second order)."""
    X, partly, prior = problem
    options = {"class_prior": prior, "tol": 1e-11, "constraint_tol": 1e-8}
    model = ExpectationConstrainedClassifier(1e-2, **options).fit(X, partly)
    free, given = partly == -1, partly != -1
    A = np.column_stack([X, np.ones(len(X))])
    W = np.column_stack([model.node_coef_, model.node_intercept_]).T

    def lagrangian(V):
        P = probabilities(A @ V)
        fit = -np.log(P[given, partly[given]]).mean()
        c = P[free].mean(axis=0) - prior
        return fit + 5e-3 * np.sum(V**2) + model.multipliers_ @ c + 10 * c @ c

    rng = np.random.default_rng(0)
    here = lagrangian(W)
    for _ in range(50):
        assert lagrangian(W + 1e-3 * rng.standard_normal(W.shape)) > here


def test_entropy_makes_the_model_surer(problem):
    X, partly, prior = problem
    options = {"reg": 1e-2, "class_prior": prior}
    plain = ExpectationConstrainedClassifier(**options).fit(X, partly)
    sure = EntropyRegularizedClassifier(**options).fit(X, partly)
    free = partly == -1
    before, after = (mean_entropy(np.log(m.predict_proba(X[free]))) for m in (plain, sure))
    assert after < 0.7 * before
    fit = sure.objective_ - after
    assert 0 < fit < 1


def test_small_entropy_weight_is_the_expectation_constraint(problem):
    X, partly, prior = problem
    options = {"reg": 1e-2, "class_prior": prior, "tol": 1e-10, "constraint_tol": 1e-7}
    plain = ExpectationConstrainedClassifier(**options).fit(X, partly)
    nearly = EntropyRegularizedClassifier(unlabeled_weight=1e-6, **options).fit(X, partly)
    np.testing.assert_allclose(nearly.coef_, plain.coef_, atol=1e-3)


def test_posterior_objective_never_rises(problem):
    X, partly, prior = problem
    model = PosteriorRegularizedClassifier(1e-2, class_prior=prior).fit(X, partly)
    frame = model.trace_.to_frame().query("phase == 'projecting'")
    assert len(frame) > 2
    assert np.all(np.diff(frame["objective"]) <= 1e-12)
    assert model.objective_ == pytest.approx(frame["objective"].iloc[-1], rel=1e-12)
    assert np.isfinite(model.trace_["residual"]).all()
    assert np.all(frame["label_residual"] <= 1e-9)


def test_posterior_fixed_point(problem):
    """The soft labels keep the counts, are p with a factor a class, and fit the weights."""
    X, partly, prior = problem
    model = PosteriorRegularizedClassifier(1e-2, 0.7, class_prior=prior, tol=1e-12)
    model.fit(X, partly)
    free, m = partly == -1, len(prior)
    q = model.label_distribution_
    counts = prior_counts(model.class_prior_, free.sum())
    np.testing.assert_allclose(q[free].sum(axis=0), counts, atol=1e-9)
    p = model.predict_proba(X)
    factors = np.log(q[free] / p[free])
    factors -= factors[:, :1]
    np.testing.assert_allclose(factors, np.broadcast_to(factors[0], factors.shape), atol=1e-8)
    A = np.column_stack([X, np.ones(len(X))])
    W = np.column_stack([model.node_coef_, model.node_intercept_]).T
    cost = np.where(free, 0.7 / free.sum(), 1 / (~free).sum())
    gradient = 1e-2 * W + A.T @ (cost[:, None] * (p - q))
    assert np.abs(gradient).max() < 1e-6
    divergence = np.sum(q[free] * np.log(q[free] / p[free])) / free.sum()
    fit = -np.log(p[~free, partly[~free]]).mean()
    assert model.objective_ == pytest.approx(5e-3 * np.sum(W**2) + fit + 0.7 * divergence, rel=1e-9)
    assert m == q.shape[1]


def projection(m, workers, weight):
    task = task_of(m, workers)
    w, step = np.random.default_rng(3).standard_normal((2, 4 * m))
    task.rows.score(w)
    return Projection(task, weight), w, step


@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("weight", [0.7, 50.0])
def test_gradient_and_curvature_with_eliminated_soft_labels(m, weight):
    with Workers(1) as workers:
        problem, w, step = projection(m, workers, weight)

        def at(v):
            problem.rows.score(v)
            return problem.energy(v)

        def gradient(v):
            at(v)
            return problem.linearize(v).gradient

        expected = central_differences(at, w)
        here = gradient(w)
        np.testing.assert_allclose(here, expected, atol=1e-7 * weight)
        bend = (gradient(w + 1e-4 * step) - gradient(w - 1e-4 * step)) / 2e-4
        gradient(w)
        problem.curve()
        product = problem.product(step, np.empty_like(w)) + problem.reg * step
        np.testing.assert_allclose(product, bend, atol=1e-6 * weight)


@pytest.mark.parametrize("m", [2, 4])
def test_held_soft_labels_do_not_respond(m):
    with Workers(1) as workers:
        problem, w, step = projection(m, workers, 5.0)
        problem.linearize(w)
        problem.curve()
        responding = problem.product(step, np.empty_like(w))
        problem.hold(w)
        held = problem.product(step, np.empty_like(w))
        assert step @ held > step @ responding
        assert step @ held > 0


@pytest.mark.parametrize("weight", [0.3, 1.0])
def test_posterior_reaches_the_optimum_of_alternating_steps(problem, weight):
    """Fixed soft labels, then their weights, and again, is slow but reaches the same point."""
    X, partly, prior = problem
    options = {"class_prior": prior, "tol": 1e-10}
    model = PosteriorRegularizedClassifier(1e-2, weight, **options).fit(X, partly)
    free, codes = partly == -1, np.eye(len(prior))
    A = np.column_stack([X, np.ones(len(X))])
    cost = np.where(free, weight / free.sum(), 1 / (~free).sum())
    counts = prior_counts(model.class_prior_, free.sum())
    W = NewtonSVC(1e-2, loss="log", tol=1e-10).fit(X, partly)
    W = np.column_stack([W.node_coef_, W.node_intercept_]).T
    if len(prior) == 2:
        W = np.column_stack([-W[:, 0] / 2, W[:, 0] / 2])
    q = np.where(free[:, None], 0.0, codes[partly])

    def value(v):
        V = v.reshape(W.shape)
        costs = LOG.many.costs(A @ V)
        slopes = A.T @ (cost[:, None] * (np.exp(-costs) - q))
        return 5e-3 * v @ v + np.sum(cost[:, None] * q * costs), 1e-2 * v + slopes.ravel()

    for _ in range(40):
        q[free] = entropic(LOG.many.costs(A[free] @ W), counts, 1.0).beliefs
        W = optimize.minimize(value, W.ravel(), jac=True, method="L-BFGS-B").x.reshape(W.shape)
    # alternating steps approach the optimum from above
    rest = cost[free] @ np.sum(q[free] * np.log(q[free]), axis=1)
    slow = value(W.ravel())[0] + rest
    assert model.objective_ <= slow + 1e-9
    assert model.objective_ == pytest.approx(slow, rel=1e-4)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(-LOG.many.costs(A @ W)), atol=5e-3)


def test_posterior_converges_whatever_its_weight():
    X, y = load_breast_cancer(return_X_y=True)
    partly = np.full(len(y), -1)
    partly[::60] = y[::60]
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        for weight in (1.0, 0.1 * np.count_nonzero(partly == -1)):
            model = PosteriorRegularizedClassifier(1e-3, weight).fit(scale(X), partly)
            assert model.n_iter_ < 100


def test_posterior_nears_the_shares_with_its_weight(problem):
    X, partly, prior = problem
    residuals = [
        PosteriorRegularizedClassifier(1e-2, weight, class_prior=prior)
        .fit(X, partly)
        .trace_["residual"][-1]
        for weight in (0.1, 1.0, 10.0)
    ]
    assert residuals[0] > residuals[1] > residuals[2]


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("m", [2, 4])
def test_without_unlabelled_rows_it_is_supervised(cls, m):
    X, y = blobs(m)
    model = cls(1e-2, tol=1e-10).fit(X, y)
    peer = NewtonSVC(1e-2, loss="log").fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-3)
    assert any("no unlabelled rows" in note for note in model.trace_.notes)


@pytest.mark.parametrize("cls", EVERY)
def test_prior_as_a_dict_by_name(cls, problem):
    X, partly, prior = problem
    names = np.array(["a", "b", "c", "d"])[: len(prior)]
    target = np.array([None if code == -1 else names[code] for code in partly], dtype=object)
    by_name = dict(zip(names.tolist(), prior.tolist(), strict=True))
    model = cls(1e-2, class_prior=by_name).fit(X, target)
    plain = cls(1e-2, class_prior=prior).fit(X, partly)
    np.testing.assert_allclose(model.class_prior_, prior)
    np.testing.assert_allclose(model.coef_, plain.coef_)
    assert model.classes_.tolist() == names.tolist()


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("names", [["one", "two"], [3, 7], [0.0, 1.0], [False, True]])
def test_classes_of_every_kind(cls, names):
    X, y = two_blobs(60, 4)
    target = np.array(names)[y]
    model = cls().fit(X, target)
    assert model.classes_.dtype == target.dtype
    assert set(model.predict(X)) == set(target)


def test_posterior_with_a_large_weight_is_the_expectation_constraint(problem):
    X, partly, prior = problem
    limit = ExpectationConstrainedClassifier(1e-2, class_prior=prior).fit(X, partly)
    model = PosteriorRegularizedClassifier(1e-2, 30.0, class_prior=prior).fit(X, partly)
    # the constraint on q admits more than that on p
    assert model.objective_ < limit.objective_
    assert model.objective_ == pytest.approx(limit.objective_, rel=1e-2)
    np.testing.assert_allclose(model.predict_proba(X), limit.predict_proba(X), atol=0.03)


@pytest.mark.parametrize("cls", EVERY)
def test_containers_and_threads(cls, problem):
    X, partly, prior = problem
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    options = {"reg": 1e-2, "class_prior": prior, "tol": 1e-10}
    one = cls(**options).fit(X, partly)
    for other in (
        cls(**options).fit(sparse.csr_matrix(X), partly),
        cls(n_jobs=3, **options).fit(X, partly),
        cls(**options).fit(X.astype(np.float32), partly),
    ):
        np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-3)
        np.testing.assert_array_equal(other.transduction_, one.transduction_)


@pytest.mark.parametrize("cls", EVERY)
def test_warm_start_stays_where_it_is(cls, problem):
    X, partly, prior = problem
    model = cls(1e-2, class_prior=prior, warm_start=True).fit(X, partly)
    first, rounds = model.coef_, model.n_iter_
    model.fit(X, partly)
    assert model.n_iter_ <= rounds
    np.testing.assert_allclose(model.coef_, first, atol=1e-2 * np.abs(first).max())


@pytest.mark.parametrize("cls", CONSTRAINED)
def test_shares_out_of_reach_warn(cls):
    """Equal rows have equal probabilities, and without an intercept they are even."""
    X = np.array([[1.0], [-1.0], [0.0], [0.0], [0.0], [0.0]])
    partly = np.array([0, 1, -1, -1, -1, -1])
    model = cls(class_prior=[0.25, 0.75], fit_intercept=False)
    with pytest.warns(ConvergenceWarning, match="misses the class shares by 0.25"):
        model.fit(X, partly)
    assert any("misses the class shares" in note for note in model.trace_.notes)


@pytest.mark.parametrize("cls", EVERY)
def test_too_few_rounds_warn(cls, problem):
    X, partly, prior = problem
    with pytest.warns(ConvergenceWarning):
        cls(1e-2, class_prior=prior, max_iter=1).fit(X, partly)


@pytest.mark.parametrize("cls", EVERY)
def test_callback_stops_without_a_warning(cls, problem):
    X, partly, prior = problem
    model = cls(1e-2, class_prior=prior, callback=lambda row: row["phase"] != "supervised")
    model.fit(X, partly)
    assert len(model.trace_) == 2
    assert model.trace_.notes == ["stopped by the callback"]


@pytest.mark.parametrize(
    ("cls", "options", "message"),
    [
        (ExpectationConstrainedClassifier, {"constraint_tol": 0}, "constraint_tol"),
        (EntropyRegularizedClassifier, {"unlabeled_weight": -1}, "unlabeled_weight"),
        (EntropyRegularizedClassifier, {"annealing_rate": 1}, "annealing_rate"),
        (PosteriorRegularizedClassifier, {"kl_weight": -1}, "kl_weight"),
    ],
)
def test_bad_parameters(cls, options, message):
    X, y = two_blobs(20)
    with pytest.raises(ValueError, match=message):
        cls(**options).fit(X, y)


def test_class_without_unlabelled_rows():
    X, y = blobs(4)
    with pytest.warns(UserWarning, match="zero rows"):
        model = ExpectationConstrainedClassifier(
            1e-2, class_prior=[0.3, 0.3, 0.4, 0.0], constraint_tol=1e-3
        ).fit(X, hide(y, 20))
    assert model.trace_["residual"][-1] <= 1e-3


@pytest.mark.parametrize("seed", range(4))
def test_sparse_and_dense_rows_differ_by_the_tolerance(seed):
    X, y = sparse_text(60, 40, seed=seed)
    partly = hide(y, 12, seed)
    for tol, most in ((1e-5, 5e-4), (1e-9, 1e-4)):
        thin, full = (
            EntropyRegularizedClassifier(tol=tol, class_prior="labels").fit(rows, partly)
            for rows in (X, X.toarray())
        )
        np.testing.assert_allclose(full.predict_proba(X), thin.predict_proba(X), atol=most)


def penalised(model, X, partly, shares, lam):
    """Return the objective with the shares as a penalty, from its definition."""
    S = X @ model.node_coef_.T + model.node_intercept_
    known = partly != -1
    norm = np.sum(model.node_coef_**2) + np.sum(model.node_intercept_**2)
    fit = LOG.many.costs(S[known])[np.arange(known.sum()), partly[known]].mean()
    gap = probabilities(S[~known]).mean(axis=0) - shares
    penalty = 0.5 * model.constraint_weight * np.sum(gap**2)
    return 0.5 * model.reg * norm + fit + lam * mean_entropy(S[~known]) + penalty


@pytest.mark.parametrize("cls", CONSTRAINED)
def test_the_shares_may_be_wanted_only(cls, problem):
    X, partly, shares = problem
    wanted = prior_counts(shares[::-1], int(np.sum(partly == -1))) / np.sum(partly == -1)
    lam = 1.0 if cls is EntropyRegularizedClassifier else 0.0
    missed = []
    for weight in (0.0, 1.0, 100.0):
        model = cls(reg=0.01, class_prior=shares[::-1], constraint_weight=weight, tol=1e-8)
        model.fit(X, partly)
        assert model.objective_ == pytest.approx(penalised(model, X, partly, wanted, lam), rel=1e-9)
        mean = model.predict_proba(X[partly == -1]).mean(axis=0)
        missed.append(np.abs(mean - wanted).max())
        np.testing.assert_array_equal(model.multipliers_, 0.0)
    assert missed[0] > missed[1] > missed[2] > 1e-3


def test_without_entropy_and_shares_it_is_maxent(problem):
    X, partly, shares = problem
    free = ExpectationConstrainedClassifier(
        reg=0.01, class_prior=shares[::-1], constraint_weight=0.0, tol=1e-10
    ).fit(X, partly)
    peer = NewtonSVC(reg=0.01, loss="log", tol=1e-10).fit(X, partly)
    np.testing.assert_allclose(free.decision_function(X), peer.decision_function(X), atol=1e-3)
