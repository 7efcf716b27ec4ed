"""Classes without a label: declared ones, and labels of one class alone."""

import numpy as np
import pytest

from problems import two_blobs
from semisvm import AnnealedSVC, TransductiveSVC, load, save
from semisvm.methods.positive import best_bin
from semisvm.model_selection import TransductiveSVCCV

MACHINES = [TransductiveSVC, AnnealedSVC]


def positive(n=400, share=0.3, n_labels=40, gap=4.0, seed=0):
    """Two clusters, and some labels of class 1; returns X, y and the labels."""
    X, y = two_blobs(n, gap=gap, seed=seed, positive=share)
    labels = np.full(n, -1)
    labels[np.flatnonzero(y == 1)[:n_labels]] = 1
    return X, y, labels


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("loss", ["squared_hinge", "log", "hinge"])
@pytest.mark.parametrize("given", [False, True])
def test_labels_of_one_class_are_enough(kind, loss, given):
    X, y, labels = positive()
    free = labels == -1
    share = y[free].mean()
    prior = {0: 1 - share, 1: share} if given else None
    model = kind(reg=0.1, loss=loss, classes=[0, 1], class_prior=prior).fit(X, labels)
    assert np.mean(model.transduction_[free] == y[free]) > 0.9
    assert np.mean(model.predict(X) == y) > 0.85
    assert model.class_prior_[1] == pytest.approx(share, abs=0.08)


@pytest.mark.parametrize("kind", MACHINES)
def test_names_of_classes(kind):
    X, y, labels = positive()
    names = np.where(labels == 1, "spam", None).astype(object)
    prior = [0.78, 0.22]
    model = kind(reg=0.1, classes=["spam", "ham"], class_prior=prior).fit(X, names)
    same = kind(reg=0.1, classes=[0, 1], class_prior=prior).fit(X, labels)
    assert model.classes_.tolist() == ["ham", "spam"]
    np.testing.assert_array_equal(model.coef_, same.coef_)
    assert np.mean((model.predict(X) == "spam") == (y == 1)) > 0.85


def test_declared_classes_that_have_labels_change_nothing():
    X, y, labels = positive()
    labels[np.flatnonzero(y == 0)[:20]] = 0
    one = TransductiveSVC(reg=0.1).fit(X, labels)
    other = TransductiveSVC(reg=0.1, classes=[1, 0]).fit(X, labels)
    np.testing.assert_array_equal(one.coef_, other.coef_)


@pytest.mark.parametrize("kind", MACHINES)
@pytest.mark.parametrize("known", ["shares", "sets", "probabilities"])
def test_a_third_class_without_labels(kind, known):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 300)
    X = rng.standard_normal((300, 5)) + 4.0 * np.eye(5)[y]
    labels = np.where((y < 2) & (np.arange(300) < 60), y, -1)
    given = {}
    if known == "sets":
        given["evidence"] = [{1, 2} if one else None for one in y]
    if known == "probabilities":
        given["evidence"] = np.where(rng.random((300, 1)) < 0.8, np.eye(3)[y], 1 / 3) * 0.7 + 0.1
    prior = np.bincount(y[labels == -1]) / np.sum(labels == -1)
    prior = None if known == "probabilities" else prior
    model = kind(reg=0.1, classes=[0, 1, 2], class_prior=prior).fit(X, labels, **given)
    assert np.mean(model.predict(X) == y) > 0.85


@pytest.mark.parametrize(
    ("classes", "given", "message"),
    [
        (None, {}, "labels of one class only, 1.* name both classes with classes="),
        ([0, 1, 2], {}, r"classes \[0, 2\] have no labels, and nothing separates them"),
        ([0, 1], {"class_prior": "labels"}, "class 0 has no label, so that its share cannot"),
        ([0, 2], {}, r"labels of \[1\], and classes=\[0, 2\] does not name them"),
        (["a", "b"], {}, "another kind than the labels"),
        ([1], {}, "labels of one class only, 1"),
    ],
)
def test_what_nothing_shows_is_refused(classes, given, message):
    X, _, labels = positive()
    with pytest.raises(ValueError, match=message):
        TransductiveSVC(classes=classes, **given).fit(X, labels)


def test_few_labels_give_no_share():
    X, _, labels = positive(n_labels=4)
    with pytest.raises(ValueError, match="4 labels are too few to estimate the share"):
        TransductiveSVC(classes=[0, 1]).fit(X, labels)
    TransductiveSVC(classes=[0, 1], class_prior=[0.7, 0.3]).fit(X, labels)


def test_a_search_needs_labels_of_all_classes():
    X, _, labels = positive()
    with pytest.raises(ValueError, match="these must be of all classes"):
        TransductiveSVCCV(classes=[0, 1]).fit(X, labels)


def test_a_model_with_declared_classes_is_saved(tmp_path):
    X, _, labels = positive()
    model = TransductiveSVC(reg=0.1, classes=[0, 1]).fit(X, labels)
    save(model, tmp_path / "model.semisvm")
    again = load(tmp_path / "model.semisvm")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("share", [0.1, 0.3, 0.6])
def test_the_share_is_found_where_the_best_rows_are_pure(share):
    rng = np.random.default_rng(1)
    y = rng.random(4000) < share
    unlabeled = rng.standard_normal(4000) + 4.0 * y
    found, error = best_bin(rng.standard_normal(400) + 4.0, unlabeled)
    assert found == pytest.approx(share, abs=0.05)
    assert 0.0 < error < 0.1


def test_all_rows_of_the_class_are_a_share_below_one():
    rng = np.random.default_rng(1)
    found, _ = best_bin(rng.standard_normal(100), rng.standard_normal(100))
    assert 0.8 < found <= 0.99
