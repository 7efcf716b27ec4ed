"""Confusion tables of sources, by hand and by what must not matter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semisvm.labels.confusion import STRENGTHS, learn_reliability
from semisvm.labels.partial import PartialLabels


def labels_of(codes, m=2):
    return PartialLabels(np.arange(m), np.asarray(codes))


def random_case(seed, n=60, s=3, m=3):
    rng = np.random.default_rng(seed)
    truth = rng.integers(m, size=n)
    truth[:m] = np.arange(m)
    wrong = rng.random((s, n)) < 0.4
    votes = np.where(wrong, rng.integers(m, size=(s, n)), truth)
    votes[rng.random((s, n)) < 0.2] = -1
    return votes, labels_of(np.where(np.arange(n) < 30, truth, -1), m)


def test_a_source_that_is_always_right_by_hand():
    codes = np.array([0, 0, 1, 1, -1, -1])
    found = learn_reliability(np.array([[0, 0, 1, 1, 0, 1]]), labels_of(codes))
    # 4 of 4 are right; one of two more, then two of the mean of all sources
    overall = (4 + 1) / (4 + 2)
    accuracy = (4 + 2 * overall) / (4 + 2)
    assert found.accuracies == pytest.approx([accuracy])
    # consistent counts speak for the weakest common table
    right = (2 + STRENGTHS[0] * accuracy) / (2 + STRENGTHS[0])
    assert found.tables[0] == pytest.approx(np.array([[right, 1 - right], [1 - right, right]]))
    assert found.weights == pytest.approx([1.0])


def test_errors_follow_the_frequencies_of_the_votes():
    codes = np.array([0, 1, 2, -1, -1, -1, -1])
    found = learn_reliability(np.array([[0, 1, 2, 1, 1, 1, 1]]), labels_of(codes, 3))
    table = found.tables[0]
    # class 1 has five votes of seven, and one more each
    assert table[0, 1] / table[0, 2] == pytest.approx(6 / 2)


def test_a_source_that_is_never_right_speaks_for_the_other_class():
    codes = np.array([0, 0, 0, 1, 1, 1, -1])
    votes = np.array([[1, 1, 1, 0, 0, 0, 1]])
    found = learn_reliability(votes, labels_of(codes))
    logs = found.log_likelihoods(votes)[0]
    assert found.accuracies[0] < 0.2
    assert logs[6, 0] > logs[6, 1]


@pytest.mark.parametrize("copies", [2, 3, 5])
@pytest.mark.parametrize("seed", range(3))
def test_copies_share_one_vote(copies, seed):
    votes, labels = random_case(seed, s=1)
    alone = learn_reliability(votes, labels)
    found = learn_reliability(np.repeat(votes, copies, axis=0), labels)
    assert found.weights == pytest.approx(np.full(copies, 1 / copies))
    logs = np.tensordot(found.weights, found.log_likelihoods(np.repeat(votes, copies, axis=0)), 1)
    np.testing.assert_allclose(logs, alone.log_likelihoods(votes)[0], atol=1e-12)


def test_independent_sources_keep_most_of_their_votes():
    votes, labels = random_case(0, n=3_000)
    assert learn_reliability(votes, labels).weights.min() > 0.75


def test_a_source_without_votes_changes_nothing():
    votes, labels = random_case(1, s=2)
    more = np.vstack([votes, np.full(votes.shape[1], -1)])
    alone, found = learn_reliability(votes, labels), learn_reliability(more, labels)
    np.testing.assert_allclose(found.tables[:2], alone.tables)
    np.testing.assert_allclose(found.weights[:2], alone.weights)
    assert not found.log_likelihoods(more)[2].any()


def test_sources_without_votes_on_labelled_rows_are_taken_for_guesses():
    votes = np.array([[-1, -1, 0, 1, 0, 1]])
    found = learn_reliability(votes, labels_of([0, 1, -1, -1, -1, -1]))
    assert found.accuracies == pytest.approx([0.5])
    np.testing.assert_allclose(found.tables[0], 0.5)


def test_agreement_of_three_sources_adds_to_few_labels():
    rng = np.random.default_rng(0)
    truth = rng.integers(2, size=4_000)
    votes = np.stack([np.where(rng.random(4_000) < a, truth, 1 - truth) for a in (0.9, 0.6, 0.6)])
    few = labels_of(np.where(np.arange(4_000) < 8, truth, -1))
    three = learn_reliability(votes, few).tables
    # with eight labels the best source is known to be best by the other rows
    assert three[0].diagonal().min() > three[1:].diagonal(axis1=1, axis2=2).max()


def test_shares_are_corrected_for_errors():
    rng = np.random.default_rng(0)
    truth = (rng.random(6_000) < 0.2).astype(int)
    votes = np.where(rng.random(6_000) < 0.7, truth, 1 - truth)
    codes = np.where(np.arange(6_000) < 2_000, truth, -1)
    found = learn_reliability(votes[None], labels_of(codes))
    assert np.mean(votes) > 0.35
    assert found.shares[1] == pytest.approx(0.2, abs=0.04)


@given(st.integers(0, 10_000))
@settings(max_examples=20, deadline=None)
def test_the_order_of_rows_does_not_matter(seed):
    votes, labels = random_case(seed)
    order = np.random.default_rng(seed).permutation(votes.shape[1])
    found = learn_reliability(votes, labels)
    again = learn_reliability(votes[:, order], labels_of(labels.codes[order], 3))
    np.testing.assert_allclose(again.tables, found.tables, atol=1e-9)
    np.testing.assert_allclose(again.weights, found.weights, atol=1e-9)
    np.testing.assert_allclose(again.shares, found.shares, atol=1e-9)


def test_tables_and_shares_are_distributions():
    votes, labels = random_case(5)
    found = learn_reliability(votes, labels)
    np.testing.assert_allclose(found.tables.sum(axis=2), 1.0)
    assert found.tables.min() > 0.0
    assert found.shares.sum() == pytest.approx(1.0)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000))
def test_weights_are_numbers_of_rows(seed):
    votes, labels = random_case(seed)
    times = np.random.default_rng(seed).integers(0, 4, 60)
    times[:3] = 1  # a label of each class
    rows = np.repeat(np.arange(60), times)
    weighed = learn_reliability(votes, labels, times.astype(float))
    repeated = learn_reliability(votes[:, rows], labels.of_rows(rows))
    for name in ("tables", "weights", "accuracies", "shares"):
        np.testing.assert_allclose(getattr(weighed, name), getattr(repeated, name), rtol=1e-6)
