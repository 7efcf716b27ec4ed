"""Several labels per row take the road of one: the same `train`, the same `Model`."""

import numpy as np
import pytest

import semisvm
import semisvm.model
from semisvm import MultiLabelSVC
from semisvm.reporting import report_data
from semisvm.tables import MatrixData
from semisvm.tables.several_labels import SeveralLabels


def problem(n=60, n_known=24):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 3))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    cells = np.where(X[:, :2] > 0.0, "yes", "no").astype(object)
    cells[n_known:] = None
    return MatrixData(X), SeveralLabels(["left", "right"], cells)


@pytest.fixture(scope="module")
def model():
    data, labels = problem()
    return semisvm.train(data, "svm", labels=labels, probabilities=True, reg=1e-2)


def test_the_model_is_that_of_the_estimator(model):
    data, labels = problem()
    machine = semisvm.NewtonSVC(reg=1e-2, unlabeled=None)
    alone = MultiLabelSVC(machine, unlabeled=None).fit(data.X, labels.cells)
    np.testing.assert_array_equal(model.decision_function(data), alone.decision_function(data.X))
    np.testing.assert_array_equal(model.predict(data), alone.predict(data.X))
    assert type(model) is semisvm.Model
    assert model.label_names == ["left", "right"]
    assert semisvm.Model(alone).label_names == ["0", "1"]
    assert model.summary["method"] == "svm"
    assert model.summary["labelled"] == 24
    assert model.summary["known_cells"] == 48
    assert model.summary["several_labels"]["left"].keys() == {"no", "yes"}


def test_probabilities_are_per_label_and_on_the_side_of_the_prediction(model):
    data, _ = problem()
    p = model.predict_proba(data)
    assert p.shape == (60, 2)
    np.testing.assert_array_equal(p > 0.5, model.predict(data) == "yes")


@pytest.mark.parametrize(
    "call",
    [
        lambda model, data: model.explain(data),
        lambda model, data: model.score_columns(data.X),
        lambda model, data: model.codes(data.X),
        lambda model, data: model.predict_sets(data),
        lambda model, data: model.decide(data),
        lambda model, data: model.top_classes(data),
    ],
)
def test_what_is_about_one_class_per_row_is_refused(model, call):
    with pytest.raises(ValueError, match="several labels per row has no"):
        call(model, problem()[0])


@pytest.mark.parametrize(
    "option",
    [{"quick": True}, {"exportable": True}, {"time_limit": 9.0}, {"n_parts": 2}],
)
def test_options_for_one_label_are_refused(option):
    data, labels = problem()
    with pytest.raises(ValueError, match=f"{next(iter(option))} is for one label per row"):
        semisvm.train(data, labels=labels, **option)
    with pytest.raises(ValueError, match="use is for one label per row"):
        semisvm.train(data, labels=labels, use="transduction")


def test_a_model_of_one_label_has_no_names_of_labels():
    data, labels = problem()
    one = MatrixData(data.X, labels.cells[:, 0])
    assert semisvm.train(one, "svm").label_names == []


def test_reports_are_about_one_label(model):
    for subject in (model, model.estimator):
        with pytest.raises(ValueError, match=r"one label per row, and this one has 2 labels"):
            report_data(subject)
