"""Selections: the budget, what is labelled already, seeds, and what they are for."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from problems import sparse_text, two_blobs
from semisvm import AnnealedSVC, NewtonSVC
from semisvm.estimators.margins import margins
from semisvm.model_selection import KMedianSelection, MarginSelection, RandomSelection

SEEDED = pytest.mark.parametrize("kind", [KMedianSelection, RandomSelection])
EVERY = pytest.mark.parametrize(
    "selection",
    [KMedianSelection(random_state=0), RandomSelection(random_state=0), MarginSelection()],
    ids=lambda selection: type(selection).__name__,
)


def partly(y, rows):
    labels = np.full(len(y), -1)
    labels[rows] = y[rows]
    return labels


@EVERY
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_matrix])
def test_distinct_rows_without_label(selection, convert):
    X, y = two_blobs(60)
    labels = partly(y, np.arange(10))
    for n in (1, 7, 50):
        rows = selection.select(convert(X), n, labels)
        assert rows.shape == (n,)
        assert len(set(rows.tolist())) == n
        assert rows.min() >= 10
        np.testing.assert_array_equal(clone(selection).select(convert(X), n, labels), rows)


@EVERY
def test_mistakes(selection):
    X, y = two_blobs(20)
    labels = partly(y, np.arange(15))
    with pytest.raises(ValueError, match="6 rows were requested, but only 5 of the 20"):
        selection.select(X, 6, labels)
    with pytest.raises(ValueError, match="n must be a whole number >= 1"):
        selection.select(X, 0, labels)
    with pytest.raises(ValueError, match="X has 20 rows but y has 3"):
        selection.select(X, 1, labels[:3])
    with pytest.raises(ValueError, match="contains NaN: row 0"):
        selection.select(np.where(X[0, 0] == X, np.nan, X), 1, labels)


@EVERY
def test_other_markers(selection):
    X, y = two_blobs(20)
    names = np.array(["?", "yes", "no"])[partly(y, np.arange(8)) + 1]
    rows = clone(selection).set_params(unlabeled="?").select(X, 12, names)
    assert sorted(rows) == list(range(8, 20))


@SEEDED
def test_seeds(kind):
    X, _ = two_blobs(200)
    draws = {tuple(kind(random_state=seed).select(X, 5).tolist()) for seed in (0, 0, 1, 2)}
    assert len(draws) == 3


def islands(sizes=(40, 30, 20, 10), seed=0):
    """Clusters far apart, the largest first."""
    place = np.repeat(np.arange(len(sizes)), sizes)
    return place, 100.0 * np.eye(len(sizes))[place] + np.random.default_rng(seed).random(
        (len(place), len(sizes))
    )


def test_every_cluster_has_a_row_and_the_largest_comes_first():
    place, X = islands()
    selection = KMedianSelection(random_state=0)
    assert place[selection.select(X, 4)].tolist() == [0, 1, 2, 3]
    few = selection.set_params(n_clusters=4).select(X, 9)
    assert place[few].tolist() == [0, 1, 2, 3, 0, 1, 2, 3, 0]


def test_rows_are_nearest_to_the_centres():
    place, X = islands()
    for row in KMedianSelection(random_state=0).select(X, 4):
        rows = X[place == place[row]]
        lengths = np.abs(rows - np.median(rows, axis=0)).sum(axis=1)
        assert np.abs(X[row] - np.median(rows, axis=0)).sum() == lengths.min()


def test_labelled_clusters_are_left_alone():
    place, X = islands()
    labels = partly(place, [0, 50])
    assert sorted(place[KMedianSelection(random_state=0).select(X, 2, labels)]) == [2, 3]


def test_copies_of_labelled_rows_come_last():
    X = np.repeat(np.eye(3), [20, 20, 2], axis=0)
    labels = np.full(42, -1)
    labels[[0, 20]] = [0, 1]
    assert sorted(KMedianSelection(random_state=0).select(X, 2, labels)) == [40, 41]
    assert len(set(KMedianSelection(random_state=0).select(X, 40, labels))) == 40


def test_text_is_reduced():
    """In the 1-norm nearly all texts are around the origin; their directions differ."""
    X, y = sparse_text(200, 500)
    raw, reduced = (
        KMedianSelection(n_components=k, random_state=0).select(X, 40) for k in (None, 20)
    )
    assert set(raw) != set(reduced)

    def error(rows):
        return 1 - NewtonSVC().fit(X, partly(y, rows)).score(X, y)

    assert error(reduced) <= error(raw)


def test_margins():
    np.testing.assert_array_equal(margins(np.array([-2.0, 0.5])), [-2.0, 0.5])
    np.testing.assert_array_equal(margins(np.array([[1.0, 4.0, 3.0], [0, 0, 0]])), [1.0, 0.0])


def test_margin_takes_the_model_that_is_given():
    X, y = two_blobs(100)
    labels = partly(y, np.arange(20))
    model = AnnealedSVC(reg=0.1).fit(X, labels)
    rows = MarginSelection(AnnealedSVC(reg=0.1)).select(X, 5, labels)
    scores = np.abs(model.decision_function(X))
    assert scores[rows].max() <= np.delete(scores, np.r_[rows, :20]).min()
    assert np.all(np.diff(scores[rows]) >= 0)


def test_margin_needs_labels_of_two_classes():
    X, y = two_blobs(20)
    for nothing in (None, np.full(20, -1)):
        with pytest.raises(ValueError, match="choose the first rows with KMedianSelection"):
            MarginSelection().select(X, 2, nothing)
    with pytest.raises(ValueError, match="one class only"):
        MarginSelection().select(X, 2, np.where(y == 0, 0, -1))
