"""What rows with weights count for, and the label steps that keep class shares by mass."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from problems import random_costs
from semisvm.label_steps.transportation import CostTable, exact, transport
from semisvm.labels.partial import PartialLabels
from semisvm.labels.weights import UNIT_WEIGHT, RowWeights, masses, number_of
from semisvm.tasks import OneScoreRows
from semisvm.tasks.one_score_driver import nearest

FEW = settings(max_examples=60)


def test_masses_are_in_units_of_the_smallest_weight():
    mass, total, whole = masses(np.array([0.5, 1.0, 0.0, 1.5]))
    assert mass.tolist() == [1.0, 2.0, 0.0, 3.0]
    assert (total, whole) == (6, True)


def test_other_masses_have_mean_one():
    mass, total, whole = masses(np.array([1.0, 2.5, 0.0, 0.7]))
    assert (total, whole) == (3, False)
    assert mass.sum() == pytest.approx(3.0)
    assert mass[2] == 0.0


@pytest.mark.parametrize("weight", [[2.0, 2.0], [0.3], []])
def test_equal_weights_are_none(weight):
    mass, total, whole = masses(np.array(weight))
    assert mass is UNIT_WEIGHT
    assert (total, whole) == (len(weight), True)


def test_weights_too_far_apart_to_be_counted():
    mass, total, whole = masses(np.array([1e-300, 1.0, 1e300]))
    assert (total, whole) == (3, False)
    assert np.isfinite(mass).all()


def test_rows_without_weight_count_for_none():
    mass, total, _ = masses(np.zeros(3))
    assert total == number_of(mass, 3) == 0


def test_counts():
    labels = PartialLabels(np.arange(2), np.array([0, 1, -1, -1, -1]))
    whole = RowWeights.of(labels, np.array([1.0, 3.0, 2.0, 1.0, 2.0]))
    assert whole.labeled.tolist() == [0.25, 0.75]
    assert whole.counts(np.array([0.45, 0.55])).tolist() == [2, 3]
    other = RowWeights.of(labels, np.array([1.0, 3.0, 2.0, 1.0, 1.5]))
    np.testing.assert_allclose(other.counts(np.array([0.45, 0.55])), [1.35, 1.65])


class Weighed:
    """Answers of a block about its outputs and their masses."""

    def __init__(self, scores, mass):
        self.scores, self.mass = scores, mass

    def weighed_outputs(self, low, high, by_cost=False):
        inside = (self.scores >= low) & (self.scores <= high)
        return self.scores[inside], self.mass[inside]

    def count_above(self, values, by_cost=False):
        return [float(self.mass[self.scores > value].sum()) for value in values]

    def output_range(self, by_cost=False):
        return (self.scores.min(), self.scores.max()) if len(self.scores) else (np.inf, -np.inf)


@FEW
@given(
    seed=st.integers(0, 10_000),
    sizes=st.lists(st.integers(0, 30), min_size=1, max_size=4).filter(any),
    ties=st.booleans(),
    most=st.sampled_from([np.inf, 3.0]),
)
def test_the_nearest_cut(seed, sizes, ties, most):
    rng = np.random.default_rng(seed)
    scores, mass = rng.standard_normal(sum(sizes)), rng.gamma(1.0, size=sum(sizes))
    if ties:
        scores = np.round(scores)
    wanted = rng.random() * mass.sum()
    ends = np.cumsum(sizes)[:-1]
    pairs = zip(np.split(scores, ends), np.split(mass, ends), strict=True)
    blocks = [Weighed(*pair) for pair in pairs]

    def run(call):
        return [getattr(block, call.name)(*call.arguments) for block in blocks]

    known = [SimpleNamespace(workers=None) for _ in blocks]
    cut, (last, first) = nearest(OneScoreRows(known, run), wanted, most)
    above = []
    for block, tied in zip(blocks, cut.tied, strict=True):
        labels = block.scores > cut.threshold
        labels[np.flatnonzero(block.scores == cut.threshold)[:tied]] = True
        above.append(labels)
    found = mass[np.concatenate(above)].sum()
    order = np.argsort(-scores, kind="stable")
    possible = np.append(0.0, np.cumsum(mass[order]))
    assert abs(found - wanted) == pytest.approx(np.abs(possible - wanted).min(), abs=1e-9)
    assert last >= first


def relaxed(costs, mass, counts):
    """The cost of labels that may divide rows, by a linear program."""
    n, m = costs.shape
    rows = np.kron(np.eye(n), np.ones(m))
    columns = np.kron(mass, np.eye(m)).reshape(m, n * m)
    equal = np.vstack([rows, columns])
    found = linprog((mass[:, None] * costs).ravel(), A_eq=equal, b_eq=np.append(np.ones(n), counts))
    return found.fun


@FEW
@given(seed=st.integers(0, 10_000), n=st.integers(3, 40), m=st.integers(2, 5))
def test_prices_of_masses_are_optimal_and_few_rows_are_divided(seed, n, m):
    rng = np.random.default_rng(seed)
    (costs, _), mass = random_costs(n, m, seed), rng.gamma(1.0, size=n)
    counts = rng.dirichlet(np.ones(m)) * mass.sum()
    table = CostTable(costs, mass)
    prices = transport(table, counts, None)
    dual = mass @ (costs - prices).min(axis=1) + counts @ prices
    assert dual == pytest.approx(relaxed(costs, mass, counts), rel=1e-7, abs=1e-9)
    # every row has a cheapest class, and m - 1 rows at most keep the counts from being exact
    own = (costs - prices)[np.arange(n), table.labels]
    np.testing.assert_allclose(own, (costs - prices).min(axis=1), atol=1e-9)
    off = np.abs(np.bincount(table.labels, mass, minlength=m) - counts)
    assert off.max() <= np.sort(mass)[-(m - 1) :].sum() + 1e-9


@FEW
@given(seed=st.integers(0, 10_000))
def test_whole_masses_are_repeated_rows(seed):
    rng = np.random.default_rng(seed)
    (costs, _), mass = random_costs(30, 4, seed), rng.integers(1, 4, 30).astype(float)
    counts = np.bincount(rng.integers(0, 4, int(mass.sum())), minlength=4)
    one, several = CostTable(costs, mass), np.repeat(costs, mass.astype(int), axis=0)
    prices = transport(one, counts.astype(float), None)
    dual = mass @ (costs - prices).min(axis=1) + counts @ prices
    assert dual == pytest.approx(exact(several, counts).cost)


def test_rows_in_large_tables_start_from_prices_of_a_sample():
    rng = np.random.default_rng(0)
    (costs, _), mass = random_costs(3000, 3, 0), rng.gamma(1.0, size=3000)
    counts = np.array([0.5, 0.3, 0.2]) * mass.sum()
    table = CostTable(costs, mass)
    transport(table, counts, None)
    off = np.abs(np.bincount(table.labels, mass, minlength=3) - counts)
    assert off.max() <= 2 * mass.max()
