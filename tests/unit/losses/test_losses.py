from dataclasses import replace

import numpy as np
import pytest

from semisvm.losses import LOSSES

SMOOTH = sorted(name for name, loss in LOSSES.items() if loss.two and loss.two.smooth)
PIECEWISE = ["huber", "rounded_hinge", "squared", "squared_hinge"]


@pytest.fixture(params=SMOOTH)
def loss(request):
    return LOSSES[request.param].two


def total(loss, o, a, b):
    return 0.5 * float(a @ loss.values(o) + b @ loss.values(-o))


@pytest.fixture
def costs():
    rng = np.random.default_rng(0)
    o = np.concatenate([rng.uniform(-2.5, 2.5, 40), [-1.0, 1.0, 0.0]])
    return o, rng.random(43), rng.random(43)


def test_value_slope_and_curvature(loss, costs):
    o, a, b = costs
    slope, curvature, active = np.empty(43), np.empty(43), np.empty(43, dtype=np.intp)
    value, n_active = loss.evaluate(o, a, b, np.arange(43), slope, curvature, active)
    touched = np.flatnonzero((slope != 0.0) | (curvature != 0.0))
    np.testing.assert_array_equal(active[:n_active], touched)
    assert value == pytest.approx(total(loss, o, a, b), rel=1e-13)
    h = 1e-6
    smooth = np.abs(np.abs(o) - 1) > 1e-3
    for i in np.flatnonzero(smooth):
        e = np.zeros(43)
        e[i] = h
        numeric = (total(loss, o + e, a, b) - total(loss, o - e, a, b)) / (2 * h)
        assert slope[i] == pytest.approx(numeric, abs=1e-7)
    h = 1e-4
    for i in np.flatnonzero(smooth):
        e = np.zeros(43)
        e[i] = h
        values = [total(loss, o + k * e, a, b) for k in (-1, 0, 1)]
        numeric = (values[0] - 2 * values[1] + values[2]) / h**2
        assert curvature[i] == pytest.approx(numeric, abs=1e-5)


def test_derivatives_along_a_direction(loss, costs):
    o, a, b = costs
    step = np.random.default_rng(1).standard_normal(43)
    rows = np.arange(43)
    for t in (0.0, 0.3, 2.0):
        first, second = loss.along(o, step, a, b, rows, t)
        slope, curvature, active = np.empty(43), np.empty(43), np.empty(43, dtype=np.intp)
        loss.evaluate(o + t * step, a, b, rows, slope, curvature, active)
        assert first == pytest.approx(slope @ step)
        assert second == pytest.approx(curvature @ step**2)


def slopes(loss, o, a, b):
    slope, curvature, active = np.empty(43), np.empty(43), np.empty(43, dtype=np.intp)
    value, n_active = loss.evaluate(o, a, b, np.arange(43), slope, curvature, active)
    return value, n_active, slope, curvature


@pytest.mark.parametrize("t", [0.01, 0.7, 1.0])
@pytest.mark.parametrize("name", PIECEWISE)
def test_a_move_lists_the_rows_that_leave_their_piece(name, costs, t):
    loss, (o, a, b) = LOSSES[name].two, costs
    a[:5], b[3:9] = 0.0, 0.0
    step = np.random.default_rng(1).standard_normal(43)
    _, _, before, curvature = slopes(loss, o, a, b)
    value, n_active, after, _ = slopes(loss, o + t * step, a, b)
    rest, moved, changed = step.copy(), o.copy(), np.empty(43, dtype=np.intp)
    found = loss.move(moved, rest, t, a, b, np.arange(43), changed)
    assert found[:2] == (pytest.approx(value), n_active)
    np.testing.assert_array_equal(moved, o + t * step)
    predicted = before + t * curvature * step
    listed = changed[: found[2]]
    predicted[listed] += rest[listed]
    np.testing.assert_allclose(predicted, after, rtol=1e-12, atol=1e-14)
    if t == 1.0:
        assert (len(listed) == 0) == loss.quadratic


def test_hard_labels_are_costs_on_one_side(loss, costs):
    o, a, _ = costs
    labels = np.random.default_rng(2).random(43) < 0.5
    value, n_active, slope, _ = slopes(loss, o, np.where(labels, a, 0.0), np.where(labels, 0.0, a))
    found = loss.at_labels(o, labels, a)
    assert (found[0], found[2]) == (pytest.approx(value), n_active)
    np.testing.assert_array_equal(found[1], slope)


def test_slopes_of_the_gaps_between_labels(loss, costs):
    o, _, _ = costs
    rows, h = np.array([1, 4, 7, 20, 40, 41, 42]), 1e-6
    found, gap = np.full(43, np.nan), np.empty((2, len(rows)))
    loss.gap_slopes(o, rows, 1.7, found, 2, 7)
    loss.gaps(o - h, rows, 1.7, gap[0], 0, 7)
    loss.gaps(o + h, rows, 1.7, gap[1], 0, 7)
    numeric = (gap[1] - gap[0]) / (2 * h)
    np.testing.assert_allclose(found[rows[2:]], numeric[2:], atol=1e-5)
    assert np.isnan(np.delete(found, rows[2:])).all()


