"""Recipes of the tables with many classes."""

import numpy as np

from semisvm import NewtonSVC
from semisvm.reproduce.many import Draw, compare, without_annealing


def three_blobs(seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(150) % 3
    return rng.standard_normal((150, 3)) + 4.0 * np.eye(3)[y], y


def test_a_path_can_begin_at_its_end():
    X, y = three_blobs()
    labels = np.where(np.arange(150) < 12, y, -1)
    supervised = NewtonSVC().fit(X, labels)
    model = without_annealing(supervised, unlabeled_weight=1.0).fit(X, labels)
    # every level already has the full weight
    assert set(model.trace_["value"]) <= {1.0}
    assert model.score(X, y) > 0.95


def test_every_recipe_can_be_compared():
    X, y = three_blobs()
    rows = Draw(X[:100], y[:100], 12, X[100:], y[100:])
    names = ("supervised", "counts", "no annealing", "annealing", "DA")
    found = compare(rows, names)
    assert list(found) == list(names)
    assert min(found.values()) > 0.9
