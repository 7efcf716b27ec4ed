from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import make_moons
from sklearn.metrics.pairwise import pairwise_distances, pairwise_kernels, rbf_kernel
from sklearn.svm import SVC

from problems import hide, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.designs import Workers
from semisvm.maps import cholesky, fit_map, make_kernel, pivoted_cholesky
from semisvm.maps.kernels import mean_distance, sample_by_content

KERNELS = ["linear", "rbf", "poly", "laplacian", "cosine"]
NEED_DENSE_ROWS = {"laplacian"}


def by_kind(kernels):
    """Pair kernels with the kinds of rows that they take."""
    pairs = product(kernels, (np.asarray, sparse.csr_matrix))
    return [(k, kind) for k, kind in pairs if kind is np.asarray or k not in NEED_DENSE_ROWS]


def points(n=60, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def matrix(X, found):
    return pairwise_kernels(X, metric=found.kernel.metric, **found.kernel.parameters)


@pytest.mark.parametrize("kernel", KERNELS)
def test_features_reproduce_the_kernel(kernel):
    X, new = points(), points(7, seed=1)
    found, features = fit_map(X, kernel, tol=1e-14)
    K = matrix(X, found)
    np.testing.assert_allclose(features @ features.T, K, atol=1e-9 * np.abs(K).max())
    np.testing.assert_allclose(found.transform(X), features, atol=1e-6)
    across = pairwise_kernels(new, X, metric=kernel, **found.kernel.parameters)
    np.testing.assert_allclose(
        found.transform(new) @ features.T, across, atol=1e-6 * np.abs(across).max()
    )


def test_a_function_is_a_kernel_too():
    X = points(20)
    found, features = fit_map(X, lambda a, b: float(a @ b) ** 2, tol=1e-13)
    np.testing.assert_allclose(features @ features.T, (X @ X.T) ** 2, atol=1e-8)
    assert found.rank == 15  # products of pairs of five columns


@given(
    n=st.integers(1, 150),
    rank=st.integers(1, 8),
    tol=st.sampled_from([1e-2, 1e-6, 1e-12]),
    seed=st.integers(0, 5),
)
@settings(max_examples=40)
def test_the_factor_leaves_no_more_than_its_bound(n, rank, tol, seed):
    A = np.random.default_rng(seed).standard_normal((n, rank))
    K = A @ A.T

    def entries(rows, columns):
        return K[rows][:, columns]

    factor = pivoted_cholesky(K.diagonal().copy(), entries, tol=tol, max_rank=n, workers=Workers())
    rest = K - factor.L @ factor.L.T
    assert np.trace(rest) <= (tol + 1e-10) * np.trace(K)
    assert factor.residual == pytest.approx(np.trace(rest) / np.trace(K), abs=1e-9)
    assert len(set(factor.pivots.tolist())) == len(factor.pivots) <= min(n, rank)
    np.testing.assert_allclose(rest[factor.pivots], 0.0, atol=1e-8 * np.abs(K).max())
    assert not np.triu(factor.L[factor.pivots], 1).any()


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_threads_give_the_same_factor(kernel, monkeypatch):
    monkeypatch.setattr(cholesky, "PART", 50)
    one, two = (fit_map(points(220), kernel, n_jobs=n_jobs)[1] for n_jobs in (1, 2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_rows_find_their_place_again_after_many_blocks(n_jobs, monkeypatch):
    """Blocks grow, the factor is made wider, and copies of pivots are put away on the way."""
    for name, value in {"BLOCK": 4, "LARGEST_BLOCK": 12, "AT_ONCE": 1, "PART": 50}.items():
        monkeypatch.setattr(cholesky, name, value)
    X = np.random.default_rng(0).permutation(np.repeat(points(120), 2, axis=0))
    found, features = fit_map(X, "rbf", tol=1e-12, n_jobs=n_jobs)
    assert found.rank <= 120
    np.testing.assert_allclose(features @ features.T, matrix(X, found), atol=1e-9)
    np.testing.assert_allclose(found.transform(X), features, atol=1e-6)
    assert not np.triu(features[found.pivots], 1).any()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])
def test_gaussian_is_that_of_scikit_learn(kind):
    X, chosen = points(30), points(4, seed=1)
    known = make_kernel("rbf", X, gamma=0.3)
    values = known.columns(kind(X), kind(chosen), np.arange(4))
    np.testing.assert_allclose(values, rbf_kernel(X, chosen, gamma=0.3), rtol=1e-13)
    assert known.columns(kind(X), kind(X[:5]), np.arange(5)).max() <= 1.0


@pytest.mark.parametrize(("kernel", "kind"), by_kind(KERNELS))
def test_single_precision_far_from_the_origin(kernel, kind):
    """Values are as exact as the data: rounded ones would not be a kernel matrix."""
    X = (points(200) + 30.0).astype(np.float32)
    found, features = fit_map(kind(X), kernel, tol=1e-10)
    K = matrix(X.astype(np.float64), found)
    np.testing.assert_allclose(features @ features.T, K, atol=1e-9 * np.trace(K))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
@pytest.mark.parametrize("fitted", [np.float32, np.float64])
@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_new_rows_may_have_another_precision(kind, fitted, kernel):
    X, y = two_blobs(60, 5)
    model = TransductiveSVC(kernel=kernel).fit(kind(X.astype(fitted)), hide(y, 4))
    scores = [model.decision_function(kind(X.astype(d))) for d in (np.float32, np.float64)]
    np.testing.assert_allclose(*scores, rtol=1e-4, atol=1e-5)


def test_pivots_are_as_good_as_greedy_ones():
    X, _ = make_moons(300, noise=0.05, random_state=0)
    K = pairwise_kernels(X, metric="rbf", gamma=2.0)
    left, L = K.diagonal().copy(), np.empty((300, 0))
    for _ in range(20):
        at = int(left.argmax())
        column = (K[:, at] - L @ L[at]) / np.sqrt(left[at])
        L = np.column_stack([L, column])
        left -= column**2
    found, _ = fit_map(X, "rbf", gamma=2.0, n_components=20, tol=0.0)
    assert found.rank == 20
    assert found.residual <= 3.0 * left.sum() / 300


def test_duplicates_lower_the_rank_and_nothing_else():
    X = points(30)
    once, _ = fit_map(X, "rbf", tol=1e-12)
    twice, features = fit_map(np.repeat(X, 3, axis=0), "rbf", gamma=0.2, tol=1e-12)
    assert once.rank == twice.rank == 30
    np.testing.assert_allclose(features[0], features[1], atol=1e-12)


def test_gamma_by_rules():
    X = points(50)
    distances = pairwise_distances(X)
    found, _ = fit_map(X, "rbf", gamma="mean_distance")
    width = distances.sum() / (50 * 49)
    assert found.kernel.parameters["gamma"] == pytest.approx(1 / (2 * width**2))
    found, _ = fit_map(sparse.csr_matrix(X), "rbf", gamma="scale")
    assert found.kernel.parameters["gamma"] == pytest.approx(1 / (5 * X.var()))


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_gamma_of_many_rows_does_not_depend_on_their_order(form):
    rng = np.random.default_rng(0)
    # half of the rows are equal, and the others far apart in two groups
    X = np.vstack([np.zeros((2_500, 3)), 1.0 + points(1_000, 3), 20.0 + points(1_500, 3, seed=1)])
    exact = pairwise_distances(X).sum() / (5_000 * 4_999)
    orders = (np.arange(5_000), np.argsort(X[:, 0]), np.argsort(-X[:, 1]), rng.permutation(5_000))
    found = {mean_distance(form(X[order])) for order in orders}
    assert len(found) == 1
    assert found.pop() == pytest.approx(exact, rel=0.03)


def test_the_sample_is_a_fair_one():
    X = np.sort(points(20_000, 1), axis=0)
    chosen = X[sample_by_content(X, 2_000)].ravel()
    assert len(np.unique(chosen)) == 2_000
    shares = [np.mean(chosen < limit) for limit in np.quantile(X, [0.1, 0.5, 0.9])]
    np.testing.assert_allclose(shares, [0.1, 0.5, 0.9], atol=4 * np.sqrt(0.25 / 2_000))
    # numbers beyond single precision, and rows of nothing but zeros
    hostile = np.zeros((3_000, 2))
    hostile[::2] = 1e60 * points(1_500, 2)
    assert np.isfinite(mean_distance(hostile))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"kernel": "gauss"}, "kernel must be one of"),
        ({"gamma": "wide"}, "gamma must be a number"),
        ({"gamma": -1.0}, "gamma must be a finite number > 0"),
        ({"n_components": 0}, "n_components must be a whole number"),
        ({"tol": -1.0}, "kernel_tol must be a finite number >= 0"),
        ({"kernel": "poly", "degree": 1.5}, "degree must be a whole number"),
    ],
)
def test_parameters_that_make_no_sense(change, words):
    with pytest.raises(ValueError, match=words):
        fit_map(points(), **({"kernel": "rbf"} | change))


