"""Fits to rows on the disk are those in memory."""

import numpy as np
import pytest

from semisvm import (
    AnnealedSVC,
    AnnealedSVCCV,
    LaplacianSVC,
    NewtonSVC,
    RowsOnDisk,
    SemiSupervisedCommittee,
    TransductiveSVC,
    TransductiveSVCCV,
)
from semisvm.designs import Workers, make_design
from semisvm.designs import disk as opened
from semisvm.methods.shares import shrunk_fractions
from semisvm.model_selection import PartialLabelKFold, choose, estimate_prior
from semisvm.model_selection.crossfit import cross_fit_all
from stored_rows import problem, stored

ESTIMATORS = {
    "tsvm": TransductiveSVC(),
    "tsvm log": TransductiveSVC(loss="log"),
    "tsvm hinge": TransductiveSVC(loss="hinge"),
    "estimate": TransductiveSVC(class_prior="estimate"),
    "da": AnnealedSVC(),
    "svm": NewtonSVC(),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_fits_are_those_in_memory_bit_for_bit(tmp_path, name):
    X, y = problem()
    R = stored(tmp_path, X, y)
    estimator = ESTIMATORS[name]
    a = estimator.fit(X, y)
    coef, found, scores = a.coef_, a.transduction_, a.decision_function(X)
    b = estimator.fit(R, R.y)
    assert np.array_equal(b.coef_, coef)
    assert np.array_equal(b.transduction_, found)
    assert np.array_equal(b.decision_function(R), scores)
    assert b.n_features_in_ == 40


@pytest.mark.parametrize("estimator", [TransductiveSVC(), AnnealedSVC()], ids=["tsvm", "da"])
@pytest.mark.parametrize("kind", ["dense", "many classes", "renumbered", "single"])
def test_fits_of_other_data(tmp_path, estimator, kind):
    X, y = problem(m=3 if kind == "many classes" else 2, d=5000 if kind == "renumbered" else 40)
    X = X.toarray() if kind == "dense" else X.astype(np.float32) if kind == "single" else X
    R = stored(tmp_path, X, y)
    coef = estimator.fit(X, y).coef_
    model = estimator.fit(R, R.y)
    assert np.allclose(model.coef_, coef, rtol=1e-6, atol=1e-8)
    assert np.array_equal(model.predict(R), model.predict(X))


def test_designs_make_no_copy(tmp_path):
    X, _ = problem(d=5000, density=0.002)
    R = stored(tmp_path, X)
    with Workers(2) as workers:
        design = make_design(R, 1.0, workers)
    assert all(
        np.shares_memory(a, b)
        for a, b in zip(design._arrays, (R.indptr, R.indices, R.values), strict=True)
    )


def test_warm_start_and_searches(tmp_path):
    X, y = problem()
    R = stored(tmp_path, X, y)
    model = TransductiveSVC(warm_start=True).fit(R, y).fit(R, y)
    assert np.allclose(model.coef_, TransductiveSVC().fit(X, y).coef_, atol=1e-3)
    cv = PartialLabelKFold(3)
    for search in (TransductiveSVCCV, AnnealedSVCCV):
        a, b = search(cv=cv).fit(X, y), search(cv=cv).fit(R, y)
        assert a.reg_ == b.reg_
        assert np.allclose(a.coef_, b.coef_)


def test_other_methods_load_small_rows_and_refuse_large_ones(tmp_path, monkeypatch):
    X, y = problem()
    R = stored(tmp_path, X, y)
    expected = LaplacianSVC().fit(X, y).transduction_
    assert np.array_equal(LaplacianSVC().fit(R, y).transduction_, expected)
    rbf = TransductiveSVC(kernel="rbf").fit(R, y)
    assert np.array_equal(rbf.predict(R), rbf.predict(X))
    monkeypatch.setattr(opened, "MOST_LOADED", 1000)
    for estimator in (LaplacianSVC(), TransductiveSVC(kernel="rbf")):
        with pytest.raises(ValueError, match=r"needs all rows in memory.*X\[:\]"):
            estimator.fit(R, y)
    assert np.array_equal(rbf.predict(R), rbf.predict(X))
    TransductiveSVC().fit(R, y)


@pytest.mark.parametrize("m", [2, 3])
def test_estimated_shares_are_those_in_memory(tmp_path, m):
    X, y = problem(n=7000, m=m)
    R = stored(tmp_path, X, y)
    assert np.array_equal(estimate_prior(R, y), estimate_prior(X, y))
    # with so many labels that their rows cannot be held, their fractions are the estimate
    counts = np.bincount(y[y >= 0], minlength=m)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(opened, "MOST_LOADED", 1000)
        assert np.array_equal(estimate_prior(R, y), shrunk_fractions(counts)[0])


COMMITTEE = SemiSupervisedCommittee([("a", NewtonSVC()), ("b", TransductiveSVC())], weights=[1, 2])


@pytest.mark.parametrize("estimator", [TransductiveSVC(), NewtonSVC(), COMMITTEE])
def test_scores_of_held_out_rows(tmp_path, monkeypatch, estimator):
    X, y = problem(n=150)
    R = stored(tmp_path, X, y)
    cv = PartialLabelKFold(3)
    expected = cross_fit_all(estimator, X, y, cv).scores
    monkeypatch.setattr(RowsOnDisk, "load", None)
    assert np.array_equal(cross_fit_all(estimator, R, y, cv).scores, expected)
    assert np.array_equal(estimator.fit(R, y).predict(R), estimator.fit(X, y).predict(X))


def test_a_choice_for_rows_that_cannot_be_loaded(tmp_path, monkeypatch):
    X, y = problem(n=150)
    R = stored(tmp_path, X, y)
    requested = {"time_limit": 60.0, "random_state": 1}
    found, expected = choose(R, y, **requested), choose(X, y, **requested)
    assert (found.method, found.members) == (expected.method, expected.members)
    monkeypatch.setattr(RowsOnDisk, "nbytes", opened.MOST_LOADED + 1)
    monkeypatch.setattr(RowsOnDisk, "_bytes_of", lambda self, index: 0)
    found = choose(R, y, **requested)
    assert any("too many for memory" in reason for reason in found.reasons)
    assert {member.method for member in found.members} <= {"svm", "tsvm", "da"}
    assert found.make().fit(R, y).predict(R).shape == y.shape


def test_the_number_of_columns_is_compared(tmp_path):
    X, y = problem()
    model = NewtonSVC().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(stored(tmp_path, X[:, :7].tocsr()))
