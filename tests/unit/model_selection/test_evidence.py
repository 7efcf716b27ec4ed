"""Evidence in comparisons, choices, committees: it stays where labels are hidden."""

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from problems import hide, two_blobs
from semisvm import (
    AnnealedSVC,
    NewtonSVC,
    SemiSupervisedClassifier,
    SemiSupervisedCommittee,
    TransductiveSVC,
)
from semisvm.model_selection import CalibratedPartialClassifier, audit_labels, choose, compare
from semisvm.model_selection.crossfit import check_splitter, cross_fit_all

NEW_ROWS, TRANSDUCTION = "new_rows", "transduction"


@pytest.fixture(scope="module")
def data():
    """Overlapping clusters; the truth is known about rows with a label, and about no others."""
    X, y = two_blobs(160, gap=1.0)
    labels = hide(y, 40)
    q = np.where((labels != -1)[:, None], np.eye(2)[y], np.nan)
    return X, y, labels, q


@pytest.mark.parametrize("kind", [TransductiveSVC, AnnealedSVC, SemiSupervisedCommittee])
@pytest.mark.parametrize("use", [TRANSDUCTION, NEW_ROWS])
def test_folds_keep_the_evidence_of_their_rows(kind, use, data):
    X, _, labels, q = data
    machine = TransductiveSVC(reg=0.1, unlabeled_weight=3.0)
    if kind is AnnealedSVC:
        machine = AnnealedSVC(reg=0.1, unlabeled_weight=3.0)
    if kind is SemiSupervisedCommittee:
        machine = SemiSupervisedCommittee([("tsvm", machine)], weights=[1.0])
    cv = check_splitter(4, -1)

    def right(evidence):
        found = cross_fit_all(machine, X, labels, cv, use=use, evidence=evidence)
        return np.mean((found.scores > 0) == (found.codes == 1))

    # where the rows of a fold take no part in the fit, what is known about them has no effect
    assert (right(q) > right(None)) == (use == TRANSDUCTION)


def test_a_comparison_gives_evidence_to_those_that_take_it(data):
    X, _, labels, q = data
    methods = {"svm": NewtonSVC(reg=0.1), "tsvm": TransductiveSVC(reg=0.1, unlabeled_weight=3.0)}
    methods["pipeline"] = make_pipeline(StandardScaler(), methods["tsvm"])
    with_it = compare(methods, X, labels, cv=4, use=TRANSDUCTION, evidence=q)
    without = compare(methods, X, labels, cv=4, use=TRANSDUCTION)
    assert with_it["svm"].mean == without["svm"].mean
    for name in ("tsvm", "pipeline"):
        assert with_it[name].fit_rows > without[name].fit_rows
        assert with_it[name].new_rows == pytest.approx(without[name].new_rows, abs=0.15)
    with pytest.raises(ValueError, match="evidence would have no effect: svm cannot use it"):
        compare({"svm": NewtonSVC()}, X, labels, evidence=q)


def test_a_calibrated_machine_passes_evidence_on(data):
    X, y, labels, _ = data
    q = np.eye(2)[y] * 0.5 + 0.25
    model = CalibratedPartialClassifier(TransductiveSVC(reg=0.1)).fit(X, labels, evidence=q)
    plain = TransductiveSVC(reg=0.1).fit(X, labels, evidence=q)
    np.testing.assert_array_equal(model.estimator_.coef_, plain.coef_)
    with pytest.raises(ValueError, match="NewtonSVC cannot use it"):
        CalibratedPartialClassifier(NewtonSVC()).fit(X, labels, evidence=q)


def test_an_audit_sees_evidence(data):
    X, y, labels, _ = data
    wrong = labels.copy()
    rows = np.flatnonzero(labels != -1)[:3]
    wrong[rows] = 1 - y[rows]
    machine = TransductiveSVC(reg=0.1, unlabeled_weight=10.0, evidence_weight=10.0)
    found = audit_labels(machine, X, wrong, evidence=np.eye(2)[y] * 0.98 + 0.01)
    assert set(found.rows.tolist()) >= set(rows.tolist())


def test_members_of_a_committee_take_evidence(data):
    X, y, labels, _ = data
    sets = [{int(one)} if i % 2 else None for i, one in enumerate(y)]
    members = [("svm", NewtonSVC(reg=0.1)), ("tsvm", TransductiveSVC(reg=0.1))]
    model = SemiSupervisedCommittee(members, weights=[1, 1]).fit(X, labels, evidence=sets)
    tsvm = dict(zip(model.names_.tolist(), model.estimators_, strict=True))["tsvm"]
    np.testing.assert_array_equal(tsvm.transduction_[1::2], y[1::2])
    alone = SemiSupervisedCommittee(members[:1]).fit(X, labels, evidence=sets)
    assert "no member can use the evidence" in alone.trace_.notes


def test_a_choice_is_made_with_evidence(data):
    X, y, labels, q = data
    q = np.where(np.isnan(q), 0.05 + 0.9 * np.eye(2)[y], q)
    options = {"quick": True, "time_limit": 60, "use": TRANSDUCTION}
    options["parameters"] = {"evidence_weight": 5.0}
    found, plain = choose(X, labels, evidence=q, **options), choose(X, labels, **options)
    assert found.methods["tsvm"].scores != plain.methods["tsvm"].scores
    assert found.methods["svm"].mean == plain.methods["svm"].mean
    found.make().fit(X, labels, evidence=q)


def test_a_frame_with_evidence():
    texts = ["cheap pills", "lunch on monday", "cheap flights", "monday plans"] * 8
    kinds = ["spam", "ham", "spam", "ham"]
    frame = pd.DataFrame({"text": texts, "kind": kinds + [None] * 28})
    q = pd.DataFrame({"spam": [0.5] * 31 + [1.0], "ham": [0.5] * 31 + [0.0]})
    model = SemiSupervisedClassifier("tsvm").fit(frame, "kind", evidence=q)
    assert model.transduction_[-1] == "spam"
    with pytest.raises(ValueError, match="'svm' takes no evidence"):
        SemiSupervisedClassifier("svm").fit(frame, "kind", evidence=q)
    SemiSupervisedClassifier(time_limit=5.0).fit(frame, "kind", evidence=q)
