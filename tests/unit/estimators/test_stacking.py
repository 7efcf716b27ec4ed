"""Weights of a committee: a convex problem with known limits."""

import numpy as np
import pytest
from scipy.special import log_softmax

from semisvm.estimators.stacking import (
    PULL,
    SLOPE,
    contrasts,
    spread,
    stacked_weights,
    without_small,
)

CODES = np.random.default_rng(0).integers(0, 3, 50)


def scores(quality):
    noise = np.random.default_rng(int(10 * quality)).standard_normal((50, 3))
    return quality * np.eye(3)[CODES] + noise


def objective(w, held, codes):
    Z = [contrasts(s) / spread(s) for s in held]
    log_p = log_softmax(sum(a * z for a, z in zip(w, Z, strict=True)), axis=1)
    equal = SLOPE / len(held)
    pull = PULL * np.sum(w * np.log(w / equal) - w + equal)
    return -log_p[np.arange(len(codes)), codes].sum() + pull


def test_no_other_weights_are_better():
    held = [scores(quality) for quality in (2.0, 1.0, 0.0)]
    w = stacked_weights(held, CODES)
    best = objective(w, held, CODES)
    rng = np.random.default_rng(1)
    for _ in range(200):
        other = w * np.exp(0.1 * rng.standard_normal(3))
        assert objective(other, held, CODES) >= best - 1e-6
    assert w[0] > w[1] > w[2] > 0.0


def test_one_label_leaves_equal_weights_and_many_do_not():
    held = [scores(3.0), scores(0.0)]
    few = stacked_weights([s[:1] for s in held], CODES[:1])
    many = stacked_weights(held, CODES)
    assert abs(few[0] / few.sum() - 0.5) < 0.2
    assert many[0] / many.sum() > 0.8


def test_scale_of_scores_does_not_matter():
    held = [scores(2.0), scores(1.0)]
    np.testing.assert_allclose(
        stacked_weights([1e6 * held[0], 1e-6 * held[1]], CODES),
        stacked_weights(held, CODES),
        rtol=1e-3,
    )


def test_two_classes_are_one_score():
    codes = np.array([0, 1, 1, 0])
    one = np.array([-1.0, 2.0, -0.5, 0.1])
    np.testing.assert_allclose(contrasts(one), contrasts(np.column_stack([-one, one]) / 2))
    assert spread(np.zeros(4)) == 1.0
    assert np.isfinite(stacked_weights([one, np.zeros(4)], codes)).all()


def test_small_weights_are_left_out():
    np.testing.assert_allclose(without_small(np.array([1.0, 1.0, 0.01])), [1.005, 1.005, 0.0])


def test_without_labels_that_speak_the_first_weights_stay():
    """Two members with the same scores: only their sum follows the labels."""
    codes = np.arange(40) // 20
    scores = np.where(np.arange(40) % 4 == 0, -1.0, 1.0) * (2 * codes - 1)
    w = stacked_weights([scores, scores], codes, [3.0, 1.0])
    assert w[0] / w[1] == pytest.approx(3.0, rel=1e-3)
    even = stacked_weights([scores, scores], codes)
    assert even[0] == pytest.approx(even[1])
