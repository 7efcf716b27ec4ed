"""Rows that stand for clusters."""

import numpy as np

from semisvm.labelling.policy import FEW_COLUMNS, Centres


def blobs(n_columns, n=60):
    """Return two clusters far apart; columns after the second are zero, and change no distance."""
    rng = np.random.default_rng(0)
    X = np.zeros((2 * n, n_columns))
    X[:, :2] = rng.normal(size=(2 * n, 2))
    X[n:, 0] += 30.0
    return X


def picks(n_columns, n_seeds=12):
    """Return how far from the middle of their cluster rows are, by rank from 0 to 1."""
    X, ranks = blobs(n_columns), []
    halves = np.arange(60), np.arange(60, 120)
    for seed in range(n_seeds):
        rows = Centres(X, seed).find(2, [])
        assert sorted(row // 60 for row in rows) == [0, 1]
        for row in rows:
            own = halves[row // 60]
            away = np.abs(X[own] - np.median(X[own], axis=0)).sum(axis=1)
            ranks.append(np.mean(away < away[row % 60]))
    return np.array(ranks)


def test_the_middle_of_clusters_in_many_columns_and_any_row_in_few():
    assert picks(FEW_COLUMNS + 1).max() < 0.1
    few = picks(FEW_COLUMNS)
    assert 0.3 < few.mean() < 0.7
    assert few.max() > 0.7


def test_answered_and_skipped_rows_are_not_chosen():
    X = blobs(30)
    centres = Centres(X, 0)
    first = centres.find(4, [])
    again = centres.find(10, first[:2], first[2:])
    assert len(again) == 10
    assert not set(again) & set(first)
    assert centres.find(5, range(120)) == []
