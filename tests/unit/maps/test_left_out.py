"""Left-out values of ridge regressions against regressions without the row."""

import numpy as np
import pytest

from semisvm.maps.left_out import STRENGTHS, LeftOutRidge, directions


def solved(Z, y, mass, ridge):
    return np.linalg.solve(Z.T @ (mass[:, None] * Z) + ridge * np.eye(Z.shape[1]), Z.T @ (mass * y))


@pytest.mark.parametrize("weighted", [False, True])
def test_values_are_those_of_a_regression_without_the_row(weighted):
    rng = np.random.default_rng(0)
    Z, rows = rng.normal(size=(30, 4)), np.arange(0, 30, 2)
    mass = rng.integers(1, 4, 15).astype(float) if weighted else np.ones(15)
    own, y = Z[rows], Z[rows] @ rng.normal(size=4) + 0.3 * rng.normal(size=15)
    unit = np.trace(own.T @ (mass[:, None] * own)) / 4
    expected, least = None, float(mass @ y**2)
    for strength in STRENGTHS:
        w = solved(own, y, mass, strength * unit)
        left = np.array(
            [
                own[i]
                @ solved(np.delete(own, i, 0), np.delete(y, i), np.delete(mass, i), strength * unit)
                for i in range(15)
            ]
        )
        error = float(mass @ (y - left) ** 2)
        if error < least:
            least, expected = error, Z @ w
            expected[rows] = left
    found = LeftOutRidge(Z, rows, mass if weighted else np.ones(1)).values(y)
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_rows_of_weight_zero_have_no_part_but_a_value():
    rng = np.random.default_rng(1)
    Z, codes = rng.normal(size=(20, 3)), rng.integers(0, 2, 12)
    mass = np.where(np.arange(12) < 9, 1.0, 0.0)
    some = LeftOutRidge(Z, np.arange(12), mass).class_values(codes, 2)
    without = LeftOutRidge(Z, np.arange(9), mass[:9]).class_values(codes[:9], 2)
    np.testing.assert_allclose(some, without, atol=1e-12)


def test_targets_that_nothing_predicts_have_values_of_zero():
    assert not LeftOutRidge(np.ones((6, 1)), np.arange(4), np.ones(1)).values([1, -1, 1, -1]).any()


def test_few_columns_are_taken_as_they_are():
    X = np.random.default_rng(2).normal(size=(50, 3))
    found = directions(X)
    assert found[:, -1].tolist() == [1.0] * 50
    assert np.linalg.matrix_rank(np.hstack([X, found[:, :-1]])) == 3
    assert np.mean(np.square(found[:, :-1]).sum(axis=1)) == pytest.approx(1.0)