def test_matrices_that_are_no_kernel():
    K = np.eye(4)
    K[0, 1] = 0.5
    with pytest.raises(ValueError, match=r"not symmetric: K\[0, 1\]"):
        fit_map(K, "precomputed")
    K[1, 0] = K[0, 1] = 2.0
    with pytest.raises(ValueError, match="not positive semi-definite"):
        fit_map(K, "precomputed")
    with pytest.raises(ValueError, match="square"):
        fit_map(K[:3], "precomputed")
    K[1, 0] = K[0, 1] = 0.0
    K[3, 3] = 0.0
    K[2, 3] = K[3, 2] = 0.3
    with pytest.raises(ValueError, match="not positive semi-definite"):
        fit_map(K, "precomputed")
    with pytest.raises(ValueError, match="laplacian"):
        fit_map(sparse.eye(3, format="csr"), "laplacian")


def kernel_objective(K, y, reg):
    """Objective of the kernel machine over its expansion, without intercept."""

    def value(beta):
        o = K @ beta
        below = np.maximum(1 - y * o, 0)
        slope = -y * below / len(y)
        return 0.5 * reg * beta @ o + 0.5 * np.mean(below**2), K @ (reg * beta + slope)

    return value


def test_newton_agrees_with_the_machine_in_the_space_of_the_kernel():
    X, y = two_blobs(80, 4, gap=1.0)
    model = NewtonSVC(
        reg=0.05, kernel="rbf", gamma=0.3, kernel_tol=1e-13, fit_intercept=False, tol=1e-13
    ).fit(X, y)
    K = pairwise_kernels(X, metric="rbf", gamma=0.3)
    peer = minimize(
        kernel_objective(K, 2.0 * y - 1, 0.05),
        np.zeros(80),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": 20_000, "ftol": 1e-15, "gtol": 1e-10, "maxfun": 50_000},
    )
    assert model.objective_ == pytest.approx(peer.fun, rel=1e-6)
    np.testing.assert_allclose(model.decision_function(X), K @ peer.x, atol=1e-3)


