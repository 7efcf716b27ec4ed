"""Machines whose outputs are smooth on a graph."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel

import semisvm
from problems import charged_block, hide, short_texts, sparse_text, two_blobs
from semisvm import LaplacianRLSC, LaplacianSVC, NewtonSVC
from semisvm.designs import Workers, make_design
from semisvm.losses import SQUARED, SQUARED_HINGE
from semisvm.maps import (
    Roughness,
    fit_neighbors,
    neighbor_graph,
    neighbors,
    normalized_laplacian,
    similarities,
)
from semisvm.maps.graph_laplacian import LocalMap
from semisvm.solvers import State, minimize
from semisvm.tasks import graph
from semisvm.tasks.graph import GraphProblem, GraphTerm

BOTH = pytest.mark.parametrize("cls", [LaplacianSVC, LaplacianRLSC])


def laplacian(X, k=5):
    return normalized_laplacian(neighbor_graph(fit_neighbors(X, k)))


def problem(loss=SQUARED_HINGE, kind=np.asarray, n=60, n_labels=10, reg=1e-3, matrix=True):
    X, y = two_blobs(n, 5)
    L = laplacian(X)
    X = kind(X)
    design = make_design(X, 1.0, Workers())
    labels = hide(y, n_labels)
    index = np.flatnonzero(labels >= 0)
    share = 1.0 / len(index)
    costs = share * (labels == 1), share * (labels == 0)
    block = charged_block(design, loss.two, *costs, rows=index, labeled=index)
    term = GraphTerm.of(Roughness(L, 2, 0.3), X, 1.0)
    return GraphProblem(block, reg, None, term if matrix else GraphTerm(term.roughness, None))


def linearized(given, w):
    """The problem at weights, reached by a step from zero."""
    given.scores[...] = 0.0
    given.set_direction(w)
    return given.advance(w, 1.0, np.empty(given.n_weights))


def objective(given, w):
    return linearized(given, w).value + 0.5 * given.reg * w @ w


@pytest.mark.parametrize("loss", [SQUARED_HINGE, SQUARED])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_derivatives_against_differences(loss, kind):
    given = problem(loss, kind)
    rng = np.random.default_rng(0)
    w, step = 0.3 * rng.standard_normal((2, given.n_weights))
    gradient = linearized(given, w).gradient
    bend = given.product(step, np.empty(given.n_weights))
    given.set_direction(step)
    [[first, second]] = given.along((0.5,))
    h = 1e-6
    for j in range(given.n_weights):
        e = h * np.eye(given.n_weights)[j]
        slope = (objective(given, w + e) - objective(given, w - e)) / (2 * h)
        assert gradient[j] == pytest.approx(slope, abs=1e-7)
    up, down = (linearized(given, w + (0.5 + t) * step).value for t in (h, -h))
    assert first == pytest.approx((up - down) / (2 * h), abs=1e-7)
    up, down = (linearized(given, w + t * step).gradient for t in (h, -h))
    wanted = (up - down) / (2 * h) - given.reg * step
    np.testing.assert_allclose(bend, wanted, atol=1e-6)
    assert second > 0


def test_intercept_cannot_be_played_against_the_degrees():
    """Functions that are smooth for L grow with the degree; a free constant would undo that."""
    X = np.array([[0.0], [0.1], [1.0], [1.1]])
    for cls in (LaplacianSVC, LaplacianRLSC):
        model = cls(n_neighbors=50).fit(X, [0, -1, 1, -1])
        assert model.transduction_.tolist() == [0, 0, 1, 1]
        assert abs(model.intercept_[0]) < 1.0


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_factor_and_conjugate_gradients_agree(kind):
    given = problem(kind=kind, reg=1e-4)
    assert given.term.matrix is not None
    without = problem(kind=kind, reg=1e-4, matrix=False)
    direct, slow = (
        minimize(each, State(np.zeros(each.n_weights)), tol=1e-12) for each in (given, without)
    )
    assert direct.converged
    assert slow.converged
    np.testing.assert_allclose(slow.w, direct.w, atol=1e-6)
    assert direct.cg_steps < slow.cg_steps


def test_matrices_are_held_where_they_are_small(monkeypatch):
    X, _ = two_blobs(40, 5)
    form = Roughness(laplacian(X), 1, 1.0)
    whole = np.column_stack([X, np.full(40, 2.0)])
    wanted = whole.T @ form.laplacian @ whole
    for kind in (np.asarray, sparse.csr_matrix):
        np.testing.assert_allclose(GraphTerm.of(form, kind(X), 2.0).matrix, wanted, atol=1e-12)
    assert GraphTerm.of(form, sparse.eye_array(40, format="csr"), 2.0).matrix is None
    monkeypatch.setattr(graph, "FEW_COLUMNS", 4)
    assert GraphTerm.of(form, X, 2.0).matrix is None


@pytest.mark.parametrize("power", [1, 2])
def test_least_squares_in_closed_form(power):
    """The deformed kernel of Sindhwani, Niyogi and Belkin, with a dense inverse."""
    X, y = make_moons(80, noise=0.1, random_state=0)
    labels, reg, weight = hide(y, 8), 1e-3, 2.0
    settings = {"kernel": "rbf", "gamma": 2.0, "kernel_tol": 1e-14, "tol": 1e-12}
    model = LaplacianRLSC(reg, manifold_weight=weight, power=power, **settings).fit(X, labels)
    n, given = len(X), np.flatnonzero(labels >= 0)
    L = np.linalg.matrix_power(laplacian(X).toarray(), power)
    # the intercept is a constant feature beside the kernel
    K = rbf_kernel(X, gamma=2.0) + 1.0
    deformed = K @ np.linalg.inv(np.eye(n) + weight / (reg * n) * L @ K)
    gram = deformed[np.ix_(given, given)]
    signs = np.where(labels[given] == 1, 1.0, -1.0)
    alpha = np.linalg.solve(gram + len(given) * reg * np.eye(len(given)), signs)
    wanted = deformed[:, given] @ alpha
    np.testing.assert_allclose(model.decision_function(X), wanted, atol=1e-5)


@BOTH
@pytest.mark.parametrize("kernel", ["rbf", "linear", "neighbors"])
def test_first_order_conditions_of_a_fit(cls, kernel):
    X, y = two_blobs(90, 4)
    labels = hide(y, 12)
    model = cls(1e-3, manifold_weight=1.0, kernel=kernel, tol=1e-10).fit(X, labels)
    Z = X if model.kernel_map_ is None else model.kernel_map_.transform(X)
    Z = Z.toarray() if sparse.issparse(Z) else Z
    w, b, f = model.coef_[0], model.intercept_[0], model.decision_function(X)
    if kernel == "neighbors":
        # the intercept is published as new rows need it, see LocalMap.extended
        b *= (1.0 + 1e-3 * len(X)) / (1e-3 * len(X))
        Z, w = Z[:, : len(X)], f - b
    given = labels >= 0
    signs = np.where(labels[given] == 1, 1.0, -1.0)
    below = 1.0 - signs * f[given]
    if cls is LaplacianSVC:
        below = np.maximum(below, 0.0)
    slope = -signs * below / given.sum()
    L = laplacian(X)
    smooth = L @ (L @ f) / len(X)
    gradient = 1e-3 * w + Z[given].T @ slope + Z.T @ smooth
    scale = np.abs(Z[given].T @ slope).max()
    assert np.abs(gradient).max() < 1e-4 * scale
    assert abs(1e-3 * b + slope.sum() + smooth.sum()) < 1e-4 * scale
    value = 5e-4 * (w @ w + b * b) + 0.5 * np.mean(below**2) + 0.5 * f @ smooth
    assert model.objective_ == pytest.approx(value, rel=1e-6)


@BOTH
def test_without_the_graph_it_is_the_supervised_machine(cls):
    X, y = two_blobs(80, 4)
    labels = hide(y, 20)
    loss = "squared_hinge" if cls is LaplacianSVC else "squared"
    alone = cls(1e-2, manifold_weight=0.0, kernel="linear", tol=1e-12).fit(X, labels)
    peer = NewtonSVC(1e-2, loss=loss, tol=1e-12).fit(X, labels)
    np.testing.assert_allclose(alone.coef_, peer.coef_, atol=1e-6)


@BOTH
@pytest.mark.parametrize("kernel", ["rbf", "neighbors"])
def test_moons_and_new_rows(cls, kernel):
    X, y = make_moons(300, noise=0.06, random_state=3)
    new, truth = make_moons(100, noise=0.06, random_state=4)
    model = cls(kernel=kernel, gamma=5.0, power=1).fit(X, hide(y, 6))
    assert np.mean(model.transduction_ == y) > 0.97
    assert model.score(new, truth) > 0.95
    scores = model.decision_function(X)
    np.testing.assert_array_equal(model.transduction_, (scores > 0).astype(int))


@BOTH
@pytest.mark.parametrize("kernel", ["rbf", "linear", "neighbors"])
def test_sparse_and_dense_rows_agree(cls, kernel):
    X, y = sparse_text(120, 60)
    labels = hide(y, 12)
    settings = {"reg": 1e-3, "kernel": kernel, "tol": 1e-10}
    thin, full = cls(**settings).fit(X, labels), cls(**settings).fit(X.toarray(), labels)
    a, b = thin.decision_function(X), full.decision_function(X.toarray())
    np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "neighbors"])
def test_order_of_rows_does_not_matter(kernel):
    X, y = make_moons(120, noise=0.1, random_state=0)
    labels = hide(y, 6)
    order = np.random.default_rng(0).permutation(120)
    settings = {"reg": 1e-3, "kernel": kernel, "kernel_tol": 1e-12, "tol": 1e-10}
    first = LaplacianSVC(**settings).fit(X, labels).decision_function(X)
    other = LaplacianSVC(**settings).fit(X[order], labels[order]).decision_function(X)
    np.testing.assert_allclose(first, other, atol=1e-3)


@BOTH
@pytest.mark.parametrize("kernel", ["rbf", "neighbors"])
def test_duplicates_parts_without_edges_and_few_rows(cls, kernel):
    X, y = two_blobs(30, 3)
    twice, labels = np.repeat(X, 3, axis=0), np.repeat(hide(y, 8), 3)
    assert np.isfinite(cls(kernel=kernel).fit(twice, labels).coef_).all()
    apart = np.vstack([X, X + 1e4])
    model = cls(kernel=kernel).fit(apart, np.concatenate([hide(y, 8), np.full(30, -1)]))
    assert np.isfinite(model.decision_function(apart)).all()
    few = cls(kernel=kernel, n_neighbors=50).fit([[0.0], [0.1], [1.0], [1.1]], [0, -1, 1, -1])
    assert few.transduction_.tolist() == [0, 0, 1, 1]


@BOTH
def test_names_and_many_classes(cls, tmp_path):
    rng = np.random.default_rng(0)
    names = np.array(["a", "b", "c"])
    y = np.arange(90) % 3
    X = 3.0 * np.eye(3)[y] + 0.4 * rng.standard_normal((90, 3))
    labels = np.where(np.arange(90) < 9, names[y], None)
    for kernel in ("rbf", "neighbors"):
        model = cls(kernel=kernel).fit(X, labels)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert np.mean(model.predict(X) == names[y]) > 0.95
        assert model.decision_function(X).shape == (90, 3)
        semisvm.save(model, tmp_path / "m")
        again = semisvm.load(tmp_path / "m")
        np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


def test_precomputed_kernel_has_its_own_neighbours():
    X, y = make_moons(100, noise=0.05, random_state=0)
    labels = hide(y, 6)
    K = rbf_kernel(X, gamma=5.0)
    settings = {"kernel_tol": 1e-12}
    given = LaplacianSVC(kernel="precomputed", **settings).fit(K, labels)
    own = LaplacianSVC(kernel="rbf", gamma=5.0, **settings).fit(X, labels)
    assert np.mean(given.transduction_ == own.transduction_) > 0.98


def moons(n, seed):
    return make_moons(n, noise=0.12, random_state=seed)


def blobs(n, seed):
    return two_blobs(n, 20, seed=seed)


def texts(n, seed):
    return short_texts(n, seed=seed)


@pytest.mark.parametrize(
    ("data", "n", "settings", "correlation", "deviation"),
    [
        (moons, 300, {}, 0.99, 0.15),
        (moons, 300, {"power": 1}, 0.99, 0.15),
        (moons, 300, {"power": 3}, 0.97, 0.25),
        (moons, 300, {"reg": 1e-2, "manifold_weight": 1.0}, 0.99, 0.15),
        (blobs, 300, {}, 0.97, 0.3),
        (texts, 500, {}, 0.9, 0.45),
    ],
)
def test_new_rows_are_scored_like_unlabelled_rows_of_the_fit(
    data, n, settings, correlation, deviation
):
    n_new = 24  # each is a fit
    X, y = data(n + n_new, 5)
    labels = hide(y[:n], 60)
    model = LaplacianRLSC(**settings).fit(X[:n], labels)
    found = model.decision_function(X[n:])
    wanted = np.empty(n_new)
    for i in range(n_new):
        rows = [*range(n), n + i]
        again = LaplacianRLSC(**settings).fit(X[rows], np.append(labels, -1))
        wanted[i] = again.decision_function(X[rows])[-1]
    # rows that are neighbours of nearly all others move the outputs of the others as well
    usual = np.abs(wanted) <= np.quantile(np.abs(wanted), 0.95)
    found, wanted = found[usual], wanted[usual]
    assert np.corrcoef(found, wanted)[0, 1] > correlation
    assert np.sqrt(np.mean((found - wanted) ** 2)) < deviation * wanted.std()
    assert abs(np.mean(found - wanted)) < 0.15 * wanted.std()
    assert np.mean((found > 0) == (wanted > 0)) > 0.94


@BOTH
def test_new_short_texts_have_the_scale_of_the_unlabelled_ones(cls):
    X, y = short_texts(1200)
    model = cls().fit(X[:600], np.where(np.arange(600) < 60, y[:600], -1))
    scores, new = model.decision_function(X[60:600]), model.decision_function(X[600:])
    assert abs(new.mean() - scores.mean()) < 0.15 * scores.std()
    assert 0.7 < new.std() / scores.std() < 1.4
    assert abs(np.mean(new > 0) - np.mean(scores > 0)) < 0.08


def test_unlabelled_rows_of_the_fit_satisfy_the_equation_of_new_rows():
    X, y = two_blobs(80, 4)
    labels = hide(y, 10)
    settings = {"reg": 1e-2, "manifold_weight": 3.0, "power": 3, "tol": 1e-12}
    model = LaplacianSVC(**settings).fit(X, labels)
    L = laplacian(X)
    f, h, b = model.decision_function(X), model.coef_[0, 80:], model.intercept_[0]
    equation = (sparse.eye_array(80) - L) @ h + b
    np.testing.assert_allclose(f[labels < 0], equation[labels < 0], atol=1e-6)


def brute_features(X, new, k):
    """Features of new rows by the definition, one row and edge at a time."""
    directed = neighbor_graph(fit_neighbors(X, k)).toarray()
    reach, width = directed.max(axis=1), directed[directed > 0].mean()
    degrees = similarities(neighbor_graph(fit_neighbors(X, k))).toarray().sum(axis=1)
    features = np.zeros((len(new), 2 * len(X)))
    for i, x in enumerate(new):
        distances = np.linalg.norm(X - x, axis=1)
        edges = set(np.argsort(distances)[:k]) | set(np.flatnonzero(distances < reach))
        weights = {j: np.exp(-0.5 * (distances[j] / width) ** 2) for j in edges}
        for j, weight in weights.items():
            features[i, len(X) + j] = weight / np.sqrt(sum(weights.values()) * degrees[j])
    return features


@pytest.mark.parametrize("d", [3, 40])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_edges_of_new_rows_by_products_and_by_a_tree(monkeypatch, d, kind):
    X, new = two_blobs(70, d)[0], two_blobs(30, d, seed=1)[0]
    found = LocalMap.fit(kind(X), 4)
    wanted = brute_features(X, new, 4)
    np.testing.assert_allclose(found.transform(kind(new)).toarray(), wanted, atol=1e-9)
    for few in (5, 0):
        # pieces of a few rows; a tree for more than none
        monkeypatch.setattr(neighbors, "PAIRS", 7 * 70)
        monkeypatch.setattr(neighbors, "FEW", few)
        np.testing.assert_allclose(found.transform(kind(new)).toarray(), wanted, atol=1e-9)


def test_equally_near_rows_are_taken_by_number():
    X = np.eye(40)
    features = LocalMap.fit(X, 3).transform(np.zeros((1, 40))).toarray()
    # the empty row is nearer to all rows than these are to each other
    assert np.count_nonzero(features) == 40
    X = np.vstack([np.eye(40), 0.9 * np.eye(40)])
    features = LocalMap.fit(X, 1).transform(np.zeros((1, 40))).toarray()
    assert np.flatnonzero(features).tolist() == [80 + 40]


def test_rows_of_the_fit_have_their_own_outputs():
    X = two_blobs(50, 3, gap=1.0)[0]
    for move in (0.0, 1e5):
        found = LocalMap.fit(X + move, 4)
        features = found.transform(X + move).toarray()
        np.testing.assert_allclose(features, np.eye(50, 100), atol=1e-9)
    X = np.array([[0.0], [0.0], [1.0], [2.0]])
    features = LocalMap.fit(X, 3).transform(np.array([[0.0], [2.0]])).toarray()
    np.testing.assert_allclose(features[:, :4], [[0.5, 0.5, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]])
    assert not features[:, 4:].any()


@BOTH
def test_rows_far_from_all_others_follow_the_labelled_rows(cls):
    X, y = two_blobs(200, 2, gap=3.0)
    model = cls().fit(X, hide(y, 20))
    towards = X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0)
    towards /= np.linalg.norm(towards)
    scores = model.decision_function(np.array([-1e3, -30.0, 30.0, 1e3])[:, None] * towards)
    assert scores[:2].max() < -0.5
    assert scores[2:].min() > 0.5
    assert np.isfinite(model.decision_function(1e70 * towards[None])).all()


def test_models_of_before_there_was_a_graph_average_the_neighbours():
    X, _ = two_blobs(50, 3)
    found = LocalMap(fit_neighbors(X, 4), X)
    assert found.rank == 50
    np.testing.assert_allclose(found.transform(X).toarray(), found.features().toarray(), atol=1e-9)
    new = two_blobs(20, 3, seed=1)[0]
    features = found.transform(new).toarray()
    np.testing.assert_allclose(features.sum(axis=1), 1.0)
    distances = np.linalg.norm(new[:, None] - X, axis=2)
    for row, near in zip(features, distances, strict=True):
        nearest = np.argsort(near)[:4]
        wanted = 1.0 / near[nearest] ** 2
        np.testing.assert_allclose(row[nearest], wanted / wanted.sum(), rtol=1e-6)


def test_nothing_of_the_graph_is_left_after_a_fit():
    X, y = two_blobs(40, 3)
    model = LaplacianSVC().fit(X, hide(y, 6))
    assert "_term" not in vars(model)
    with pytest.raises(ValueError, match="Label at least one"):
        LaplacianSVC().fit(X, np.full(40, -1))


@pytest.mark.parametrize(
    "wrong",
    [
        {"reg": 0},
        {"reg": None},
        {"manifold_weight": -1},
        {"n_neighbors": 0},
        {"power": 0},
        {"power": 51},
    ],
)
def test_parameters_that_make_no_sense(wrong):
    X, y = two_blobs(20, 3)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        LaplacianSVC(**wrong).fit(X, y)


def test_the_matrix_of_a_badly_scaled_problem_takes_no_products(monkeypatch):
    calls, product = [], GraphProblem.product

    def counted(self, p, out):
        calls.append(1)
        return product(self, p, out)

    monkeypatch.setattr(GraphProblem, "product", counted)
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = (rng.normal(size=(120, 60)) + y[:, None] + 1e12) * 10.0 ** rng.uniform(-8, 8, 60)
    with pytest.warns(ConvergenceWarning):
        model = LaplacianSVC(kernel="linear").fit(X, np.where(np.arange(120) < 20, y, -1))
    assert len(calls) < 6_000
    assert model.objective_ < 0.45


@BOTH
def test_new_rows_whose_edges_are_endless(cls):
    # an outlier, and a new row as far from it: both degrees are the smallest positive number
    X = np.append(np.random.default_rng(0).random(400), 1e3)[:, None]
    y = np.where(np.arange(401) % 20 == 0, X[:, 0] > 0.5, -1)
    model = cls().fit(X, y)
    assert np.isfinite(model.decision_function([[2e3], [-1e3], [0.5]])).all()
