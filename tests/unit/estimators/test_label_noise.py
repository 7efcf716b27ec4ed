"""Labels that may be wrong: what is taken back, and what must not matter."""

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.base import clone

from semisvm import (
    AnnealedSVC,
    SemiSupervisedClassifier,
    TransductiveSVC,
    choose,
    open_rows,
    write_rows,
)
from semisvm.designs import Workers
from semisvm.estimators.held_out import MappedRowsCache, held_out_scores
from semisvm.estimators.label_noise import _posterior, noise_rates, take_back
from semisvm.labels.partial import encode
from semisvm.model_selection import TransductiveSVCCV, audit_labels

MACHINES = [TransductiveSVC, AnnealedSVC]
PRIOR = [1 / 3, 1 / 3, 1 / 3]
N, GOLD = 300, 150


@pytest.fixture(scope="module")
def flipped():
    """Return rows of three clusters, classes, labels of which six are wrong, and these rows."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    X = rng.normal(size=(N, 4))
    X[np.arange(N), y] += 6.0
    labels = np.where(np.arange(N) < GOLD, y, -1)
    wrong = np.array([3, 13, 22, 36, 41, 50])
    labels[wrong] = (y[wrong] + 1) % 3  # two of each class, so that shares hold
    return X, y, labels, wrong


def fitted(kind, X, labels, noise=None, **given):
    return kind(reg=0.1, class_prior=PRIOR, label_noise=noise, **given).fit(X, labels)


@pytest.mark.parametrize("kind", MACHINES)
def test_labels_that_the_others_contradict_are_taken_back(kind, flipped):
    X, y, labels, wrong = flipped
    model = fitted(kind, X, labels, 0.1)
    assert [note for note in model.trace_.notes if "6 of 150 labels" in note]
    np.testing.assert_array_equal(model.transduction_[wrong], y[wrong])
    assert (fitted(kind, X, labels).transduction_[wrong] == labels[wrong]).all()
    hidden = labels.copy()
    hidden[wrong] = -1
    # the evidence of the labels is weak against rows so far from the boundary
    np.testing.assert_allclose(
        model.coef_, fitted(kind, X, hidden).coef_, atol=0.05 * np.abs(model.coef_).max()
    )


@pytest.mark.parametrize("kind", MACHINES)
def test_labels_that_cannot_be_wrong_change_nothing(kind, flipped):
    X, _, labels, _ = flipped
    plain = fitted(kind, X, labels)
    rates = np.zeros(N)
    rates[GOLD:] = 0.5  # of rows without a label
    for noise in (0.0, {}, {1: 0.0}, rates):
        np.testing.assert_array_equal(fitted(kind, X, labels, noise).coef_, plain.coef_)


def test_rates_are_of_all_labels_of_a_class_or_of_rows(flipped):
    X, y, labels, _ = flipped
    all_rows = fitted(TransductiveSVC, X, labels, 0.1)
    each = fitted(TransductiveSVC, X, labels, np.full(N, 0.1))
    by_class = fitted(TransductiveSVC, X, labels, {0: 0.1, 1: 0.1, 2: 0.1})
    for model in (each, by_class):
        np.testing.assert_array_equal(model.coef_, all_rows.coef_)
    labels, wrong = np.where(np.arange(N) < GOLD, y, -1), [3, 30, 60]
    labels[wrong] = 1
    notes = fitted(TransductiveSVC, X, labels, {1: 0.1}).trace_.notes
    assert any("(rows 3, 30, 60)" in note for note in notes)
    notes = fitted(TransductiveSVC, X, labels, {0: 0.1, 2: 0.1}).trace_.notes
    assert not any("label_noise" in note for note in notes)


def test_the_order_of_rows_and_their_place_do_not_matter(flipped, tmp_path):
    X, _, labels, _ = flipped
    order = np.random.default_rng(1).permutation(N)
    model = fitted(TransductiveSVC, X, labels, 0.1, balance_tol=None, tol=1e-9)
    other = fitted(TransductiveSVC, X[order], labels[order], 0.1, balance_tol=None, tol=1e-9)
    np.testing.assert_allclose(other.coef_, model.coef_, rtol=1e-5)
    write_rows(tmp_path / "x.rows", X)
    stored = fitted(TransductiveSVC, open_rows(tmp_path / "x.rows"), labels, 0.1)
    np.testing.assert_array_equal(stored.transduction_, model.transduction_)


def test_labels_of_weight_zero_have_no_part(flipped):
    X, _, labels, wrong = flipped
    weight = np.ones(N)
    weight[wrong] = 0.0
    given = (encode(labels), X, noise_rates(0.1, encode(labels)), np.arange(N), weight)
    assert len(take_back(*given)[1]) == 0


def test_a_class_keeps_its_most_probable_label(flipped):
    X, _, labels, _ = flipped
    few = labels.copy()
    few[labels == 2] = -1
    few[[0, 3]] = 2  # rows of class 0
    found, taken = take_back(encode(few), X, np.full(N, 0.3), np.arange(N))
    assert set(np.unique(found.codes)) == {-1, 0, 1, 2}
    assert len(np.intersect1d(taken, [0, 3])) == 1


def test_probabilities_by_hand():
    q = np.array([[0.8, 0.2], [0.3, 0.7], [0.9, 0.1]])
    # scores that say nothing leave the label as it was
    np.testing.assert_allclose(_posterior(np.zeros((3, 2)), q, np.ones(3)), q)
    # the slope is where the likelihood of the labels is highest
    rng = np.random.default_rng(0)
    truth, scores = rng.integers(0, 2, 400), rng.normal(size=(400, 2))
    scores[np.arange(400), truth] += 1.0
    given = np.where(rng.random(400) < 0.2, 1 - truth, truth)
    q = np.where(np.eye(2)[given] > 0, 0.8, 0.2)
    p = _posterior(scores, q, np.ones(400))
    slopes = np.linspace(0.0, 3.0, 61)
    shares = q.mean(axis=0)
    fit = [
        np.log(
            (q * np.exp(a * scores)).sum(axis=1) / (shares * np.exp(a * scores)).sum(axis=1)
        ).sum()
        - a**2 / 50
        for a in slopes
    ]
    best = slopes[int(np.argmax(fit))]
    np.testing.assert_allclose(p, softmax(best * scores + np.log(q), axis=1), atol=0.02)
    doubted = p[np.arange(400), given] < 0.5
    assert np.mean(given[doubted] != truth[doubted]) > 0.75


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (1.0, "below 1"),
        (-0.1, "label_noise"),
        ("a lot", "label_noise"),
        ({0: 1.5}, "below 1"),
        ({"spam": 0.1}, r"unknown classes \['spam'\]"),
        ([0.1, 0.2], "label_noise must have one rate per row"),
        (np.full(N, 2.0), "row 0 is 2.0"),
        (np.full((N, 2), 0.1), r"got shape \(300, 2\)"),
    ],
)
def test_what_cannot_be_a_rate_is_refused(flipped, noise, message):
    X, _, labels, _ = flipped
    with pytest.raises((ValueError, TypeError), match=message):
        fitted(TransductiveSVC, X, labels, noise)


def test_labels_that_are_held_out_do_not_doubt_others(flipped):
    X, y, labels, wrong = flipped
    rates = np.full(N, 0.1)
    machine = TransductiveSVC(reg=0.1, class_prior=PRIOR, label_noise=rates)
    # rates of rows go with the rows that are left
    fold = np.arange(40)
    outside = np.arange(N) < 20
    rest = np.flatnonzero(~outside)
    with Workers(1) as workers:
        scores = held_out_scores(
            machine, MappedRowsCache(X, workers), encode(labels), np.array(PRIOR), outside
        )(fold)
    hidden = np.where(np.arange(N) < 40, -1, labels)[rest]
    again = clone(machine).set_params(label_noise=rates[rest], balance_tol=None)
    again.fit(X[rest], hidden)
    assert np.mean(scores.argmax(axis=1) == again.decision_function(X[fold]).argmax(axis=1)) > 0.95
    doubts = audit_labels(machine, X, labels, cv=3)
    assert set(wrong) <= set(doubts.rows.tolist())
    search = TransductiveSVCCV(regs=[0.1], cv=3, class_prior=PRIOR, label_noise=0.1)
    assert (search.fit(X, labels).transduction_[wrong] == y[wrong]).all()


def test_the_one_class_passes_rates_on(flipped):
    X, y, labels, wrong = flipped
    names = np.array(["a", "b", "c"], dtype=object)
    given = [None if k < 0 else names[k] for k in labels]
    model = SemiSupervisedClassifier("tsvm", label_noise={"a": 0.1, "b": 0.1, "c": 0.1})
    model.fit(X, given)
    np.testing.assert_array_equal(model.transduction_[wrong], names[y[wrong]])
    assert "labels count as evidence only" in str(model.report_)
    with pytest.raises(ValueError, match="label_noise"):
        SemiSupervisedClassifier("svm", label_noise=0.1).fit(X, given)
    choice = choose(X, labels, quick=True, time_limit=3.0, parameters={"label_noise": 0.1})
    assert choice.make().fit(X, labels).score(X, y) > 0.9
    with pytest.raises(ValueError, match="a number or by class"):
        choose(X, labels, parameters={"label_noise": np.full(N, 0.1)})
