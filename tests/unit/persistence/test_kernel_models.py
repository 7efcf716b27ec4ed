import numpy as np
import pytest
from scipy import sparse

from problems import hide, sparse_text, two_blobs
from semisvm import AnnealedSVC, GradientTSVC, LaplacianSVC, LowDensitySeparation, load, save
from semisvm.persistence import ModelFileError
from semisvm.persistence.map_states import map_state, restore_map


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize(
    "model",
    [
        GradientTSVC(kernel="rbf", n_components=30),
        AnnealedSVC(kernel="poly", degree=2),
        LowDensitySeparation(n_neighbors=8),
        LaplacianSVC(n_neighbors=6),
    ],
    ids=["rbf", "poly", "lds", "neighbors"],
)
def test_round_trip_bit_for_bit(model, kind, tmp_path):
    X, y = sparse_text(120, 60) if kind == "sparse" else two_blobs(120, 4)
    model.fit(X, hide(y, 12))
    save(model, tmp_path / "model")
    again = load(tmp_path / "model")
    new = X[::-1] if kind == "dense" else sparse.csr_matrix(X[::-1])
    np.testing.assert_array_equal(again.decision_function(new), model.decision_function(new))
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    between = 0.5 * (X[:60] + X[60:])
    np.testing.assert_array_equal(
        again.decision_function(between), model.decision_function(between)
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labeled": None}, "not complete"),
        ({"distances": None}, "not complete"),
        ({"distances": np.ones((40, 4)), "nearest": np.ones((40, 4), dtype=int)}, "neighbours"),
        ({"nearest": np.full((40, 5), 40)}, "within bounds"),
        ({"labeled": np.array([40])}, "within bounds"),
    ],
)
def test_damaged_graphs_are_refused(change, message):
    X, y = two_blobs(40, 3)
    state, arrays = map_state(LaplacianSVC().fit(X, hide(y, 8)).kernel_map_)
    arrays |= change
    arrays = {name: array for name, array in arrays.items() if array is not None}
    with pytest.raises(ModelFileError, match=message):
        restore_map(state, arrays, None)


def test_precomputed_kernels_are_saved_without_rows(tmp_path):
    X, y = two_blobs(60, 3)
    K = X @ X.T
    model = GradientTSVC(kernel="precomputed").fit(K, hide(y, 8))
    save(model, tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(K[:9]), model.predict(K[:9]))


def test_functions_are_refused(tmp_path):
    X, y = two_blobs(40, 3)
    model = GradientTSVC(kernel=np.dot).fit(X, hide(y, 8))
    with pytest.raises(ModelFileError, match=r"kernel=\.\.\."):
        save(model, tmp_path / "model")
    assert not (tmp_path / "model").exists()
