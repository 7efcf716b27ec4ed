"""Parts of a model about its trust come back from files, and damaged parts are refused."""

from dataclasses import fields
from types import SimpleNamespace

import numpy as np
import pytest

import semisvm
from problems import hide, sparse_text, two_blobs
from semisvm import NewtonSVC, TransductiveSVC, train
from semisvm.model_selection import CalibratedPartialClassifier
from semisvm.model_selection.familiarity import Familiarity
from semisvm.persistence import ModelFileError
from semisvm.persistence.model_files import PARTS
from semisvm.tables import MatrixData, Table
from semisvm.tables.labels import objects

OF_WORDS = SimpleNamespace(coef_=np.zeros((1, 500)), n_features_in_=500)
"""What a part must fit."""


def restored(name, state, arrays, estimator):
    return PARTS[name].restore(name, state, arrays, estimator)


def matrix_model(**parameters):
    X, y = two_blobs(100)
    labels = objects([int(v) if v >= 0 else None for v in hide(y, 30)])
    return train(MatrixData(X, labels), "tsvm", probabilities=True, **parameters), X


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sets_and_familiarity_come_back(kernel, tmp_path):
    model, X = matrix_model(kernel=kernel)
    semisvm.save(model, tmp_path / "m")
    again = semisvm.load(tmp_path / "m")
    assert (again.conformal.coef is None) == (kernel == "rbf")
    np.testing.assert_array_equal(again.predict_sets(X), model.predict_sets(X))
    np.testing.assert_array_equal(
        again.unlike(X + 1.0).distance, model.unlike(X + 1.0).distance, strict=True
    )
    assert again.familiarity.distance == model.familiarity.distance


def test_models_of_columns(tmp_path):
    rng = np.random.default_rng(0)
    texts = [" ".join(rng.choice(["win", "prize", "lunch", "team"], 5)) for _ in range(60)]
    labels = objects([str(i % 2) if i < 30 else None for i in range(60)])
    model = train(Table({"text": texts}, labels), "svm")
    semisvm.save(model, tmp_path / "m")
    again = semisvm.load(tmp_path / "m")
    assert again.familiarity.unknown == model.familiarity.unknown
    assert again.conformal is None
    with pytest.raises(ValueError, match="labels that were held out"):
        again.predict_sets({"text": texts})
    with pytest.raises(ValueError, match="no probabilities"):
        again.decide({"text": texts}, abstain_below=0.5)


def test_calibrated_classifiers(tmp_path):
    X, y = two_blobs(90)
    model = CalibratedPartialClassifier(TransductiveSVC(reg=0.1), cv=3).fit(X, hide(y, 30))
    semisvm.save(model, tmp_path / "m")
    again = semisvm.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_sets(X, 0.8), model.predict_sets(X, 0.8))
    bundle = semisvm.Model.of(model)
    np.testing.assert_array_equal(bundle.predict_sets(X, 0.8), model.predict_sets(X, 0.8))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coef": np.zeros((3, 1, 5), dtype=np.float32)}, "has 5 weights, not 6"),
        ({"coef": None}, "are not complete"),
        ({"intercept": np.zeros((2, 1))}, "folds"),
        ({"scores": np.zeros(3)}, "held-out labels"),
        ({"scores": np.full(30, np.nan)}, "finite"),
        ({"folds": np.full(30, 3)}, "within bounds"),
        ({"folds": np.full(30, -1)}, "within bounds"),
        ({"more": np.zeros(3)}, "not known here"),
    ],
)
def test_damaged_sets(change, message):
    X, y = two_blobs(90)
    model = CalibratedPartialClassifier(NewtonSVC(), cv=3).fit(X, hide(y, 30))
    state, arrays = PARTS["conformal"].state(model.conformal_)
    assert restored("conformal", state, arrays, model.estimator_) is not None
    arrays = {name: a for name, a in {**arrays, **change}.items() if a is not None}
    with pytest.raises(ModelFileError, match=message):
        restored("conformal", state, arrays, model.estimator_)


def test_folds_of_a_model_with_a_kernel():
    X, y = two_blobs(90)
    linear = CalibratedPartialClassifier(NewtonSVC(), cv=3).fit(X, hide(y, 30))
    state, arrays = PARTS["conformal"].state(linear.conformal_)
    kernel = NewtonSVC(kernel="rbf").fit(X, y)
    with pytest.raises(ModelFileError):
        restored("conformal", state, arrays, kernel)


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("distance", {"usual": -1.0, "most": 1.0, "n_rows": 5}),
        ("distance", {"usual": 1.0, "most": float("nan"), "n_rows": 5}),
        ("distance", {"usual": 1.0, "most": 1.0, "n_rows": 0}),
        ("unknown", {"usual": 1.0}),
        ("centre", np.zeros(3, dtype=np.float32)),
        ("centre", np.full(500, np.inf, dtype=np.float32)),
        ("seen", np.zeros(500)),
        ("seen", np.zeros(3, dtype=bool)),
    ],
)
def test_damaged_familiarity(part, value):
    state, arrays = PARTS["familiarity"].state(Familiarity.fit(sparse_text(60)[0]))
    assert restored("familiarity", state, arrays, OF_WORDS) is not None
    where = arrays if part in arrays else state
    where[part] = value
    with pytest.raises(ModelFileError):
        restored("familiarity", state, arrays, OF_WORDS)


def test_arrays_without_a_state():
    with pytest.raises(ModelFileError, match="belong to nothing"):
        restored("familiarity", None, {"centre": np.zeros(3)}, OF_WORDS)
    for name in PARTS:
        assert restored(name, None, {}, OF_WORDS) is None


def test_every_attribute_of_a_model_is_saved():
    """Those that are records are entries of one table; others have states of their own."""
    own = {"estimator", "features", "settings", "summary", "labeled_rows"}
    assert {field.name for field in fields(semisvm.Model)} == own | set(PARTS)
