"""Recipes of the tables with many classes."""

import gzip
import json

import numpy as np
from papers.many import Draw, compare, draw, draw_evenly, without_annealing

from papers import newsgroups
from semisvm import NewtonSVC


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


def test_labels_are_drawn_evenly():
    X, y = three_blobs()
    y[:60] = 0  # more rows of one class
    rows = draw(X, y, 12, 60, 1, rule=draw_evenly)
    assert np.bincount(rows.y[:12]).tolist() == [4, 4, 4]
    assert len(rows.y) == 72
    assert len(rows.y_test) == 78
    again = np.sort(np.concatenate([rows.X, rows.X_test]), axis=0)
    np.testing.assert_array_equal(again, np.sort(X, axis=0))


def test_rows_of_texts_keep_their_length(tmp_path):
    texts = [f"From: someone\nSubject: {a}\n\n{b}" for a, b in (("Cars", "fast car"),) * 2]
    texts += ["From: someone\nSubject: Ice\n\ncold ice ice"] * 2
    labels = ["rec.autos", "rec.autos", "hockey", "hockey"]
    lines = [json.dumps({"text": t, "label": k}) for t, k in zip(texts, labels, strict=True)]
    (tmp_path / "20news").mkdir()
    with gzip.open(tmp_path / "20news" / "20news.jsonl.gz", "wt") as file:
        file.write("\n".join(lines))
    newsgroups.load_long.cache_clear()
    X, y = newsgroups.load_long(tmp_path)
    assert y.tolist() == [1, 1, 0, 0]
    assert X.shape == (4, 5), "cars, fast, car, ice, cold; no word of the other headers"
    assert np.all(np.sqrt(X.multiply(X).sum(axis=1)) > 1.5)
