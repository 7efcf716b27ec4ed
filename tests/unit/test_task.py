"""A two-class problem with unlabelled rows, as the methods see it."""

import numpy as np
import pytest

from problems import binary_task
from semisvm.weights import State
from semisvm.weights.newton import measure


def state_at(task, labels, lam):
    """Give weights with what is known of them for labels, computed afresh."""
    w = 0.4 * np.random.default_rng(5).standard_normal(task.n_weights)
    state = State(w, task.scores(w))
    here = task.semisupervised(labels, ~labels, lam).linearize(w, state.scores)
    measure(state, here.value, here.gradient, here.n_active, task.reg, 1e-6)
    return state


@pytest.mark.parametrize("loss", ["squared_hinge", "squared"])
@pytest.mark.parametrize("rows", [[], [0], [3, 17, 40]])
@pytest.mark.parametrize("ratio", [1.0, 1.5])
def test_what_is_known_follows_to_other_labels(loss, rows, ratio):
    task, lam = binary_task(loss), 0.3
    labels = np.random.default_rng(1).random(len(task.unlabeled)) < 0.4
    state = state_at(task, labels, lam)
    switched = labels.copy()
    switched[rows] = ~switched[rows]
    value, gradient, n_active = task.relabeled(state, (labels, lam), switched, ratio * lam)
    expected = state_at(task, switched, ratio * lam)
    assert n_active == expected.n_active
    assert value + 0.5 * task.reg * state.w @ state.w == pytest.approx(expected.objective)
    np.testing.assert_allclose(gradient, expected.gradient, rtol=1e-10, atol=1e-14)


def test_where_most_labels_are_others_it_does_not_follow():
    task, lam = binary_task(), 0.3
    labels = np.zeros(len(task.unlabeled), dtype=bool)
    state = state_at(task, labels, lam)
    assert task.relabeled(state, (labels, lam), ~labels, lam) is None
