"""k-median against all partitions of tiny data, and against another clusterer."""

from functools import cache
from itertools import product

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from semisvm import KMedian


def tiny(seed):
    return np.round(np.random.default_rng(seed).standard_normal((7, 2)), 1)


@cache
def best_sum(seed, k):
    """Try every partition; the best centre of a part is its median."""
    X = tiny(seed)
    return min(
        sum(np.abs(X[part == c] - np.median(X[part == c], axis=0)).sum() for c in set(part))
        for part in map(np.array, product(range(k), repeat=len(X)))
    )


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_brute_force(kind):
    """A descent may end beside the best partition, never below it, and rarely far above."""
    excess = []
    for seed in range(10):
        X = tiny(seed)
        for k in (1, 2, 3):
            found = KMedian(k, n_init=30, random_state=0).fit(kind(X))
            excess.append(found.inertia_ / best_sum(seed, k) - 1.0)
    assert min(excess) > -1e-12
    assert max(excess) < 0.05
    assert np.mean(np.array(excess) < 1e-12) >= 0.9


@pytest.mark.parametrize("name", ["pima", "housing"])
def test_medians_beat_means_in_the_1_norm(name, dataset):
    X, _ = dataset(name)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    means = KMeans(20, n_init=3, random_state=0).fit(X).cluster_centers_
    of_means = np.abs(X[:, None] - means).sum(axis=2).min(axis=1).sum()
    assert KMedian(20, random_state=0).fit(X).inertia_ < 0.98 * of_means
