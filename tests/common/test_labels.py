"""Labels in, labels out: markers, names and classes for every estimator."""

import numpy as np
import pytest

from promises import clusters, every, every_with_classes, fitted, scores


@every_with_classes("published labels")
def test_published_labels(candidate, m):
    X, _, partly = clusters(m)
    model = fitted(candidate, m)
    assert model.classes_.tolist() == list(range(m))
    assert model.transduction_.shape == partly.shape
    assert model.transduction_.dtype == partly.dtype
    given = partly != -1
    np.testing.assert_array_equal(model.transduction_[given], partly[given])
    assert set(model.transduction_.tolist()) <= set(range(m))
    assert set(model.predict(X).tolist()) <= set(range(m))
    assert scores(model, X).shape in {(len(X),), (len(X), m)}


@every("predictions")
def test_predictions_are_those_of_the_scores(candidate):
    for m in (2, 3):
        X, _, _ = clusters(m)
        model = fitted(candidate, m)
        found = scores(model, X)
        codes = (found > 0).astype(int) if found.ndim == 1 else found.argmax(axis=1)
        np.testing.assert_array_equal(model.predict(X), model.classes_[codes])


def marked(partly):
    """Forms of the same labels: the labels, the marker to be named, and the classes."""
    hidden = partly == -1
    names = np.array(["ant", "bee", "cat"], dtype=object)[partly]
    names[hidden] = None
    floats = partly.astype(float)
    floats[hidden] = np.nan
    shifted = np.where(hidden, 99, partly)
    texts = np.where(hidden, "?", names.astype(str))
    return {
        "None": (names, {}, ["ant", "bee", "cat"]),
        "NaN": (floats, {}, [0.0, 1.0, 2.0]),
        "number": (shifted, {"unlabeled": 99}, [0, 1, 2]),
        "text": (texts, {"unlabeled": "?"}, ["ant", "bee", "cat"]),
        "list": (names.tolist(), {}, ["ant", "bee", "cat"]),
    }


@every_with_classes("markers")
def test_all_ways_to_mark_unlabelled_rows_are_the_same(candidate, m):
    """Some ways with two classes, the others with three: every estimator is given all."""
    X, _, partly = clusters(m)
    reference = fitted(candidate, m)
    for labels, more, classes in list(marked(partly).values())[m % 2 :: 2]:
        model = candidate.make(**more).fit(X, labels)
        assert model.classes_.tolist() == classes[:m]
        np.testing.assert_array_equal(scores(model, X), scores(reference, X))
        chosen = np.array(classes, dtype=object)[reference.transduction_]
        assert model.transduction_.tolist() == chosen.tolist()
        predicted = np.array(classes, dtype=object)[reference.predict(X)]
        assert model.predict(X).tolist() == predicted.tolist()


@every("minus one as a class")
def test_the_marker_is_no_class(candidate):
    X, _, partly = clusters(2)
    signs = np.where(partly == -1, 0, 2 * partly - 1)
    model = candidate.make(unlabeled=0).fit(X, signs)
    assert model.classes_.tolist() == [-1, 1]
    np.testing.assert_array_equal(scores(model, X), scores(fitted(candidate), X))
    with pytest.raises(ValueError, match="unlabeled=0"):
        candidate.make().fit(X, np.where(partly == 1, 1, -1))


@every("too few labels")
def test_too_few_labels_are_refused(candidate):
    X, _, partly = clusters(2)
    with pytest.raises(ValueError, match="no labelled row"):
        candidate.make().fit(X, np.full(len(X), -1))
    with pytest.raises(ValueError, match=r"one class|two classes|single class"):
        candidate.make().fit(X, np.where(partly == 0, 5, -1))


@every_with_classes("no unlabelled rows")
def test_all_rows_may_be_labelled(candidate, m):
    X, y, _ = clusters(m)
    model = candidate.make().fit(X, y)
    np.testing.assert_array_equal(model.transduction_, y)
    assert np.mean(model.predict(X) == y) > 0.9


@every_with_classes("one unlabelled row")
def test_one_row_may_be_unlabelled(candidate, m):
    X, y, _ = clusters(m)
    partly = y.copy()
    partly[7] = -1
    model = candidate.make().fit(X, partly)
    assert np.mean(model.predict(X) == y) > 0.9
    np.testing.assert_array_equal(np.delete(model.transduction_, 7), np.delete(y, 7))


@every_with_classes("renamed classes")
def test_names_of_classes_do_not_matter(candidate, m):
    """The order of the names is turned, and with it the order of the scores."""
    X, _, partly = clusters(m)
    turned = np.where(partly == -1, -1, m - 1 - partly)
    model = candidate.make().fit(X, turned)
    reference = fitted(candidate, m)
    np.testing.assert_array_equal(m - 1 - model.predict(X), reference.predict(X))
    np.testing.assert_array_equal(m - 1 - model.transduction_, reference.transduction_)
