import numpy as np
import pytest

from semisvm.losses import LOSSES, SmoothManyClassLoss

SMOOTH = sorted(name for name, loss in LOSSES.items() if isinstance(loss.many, SmoothManyClassLoss))


@pytest.fixture(params=SMOOTH)
def loss(request):
    return LOSSES[request.param].many


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    return rng.uniform(-2.5, 2.5, (15, 4)), rng.random((15, 4)) * rng.integers(0, 2, (15, 4))


def total(loss, S, B):
    return float(np.sum(B * loss.costs(S)))


def test_value_and_slope(loss, rows):
    S, B = rows
    slope = np.empty_like(S)
    assert loss.evaluate(S, B, np.arange(15), slope) == pytest.approx(total(loss, S, B))
    h = 1e-6
    for i, y in np.ndindex(S.shape):
        e = np.zeros_like(S)
        e[i, y] = h
        numeric = (total(loss, S + e, B) - total(loss, S - e, B)) / (2 * h)
        assert slope[i, y] == pytest.approx(numeric, abs=1e-6)


def test_second_derivatives(loss, rows):
    S, B = rows
    index = np.arange(15)
    Q = np.random.default_rng(1).standard_normal(S.shape)
    out = Q.copy()
    loss.apply(S, B, index, 0, 15, out)
    h, up, down = 1e-6, np.empty_like(S), np.empty_like(S)
    loss.evaluate(S + h * Q, B, index, up)
    loss.evaluate(S - h * Q, B, index, down)
    np.testing.assert_allclose(out, (up - down) / (2 * h), atol=1e-6)
    part = Q[5:9].copy()
    loss.apply(S, B, index, 5, 9, part)
    np.testing.assert_array_equal(part, out[5:9])


def test_derivatives_along_a_direction(loss, rows):
    S, B = rows
    index, D = np.arange(15), np.random.default_rng(2).standard_normal(S.shape)
    for t in (0.0, 0.4, 3.0):
        slope, curved = np.empty_like(S), D.copy()
        loss.evaluate(S + t * D, B, index, slope)
        loss.apply(S + t * D, B, index, 0, 15, curved)
        first, second = loss.along(S, D, B, index, t)
        assert first == pytest.approx(np.sum(slope * D))
        assert second == pytest.approx(np.sum(curved * D))


def test_two_classes_of_one_vs_rest_are_the_binary_loss(rows):
    o = np.linspace(-2, 2, 21)
    for name in ("squared_hinge", "squared"):
        costs = LOSSES[name].many.costs(np.column_stack([-o, o]))
        np.testing.assert_allclose(costs[:, 1], LOSSES[name].two.values(o))
        np.testing.assert_allclose(costs[:, 0], LOSSES[name].two.values(-o))


def test_two_classes_of_maxent_are_half_the_binary_loss():
    """With scores -o/2 and o/2, whose two weight vectors have half of the squared norm."""
    o = np.linspace(-40, 40, 81)
    costs = LOSSES["log"].many.costs(np.column_stack([-o / 2, o / 2]))
    np.testing.assert_allclose(costs[:, 1], 0.5 * LOSSES["log"].two.values(o), atol=1e-13)
    np.testing.assert_allclose(costs[:, 0], 0.5 * LOSSES["log"].two.values(-o), atol=1e-13)
    assert LOSSES["log"].reg_of_two == 0.5


def test_two_classes_of_the_margin_loss_are_the_hinge():
    o = np.linspace(-3, 3, 31)
    costs = LOSSES["crammer_singer"].many.costs(np.column_stack([-o / 2, o / 2]))
    np.testing.assert_allclose(costs[:, 1], LOSSES["hinge"].two.values(o), atol=1e-13)
    np.testing.assert_allclose(costs[:, 0], LOSSES["hinge"].two.values(-o), atol=1e-13)


def test_maxent_does_not_overflow():
    costs = LOSSES["log"].many.costs(np.array([[1e4, 0.0], [-1e4, 0.0]]))
    assert np.isfinite(costs).all()