def test_curvatures_may_overwrite_the_slopes(loss, costs):
    o, a, b = costs
    a[:5], b[3:9] = 0.0, 0.0
    _, n_active, _, curvature = slopes(loss, o, a, b)
    one, active = np.empty(43), np.empty(43, dtype=np.intp)
    assert loss.evaluate(o, a, b, np.arange(43), one, one, active)[1] == n_active
    np.testing.assert_array_equal(one, curvature)


def test_the_log_loss_does_not_overflow():
    o, rows = np.array([-1e4, 1e4, 0.0]), np.arange(3)
    out, active = np.empty((2, 3)), np.empty(3, dtype=np.intp)
    value, _ = LOSSES["log"].two.evaluate(o, np.ones(3), np.zeros(3), rows, *out, active)
    assert value == pytest.approx(1e4 + np.log(2.0))
    np.testing.assert_allclose(out, [[-1.0, 0.0, -0.5], [0.0, 0.0, 0.25]])


def test_only_listed_rows_are_touched(loss, costs):
    o, a, b = costs
    slope, curvature = np.full(43, np.nan), np.full(43, np.nan)
    loss.evaluate(o, a, b, np.array([3, 5]), slope, curvature, np.empty(2, dtype=np.intp))
    assert np.flatnonzero(~np.isnan(slope)).tolist() == [3, 5]
    assert np.flatnonzero(~np.isnan(curvature)).tolist() == [3, 5]


def test_only_losses_with_pieces_move_by_them():
    assert sorted(n for n in SMOOTH if LOSSES[n].two.move is not None) == PIECEWISE


def test_rows_without_curvature_or_slope_are_not_active():
    o, a, b = np.array([2.0, 0.0, -3.0, 0.5]), np.array([1.0, 1, 0, 0]), np.array([0.0, 0, 1, 0])
    for name, expected in (("squared_hinge", [1]), ("squared", [0, 1, 2]), ("log", [0, 1, 2])):
        active = np.empty(4, dtype=np.intp)
        evaluate = LOSSES[name].two.evaluate
        _, n = evaluate(o, a, b, np.arange(4), np.empty(4), np.empty(4), active)
        assert active[:n].tolist() == expected


TWO = sorted(name for name, loss in LOSSES.items() if loss.two is not None)


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize("compiled", [True, False])
def test_totals_and_gaps_of_labels(name, compiled, costs):
    loss = LOSSES[name].two
    if not compiled:
        loss = replace(loss, total_kernel=None, gaps_kernel=None)
    o, _, _ = costs
    rows = np.array([1, 4, 7, 20, 42, 40])
    labels = np.array([True, False, True, False, True, False])
    expected = loss.values(np.where(labels, o[rows], -o[rows])).sum()
    assert loss.total(o, rows, labels, 0, 6) == pytest.approx(expected)
    halves = loss.total(o, rows, labels, 0, 2) + loss.total(o, rows, labels, 2, 6)
    assert halves == pytest.approx(expected)
    gaps = np.full(6, np.nan)
    loss.gaps(o, rows, 0.3, gaps, 1, 5)
    expected = 0.3 * (loss.values(o[rows]) - loss.values(-o[rows]))
    np.testing.assert_allclose(gaps[1:5], expected[1:5], rtol=1e-12, atol=1e-14)
    assert np.isnan(gaps[[0, 5]]).all()


@pytest.mark.parametrize("name", TWO)
def test_label_gain_falls_with_the_score(name):
    loss, o = LOSSES[name].two, np.linspace(-4, 4, 801)
    gain = loss.values(o) - loss.values(-o)
    assert np.all(np.diff(gain) < 0), "switching pairs relies on it"


def test_huber_is_the_squared_hinge_with_a_linear_tail():
    z = np.array([-3.0, -1.0, 0.0, 1.0, 2.0])
    np.testing.assert_allclose(LOSSES["huber"].two.values(z), [12.0, 4.0, 1.0, 0.0, 0.0])


def test_the_rounded_hinge_leaves_the_hinge_only_near_its_corner():
    z = np.linspace(-3.0, 3.0, 601)
    gap = LOSSES["rounded_hinge"].two.values(z) - LOSSES["hinge"].two.values(z)
    outside = np.abs(z - 1.0) >= 0.5
    np.testing.assert_allclose(gap[outside], 0.0, atol=1e-15)
    assert np.all(gap[~outside] > 0.0)
    assert gap.max() == pytest.approx(0.125)
