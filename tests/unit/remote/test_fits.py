"""A fit to rows in chunks is that of one process."""

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC

METHODS = [NewtonSVC, TransductiveSVC, AnnealedSVC]
CHUNKS = (130, 1, 569, 200)


def blobs(m=2, n=900, d=8, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, m, n)
    X = 2.2 * rng.standard_normal((m, d))[y] + rng.standard_normal((n, d))
    X[np.abs(X) < 0.3] = 0.0
    labels = np.full(n, -1)
    known = rng.choice(n, 8 * m, replace=False)
    labels[known] = y[known]
    return X, labels, y


def in_chunks(X, thin=False):
    found = da.from_array(X, chunks=(CHUNKS, -1))
    return found.map_blocks(sparse.csr_matrix) if thin else found


def check_same(here, there):
    assert there.objective_ == pytest.approx(here.objective_, rel=1e-9)
    np.testing.assert_allclose(there.coef_, here.coef_, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(there.class_prior_, here.class_prior_)
    assert isinstance(there.transduction_, da.Array)
    assert there.transduction_.chunks == (CHUNKS,)
    np.testing.assert_array_equal(there.transduction_.compute(), here.transduction_)


class TestThreads:
    """Without a client, threads of this process."""

    @pytest.mark.parametrize("method", METHODS)
    @pytest.mark.parametrize("m", [2, 3])
    def test_fit(self, method, m):
        X, labels, _ = blobs(m)
        here = method(reg=1e-2).fit(X, labels)
        check_same(here, method(reg=1e-2).fit(in_chunks(X), labels))
