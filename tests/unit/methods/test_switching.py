"""Hard labels that follow the weights, and steps that know how they will answer."""

from itertools import pairwise

import numpy as np
import pytest

from problems import hide, two_blobs
from semisvm import AnnealedSVC, GradientTSVC, MeanSVC, TransductiveSVC
from semisvm.methods import transductive as switching
from semisvm.methods.transductive import Switching
from semisvm.solvers import newton


@pytest.fixture
def tries(monkeypatch):
    """Write down which steps were tried that count on the answer of the labels."""
    found, original = [], Switching._anticipated

    def spy(method, *arguments):
        found.append(original(method, *arguments))
        return found[-1]

    monkeypatch.setattr(Switching, "_anticipated", spy)
    return found


@pytest.fixture(scope="module")
def creeping():
    """Many rows close to the threshold: labels and weights follow each other slowly."""
    X, y = two_blobs(6000, 20, gap=1.0)
    return X, hide(y, 20)


def test_steps_that_count_on_the_labels_end_no_higher(creeping, tries, monkeypatch):
    model = TransductiveSVC(reg=0.1, class_prior="labels").fit(*creeping)
    assert tries[0]
    monkeypatch.setattr(switching, "SLOW", np.inf)
    plain = TransductiveSVC(reg=0.1, class_prior="labels").fit(*creeping)
    assert model.n_iter_ < plain.n_iter_
    assert model.objective_ < plain.objective_


def test_the_objective_falls_in_every_round_of_a_level(creeping, tries):
    model = TransductiveSVC(reg=0.1, class_prior="labels").fit(*creeping)
    assert any(tries)
    rows = [row for row in model.trace_ if row["phase"] == "switching"]
    for before, after in pairwise(rows):
        if before["level"] == after["level"]:
            assert after["objective"] <= before["objective"] * (1.0 + 1e-12)


def test_the_end_is_a_minimum_for_weights_and_labels(creeping, tries):
    X, partly = creeping
    model = TransductiveSVC(reg=0.1, balance_tol=None, class_prior="labels").fit(X, partly)
    assert any(tries)
    free = partly == -1
    scores, labels = model.decision_function(X)[free], model.transduction_[free] == 1
    assert scores[labels].min() >= scores[~labels].max()
    last = model.trace_[-1]
    assert last["gradient_norm"] ** 2 / (2 * 0.1) <= 1e-5 * last["objective"]


def test_a_step_that_does_not_gain_is_taken_back(creeping, tries, monkeypatch):
    monkeypatch.setattr(newton, "LEAST_GAIN", 1e6)
    model = TransductiveSVC(reg=0.1, class_prior="labels").fit(*creeping)
    # one refusal is enough for a level
    assert tries == [False]
    monkeypatch.setattr(switching, "SLOW", np.inf)
    plain = TransductiveSVC(reg=0.1, class_prior="labels").fit(*creeping)
    assert (len(tries), model.n_iter_) == (1, plain.n_iter_)
    np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-8, atol=1e-10)


def test_single_switches_stay_single(creeping, tries):
    X, partly = creeping
    rows = np.r_[np.flatnonzero(partly != -1), np.flatnonzero(partly == -1)[:200]]
    TransductiveSVC(reg=0.1, max_switches=1, class_prior="labels").fit(X[rows], partly[rows])
    assert not tries


@pytest.mark.parametrize(
    ("loss", "n_classes"),
    [("squared_hinge", 2), ("hinge", 2), ("log", 2), ("crammer_singer", 2), ("crammer_singer", 3)],
)
def test_single_switches(loss, n_classes):
    X, y = two_blobs(120, 6, gap=0.5)
    if n_classes == 3:
        y = y + (X[:, 2] > 0.5)
    partly = hide(y, 9)
    one, all_pairs = (
        TransductiveSVC(0.01, 1.0, loss=loss, max_switches=most, annealing_rate=1e9).fit(X, partly)
        for most in (1, None)
    )
    switched = np.nan_to_num(one.trace_["switched"])
    # one score a row counts pairs, one score a class counts rows
    assert switched.max() == (2 if loss == "crammer_singer" else 1)
    assert np.nan_to_num(all_pairs.trace_["switched"]).max() > 2
    assert one.n_iter_ > all_pairs.n_iter_


@pytest.mark.parametrize("loss", ["hinge", "log"])
@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
def test_imbalance_has_one_unit(cls, loss):
    X, y = two_blobs(100, 4, gap=1.0, positive=0.3)
    partly = hide(y, 10)
    free = partly == -1
    model = cls(reg=0.5, loss=loss, balance_tol=None, class_prior=[0.6, 0.4]).fit(X, partly)
    wanted = np.count_nonzero(model.transduction_[free] == 1)
    excess = np.count_nonzero(model.predict(X[free]) == 1) - wanted
    assert excess != 0
    assert model.trace_["imbalance"][-1] == pytest.approx(abs(excess) / wanted)


@pytest.mark.parametrize(
    ("model", "n_classes"),
    [
        (TransductiveSVC(loss="crammer_singer", balance_tol=0.05), 2),
        (TransductiveSVC(balance_tol=0.0), 3),
        (AnnealedSVC(hierarchy={"a": [0, 1]}, balance_tol=0.05), 2),
        (GradientTSVC(balance_tol=0.05), 3),
        (MeanSVC(balance_tol=0.05), 3),
    ],
)
def test_tolerance_that_would_be_ignored(model, n_classes):
    X, y = two_blobs(40, 4)
    partly = hide(y + (n_classes == 3) * (X[:, 2] > 0), 8)
    with pytest.raises(ValueError, match=r"balance_tol=0\.05? would have no effect.*Use"):
        model.fit(X, partly)
    for harmless in (0.1, None):
        model.set_params(balance_tol=harmless).fit(X, partly)
