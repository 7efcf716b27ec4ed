"""Class counts where rows cannot have every class, against a search through all labels."""

from itertools import product

import numpy as np
import pytest

from semisvm.label_steps.possible import find_clash, possible_shares
from semisvm.labels.weights import UNIT_WEIGHT


def all_counts(forbidden):
    """Return the class counts of all labels that are possible."""
    m = forbidden.shape[1]
    rows = [np.flatnonzero(~row) for row in forbidden]
    return {tuple(np.bincount(labels, minlength=m)) for labels in product(*rows)}


def random_case(rng):
    n, m = rng.integers(2, 6), rng.integers(2, 4)
    forbidden = rng.random((n, m)) < 0.5
    forbidden[np.arange(n), rng.integers(0, m, n)] = False
    counts = rng.multinomial(n, rng.dirichlet(np.ones(m)))
    return forbidden, counts


@pytest.mark.parametrize("seed", range(150))
def test_a_clash_is_found_where_there_is_one(seed):
    forbidden, counts = random_case(np.random.default_rng(seed))
    clash = find_clash(forbidden, counts, UNIT_WEIGHT)
    assert (clash is None) == (tuple(counts) in all_counts(forbidden))
    if clash is not None:
        others = np.setdiff1d(np.arange(len(counts)), clash.classes)
        assert forbidden[clash.rows][:, others].all()
        assert len(clash.rows) == clash.mass > clash.room == counts[clash.classes].sum()


@pytest.mark.parametrize("seed", range(50))
def test_a_mass_is_as_many_rows(seed):
    rng = np.random.default_rng(seed)
    forbidden, _ = random_case(rng)
    mass = rng.integers(1, 4, len(forbidden)).astype(np.float64)
    many = np.repeat(forbidden, mass.astype(int), axis=0)
    counts = rng.multinomial(len(many), rng.dirichlet(np.ones(many.shape[1])))
    one, other = find_clash(forbidden, counts, mass), find_clash(many, counts, UNIT_WEIGHT)
    assert (one is None) == (other is None)
    if one is not None:
        assert one.mass - one.room == pytest.approx(other.mass - other.room)


def test_possible_shares_are_those_of_the_rows():
    forbidden = np.array([[0, 1, 1], [0, 0, 1], [0, 0, 0], [1, 1, 0]], dtype=bool)
    shares = possible_shares(forbidden, np.array([0.2, 0.6, 0.2]), np.array([1.0, 1.0, 2.0, 4.0]))
    np.testing.assert_allclose(shares, np.array([1 + 0.25 + 0.4, 0.75 + 1.2, 0.4 + 4]) / 8)
    everything = possible_shares(~forbidden & False, np.array([0.2, 0.6, 0.2]), UNIT_WEIGHT)
    np.testing.assert_allclose(everything, [0.2, 0.6, 0.2])
