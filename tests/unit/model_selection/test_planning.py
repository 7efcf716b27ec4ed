"""What is compared by default ends soon, whatever the size of the data."""

import numpy as np
import pytest
from scipy import sparse

from semisvm.designs.costs import Size
from semisvm.estimators import registry
from semisvm.model_selection.method_comparison import SECONDS, plan

CANDIDATES = [m for m in registry.methods() if m.compared and (m.auto or m.suits.needs_unlabeled)]
TEXTS = Size(7000, 10_000, 175_000, True, 2)
CORE = ["svm", "tsvm"]


def names(found):
    return [method.name for method in found.methods]


def test_sizes_are_measured():
    assert Size.of(np.zeros((3, 4)), 2) == Size(3, 4, 12, False, 2)
    assert Size.of(sparse.eye(5, format="csr"), 3) == Size(5, 5, 5, True, 3)
    assert [Size(1, 1, 1, True, m).n_scores for m in (2, 3)] == [1, 3]


def test_texts_leave_out_what_is_slow():
    found = plan(CANDIDATES, TEXTS, 5)
    assert names(found)[:2] == CORE
    assert {"lds", "cluster-kernel", "lapsvm"} <= set(found.slow)
    assert {"gradient", "expectation"} <= set(names(found))
    assert found.repeats == 3
    assert found.seconds <= SECONDS
    assert set(found.costs) == set(names(found))
    (note,) = found.notes()
    assert "lds (about 3 h)" in note
    assert "bounded=False compares them too" in note
    assert found.reasons()["lds"] == "it would take about 3 h"


def test_large_data_have_fewer_folds_and_keep_two():
    found = plan(CANDIDATES, Size(100_000, 50_000, 9_000_000, True, 20), 5)
    assert names(found) == CORE
    assert found.repeats == 1
    assert "the folds are not repeated; repeats=3 would" in found.notes()[1]
    assert plan(CANDIDATES, Size(100_000, 50_000, 9_000_000, True, 20), 5, 3).repeats == 3


def test_small_data_have_all_methods():
    found = plan([m for m in CANDIDATES if m.name != "mip"], Size(90, 5, 450, False, 2), 5)
    assert found.slow == {}
    assert found.notes() == []


def test_all_means_all():
    found = plan(CANDIDATES, TEXTS, 5, bounded=False)
    assert set(names(found)) == {method.name for method in CANDIDATES}
    assert (found.slow, found.repeats) == ({}, 3)


@pytest.mark.parametrize("method", registry.methods(), ids=lambda method: method.name)
def test_costs_grow_with_the_data(method):
    small, large = Size(500, 50, 5000, True, 2), Size(5000, 50, 50_000, True, 2)
    assert 0 < method.cost.seconds(small) < method.cost.seconds(large)
