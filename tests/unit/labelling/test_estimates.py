"""What a session reports about its model: intervals, curves, shares, advice."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from semisvm.labelling.answer_store import AnswerStore, Event, Mark
from semisvm.labelling.assessment import Assessment
from semisvm.labelling.estimates import (
    FEWEST,
    SURE_ACCURACY,
    Gain,
    Trial,
    accuracy_at,
    class_shares,
    fewest_for_sure,
    gain_of,
    learning_curve,
    lowest_accuracy,
    sure_margin,
    trials_of,
    wilson,
)
from semisvm.labelling.records import Interval


def mark(seq, value="a", reason="random", guess="a", labels=10, seen=False):
    return Mark(
        seq, value, {"reason": reason, "guess": guess, "labels": labels, "seen_guess": seen}
    )


def test_only_random_rows_with_a_hidden_guess_are_tests():
    marks = [
        mark(4, "b"),
        mark(2, reason="uncertain"),
        mark(3, reason="sure"),
        mark(1),
        mark(5, seen=True),
        mark(6, value=None),
        mark(7, guess=None),
        Mark(8, "a", {"reason": "random"}),
    ]
    assert trials_of(marks) == [Trial(10, True), Trial(10, False)]


@pytest.mark.parametrize("n", [5, 20, 60])
@pytest.mark.parametrize("share", [0.6, 0.8, 0.9])
def test_the_interval_covers_the_truth(n, share):
    counts = np.arange(n + 1)
    covers = [low <= share <= high for low, high in (wilson(n - int(k), n) for k in counts)]
    assert binom.pmf(counts, n, share) @ covers > 0.9


def test_the_interval_stays_between_zero_and_one():
    assert wilson(5, 5)[0] == pytest.approx(0.0, abs=1e-12)
    assert wilson(0, 5)[1] == pytest.approx(1.0)
    assert 0.5 < wilson(0, 5)[0] < 1.0
    low, high = wilson(10, 40)
    assert low < 0.75 < high


def test_old_models_do_not_count():
    trials = [Trial(10, False)] * 20 + [Trial(50, True)] * 10
    found = accuracy_at(trials, 60)
    assert (found.value, found.n) == (1.0, 10)
    assert accuracy_at(trials, 12).value < 0.2
    assert accuracy_at(trials[:3], 12) is None


def test_errors_of_earlier_models_may_be_gone():
    trials = [Trial(40, k % 5 > 0) for k in range(20)]
    then, now = accuracy_at(trials, 40), accuracy_at(trials, 100)
    assert then.value == now.value == pytest.approx(0.8)
    assert now.low == then.low
    assert now.high > then.high


@pytest.mark.parametrize("rate", [0.0, 0.3, 0.5, 1.0])
@pytest.mark.parametrize("n_labels", [40, 120])
def test_the_accuracy_of_a_model_that_learns_is_covered(rate, n_labels):
    """Three fifths of the rows are random, as the policy has it; a model follows every five."""
    rng = np.random.default_rng(0)
    truth = 1 - 0.4 * (n_labels / 10) ** -rate
    found = []
    for _ in range(300):
        requested = np.arange(10, n_labels)[rng.random(n_labels - 10) < 0.6] // 5 * 5
        right = rng.random(len(requested)) > 0.4 * (requested / 10) ** -rate
        trials = [Trial(int(n), bool(ok)) for n, ok in zip(requested, right, strict=True)]
        found.append(accuracy_at(trials, n_labels))
    found = [at for at in found if at is not None]
    assert len(found) > 250
    assert np.mean([at.low <= truth <= at.high for at in found]) > 0.94
    # too low for a model that learns fast, but not too high
    assert -0.08 < np.mean([at.value for at in found]) - truth < 0.03


def test_the_curve_rises_with_the_models():
    rng = np.random.default_rng(0)
    trials = [Trial(n, bool(rng.random() < 1 - 0.5 * (n / 10) ** -0.8)) for n in range(10, 200)]
    curve = learning_curve(trials, 199)
    assert curve[-1].accuracy > curve[0].accuracy
    assert all(point.low <= point.accuracy <= point.high for point in curve)
    for point in curve:
        found = accuracy_at(trials, point.n_labels)
        assert (found.value, found.low, found.high) == (point.accuracy, point.low, point.high)
    assert [point.n_labels for point in curve] == sorted(point.n_labels for point in curve)


@pytest.mark.parametrize("n_labels", [199, 203, 260])
def test_the_curve_ends_with_the_accuracy_of_the_model(n_labels):
    """Also if no row was tested since the last fit."""
    trials = [Trial(n, n % 3 > 0) for n in range(10, 200)]
    end, now = learning_curve(trials, n_labels)[-1], accuracy_at(trials, n_labels)
    assert end.n_labels == n_labels
    assert (end.accuracy, end.low, end.high) == (now.value, now.low, now.high)


def test_few_trials_give_no_accuracy():
    trials = [Trial(20, k % 2 > 0) for k in range(FEWEST)]
    assert accuracy_at(trials, 20) is not None
    assert accuracy_at(trials[1:], 20) is None
    assert learning_curve(trials[1:], 20) == []


def test_a_gain_is_the_difference_of_two_halves():
    trials = [Trial(20, k % 2 > 0) for k in range(40)] + [Trial(60, k % 10 > 0) for k in range(40)]
    gain = gain_of(trials, 80)
    assert (gain.n_labels, gain.before, gain.since) == (40, 0.5, 0.9)
    assert 0.1 < gain.low < 0.4 < gain.high < 0.6
    assert gain_of(trials[: 40 + FEWEST - 1], 80) is None
    assert gain_of(trials, 30) is None


@pytest.mark.parametrize(("before", "since"), [(0.6, 0.6), (0.6, 0.8), (0.85, 0.9)])
def test_the_interval_of_a_gain_covers_it(before, since):
    rng = np.random.default_rng(0)
    covered = []
    for _ in range(500):
        trials = [Trial(20, bool(ok)) for ok in rng.random(25) < before]
        trials += [Trial(50, bool(ok)) for ok in rng.random(35) < since]
        gain = gain_of(trials, 60)
        covered.append(gain.low <= since - before <= gain.high)
    assert np.mean(covered) > 0.92


def test_the_lowest_accuracy_is_that_of_clopper_and_pearson():
    few = fewest_for_sure()
    assert lowest_accuracy(0, few) >= SURE_ACCURACY > lowest_accuracy(0, few - 1)
    bound = lowest_accuracy(3, 50)
    assert binom.cdf(3, 50, 1 - bound) == pytest.approx(0.1)
    assert lowest_accuracy(5, 5) == 0.0


def test_guesses_are_sure_from_a_margin_on():
    margins = np.linspace(2.0, 0.0, 100)
    right = np.arange(100) < 60
    margin, n_right, n = sure_margin(margins, right)
    assert (n_right, n) == (60, 62)  # the lower bound of 60 of 63 is below nine tenths
    assert margin == margins[n - 1]
    # two errors among the surest do not count for ever
    right[[3, 5]] = False
    assert sure_margin(margins, right) is None
    assert sure_margin(np.linspace(2.0, 0.0, 150), np.arange(150) > 1)[1:] == (148, 150)
    right[[3, 5]] = True
    shuffled = np.random.default_rng(0).permutation(100)
    assert sure_margin(margins[shuffled], right[shuffled])[1:] == (n_right, n)


def test_guesses_that_are_no_better_than_chance_are_never_sure():
    rng = np.random.default_rng(0)
    assert all(sure_margin(rng.random(200), rng.random(200) < 0.5) is None for _ in range(200))
    few = fewest_for_sure() - 1
    assert sure_margin(rng.random(few), np.ones(few, dtype=bool)) is None


@pytest.mark.parametrize("n", [40, 150])
def test_sure_guesses_have_the_accuracy_that_is_shown(n):
    """The accuracy rises with the margin; above the limit it is rarely below the promise."""
    rng = np.random.default_rng(0)
    grid = np.linspace(0, 1, 1001)
    misses = found = 0
    for _ in range(600):
        margins = rng.random(n)
        limit = sure_margin(margins, rng.random(n) < 0.75 + 0.25 * margins)
        if limit is not None:
            found += 1
            misses += np.mean(0.75 + 0.25 * grid[grid >= limit[0]]) < SURE_ACCURACY
    assert found > 30
    assert misses / 600 < 0.1


def test_shares_come_from_random_rows():
    marks = [mark(k, "a" if k % 4 else "b") for k in range(400)]
    marks += [mark(k, "b", reason="uncertain") for k in range(400, 900)]
    shares = class_shares(marks, ["a", "b", "c"])
    assert shares["a"][0] == pytest.approx(0.75, abs=0.01)
    assert shares["a"][1] == pytest.approx(np.sqrt(0.75 * 0.25 / 400), rel=0.02)
    assert shares["c"][0] == 0.0
    assert shares["c"][1] == pytest.approx(1.5 / 400)
    assert sum(share for share, _ in shares.values()) == pytest.approx(1.0)
    assert class_shares([mark(1, reason="uncertain")], ["a"]) is None


@pytest.mark.parametrize("accuracy", [0.5, 0.9])
def test_shares_are_free_of_bias_and_surer_with_a_good_model(accuracy):
    """Whatever the model predicts for all rows, random answers correct it."""
    rng = np.random.default_rng(0)
    truth = rng.random(5000) < 0.3
    guess = np.where(rng.random(5000) < accuracy, truth, rng.random(5000) < 0.9)
    guessed = {"a": float(guess.mean()), "b": 1 - float(guess.mean())}
    found, plain = [], []
    for _ in range(300):
        rows = rng.choice(5000, 30)
        facts = {"reason": "random", "labels": 1, "guessed": guessed}
        marks = [
            Mark(k, "ba"[int(truth[i])], {**facts, "guess": "ba"[int(guess[i])]})
            for k, i in enumerate(rows)
        ]
        found.append(class_shares(marks, ["a", "b"])["a"])
        plain.append(
            class_shares([Mark(m.seq, m.value, {"reason": "random"}) for m in marks], "ab")
        )
    shares, errors = np.array(found).T
    assert abs(shares.mean() - truth.mean()) < 0.02
    assert np.mean(np.abs(shares - truth.mean()) < 2 * errors) > 0.9
    if accuracy == 0.9:
        assert errors.mean() < 0.9 * np.mean([pair["a"][1] for pair in plain])


def test_a_few_rows_that_agree_are_not_sure():
    shares = class_shares([mark(k) for k in range(3)], ["a", "b"])
    assert shares["a"] == (1.0, pytest.approx(0.5))


def assessment_of(marks):
    """Return the assessment on a thousand rows, some of which are marked."""

    class Rows(SimpleNamespace):
        def __len__(self):
            return 1000

    book = AnswerStore({}, ["a", "b"])
    for one in marks:
        book.apply(Event(one.seq, "answer", (one.seq,), one.value, facts=dict(one.facts)))
    return Assessment(Rows(prepared=None), book)


def test_uncertain_shares_are_not_shown():
    """Two random rows of one class do not make "0% with an error of 50%" of the other."""
    few = [mark(k, "a" if k % 2 else "b", reason="cluster") for k in range(1, 9)]
    few += [mark(9), mark(10)]
    assert assessment_of(few)._estimates(None, 0)["shares"] == {}
    many = few + [mark(k, "a" if k % 3 else "b", guess="a") for k in range(11, 61)]
    shares = [*assessment_of(many)._estimates(None, 0)["shares"].values()]
    assert sum(share for share, _ in shares) == pytest.approx(1.0)
    assert all(error < 0.125 for _, error in shares)


SOME = Interval(0.8, 0.7, 0.88, 40)


@pytest.mark.parametrize(
    ("accuracy", "gain", "advice"),
    [
        (None, None, "Go on: more random rows are needed"),
        (Interval(0.5, 0.25, 0.88, 12), None, "Go on: the accuracy is hardly known yet."),
        (SOME, None, "Stop when this accuracy is enough for you."),
        (SOME, Gain(30, 0.7, 0.8, -0.05, 0.2), "Stop when this accuracy is enough for you."),
        (SOME, Gain(30, 0.62, 0.8, 0.04, 0.3), "Go on: answers help. Random rows were guessed"),
        (SOME, Gain(300, 0.8, 0.8, -0.03, 0.03), "You can stop: the accuracy has risen by less"),
        (Interval(0.97, 0.91, 1.0, 80), None, "You can stop: the model is right on nearly all"),
        (Interval(1.0, 0.8, 1.0, 16), None, "Stop when this accuracy is enough for you."),
    ],
)
def test_the_advice_follows_the_intervals(accuracy, gain, advice):
    assessment = assessment_of([mark(k, "ab"[k % 2]) for k in range(1, 51)])
    assert assessment._advice(accuracy, gain).startswith(advice)


def test_no_number_of_answers_is_promised():
    for accuracy in (SOME, Interval(0.58, 0.24, 0.81, 12)):
        message = assessment_of([mark(1, "a"), mark(2, "b")])._advice(accuracy, None)
        assert "more answers" in message
        assert not any(letter.isdigit() for letter in message)
