"""The k largest outputs over blocks, against a sort."""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semisvm.label_steps import top_labels
from semisvm.tasks import OneScoreRows
from semisvm.tasks.one_score_driver import largest, nearest


class Outputs:
    """The operations of a block that concern its outputs."""

    def __init__(self, values):
        self.values = values

    def outputs(self, low=-np.inf, high=np.inf, by_cost=False):
        return self.values[(self.values >= low) & (self.values <= high)]

    def few_outputs(self, low, high, most, by_cost=False):
        found = self.outputs(low, high)
        return (
            int(np.count_nonzero(self.values > high)),
            len(found),
            found if len(found) <= most else None,
        )

    def output_range(self, by_cost=False):
        return (self.values.min(), self.values.max()) if len(self.values) else (np.inf, -np.inf)

    def count_above(self, values, by_cost=False):
        return [int(np.count_nonzero(self.values > value)) for value in values]

    def count_at(self, value, by_cost=False):
        return int(np.count_nonzero(self.values == value))


class WeighedOutputs:
    """The same of rows with masses."""

    def __init__(self, values, masses):
        self.values, self.masses = values, masses

    def weighed_outputs(self, low, high, by_cost=False):
        within = (self.values >= low) & (self.values <= high)
        return self.values[within], self.masses[within]

    def output_range(self, by_cost=False):
        return Outputs(self.values).output_range()

    def count_above(self, values, by_cost=False):
        return [float(self.masses[self.values > value].sum()) for value in values]


def rows_of(blocks, seen=None, called=None):
    """Return the driver's view of blocks; what they return, and what is called, is recorded."""

    def run(call):
        found = [getattr(block, call.name)(*call.arguments) for block in blocks]
        if called is not None:
            called.append(call.name)
        if seen is not None and call.name == "outputs":
            seen.append(sum(len(part) for part in found))
        if seen is not None and call.name == "few_outputs":
            seen.append(sum(len(part) for *_, part in found if part is not None))
        return found

    n = sum(len(block.values) for block in blocks)
    known = [SimpleNamespace(workers=None, n_unlabeled=n) for _ in blocks]
    return OneScoreRows(known, run)


def labels_of(parts, cut):
    found = []
    for values, tied in zip(parts, cut.tied, strict=True):
        labels = values > cut.threshold
        labels[np.flatnonzero(values == cut.threshold)[:tied]] = True
        found.append(labels)
    return np.concatenate(found)


@settings(max_examples=200)
@given(
    st.lists(st.integers(-6, 6) | st.floats(-3, 3), min_size=1, max_size=60),
    st.integers(0, 62),
    st.integers(1, 4),
    st.sampled_from([2, 5, np.inf]),
)
def test_the_largest_are_found_whatever_the_ties(values, k, n_blocks, max_gathered):
    whole = np.array(values, dtype=np.float64)
    parts = np.array_split(whole, n_blocks)
    cut = largest(rows_of([Outputs(p) for p in parts]), k, max_gathered)
    np.testing.assert_array_equal(labels_of(parts, cut), top_labels(whole, k))


@settings(max_examples=200)
@given(
    st.lists(st.integers(-6, 6) | st.floats(-3, 3), min_size=2, max_size=60),
    st.data(),
    st.integers(1, 4),
    st.sampled_from([2, 5, np.inf]),
)
def test_a_known_range_changes_nothing(values, data, n_blocks, max_gathered):
    whole = np.array(values, dtype=np.float64)
    k = data.draw(st.integers(1, len(whole) - 1))
    kth = np.sort(whole)[::-1][k - 1]
    low = data.draw(st.sampled_from(sorted(set(whole[whole <= kth]))))
    high = data.draw(st.sampled_from(sorted(set(whole[whole >= kth]))))
    parts = np.array_split(whole, n_blocks)
    rows = rows_of([Outputs(p) for p in parts])
    cut = largest(rows, k, max_gathered, (low, high))
    np.testing.assert_array_equal(labels_of(parts, cut), top_labels(whole, k))


@settings(max_examples=200)
@given(
    st.lists(st.integers(-6, 6) | st.floats(-3, 3), min_size=2, max_size=60),
    st.data(),
    st.integers(1, 4),
)
def test_a_wrong_guess_changes_nothing(values, data, n_blocks):
    whole = np.array(values, dtype=np.float64)
    k = data.draw(st.integers(1, len(whole) - 1))
    guess = tuple(sorted(data.draw(st.tuples(st.floats(-7, 7), st.floats(-7, 7)))))
    parts = np.array_split(whole, n_blocks)
    cut = largest(rows_of([Outputs(p) for p in parts]), k, 5, guess=guess)
    np.testing.assert_array_equal(labels_of(parts, cut), top_labels(whole, k))


def test_a_right_guess_takes_one_call():
    whole = np.random.default_rng(0).standard_normal(20_000)
    parts, called = np.array_split(whole, 3), []
    rows = rows_of([Outputs(p) for p in parts], called=called)
    cut = largest(rows, 10_000, 500, guess=(-0.01, 0.01))
    np.testing.assert_array_equal(labels_of(parts, cut), top_labels(whole, 10_000))
    assert called == ["few_outputs"]


def test_few_outputs_travel():
    whole = np.random.default_rng(0).standard_normal(20_000)
    parts, seen = np.array_split(whole, 7), []
    cut = largest(rows_of([Outputs(p) for p in parts], seen), 6_543, 50)
    np.testing.assert_array_equal(labels_of(parts, cut), top_labels(whole, 6_543))
    assert seen
    assert max(seen) <= 60


@pytest.mark.parametrize("k", [1, 999, 1000])
def test_outputs_that_are_all_equal_do_not_travel(k):
    parts, seen = np.array_split(np.full(2_000, 3.5), 3), []
    cut = largest(rows_of([Outputs(p) for p in parts], seen), k, 50)
    assert labels_of(parts, cut).sum() == k
    assert labels_of(parts, cut)[:k].all()
    assert max(seen, default=0) <= 50


@settings(max_examples=200)
@given(
    st.lists(st.tuples(st.integers(-6, 6) | st.floats(-3, 3), st.integers(1, 5)), min_size=1),
    st.integers(0, 100),
    st.integers(1, 4),
    st.sampled_from([5, np.inf]),
)
def test_the_nearest_mass_is_found(rows, mass, n_blocks, max_gathered):
    values, masses = np.array(rows, dtype=np.float64).T
    parts, weights = (np.array_split(x, n_blocks) for x in (values, masses))
    blocks = [WeighedOutputs(*part) for part in zip(parts, weights, strict=True)]
    cut, edges = nearest(rows_of(blocks), mass, max_gathered)
    order = np.argsort(-values, kind="stable")
    k = np.abs(np.append(0.0, np.cumsum(masses[order])) - mass).argmin()
    np.testing.assert_array_equal(np.flatnonzero(labels_of(parts, cut)), np.sort(order[:k]))
    if max_gathered == np.inf:
        ranked = values[order]
        assert edges == (ranked[max(k, 1) - 1], ranked[min(k, len(values) - 1)])
