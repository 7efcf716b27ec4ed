"""Exponentials of many numbers."""

import numpy as np
import pytest

from semisvm.label_steps.beliefs import FARTHEST, decay


def decays(gaps):
    out = np.empty_like(gaps)
    decay(gaps, out, np.empty_like(gaps))
    return out


@pytest.mark.parametrize("near", [1.0, 0.1])
def test_exponentials_are_those_of_numpy_to_the_last_place(near):
    rng = np.random.default_rng(0)
    gaps = rng.uniform(0.0, FARTHEST, 100_000)
    gaps[rng.random(len(gaps)) > near] = 50.0
    found, expected = decays(gaps), np.where(gaps < FARTHEST, np.exp(-gaps), 0.0)
    np.testing.assert_array_max_ulp(found, expected, maxulp=1)


@pytest.mark.parametrize("others", [0.5, 100.0])
def test_ends_of_the_range(others):
    gaps = np.full(64, others)
    ends = [0.0, 5e-324, 1e-17, np.log(2) / 2, np.log(2), 44.999, FARTHEST, 1e300, np.inf]
    gaps[: len(ends)] = ends
    found = decays(gaps)
    np.testing.assert_array_max_ulp(found[:6], np.exp(-gaps[:6]), maxulp=1)
    assert not found[6 : len(ends)].any()
    assert found[0] == 1.0


def test_in_place_and_without_numbers():
    gaps = np.linspace(0.0, 10.0, 37)
    expected = decays(gaps)
    decay(gaps, gaps, np.empty(37))
    np.testing.assert_array_equal(gaps, expected)
    decay(np.empty(0), np.empty(0), np.empty(0))
