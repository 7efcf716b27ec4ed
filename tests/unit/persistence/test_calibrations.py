"""Calibrated probabilities and searches in model files."""

import numpy as np
import pytest
from benchmarks.fuzzing.models import pack, unpack

import semisvm
from problems import hide, two_blobs
from semisvm import AnnealedSVC, Model, TransductiveSVC, training
from semisvm.model_selection import (
    AnnealedSVCCV,
    CalibratedPartialClassifier,
    PartialLabelKFold,
    TransductiveSVCCV,
)
from semisvm.model_selection.calibration import Calibrator
from semisvm.model_selection.candidates import Choice
from semisvm.persistence import ModelFileError
from semisvm.tables import MatrixData


def three_blobs():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    return 2.0 * np.eye(3)[y] + rng.standard_normal((90, 3)), y


def round_trip(model, tmp_path):
    semisvm.save(model, tmp_path / "m")
    return semisvm.load(tmp_path / "m")


@pytest.mark.parametrize("method", ["temperature", "sigmoid"])
@pytest.mark.parametrize("problem", [two_blobs, three_blobs])
def test_calibrated_classifiers_come_back(method, problem, tmp_path):
    X, y = problem()
    cv = PartialLabelKFold(3)
    model = CalibratedPartialClassifier(TransductiveSVC(reg=0.1), method=method, cv=cv)
    model.fit(X, hide(y, 30))
    again = round_trip(model, tmp_path)
    assert isinstance(again, CalibratedPartialClassifier)
    assert (again.method, again.cv, again.estimator.reg) == (method, 3, 0.1)
    for name in ("predict", "predict_proba"):
        expected = getattr(model, name)(X)
        np.testing.assert_array_equal(getattr(again, name)(X), expected, strict=True)
    bundle = round_trip(Model.of(model), tmp_path)
    np.testing.assert_array_equal(bundle.predict_proba(X), model.predict_proba(X), strict=True)
    np.testing.assert_array_equal(bundle.predict(X), model.predict(X), strict=True)


@pytest.mark.parametrize("problem", [two_blobs, three_blobs])
@pytest.mark.parametrize("method", ["svm", "laprls"])
def test_a_single_method_that_was_chosen_keeps_its_probabilities(
    method, problem, tmp_path, monkeypatch
):
    X, y = problem()
    choice = Choice(method, {}, (f"{method} decides alone",), name=method, weight=1.7)
    monkeypatch.setattr(training, "_choose", lambda *about: choice)
    labels = hide(y, 30).astype(object)
    labels[labels == -1] = None
    model = semisvm.train(MatrixData(X, labels), as_is=True)
    assert not hasattr(model.estimator, "predict_proba")
    assert model.calibrator is not None
    expected = model.predict_proba(X)
    assert expected.shape == (len(X), len(np.unique(y)))
    np.testing.assert_allclose(expected.sum(axis=1), 1.0)
    assert np.ptp(expected) > 0.1
    again = round_trip(model, tmp_path)
    assert isinstance(again, Model)
    assert again.calibrator.slope == model.calibrator.slope
    np.testing.assert_array_equal(again.predict_proba(X), expected, strict=True)
    np.testing.assert_array_equal(again.predict(X), model.predict(X), strict=True)


def test_a_slope_of_zero_leaves_predictions_alone():
    X, y = two_blobs(60)
    model = CalibratedPartialClassifier(TransductiveSVC(reg=0.1)).fit(X, hide(y, 20))
    expected = model.predict(X)
    model.calibrator_ = Calibrator("temperature", np.zeros(1), np.zeros(1))
    np.testing.assert_array_equal(model.predict(X), expected)
    np.testing.assert_array_equal(Model.of(model).predict(X), expected)
    assert len(np.unique(expected)) == 2


@pytest.mark.parametrize(
    "state",
    [
        {"method": "guess", "slope": [1.0], "offset": [0.0]},
        {"method": "temperature", "slope": [1.0, 2.0], "offset": [0.0]},
        {"method": "sigmoid", "slope": [1.0], "offset": [0.0]},
        {"method": "temperature", "slope": [1e301], "offset": [0.0]},
    ],
)
def test_calibrations_must_fit(state, tmp_path):
    X, y = three_blobs()
    path = tmp_path / "m"
    semisvm.save(Model(TransductiveSVC().fit(X, hide(y, 30))), path)
    document, arrays = unpack(path.read_bytes())
    path.write_bytes(pack({**document, "calibrator": state}, arrays))
    with pytest.raises(ModelFileError, match="calibrat"):
        semisvm.load(path)


@pytest.mark.parametrize(
    ("search", "single"), [(TransductiveSVCCV, TransductiveSVC), (AnnealedSVCCV, AnnealedSVC)]
)
def test_a_search_is_saved_as_what_it_chose(search, single, tmp_path):
    X, y = two_blobs(60)
    model = search(regs=[0.1, 0.01], unlabeled_weights=[0.5], cv=2).fit(X, hide(y, 20))
    again = round_trip(model, tmp_path)
    assert type(again) is single
    assert (again.reg, again.unlabeled_weight) == (model.reg_, 0.5)
    scores = model.decision_function(X)
    np.testing.assert_array_equal(again.decision_function(X), scores, strict=True)
    assert again.trace_.notes == model.trace_.notes
    assert not hasattr(again, "scores_")
    with pytest.raises(ModelFileError):
        semisvm.save(search(), tmp_path / "x")
