import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from problems import hide, two_blobs
from semisvm import (
    ClusterKernelSVC,
    LaplacianSVC,
    LowDensitySeparation,
    NewtonSVC,
    RobustLPC,
    TransductiveSVC,
)
from semisvm.designs import Workers
from semisvm.maps import fit_map, fit_neighbors, make_kernel, neighbor_graph, pivoted_cholesky
from semisvm.maps.distances import centre_of, moved, squared_distances
from semisvm.maps.kernels import mean_distance, width

KINDS = pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csr_array])


def points(n=60, d=5, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


@KINDS
@pytest.mark.parametrize("shift", [0.0, 30.0, 1e4, 1e7, 1e8])
@pytest.mark.parametrize("size", [1.0, 1e4, 1e8])
def test_gaussian_is_exact_wherever_the_rows_are(kind, shift, size):
    X = size * points() + shift
    X[7] = X[3]
    for gamma in (0.1, 0.1 / size**2, 1e300):
        known = make_kernel("rbf", X, gamma=gamma)
        values = known.columns(kind(X), kind(X[:9]), np.arange(9))
        with np.errstate(over="ignore"):
            expected = np.exp(-gamma * cdist(X, X[:9], "sqeuclidean"))
        np.testing.assert_allclose(values, expected, atol=3e-12)


@KINDS
def test_distances_of_clusters_far_from_each_other(kind):
    X = points(40, 6)
    X[20:] += 1e7
    X[:, 4] = np.where(X[:, 4] > 0.5, X[:, 4], 0.0)
    found = squared_distances(kind(X), kind(X), tol=1e-12)
    np.testing.assert_allclose(found, cdist(X, X, "sqeuclidean"), rtol=1e-12, atol=1e-12)


def test_pairs_are_subtracted_a_part_at_a_time(monkeypatch):
    X = 1e6 * points(30)
    expected = squared_distances(X, X, tol=1e-12)
    monkeypatch.setattr("semisvm.maps.distances.ENTRIES", 35)
    np.testing.assert_array_equal(squared_distances(X, X, tol=1e-12), expected)


def test_rows_near_the_origin_are_left_where_they_are():
    X = points()
    assert centre_of(X) is None
    assert centre_of(sparse.csr_matrix(X)) is None
    np.testing.assert_allclose(centre_of(X + 1e5), X.mean(axis=0) + 1e5)


def test_sparse_rows_stay_sparse():
    X = points(50, 6)
    X[:, 2:] *= np.random.default_rng(1).random((50, 4)) < 0.3
    X[:, 0] += 1e6
    thin = sparse.csr_matrix(X)
    centre = centre_of(thin)
    assert np.flatnonzero(centre).tolist() == [0, 1]
    assert moved(thin, centre).nnz <= thin.nnz
    np.testing.assert_allclose(moved(thin, centre).toarray(), X - centre)
    new = sparse.csr_matrix((3, 6))
    np.testing.assert_array_equal(moved(new, centre).toarray(), np.tile(-centre, (3, 1)))


@KINDS
def test_width_and_neighbours_do_not_depend_on_the_place(kind):
    # more columns than a tree of scikit-learn would take
    X = points(80, 20)
    far = kind(X + 1e7)
    assert mean_distance(far) == pytest.approx(mean_distance(X), rel=1e-7)
    shifts = np.where(np.arange(20) % 2, 1e6, 1e6 + 1)
    spread = float((X + shifts).var())
    assert width("scale", kind(X + shifts)) == pytest.approx(1.0 / (20 * spread), rel=1e-8)
    near, there = fit_neighbors(X, 5), fit_neighbors(far, 5)
    distances, index = near.kneighbors(X)
    found = there.kneighbors(far)
    np.testing.assert_array_equal(found[1], index)
    np.testing.assert_allclose(found[0], distances, atol=1e-6)
    graphs = [neighbor_graph(one).toarray() for one in (near, there)]
    np.testing.assert_allclose(*graphs, atol=1e-6)


@KINDS
@pytest.mark.parametrize(
    "model",
    [
        NewtonSVC(kernel="rbf"),
        TransductiveSVC(kernel="rbf", gamma="mean_distance"),
        ClusterKernelSVC(random_state=0, n_runs=5),
        LaplacianSVC(),
        LowDensitySeparation(),
    ],
    ids=lambda model: type(model).__name__,
)
def test_models_of_distances_are_the_same_far_from_the_origin(model, kind):
    X, y = two_blobs(60, 20, gap=5.0)
    gamma = {"gamma": 0.01} if getattr(model, "gamma", None) == "scale" else {}
    model.set_params(**gamma)
    expected = model.fit(kind(X), hide(y, 10)).decision_function(kind(X))
    for shift in (1e5, 1e7, 1e8):
        far = kind(X + shift)
        found = model.fit(far, hide(y, 10)).decision_function(far)
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())


def stuck(K, diagonal):
    """Factorise with entries that the diagonal does not fit, and end what does not end."""
    calls = []

    def entries(rows, columns):
        calls.append(1)
        assert len(calls) < 10 * len(K), "the factorisation does not end"
        return K[rows][:, columns]

    return pivoted_cholesky(diagonal, entries, tol=0.0, max_rank=len(K), workers=Workers())


@pytest.mark.parametrize("share", [0.0, 1e-9, 0.05, 0.5])
def test_every_block_has_a_pivot_whatever_the_entries(share):
    factor = stuck(share * np.eye(150), np.ones(150))
    assert len(set(factor.pivots.tolist())) == len(factor.pivots) == 150


@KINDS
@pytest.mark.parametrize(("size", "gamma"), [(1e8, 1.0), (1.0, 1e300), (1e60, 1.0)])
def test_rows_that_are_alike_to_themselves_only(kind, size, gamma):
    X, y = two_blobs(20, 3)
    rows = kind(size * X)
    model = NewtonSVC(kernel="rbf", gamma=gamma).fit(rows, y)
    assert model.kernel_map_.rank == 20
    assert model.score(rows, y) == 1.0
    assert np.isfinite(model.decision_function(kind(size * X + size))).all()


def test_a_kernel_with_values_out_of_range_is_refused():
    X, y = two_blobs(20, 3)
    with pytest.raises(ValueError, match=r"row \d+ with itself is .*Use a smaller degree"):
        NewtonSVC(kernel="poly", gamma=1.0).fit(1e60 * X, y)
    model = NewtonSVC(kernel="poly", gamma=1.0, degree=9).fit(X, y)
    X[5] *= 1e70
    with pytest.raises(ValueError, match=r"too large .* row 5"):
        model.predict(X)
    with pytest.raises(ValueError, match="not finite"):
        fit_map(X, lambda a, b: float(np.where(a is b, 1.0, np.nan)))


@pytest.mark.parametrize("cls", [RobustLPC, NewtonSVC])
def test_a_kernel_without_values_is_refused(cls):
    y = np.arange(20) % 2
    with pytest.raises(ValueError, match="the kernel is zero for every row"):
        cls(kernel="cosine").fit(np.zeros((20, 3)), y)
