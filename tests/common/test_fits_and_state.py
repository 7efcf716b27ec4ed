"""Parameters in, attributes out: what a fit may change, and what it leaves behind."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import semisvm
from promises import clusters, every, every_with_classes, fitted, same, scores


def attributes(model):
    """What a fit has published."""
    parameters = model.get_params(deep=False)
    return {name: value for name, value in vars(model).items() if name not in parameters}


@every("parameters")
def test_parameters_come_back(candidate):
    model = candidate.make()
    parameters = model.get_params(deep=False)
    for again in (clone(model), type(model)(**parameters), candidate.make()):
        assert again.set_params(**parameters) is again
        found = again.get_params(deep=False)
        assert found.keys() == parameters.keys()
        assert all(same(found[name], parameters[name]) for name in parameters)
    assert clone(model.set_params(unlabeled=7)).unlabeled == 7
    assert not attributes(model)


@every_with_classes("nothing changes")
def test_a_fit_changes_neither_data_nor_parameters(candidate, m):
    X, _, partly = clusters(m)
    X, y = sparse.csr_matrix(X) if m == 2 else X, partly
    parts = [X.data, X.indices, X.indptr, y] if sparse.issparse(X) else [X, y]
    before = [part.copy() for part in parts]
    for part in parts:
        part.flags.writeable = False
    model = candidate.make()
    parameters = model.get_params(deep=False)
    assert model.fit(X, y) is model
    model.predict(X)
    for part, copy in zip(parts, before, strict=True):
        np.testing.assert_array_equal(part, copy)
    found = model.get_params(deep=False)
    assert all(found[name] is value for name, value in parameters.items())


@every_with_classes("pickle")
def test_a_pickle_predicts_the_same(candidate, m):
    X, _, _ = clusters(m)
    model = fitted(candidate, m)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(scores(again, X), scores(model, X))
    np.testing.assert_array_equal(again.transduction_, model.transduction_)
    assert vars(again).keys() == vars(model).keys()


@every_with_classes("model file")
def test_a_model_file_predicts_the_same(candidate, m, tmp_path):
    X, _, _ = clusters(m)
    model = fitted(candidate, m)
    semisvm.save(model, tmp_path / "m")
    again = semisvm.load(tmp_path / "m")
    np.testing.assert_array_equal(scores(again, X), scores(model, X), strict=True)
    np.testing.assert_array_equal(again.predict(X), model.predict(X), strict=True)
    np.testing.assert_array_equal(again.classes_, model.classes_, strict=True)


@pytest.mark.parametrize("labelled", ["partly", "all"])
@every("refit")
def test_a_second_fit_forgets_the_first(candidate, labelled):
    X, _, partly = clusters(3)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)])
    model = candidate.make().fit(frame, partly)
    X, y, partly = clusters(2, 30)
    X, y = X[:, :5], partly if labelled == "partly" else y
    model.fit(X, y)
    fresh = candidate.make().fit(X, y)
    assert attributes(model).keys() == attributes(fresh).keys()
    np.testing.assert_array_equal(scores(model, X), scores(fresh, X))
    np.testing.assert_array_equal(model.transduction_, fresh.transduction_)
    assert model.n_features_in_ == 5


def broken_data(X, partly):
    """Data that no fit takes: other columns, and a mistake."""
    rows = X[:, :4]
    yield np.where(rows > 0.5, np.nan, rows), partly
    yield rows, np.full(len(partly), -1)
    yield rows, np.where(partly == 0, 0, -1)
    yield rows, partly[:-1]


@every("failed fit")
def test_a_failed_fit_keeps_the_earlier_one(candidate):
    X, _, partly = clusters(2)
    model = candidate.make().fit(X, partly)
    before, outputs = attributes(model), scores(model, X)
    for rows, labels in broken_data(X, partly):
        with pytest.raises(ValueError):
            model.fit(rows, labels)
        after = attributes(model)
        assert after.keys() == before.keys()
        assert all(after[name] is before[name] for name in before)
    np.testing.assert_array_equal(scores(model, X), outputs)


@every("interrupted fit", "callback")
def test_an_interrupted_fit_keeps_the_earlier_one(candidate):
    X, _, partly = clusters(2)
    model = candidate.make().fit(X, partly)
    before = attributes(model)

    def interrupt(row):
        raise KeyboardInterrupt

    model.set_params(callback=interrupt)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :4], partly)
    after = attributes(model)
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)


@every("failed fit", "max_iter")
def test_a_warning_that_is_an_error_keeps_the_earlier_fit(candidate):
    X, y, partly = clusters(3)
    model = candidate.make().fit(X, partly)
    before = attributes(model)
    hard = {"tol": 1e-14} if "tol" in candidate.parameters else {}
    model.set_params(max_iter=1, **hard)
    try:
        model.fit(X[:, :4], np.where(np.arange(len(y)) < 20, y, -1))
    except ConvergenceWarning:
        after = attributes(model)
        assert after.keys() == before.keys()
        assert all(after[name] is before[name] for name in before)
    else:
        assert model.n_features_in_ == 4