def test_accuracy_is_that_of_scikit_learn():
    X, y = make_moons(400, noise=0.1, random_state=0)
    ours = NewtonSVC(reg=1e-3, kernel="rbf", gamma=2.0).fit(X[:200], y[:200])
    theirs = SVC(C=1 / (200 * 1e-3), gamma=2.0).fit(X[:200], y[:200])
    assert ours.score(X[200:], y[200:]) >= theirs.score(X[200:], y[200:]) - 0.02
    assert ours.coef_.shape == (1, ours.kernel_map_.rank)


@pytest.mark.parametrize("estimator", [TransductiveSVC, AnnealedSVC])
def test_precomputed_sparse_and_plain_rows_agree(estimator):
    X, y = two_blobs(90, 4, gap=3.0)
    labels, prior = hide(y, 8), [0.5, 0.5]
    K = pairwise_kernels(X, metric="rbf", gamma=0.2)
    plain = estimator(kernel="rbf", gamma=0.2, class_prior=prior).fit(X, labels)
    thin = estimator(kernel="rbf", gamma=0.2, class_prior=prior).fit(sparse.csr_matrix(X), labels)
    given_K = estimator(kernel="precomputed", class_prior=prior).fit(K, labels)
    np.testing.assert_array_equal(plain.transduction_, given_K.transduction_)
    np.testing.assert_array_equal(plain.transduction_, thin.transduction_)
    np.testing.assert_allclose(plain.decision_function(X), given_K.decision_function(K), atol=1e-5)
    assert plain.score(X, y) > 0.9


