"""ClusteredSVC: the oracle in its forms, two steps, budgets, and its mistakes."""

import numpy as np
import pytest
from scipy import sparse

from problems import two_blobs
from semisvm import ClusteredSVC, ConcaveSVC
from semisvm.model_selection import KMedianSelection

X, Y = two_blobs(100, 4, gap=4)


def make(**parameters):
    return ClusteredSVC(**{"n_labels": 12, "random_state": 0, **parameters})


def labels_of(rows):
    y = np.full(len(Y), -1)
    y[rows] = Y[rows]
    return y


@pytest.mark.parametrize("convert", [list, np.asarray, sparse.csr_matrix, sparse.csc_matrix])
def test_all_forms_of_an_oracle_agree(convert):
    data = convert(X)
    rows = make().select(data)
    by_hand = ConcaveSVC().fit(data, labels_of(rows))
    asked = []

    def oracle(chosen):
        asked.extend(chosen.tolist())
        return Y[chosen]

    models = [
        make().fit(data, oracle=oracle),
        make().fit(data, oracle=Y),
        make().fit(data, labels_of(rows)),
    ]
    assert asked == rows.tolist()
    for model in models:
        np.testing.assert_array_equal(model.coef_, by_hand.coef_)
        np.testing.assert_array_equal(model.transduction_, by_hand.transduction_)
        assert model.classes_.dtype == Y.dtype
    assert [len(model.queried_) for model in models] == [12, 12, 0]
    assert models[0].score(X, Y) > 0.9


def test_the_rows_are_those_of_the_selection():
    expected = KMedianSelection(random_state=0).select(X, 12)
    np.testing.assert_array_equal(make().select(X), expected)
    fewer = KMedianSelection(n_clusters=3, n_init=1, random_state=0).select(X, 12)
    np.testing.assert_array_equal(make(n_clusters=3, n_init=1).select(X), fewer)


def test_budgets():
    assert len(make(n_labels=0.05).select(X)) == 5
    assert len(make(n_labels=1e-9).select(X)) == 1
    assert len(ClusteredSVC().select(sparse.csr_matrix(X))) == 10


def test_labels_so_far_are_kept_and_not_requested():
    first = np.arange(6)
    model = make(n_labels=4).fit(X, labels_of(first), oracle=Y)
    assert not set(model.queried_) & set(first)
    both = labels_of(np.concatenate([first, model.queried_]))
    np.testing.assert_array_equal(model.coef_, ConcaveSVC().fit(X, both).coef_)


def test_an_oracle_may_leave_rows_unlabelled():
    rows = make().select(X)
    unsure = Y[rows].astype(object)
    unsure[:3] = None
    model = make().fit(X, oracle=lambda chosen: unsure)
    np.testing.assert_array_equal(model.coef_, ConcaveSVC().fit(X, labels_of(rows[3:])).coef_)
    model = make().fit(X, oracle=lambda chosen: np.where(np.arange(12) < 3, -1, Y[chosen]))
    np.testing.assert_array_equal(model.coef_, ConcaveSVC().fit(X, labels_of(rows[3:])).coef_)


def test_names_and_many_classes():
    names = np.array(["cat", "dog", "emu"])
    rng = np.random.default_rng(0)
    place = np.arange(90) % 3
    data = 5.0 * np.eye(3)[place] + rng.standard_normal((90, 3))
    model = make(unlabeled="?").fit(data, oracle=names[place])
    assert model.classes_.tolist() == names.tolist()
    assert model.score(data, names[place]) > 0.9
    assert set(model.transduction_) == set(names)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_labels": 0}, "n_labels must be a whole number >= 1"),
        ({"n_labels": 1.0}, "a fraction of the rows below 1.0, got 1.0"),
        ({"n_labels": -0.1}, "n_labels must be a finite number > 0"),
        ({"n_labels": 101}, "101 rows were requested, but only 100"),
        ({"n_clusters": 0}, "n_clusters must be a whole number >= 1 or None"),
        ({"n_init": 0}, "n_init must be a whole number >= 1"),
        ({"mu": -1.0}, "mu must be a finite number > 0"),
    ],
)
def test_wrong_parameters(parameters, message):
    asked = []
    with pytest.raises(ValueError, match=message):
        make(**parameters).fit(X, oracle=lambda rows: asked.append(rows))
    assert not asked, "labels cost money"


def test_wrong_answers():
    with pytest.raises(ValueError, match=r"12 labels .* shape"):
        make().fit(X, oracle=lambda rows: [0, 1])
    with pytest.raises(ValueError, match="oracle has 3 labels for the 100 rows of X"):
        make().fit(X, oracle=[0, 1, 1])
    with pytest.raises(ValueError, match="one class only"):
        make().fit(X, oracle=np.zeros(100))
    with pytest.raises(ValueError, match="pass oracle= to be asked"):
        make().fit(X)
