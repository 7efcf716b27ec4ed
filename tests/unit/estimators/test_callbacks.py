"""Callbacks of scikit-learn on our estimators."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from problems import hide, two_blobs
from semisvm import (
    MultiLabelSVC,
    NewtonSVC,
    PartialLabelKFold,
    SemiBoostClassifier,
    SemiSupervisedClassifier,
    SemiSupervisedCommittee,
    TransductiveSVC,
)

callback = pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9 has callbacks")


class Listener:
    """Keep what the hooks of a fit are called with; stop it after some rows."""

    def __init__(self, rows=np.inf):
        self.rows, self.names, self.seen = rows, [], []

    def setup(self, estimator, context):
        self.names.append("setup")

    def teardown(self, estimator, context):
        self.names.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        self.names.append(f"begin {context.task_name}")

    def on_fit_task_end(self, estimator, context, *, metadata=None, fitted_estimator=None):
        self.names.append(f"end {context.task_name}")
        if metadata is None:
            self.model = fitted_estimator
        else:
            self.seen.append(metadata)
        return len(self.seen) >= self.rows


@pytest.fixture
def data():
    X, y = two_blobs(120, 4)
    return X, hide(y, 30)


def test_hooks_get_the_rows_of_the_trace(data):
    listener, rows = Listener(), []
    model = TransductiveSVC(callback=rows.append).set_callbacks(listener).fit(*data)
    assert listener.seen == rows == model.trace_.rows
    assert listener.names[:2] == ["setup", "begin fit"]
    assert listener.names[-2:] == ["end fit", "teardown"]
    assert listener.names.count("begin fit") == 1
    np.testing.assert_array_equal(listener.model.predict(data[0]), model.predict(data[0]))
    plain = TransductiveSVC().fit(*data)
    np.testing.assert_array_equal(plain.coef_, model.coef_)
    assert not [name for name in vars(model) if name.startswith("_callback")]
    assert pickle.loads(pickle.dumps(clone(plain).set_callbacks())).get_params()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_hook_stops_the_fit(data):
    listener = Listener(rows=2)
    model = TransductiveSVC().set_callbacks(listener).fit(*data)
    assert len(listener.seen) == 2
    assert len(model.trace_) < len(TransductiveSVC().fit(*data).trace_)
    assert "stopped by the callback" in model.trace_.notes


def test_callbacks_are_torn_down_after_an_error(data):
    X, y = data
    listener = Listener()
    model = NewtonSVC().set_callbacks(listener)
    with pytest.raises(ValueError, match="inconsistent"):
        model.fit(X, y[:-1])
    assert listener.names == ["setup", "begin fit", "teardown"]
    assert not [name for name in vars(model) if name.startswith("_callback")]


def test_every_kind_of_estimator_has_them(data):
    X, y = data
    both = np.column_stack([y, y])
    for model, target in (
        (SemiSupervisedCommittee([("a", NewtonSVC()), ("b", TransductiveSVC())]), y),
        (SemiBoostClassifier(), y),
        (MultiLabelSVC(), both),
    ):
        listener = Listener()
        model.set_callbacks(listener).fit(X, target)
        assert listener.names[-2:] == ["end fit", "teardown"]
        assert listener.seen == model.trace_.rows


def test_a_search_passes_them_on(data):
    class Passed(Listener):
        max_propagation_depth = None

    listener = Passed()
    search = GridSearchCV(NewtonSVC(), {"reg": [0.1, 1.0]}, cv=PartialLabelKFold(2))
    search.set_callbacks(listener).fit(*data)
    assert listener.names.count("setup") == listener.names.count("teardown") == 1
    assert len(listener.seen) >= 5


def test_a_choice_is_watched_and_stopped(data):
    listener = Listener()
    model = SemiSupervisedClassifier(time_limit=2).set_callbacks(listener).fit(*data)
    assert [step["done"] for step in listener.seen[:2]] == [0, 1]
    assert listener.names[:4] == ["setup", "begin fit", "begin choice", "end choice"]
    assert listener.names[-2:] == ["end fit", "teardown"]
    assert listener.seen[-1] == model.model_.estimator.trace_.rows[-1]
    stopped = Listener(rows=8)
    model = SemiSupervisedClassifier("tsvm").set_callbacks(Listener(rows=2)).fit(*data)
    assert len(model.model_.estimator.trace_) == 2
    model = SemiSupervisedClassifier().set_callbacks(stopped).fit(*data)
    assert "stopped" in str(model.report_)
