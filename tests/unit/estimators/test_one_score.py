"""Two classes are one score whatever the loss, and every parameter for two classes acts."""

from itertools import pairwise

import numpy as np
import pytest

from problems import hide, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.losses import LOSSES
from semisvm.methods import rising

TWO = sorted(name for name, loss in LOSSES.items() if loss.two is not None)
SEMI = [TransductiveSVC, AnnealedSVC]
each_loss = pytest.mark.parametrize("loss", TWO)


@pytest.fixture(scope="module")
def data():
    """Clusters that overlap: labels move while the weights do."""
    X, y = two_blobs(300, 5, gap=1.2, positive=0.3)
    return X, hide(y, 12)


def rows_of(model, phase):
    return [row for row in model.trace_ if row["phase"] == phase]


def test_the_losses_of_two_classes():
    assert TWO == ["hinge", "huber", "log", "rounded_hinge", "squared", "squared_hinge"]


@each_loss
@pytest.mark.parametrize("cls", [NewtonSVC, *SEMI])
def test_there_is_one_score(cls, loss, data):
    model = cls(0.05, loss=loss).fit(*data)
    assert model.coef_.shape == model.node_coef_.shape == (1, 5)
    assert model.intercept_.shape == model.node_intercept_.shape == (1,)
    assert not rows_of(model, "assigning")
    if cls is not NewtonSVC:
        assert rows_of(model, "switching")


@each_loss
def test_switches_are_limited(loss, data):
    options = {"reg": 0.05, "loss": loss, "annealing_rate": 10.0, "class_prior": "labels"}
    every = TransductiveSVC(**options).fit(*data)
    assert max(row["switched"] for row in rows_of(every, "switching")) > 1
    single = TransductiveSVC(**options, max_switches=1, max_iter=500).fit(*data)
    assert {row["switched"] for row in rows_of(single, "switching")} == {0, 1}
    assert single.n_iter_ > every.n_iter_


@each_loss
@pytest.mark.parametrize("cls", SEMI)
def test_the_intercept_keeps_the_prior(cls, loss, data):
    X, partly = data
    free = X[partly == -1]
    wanted = round(0.6 * len(free))
    options = {"reg": 0.5, "loss": loss, "unlabeled_weight": 0.1, "class_prior": [0.4, 0.6]}
    alone = cls(**options, balance_tol=None).fit(X, partly)
    off = np.count_nonzero(alone.decision_function(free) > 0) - wanted
    assert abs(off) > 10
    moved = cls(**options, balance_tol=0.0).fit(X, partly)
    assert abs(np.count_nonzero(moved.decision_function(free) > 0) - wanted) <= 1
    named = f"shares: class {moved.classes_[1]} now"
    assert any("intercept moved" in note and named in note for note in moved.trace_.notes)
    np.testing.assert_array_equal(moved.coef_, alone.coef_)


@each_loss
def test_the_weight_of_the_unlabelled_rows_goes_up_at_the_rate(loss, data):
    for rate in (2.0, 10.0):
        model = TransductiveSVC(0.05, 0.5, loss=loss, annealing_rate=rate).fit(*data)
        found = {row["level"]: row["value"] for row in rows_of(model, "switching")}
        expected = [level.value for level in rising(1e-5, 0.5, rate, model.tol)]
        assert list(found.values()) == pytest.approx(expected)


@each_loss
def test_the_temperature_falls_at_the_rate(loss, data):
    for rate in (1.5, 3.0):
        options = {"loss": loss, "annealing_rate": rate, "temperature": 20.0}
        model = AnnealedSVC(0.05, 0.5, **options).fit(*data)
        found = {row["level"]: row["value"] for row in rows_of(model, "annealing")}
        values = [found[level] for level in sorted(found)]
        assert values[0] == 0.5 * model.temperature
        assert len(values) > 3
        assert [a / b for a, b in pairwise(values)] == pytest.approx([rate] * (len(values) - 1))


def test_huber_is_the_squared_hinge_as_long_as_no_row_is_far_off(data):
    X, partly = data
    plain = NewtonSVC(0.05, tol=1e-10).fit(X, partly)
    known = partly != -1
    margins = (2 * partly[known] - 1) * plain.decision_function(X[known])
    assert margins.min() > -1.0
    huber = NewtonSVC(0.05, tol=1e-10, loss="huber").fit(X, partly)
    np.testing.assert_allclose(huber.coef_, plain.coef_, rtol=1e-8)


def test_a_wrong_label_moves_huber_less():
    X, y = two_blobs(200, 5, gap=4.0)
    X[0] = 30.0 * np.where(y[0] == 1, -1.0, 1.0) * np.array([1.0, 1, 0, 0, 0])
    away = {loss: NewtonSVC(0.05, loss=loss).fit(X, y) for loss in ("squared_hinge", "huber")}
    clean = NewtonSVC(0.05).fit(X[1:], y[1:])
    turned = {loss: np.linalg.norm(m.coef_ - clean.coef_) for loss, m in away.items()}
    assert turned["huber"] < turned["squared_hinge"]
