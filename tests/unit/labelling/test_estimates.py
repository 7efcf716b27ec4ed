"""What a sitting says about its model: intervals, curves, shares, advice."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy.stats import binom

from semisvm.labelling.book import Mark
from semisvm.labelling.estimates import (
    PowerLaw,
    Trial,
    accuracy_at,
    class_shares,
    fit_curve,
    learning_curve,
    trials_of,
    wilson,
)
from semisvm.labelling.outlook import ENOUGH_TRIALS, Outlook
from semisvm.labelling.records import Interval


def mark(seq, value="a", reason="random", guess="a", labels=10, seen=False):
    return Mark(
        seq, value, {"reason": reason, "guess": guess, "labels": labels, "seen_guess": seen}
    )


def test_only_random_rows_with_a_guess_that_nobody_saw_are_tests():
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


def test_errors_of_earlier_models_weigh_less():
    trials = [Trial(40, k % 5 > 0) for k in range(20)]
    then, now = accuracy_at(trials, 40), accuracy_at(trials, 100)
    assert then.value == pytest.approx(0.8)
    assert now.value == pytest.approx(1 - 0.2 * 0.4**0.5)
    assert now.low == then.low
    assert now.high > then.high


@pytest.mark.parametrize("rate", [0.3, 0.5, 1.0])
@pytest.mark.parametrize("n_labels", [40, 120])
def test_the_accuracy_of_a_model_that_learns_is_covered(rate, n_labels):
    """Two fifths of the rows are random, as the policy has it, and a model follows every five."""
    rng = np.random.default_rng(0)
    truth = 1 - 0.4 * (n_labels / 10) ** -rate
    found = []
    for _ in range(300):
        asked = np.arange(10, n_labels)[rng.random(n_labels - 10) < 0.4] // 5 * 5
        right = rng.random(len(asked)) > 0.4 * (asked / 10) ** -rate
        trials = [Trial(int(n), bool(ok)) for n, ok in zip(asked, right, strict=True)]
        found.append(accuracy_at(trials, n_labels))
    assert np.mean([at.low <= truth <= at.high for at in found]) > 0.94
    assert abs(np.mean([at.value for at in found]) - truth) < 0.035


def test_the_curve_rises_with_the_models():
    rng = np.random.default_rng(0)
    trials = [Trial(n, bool(rng.random() < 1 - 0.5 * (n / 10) ** -0.8)) for n in range(10, 200)]
    curve = learning_curve(trials)
    assert curve[-1].accuracy > curve[0].accuracy
    assert all(point.low <= point.accuracy <= point.high for point in curve)
    for point in curve:
        found = accuracy_at(trials, point.n_labels)
        assert (found.value, found.low, found.high) == (point.accuracy, point.low, point.high)
    assert [point.n_labels for point in curve] == sorted(point.n_labels for point in curve)


@pytest.mark.parametrize("rate", [0.3, 0.8])
def test_a_power_law_is_found_again(rate):
    rng = np.random.default_rng(1)
    sizes = rng.integers(10, 1000, 3000)
    trials = [Trial(int(n), bool(rng.random() > 0.2 * (n / 100) ** -rate)) for n in sizes]
    law = fit_curve(trials, 100)
    assert law.error == pytest.approx(0.2, rel=0.15)
    assert law.rate == pytest.approx(rate, abs=0.1)


def test_with_few_tests_the_usual_rate_is_taken():
    law = fit_curve([Trial(20, True)] * 7 + [Trial(20, False)], 20)
    assert 0.3 < law.rate < 0.7
    assert fit_curve([Trial(20, True)] * 7, 20) is None


@pytest.mark.parametrize("wrong", [1, 5, 20])
def test_the_error_is_the_mean_under_a_flat_prior(wrong):
    """Its density falls to zero at one only: of w wrong and r right, Beta(w + 1, r + 2)."""
    trials = [Trial(50, k >= wrong) for k in range(40)]
    assert fit_curve(trials, 50).error == pytest.approx((wrong + 1) / 43, rel=0.03)


def test_more_labels_bring_the_point_that_is_promised():
    law = PowerLaw(100, 0.1, 0.5)
    more = law.more_labels(0.01)
    error = 0.1 * ((100 + more) / 100) ** -0.5
    assert 0.0895 < error <= 0.09
    assert PowerLaw(100, 0.005, 0.5).more_labels(0.01) is None


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
    """Whatever the model says about all rows, random answers correct it."""
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


@pytest.mark.parametrize(
    ("more", "advice"),
    [
        (49, "Go on: one more point of accuracy takes about 49 more answers."),
        (50, "You can stop: one more point of accuracy would take about 50 more answers."),
    ],
)
def test_a_point_that_takes_as_many_answers_again_is_no_reason_to_go_on(more, advice):
    class Rows(SimpleNamespace):
        def __len__(self):
            return 1000

    book = SimpleNamespace(marks=dict.fromkeys(range(50)), counts={"a": 25, "b": 25})
    outlook = Outlook(Rows(prepared=None), book)
    fitted, accuracy = SimpleNamespace(n_labels=50), Interval(0.8, 0.7, 0.9, ENOUGH_TRIALS)
    assert outlook._advice(fitted, accuracy, more) == advice
    unsure = Interval(0.8, 0.7, 0.9, ENOUGH_TRIALS - 1)
    assert outlook._advice(fitted, unsure, more).startswith("Go on: more random rows")
