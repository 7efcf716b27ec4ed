"""Unreliable labels as evidence, and on the road from a data frame to a model."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from semisvm import (
    NewtonSVC,
    SemiSupervisedClassifier,
    TransductiveSVC,
    WeakLabels,
    choose,
    compare,
    train,
)
from semisvm.labels.evidence import with_evidence
from semisvm.labels.partial import encode
from semisvm.model_selection.weak_labels import Sources

N, GOLD = 240, 48


@pytest.fixture(scope="module")
def blobs():
    """Return rows in four clusters, two of each class, labels, and votes wrong in one cluster."""
    rng = np.random.default_rng(0)
    cluster = np.arange(N) % 4
    y = cluster % 2
    centres = np.array([[3.0, 0, 0], [0, 3, 0], [0, 0, 3], [-3, -3, -3]])
    X = centres[cluster] + 0.4 * rng.normal(size=(N, 3))
    labels = np.where(np.arange(N) < GOLD, y, -1)
    votes = np.where(cluster == 2, 1 - y, y)
    return X, y, labels, votes, cluster


def test_votes_may_be_missing_in_any_way(blobs):
    _, _, labels, votes, _ = blobs
    gone = np.arange(N) % 5 == 0
    marked = np.where(gone, -1, votes)
    forms = [
        marked,
        np.where(gone, np.nan, votes),
        [None if missing else int(vote) for missing, vote in zip(gone, votes, strict=True)],
        pd.Series(votes).astype("Int64").mask(gone),
        {"one": marked},
        pd.DataFrame({"one": pd.Series(marked)}),
    ]
    found = [WeakLabels(form).fit(labels).evidence_ for form in forms]
    for own in found[1:]:
        np.testing.assert_array_equal(own, found[0])
    assert (found[0][gone] == 1.0).all()


def test_a_class_without_labelled_rows_is_refused(blobs):
    _, _, labels, votes, _ = blobs
    votes = votes.copy()
    votes[7] = 5
    with pytest.raises(ValueError, match=r"'llm' votes for 5 in row 7, a class that no label"):
        WeakLabels({"llm": votes}).fit(labels)


def test_lengths_and_shapes_are_checked(blobs):
    _, _, labels, votes, _ = blobs
    with pytest.raises(ValueError, match="the source 'llm'"):
        WeakLabels({"llm": votes[:-1]}).fit(labels)
    with pytest.raises(ValueError, match="3 columns of probabilities, and y has 2 classes"):
        WeakLabels(np.ones((N, 3))).fit(labels)
    with pytest.raises(ValueError, match="no probability"):
        WeakLabels(np.full((N, 2), -0.5)).fit(labels)
    with pytest.raises(ValueError, match="votes has no source"):
        WeakLabels({}).fit(labels)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_a_source_that_is_wrong_in_a_region_loses_its_say_there(blobs, form):
    X, y, labels, votes, cluster = blobs
    free = labels == -1
    plain = WeakLabels(votes).fit(labels).evidence_
    found = WeakLabels(votes, form(X)).fit(labels).evidence_
    own = found[np.arange(N), votes] / found[np.arange(N), 1 - votes]
    usual = plain[np.arange(N), votes] / plain[np.arange(N), 1 - votes]
    assert (own[free & (cluster == 2)] < 1.0).all()
    assert (own[free & (cluster != 2)] > usual[free & (cluster != 2)]).all()
    right = found[free].argmax(axis=1) == y[free]
    assert right.mean() > np.mean(votes[free] == y[free])


def test_the_order_of_rows_does_not_matter(blobs):
    X, _, labels, votes, _ = blobs
    order = np.random.default_rng(3).permutation(N)
    found = WeakLabels(votes, X).fit(labels).evidence_
    again = WeakLabels(votes[order], X[order]).fit(labels[order]).evidence_
    np.testing.assert_allclose(again, found[order], rtol=1e-4)


def test_copies_count_once_with_regions_too(blobs):
    X, _, labels, votes, _ = blobs
    one = WeakLabels({"a": votes}, X).fit(labels).evidence_
    three = WeakLabels({"a": votes, "b": votes, "c": votes}, X).fit(labels)
    np.testing.assert_allclose(three.evidence_, one, rtol=1e-6)
    np.testing.assert_allclose(three.weights_, 1 / 3)


def test_surer_votes_count_more_where_that_was_right(blobs):
    _, y, labels, _, _ = blobs
    rng = np.random.default_rng(1)
    sure = rng.random(N) < 0.5
    right = sure | (rng.random(N) < 0.5)
    vote, p = np.where(right, y, 1 - y), np.where(sure, 0.95, 0.6)
    table = np.where(np.arange(2) == vote[:, None], p[:, None], 1 - p[:, None])
    found = WeakLabels(table).fit(labels).evidence_
    own = found[np.arange(N), vote] / found[np.arange(N), 1 - vote]
    assert own[sure].min() > own[~sure].max()


def test_evidence_is_learnt_without_labels_that_are_hidden(blobs):
    X, _, labels, votes, _ = blobs
    weak, hidden = WeakLabels(votes, X), labels.copy()
    fold = np.arange(0, GOLD, 3)
    hidden[fold] = -1
    found = with_evidence(encode(labels), weak).without(fold)
    np.testing.assert_allclose(np.exp(-found.evidence), weak.fit(hidden).evidence_)
    rows = np.arange(10, N)
    part = with_evidence(encode(labels), weak).of_rows(rows).without(np.arange(3))
    assert part.evidence.shape == (len(rows), 2)


def test_estimators_take_it_as_evidence(blobs):
    X, _, labels, votes, _ = blobs
    weak = WeakLabels(votes, X)
    model = TransductiveSVC(reg=0.1).fit(X, labels, evidence=weak)
    again = TransductiveSVC(reg=0.1).fit(X, labels, evidence=weak.fit(labels).evidence_)
    np.testing.assert_allclose(model.coef_, again.coef_)


def test_the_choice_tries_evidence_and_describes_its_worth(blobs):
    X, _, labels, votes, _ = blobs
    choice = choose(X, labels, evidence=WeakLabels({"llm": votes}, X), quick=True, time_limit=60)
    names = [method.name for method in choice.methods.methods]
    assert {"tsvm", "tsvm evidence=0.2", "tsvm evidence=1", "maxent evidence"} <= {
        *names,
        *choice.skipped,
    }
    (note,) = [note for note in choice.notes if "llm" in note]
    assert "are right in about 7" in note
    assert "95% interval" in note


def test_a_comparison_learns_reliability_without_held_out_labels(blobs, monkeypatch):
    X, _, labels, votes, _ = blobs
    seen, learn = [], Sources.learn

    def spied(self, known):
        seen.append(len(known.labeled))
        return learn(self, known)

    monkeypatch.setattr(Sources, "learn", spied)
    methods = {"svm": NewtonSVC(), "tsvm": TransductiveSVC()}
    compare(methods, X, labels, cv=4, evidence=WeakLabels(votes, X))
    # once for the shape, then in every fold
    assert seen[0] == GOLD
    assert set(seen[1:]) == {GOLD - GOLD // 4}


@pytest.fixture(scope="module")
def frame(blobs):
    X, y, labels, votes, _ = blobs
    names = np.array(["ham", "spam"])
    return pd.DataFrame(
        {
            "a": X[:, 0],
            "b": X[:, 1],
            "c": X[:, 2],
            "llm": np.where(np.arange(N) % 7 == 0, None, names[votes]),
            "rule": [names[k] if k else "" for k in y],
            "kind": [names[k] if k >= 0 else None for k in labels],
        }
    )


def test_weak_columns_are_no_features(frame, blobs):
    y = blobs[1]
    model = SemiSupervisedClassifier("tsvm").fit(frame, "kind", weak=["llm", "rule"])
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.mean(model.predict(frame) == np.array(["ham", "spam"])[y]) > 0.95
    one = SemiSupervisedClassifier("tsvm").fit(frame.drop(columns="rule"), "kind", weak="llm")
    given = SemiSupervisedClassifier("tsvm").fit(
        frame[["a", "b", "c", "kind"]], "kind", weak={"llm": frame["llm"]}
    )
    np.testing.assert_array_equal(one.decision_function(frame), given.decision_function(frame))


def test_the_report_has_what_weak_labels_were_worth(frame):
    model = SemiSupervisedClassifier(time_limit=3.0).fit(
        frame.drop(columns="rule"), "kind", weak="llm"
    )
    assert "The labels of 'llm' are right in about" in str(model.report_)


def test_what_weak_labels_cannot_be_combined_with(frame):
    with pytest.raises(ValueError, match="give either weak= or evidence="):
        SemiSupervisedClassifier("tsvm").fit(
            frame, "kind", weak="llm", evidence=np.ones((len(frame), 2))
        )
    with pytest.raises(ValueError, match="takes no evidence"):
        SemiSupervisedClassifier("svm").fit(frame, "kind", weak="llm")
    with pytest.raises(ValueError, match="no column 'nothing'"):
        SemiSupervisedClassifier("tsvm").fit(frame, "kind", weak="nothing")
    with pytest.raises(ValueError, match="the rows are a matrix of numbers"):
        train(frame[["a", "b"]].to_numpy(), "tsvm", y=frame["kind"], weak="llm")
    with pytest.raises(ValueError, match="the weak labels of 'llm'"):
        train(frame[["a", "b"]], "tsvm", y=frame["kind"], weak={"llm": ["ham"]})


def test_rows_count_by_their_weight(blobs):
    X, _, labels, votes, cluster = blobs
    # a second source is wrong in other rows, which have no weight
    other = np.where(np.arange(N) % 3 == 0, 1 - votes, votes)
    weight = (np.arange(N) % 3 > 0).astype(float)
    kept = weight > 0
    some = WeakLabels(other, X, sample_weight=5.0 * weight).fit(labels)
    without = WeakLabels(other[kept], X[kept]).fit(labels[kept])
    np.testing.assert_allclose(some.accuracy_, without.accuracy_)
    np.testing.assert_allclose(some.confusion_, without.confusion_)
    np.testing.assert_allclose(some.evidence_[kept], without.evidence_, rtol=0.01)
    heavy = np.where(cluster == 2, 9.0, 1.0)
    light = WeakLabels(votes, sample_weight=heavy).fit(labels)
    assert light.accuracy_[0] < WeakLabels(votes).fit(labels).accuracy_[0] - 0.2
    with pytest.raises(ValueError, match="zero for every labelled row"):
        WeakLabels(votes, sample_weight=np.where(labels >= 0, 0.0, 1.0)).fit(labels)


def test_weights_of_a_table_reach_the_weak_labels(frame, monkeypatch):
    seen, learn = [], Sources.learn

    def spied(self, known):
        seen.append(self.weight)
        return learn(self, known)

    monkeypatch.setattr(Sources, "learn", spied)
    heavy = np.where(np.arange(N) % 2, 3.0, 1.0)
    SemiSupervisedClassifier("tsvm").fit(frame, "kind", weak="llm", sample_weight=heavy)
    np.testing.assert_array_equal(seen[0], heavy)
