"""A model that may be no better than a guess is reported as such."""

import numpy as np
import pytest

from problems import hide, two_blobs
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.model_selection import compare
from semisvm.model_selection.verdict import against_chance


def test_a_model_of_noise_is_no_better():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((200, 10)), rng.integers(0, 2, 200)
    found = compare([NewtonSVC()], X, hide(y, 40))
    chance = found["NewtonSVC"].chance
    assert not chance.better
    assert chance.interval[0] < 0 < chance.interval[1]
    message = "40 labels are too few to show that NewtonSVC is better than guessing"
    assert found.about_chance("NewtonSVC").startswith(message)
    assert message in str(found)


def test_a_model_that_learnt_is_better():
    X, y = two_blobs(200)
    found = compare([NewtonSVC(), TransductiveSVC()], X, hide(y, 40))
    assert found["NewtonSVC"].chance.better
    assert found["NewtonSVC"].chance.guess == pytest.approx(0.5, abs=0.05)
    assert found.to_dict()["methods"][1]["chance"]["better"]


def test_the_guess_is_the_majority_of_all_labels():
    X, y = np.ones((40, 1)), np.array([0] * 12 + [1] * 4 + [-1] * 24)
    found = compare([NewtonSVC()], X, y, cv=4)
    assert found["NewtonSVC"].chance.guess == pytest.approx(0.75)
    balanced = compare([NewtonSVC()], X, y, cv=4, scoring="balanced_accuracy")
    assert balanced["NewtonSVC"].chance.guess == pytest.approx(0.5)
    # 30 labels of each class in folds of 15: the majority of the others is the minority of a fold
    X, even = np.ones((80, 1)), np.array([0, 1] * 30 + [-1] * 20)
    assert compare([NewtonSVC()], X, even, cv=4)["NewtonSVC"].chance.guess == pytest.approx(0.5)
    own = compare([NewtonSVC()], X, even, cv=4, scoring=lambda model, X, y: 0.5)
    assert own["NewtonSVC"].chance is None
    assert own.about_chance("NewtonSVC") is None


def test_few_rows_prove_nothing():
    assert not against_chance([1.0] * 5, [0.0] * 5, 5).better
    assert against_chance([1.0] * 6, [0.0] * 6, 6).better
    assert not against_chance([1.0], [0.0], 1, bounds=(0.0, 1.0)).better


def test_a_difference_below_zero_is_called_worse():
    rng = np.random.default_rng(0)
    right, guessed = rng.random(300) < 0.5, rng.random(300) < 0.7
    found = against_chance(right.tolist(), guessed.tolist(), 300, bounds=(0.0, 1.0))
    assert found.interval[1] < 0.0
    assert "is worse than guessing the most frequent class" in found.sentence("svm")
    assert found.worse
    few = against_chance([0.0] * 4, [1.0] * 4, 4, bounds=(0.0, 1.0))
    assert not few.worse
    assert few.sentence("svm").startswith("4 labels are too few to show that svm is better")


def test_intervals_stay_where_scores_can_be():
    X, y = two_blobs(60, gap=0.1)
    found = compare([NewtonSVC(), TransductiveSVC()], X, hide(y, 8), cv=2)
    low, high = found["NewtonSVC"].interval
    assert 0.0 <= low <= high <= 1.0
    low, high = found.differences[0].interval
    assert -1.0 <= low <= high <= 1.0
