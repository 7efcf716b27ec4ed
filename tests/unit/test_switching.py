"""Hard labels that follow the weights, and steps that know how they will answer."""

from itertools import pairwise

import numpy as np
import pytest

from problems import hide, two_blobs
from semisvm import TransductiveSVC
from semisvm.estimators import switching
from semisvm.estimators.switching import Switching


@pytest.fixture
def tries(monkeypatch):
    """Write down which steps were tried that count on the answer of the labels."""
    found, original = [], Switching._answered

    def spy(method, *arguments):
        found.append(original(method, *arguments))
        return found[-1]

    monkeypatch.setattr(Switching, "_answered", spy)
    return found


@pytest.fixture(scope="module")
def creeping():
    """Many rows close to the threshold: labels and weights follow each other slowly."""
    X, y = two_blobs(6000, 20, gap=1.0)
    return X, hide(y, 20)


def test_steps_that_count_on_the_labels_end_no_higher(creeping, tries, monkeypatch):
    model = TransductiveSVC(reg=0.1).fit(*creeping)
    assert tries[0]
    monkeypatch.setattr(switching, "CREEPING", np.inf)
    plain = TransductiveSVC(reg=0.1).fit(*creeping)
    assert model.n_iter_ < plain.n_iter_
    assert model.objective_ < plain.objective_


def test_the_objective_falls_in_every_round_of_a_level(creeping, tries):
    model = TransductiveSVC(reg=0.1).fit(*creeping)
    assert any(tries)
    rows = [row for row in model.trace_ if row["phase"] == "switching"]
    for before, after in pairwise(rows):
        if before["level"] == after["level"]:
            assert after["objective"] <= before["objective"] * (1.0 + 1e-12)


def test_the_end_is_a_minimum_for_weights_and_labels(creeping, tries):
    X, partly = creeping
    model = TransductiveSVC(reg=0.1, balance_tol=None).fit(X, partly)
    assert any(tries)
    free = partly == -1
    scores, labels = model.decision_function(X)[free], model.transduction_[free] == 1
    assert scores[labels].min() >= scores[~labels].max()
    last = model.trace_[-1]
    assert last["gradient_norm"] ** 2 / (2 * 0.1) <= 1e-5 * last["objective"]


def test_a_step_that_does_not_gain_is_taken_back(creeping, tries, monkeypatch):
    monkeypatch.setattr(switching, "LEAST_GAIN", 1e6)
    model = TransductiveSVC(reg=0.1).fit(*creeping)
    # one refusal is enough for a level
    assert tries == [False]
    monkeypatch.setattr(switching, "CREEPING", np.inf)
    plain = TransductiveSVC(reg=0.1).fit(*creeping)
    assert (len(tries), model.n_iter_) == (1, plain.n_iter_)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-10)


def test_single_switches_stay_single(creeping, tries):
    X, partly = creeping
    rows = np.r_[np.flatnonzero(partly != -1), np.flatnonzero(partly == -1)[:200]]
    TransductiveSVC(reg=0.1, max_switches=1).fit(X[rows], partly[rows])
    assert not tries
