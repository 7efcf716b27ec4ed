"""A two-class problem with unlabelled rows, as the methods see it."""

from dataclasses import replace

import numpy as np
import pytest

from problems import binary_task
from semisvm.solvers.newton import measure


def state_at(task, labels, lam):
    """Give weights with what is known of them for labels, computed afresh."""
    w = 0.4 * np.random.default_rng(5).standard_normal(task.n_weights)
    state = task.from_weights(w)
    task.rows.blocks[0].labels = labels
    task.rows.all.set_label_costs(lam)
    measure(state, task.problem().linearize(w), task.reg, 1e-6)
    return state


@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "log"])
@pytest.mark.parametrize("rows", [[], [0], [3, 17, 40]])
@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_gradients_follow_other_labels(loss, rows, ratio):
    task, lam = binary_task(loss), 0.3
    labels = np.random.default_rng(1).random(task.n_unlabeled) < 0.4
    state = state_at(task, labels, lam)
    switched = labels.copy()
    switched[rows] = ~switched[rows]
    task.rows.blocks[0].labels = switched
    here = task.relabeled(state, ratio, ratio * lam)
    assert not here.exact
    expected = state_at(task, switched, ratio * lam)
    assert here.n_active == expected.n_active
    objective = here.value + 0.5 * task.reg * state.w @ state.w
    assert objective == pytest.approx(expected.objective)
    np.testing.assert_allclose(here.gradient, expected.gradient, rtol=1e-10, atol=1e-14)


def test_where_most_labels_are_others_it_does_not_follow():
    task, lam = binary_task(), 0.3
    labels = np.zeros(task.n_unlabeled, dtype=bool)
    state = state_at(task, labels, lam)
    task.rows.blocks[0].labels = ~labels
    assert task.relabeled(state, 1.0, lam) is None


@pytest.mark.parametrize("wanted", ["none", "all"])
def test_outputs_move_to_a_single_class_by_a_finite_shift(wanted):
    task = binary_task()
    u = task.n_unlabeled
    task = replace(task, n_positive=u if wanted == "all" else 0)
    task.from_weights(0.4 * np.random.default_rng(5).standard_normal(task.n_weights))
    assert task.excess() != 0
    shift = task.balancing_shift(0.0)
    assert np.isfinite(shift)
    task.rows.all.shift(shift)
    assert abs(task.excess()) <= 1
