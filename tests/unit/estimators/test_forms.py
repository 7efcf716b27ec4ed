"""The same rows, as CSR and as an array."""

import numpy as np
import pytest
from scipy import sparse

from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.designs.validation import by_density


def rows_with_zeros(density, n=200, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    X = 1.5 * np.eye(4, 60)[y] + rng.standard_normal((n, 60))
    X *= rng.random(X.shape) < density
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9), y


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("density", [0.1, 0.9])
@pytest.mark.parametrize("cls", [NewtonSVC, TransductiveSVC, AnnealedSVC])
def test_forms_agree_to_the_last_bit_with_the_margin_loss(cls, density):
    """Annealing ended up to 22% apart in the objective: rounding decided between minima."""
    X, y = rows_with_zeros(density)
    partly = np.where(np.arange(len(y)) < 20, y, -1)
    one, two = (cls(loss="crammer_singer").fit(form, partly) for form in (X, sparse.csr_array(X)))
    np.testing.assert_array_equal(one.coef_, two.coef_)
    np.testing.assert_array_equal(one.transduction_, two.transduction_)
    assert one.objective_ == two.objective_


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("density", "thin"), [(0.1, True), (0.9, False)])
def test_form_follows_from_the_entries(density, thin, dtype):
    X = rows_with_zeros(density)[0].astype(dtype)
    for given in (X, sparse.csr_matrix(X), sparse.csr_array(X)):
        found = by_density(given)
        assert sparse.issparse(found) == thin
        assert found.dtype == dtype
        np.testing.assert_array_equal(found.toarray() if thin else found, X)


def test_zeros_that_are_stored_do_not_count():
    X = sparse.csr_matrix(np.ones((4, 4)))
    X.data[:12] = 0.0
    assert sparse.issparse(by_density(X))


def test_rows_elsewhere_stay_as_they_are():
    elsewhere = object()
    assert by_density(elsewhere) is elsewhere
