"""What must hold for any rows: the sum of distances falls, and the end is a fixed point."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from semisvm.maps.kmedian import cluster, distances, median, members

ROWS = st.tuples(st.integers(1, 25), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(float))
)
SMALL = 1e-9


@settings(max_examples=60)
@given(X=ROWS, k=st.integers(1, 6), n_fixed=st.integers(0, 3), thin=st.booleans())
def test_descent(X, k, n_fixed, thin):
    fixed = np.arange(min(n_fixed, len(X)))
    rows = sparse.csr_matrix(X) if thin else X
    found = cluster(rows, k, np.random.RandomState(0), fixed=fixed)
    assert found.converged
    assert np.all(np.diff(found.objectives) <= SMALL)
    assert len(found.centers) == len(fixed) + k
    lengths = distances(X, found.centers)
    np.testing.assert_allclose(found.distances, lengths.min(axis=1), atol=SMALL)
    own = lengths[np.arange(len(X)), found.labels]
    np.testing.assert_allclose(own, found.distances, atol=SMALL)
    for c, part in enumerate(members(found)):
        assert np.all(found.labels[part] == c)
        if c >= len(fixed) and len(part):
            np.testing.assert_allclose(found.centers[c], median(X[part]))
    if len(fixed) == 0:
        # clusters are empty only where rows run out
        distinct = len(np.unique(X, axis=0))
        assert np.count_nonzero(found.sizes()) >= min(k, distinct)
