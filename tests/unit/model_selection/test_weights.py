"""Sample weights in searches, calibration and audits: a row of weight two counts like two rows."""

import numpy as np
import pytest

from problems import sparse_text
from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.model_selection import (
    AnnealedSVCCV,
    CalibratedPartialClassifier,
    TransductiveSVCCV,
    audit_labels,
)
from semisvm.model_selection.calibration import Calibrator
from semisvm.model_selection.metrics import METRICS

PRIOR = [0.5, 0.5]


def partly_labelled(n=160, n_labeled=40):
    """Sparse rows of two classes, with whole weights from 1 to 3."""
    X, y = sparse_text(n, 200)
    partly = np.where(np.arange(n) < n_labeled, y, -1)
    return X, partly, np.random.default_rng(0).integers(1, 4, n).astype(float)


@pytest.mark.parametrize("metric", METRICS)
def test_metrics_count_rows_by_weight(metric):
    rng = np.random.default_rng(0)
    y, predicted, weight = rng.integers(0, 3, 30), rng.integers(0, 4, 30), rng.integers(1, 4, 30)
    found = METRICS[metric](y, predicted, weight)
    assert found == pytest.approx(METRICS[metric](y.repeat(weight), predicted.repeat(weight)))
    assert found != pytest.approx(METRICS[metric](y, predicted))


@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
@pytest.mark.parametrize("m", [2, 3])
def test_a_calibrator_counts_rows_by_mass(method, m):
    rng = np.random.default_rng(0)
    codes, mass = rng.integers(0, m, 50), rng.integers(1, 4, 50).astype(float)
    scores = rng.standard_normal(50) + codes if m == 2 else rng.standard_normal((50, m))
    weighed = Calibrator.fit(scores, codes, m, method, mass)
    times = mass.astype(int)
    rows = np.arange(50).repeat(times)
    repeated = Calibrator.fit(scores[rows], codes[rows], m, method)
    np.testing.assert_allclose(weighed.slope, repeated.slope, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(weighed.offset, repeated.offset, rtol=1e-3, atol=1e-3)
    plain = Calibrator.fit(scores, codes, m, method)
    assert not np.allclose(plain.slope, weighed.slope, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(
    ("search", "single"), [(TransductiveSVCCV, TransductiveSVC), (AnnealedSVCCV, AnnealedSVC)]
)
def test_a_search_weighs_its_last_fit(search, single):
    X, partly, weight = partly_labelled()
    given = {"class_prior": PRIOR, "tol": 1e-6}
    found = search([0.01], [1.0], cv=2, **given).fit(X, partly, weight)
    alone = single(0.01, 1.0, **given).fit(X, partly, sample_weight=weight)
    np.testing.assert_array_equal(found.coef_, alone.coef_)
    rows = np.arange(len(partly)).repeat(weight.astype(int))
    repeated = single(0.01, 1.0, **given).fit(X[rows], partly[rows])
    # copies of a row may have different labels
    assert found.objective_ == pytest.approx(repeated.objective_, rel=1e-2)


def test_a_search_weighs_its_folds():
    X, partly, weight = partly_labelled()
    search = TransductiveSVCCV([1e-3, 1.0], [1.0], cv=3, class_prior="labels")
    plain = search.fit(X, partly).scores_
    np.testing.assert_array_equal(search.fit(X, partly, np.full(len(partly), 2.0)).scores_, plain)
    # rows of weight zero are as if they were not there
    gone = np.arange(len(partly)) % 5 == 0
    without = search.fit(X[~gone], partly[~gone], weight[~gone])
    scores, coef = without.scores_, without.coef_
    with_them = search.fit(X, partly, np.where(gone, 0.0, weight))
    np.testing.assert_allclose(with_them.scores_, scores)
    np.testing.assert_allclose(with_them.coef_, coef, atol=1e-6)
    assert not np.allclose(scores, search.fit(X[~gone], partly[~gone]).scores_)


def test_calibration_with_weights():
    X, partly, weight = partly_labelled()
    model = CalibratedPartialClassifier(TransductiveSVC(class_prior=PRIOR, tol=1e-9), cv=3)
    plain = model.fit(X, partly).predict_proba(X)
    twice = model.fit(X, partly, np.full(len(partly), 2.0)).predict_proba(X)
    # only ratios of weights matter
    np.testing.assert_array_equal(twice, plain)
    gone = np.arange(len(partly)) % 5 == 0
    without = model.fit(X[~gone], partly[~gone], weight[~gone]).predict_proba(X)
    with_them = model.fit(X, partly, np.where(gone, 0.0, weight)).predict_proba(X)
    np.testing.assert_allclose(with_them, without, atol=1e-4)
    assert np.abs(without - plain).max() > 1e-2
    with pytest.raises(ValueError, match="zero for every labelled row"):
        model.fit(X, partly, np.where(partly < 0, 1.0, 0.0))
    with pytest.raises(ValueError, match="sample_weight"):
        model.fit(X, partly, weight[:-1])


def test_an_audit_with_weights():
    X, partly, weight = partly_labelled()
    machine = TransductiveSVC(class_prior=PRIOR, tol=1e-9)
    plain = audit_labels(machine, X, partly, cv=3)
    assert audit_labels(machine, X, partly, cv=3, sample_weight=2.0).doubts == plain.doubts
    weighed = audit_labels(machine, X, partly, cv=3, sample_weight=weight)
    assert weighed.doubts != plain.doubts
    gone = np.zeros(len(partly), dtype=bool)
    gone[[0, 3, 100]] = True
    spared = audit_labels(machine, X, partly, cv=3, sample_weight=np.where(gone, 0.0, weight))
    assert spared.n_checked == 38
    assert spared.n_unchecked == 0
    without = audit_labels(machine, X[~gone], partly[~gone], cv=3, sample_weight=weight[~gone])
    assert np.flatnonzero(~gone)[without.rows].tolist() == spared.rows.tolist()
    assert [doubt.probability for doubt in without.doubts] == pytest.approx(
        [doubt.probability for doubt in spared.doubts], abs=1e-4
    )
