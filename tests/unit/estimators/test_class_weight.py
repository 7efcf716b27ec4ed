"""Weights of classes in the supervised machine."""

import numpy as np
import pytest
from sklearn.utils.class_weight import compute_sample_weight

import semisvm
from problems import hide, two_blobs
from promises import clusters
from semisvm import NewtonSVC

UNEVEN = {"n": 90, "d": 3, "gap": 1.0, "positive": 0.15}


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("class_weight", ["balanced", {0: 3.0}, {0: 0.5, 1: 2.0}])
def test_class_weights_are_weights_of_their_rows(m, class_weight):
    X, y, _ = clusters(m)
    y = np.where(np.arange(len(y)) < 20, 0, y)
    full = class_weight
    if isinstance(class_weight, dict):
        full = {label: class_weight.get(label, 1.0) for label in range(m)}
    model = NewtonSVC(class_weight=class_weight).fit(X, y)
    peer = NewtonSVC().fit(X, y, sample_weight=compute_sample_weight(full, y))
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-8)
    # shares are those of the rows, whatever their classes weigh
    np.testing.assert_allclose(model.class_prior_, np.bincount(y) / len(y))


def test_balanced_classes_find_more_of_the_rare_one():
    X, y = two_blobs(**UNEVEN)
    plain, balanced = NewtonSVC().fit(X, y), NewtonSVC(class_weight="balanced").fit(X, y)
    assert balanced.predict(X).sum() > plain.predict(X).sum()


def test_balanced_counts_weights_of_rows():
    X, y = two_blobs(**UNEVEN)
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    weighted = NewtonSVC(class_weight="balanced").fit(X, y, sample_weight=weight)
    several = NewtonSVC(class_weight="balanced").fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.coef_, several.coef_, atol=1e-6)


def test_names_of_classes_and_rows_without_label():
    X, y = two_blobs(60, 4)
    names = np.array(["ham", "spam"], dtype=object)[y]
    names[hide(y, 12) == -1] = None
    model = NewtonSVC(class_weight={"spam": 5.0}).fit(X, names)
    assert set(model.transduction_) == {"ham", "spam"}


@pytest.mark.parametrize(
    ("class_weight", "message"),
    [
        ("even", "None, 'balanced' or a dict"),
        ([1.0, 2.0], "None, 'balanced' or a dict"),
        ({0: -1.0}, "class_weight\\[0\\] must be a finite number >= 0"),
        ({0: np.nan}, "class_weight\\[0\\]"),
        ({"spam": 2.0}, "unknown classes \\['spam'\\]"),
        ({0: 0.0, 1: 0.0}, "nothing to fit"),
    ],
)
def test_bad_class_weights(class_weight, message):
    X, y = two_blobs(20)
    with pytest.raises(ValueError, match=message):
        NewtonSVC(class_weight=class_weight).fit(X, y)


def test_a_model_with_class_weights_is_saved(tmp_path):
    X, y = two_blobs(40)
    model = NewtonSVC(class_weight={0: 2.0, 1: 1.0}).fit(X, y)
    semisvm.save(model, tmp_path / "m.semisvm")
    again = semisvm.load(tmp_path / "m.semisvm")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.get_params()["class_weight"] == {0: 2.0, 1: 1.0}