def test_the_linear_kernel_is_the_linear_machine():
    X, y = two_blobs(100, 4)
    labels = hide(y, 10)
    plain = TransductiveSVC(class_prior=[0.5, 0.5]).fit(X, labels)
    mapped = TransductiveSVC(class_prior=[0.5, 0.5], kernel="precomputed", kernel_tol=1e-13)
    mapped.fit(X @ X.T, labels)
    assert plain.kernel_map_ is None
    assert mapped.objective_ == pytest.approx(plain.objective_, rel=1e-4)
    np.testing.assert_array_equal(mapped.transduction_, plain.transduction_)


def test_many_classes_with_a_kernel():
    rng = np.random.default_rng(0)
    y = np.arange(150) % 3
    angle = rng.uniform(0, 2 * np.pi, 150)
    X = (1 + 2 * y)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.1 * rng.standard_normal(X.shape)
    labels = hide(y, 12)
    model = AnnealedSVC(kernel="rbf", gamma=0.5, class_prior=np.full(3, 1 / 3)).fit(X, labels)
    linear = AnnealedSVC(class_prior=np.full(3, 1 / 3)).fit(X, labels)
    assert model.score(X, y) > linear.score(X, y) + 0.2


def test_nystroem_needs_fewer_features_and_predicts_the_same():
    X, y = two_blobs(300, 2, gap=3.0)
    labels = hide(y, 10)
    exact = TransductiveSVC(kernel="rbf", kernel_tol=1e-8).fit(X, labels)
    few = TransductiveSVC(kernel="rbf", n_components=25).fit(X, labels)
    assert few.kernel_map_.rank <= 25 < exact.kernel_map_.rank
    assert np.mean(few.predict(X) == exact.predict(X)) > 0.98


def test_warm_start_needs_the_same_features():
    X, y = two_blobs(60, 3)
    model = NewtonSVC(kernel="rbf", warm_start=True).fit(X, y)
    assert model.fit(X, y).n_iter_ <= 1
    with pytest.raises(ValueError, match="same rows and kernel"):
        model.fit(X[::-1], y[::-1])


@pytest.mark.parametrize(
    ("kernel", "form"), by_kind(["linear", "poly", "sigmoid", "laplacian", "cosine", "rbf"])
)
def test_values_are_those_of_scikit_learn(kernel, form):
    X = np.random.default_rng(0).standard_normal((30, 4))
    X[3] = 0.0
    found = make_kernel(kernel, form(X), gamma=0.3, degree=2, coef0=0.5)
    values = found.columns(form(X), form(X)[:5], np.arange(5))
    np.testing.assert_allclose(
        values, pairwise_kernels(X, X[:5], metric=kernel, **found.parameters), atol=1e-12
    )
    whole = found.columns(form(X), form(X), np.arange(30))
    np.testing.assert_allclose(found.diagonal(form(X)), np.diagonal(whole), atol=1e-12)
