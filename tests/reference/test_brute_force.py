"""Against every labelling of tiny problems."""

import itertools
from functools import cache

import numpy as np
import pytest

from problems import charged_block, solve_from, weight_step
from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.losses import SQUARED_HINGE

REG, LAM, U, POSITIVE = 0.05, 1.0, 9, 4


def tiny(seed):
    """Two labelled and nine unlabelled rows, four of them positive."""
    rng = np.random.default_rng(seed)
    truth = np.array([1, -1] + [1] * POSITIVE + [-1] * (U - POSITIVE))
    X = rng.standard_normal((2 + U, 3)) + 0.9 * truth[:, None]
    y = np.zeros(2 + U, dtype=int)
    y[:2] = 1, -1
    return X, y


def value_of(X, positive):
    """Smallest objective for given labels of the unlabelled rows."""
    design = make_design(X, 1.0, Workers())
    labels = np.concatenate([[True, False], positive])
    cost = np.concatenate([np.full(2, 0.5), np.full(U, LAM / U)])
    block = charged_block(design, SQUARED_HINGE.two, labels * cost, ~labels * cost)
    return solve_from(weight_step(block, REG), tol=1e-10).objective


@cache
def global_minimum(seed):
    X, _ = tiny(seed)
    choices = itertools.combinations(range(U), POSITIVE)
    return min(value_of(X, np.isin(np.arange(U), chosen)) for chosen in choices)


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
def test_objective_is_that_of_its_labels_and_near_the_global_minimum(cls):
    gaps = []
    for seed in range(12):
        X, y = tiny(seed)
        share = POSITIVE / U
        model = cls(
            REG, LAM, unlabeled=0, class_prior=[1 - share, share], tol=1e-9, balance_tol=None
        ).fit(X, y)
        chosen = model.transduction_[2:] == 1
        assert chosen.sum() == POSITIVE
        assert model.objective_ == pytest.approx(value_of(X, chosen), rel=1e-7)
        best = global_minimum(seed)
        assert model.objective_ >= best * (1 - 1e-7)
        gaps.append(model.objective_ / best - 1)
    assert np.median(gaps) < 1e-6, "finds the global minimum on most tiny problems"
