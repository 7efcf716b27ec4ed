"""Shares of classes by labels and predictions."""

import numpy as np
import pytest

from semisvm.labels.partial import hide_labels
from semisvm.model_selection import prediction_powered_shares


def problem(n=2000, size=100, errors=0.1, seed=0):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.3).astype(int)
    predicted = np.where(rng.random(n) < errors, 1 - truth, truth)
    rows = rng.choice(n, size, replace=False)
    return truth, predicted, hide_labels(truth, ~np.isin(np.arange(n), rows))


def width(interval):
    return interval[1] - interval[0]


@pytest.mark.parametrize("errors", [0.0, 0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("size", [5, 30, 300])
def test_intervals_are_never_wider_than_those_of_labels(errors, size):
    _, predicted, y = problem(size=size, errors=errors)
    for share in prediction_powered_shares(predicted, y, [0, 1]):
        assert 0.0 < width(share.interval) <= width(share.labels_alone)
        assert share.interval[0] <= share.share <= share.interval[1]


def test_predictions_without_information_change_nothing():
    truth, _, y = problem()
    share = prediction_powered_shares(np.zeros(len(y), int), y)[1]
    assert share.share == np.mean(y[y >= 0] == 1)
    assert share.interval == share.labels_alone
    assert abs(share.share - truth.mean()) < 0.2


def test_wrong_predictions_are_corrected():
    """Predictions that have the class twice as often as it occurs do not move the estimate."""
    shares = []
    for seed in range(60):
        truth, predicted, y = problem(errors=0.0, seed=seed)
        rng = np.random.default_rng(seed)
        predicted = np.where(rng.random(len(y)) < 0.4, 1, predicted)
        shares.append(prediction_powered_shares(predicted, y)[1].share - truth.mean())
    assert abs(np.mean(shares)) < 4.0 * np.std(shares) / np.sqrt(len(shares))


def test_intervals_cover():
    found = []
    for seed in range(200):
        truth, predicted, y = problem(size=60, seed=seed)
        low, high = prediction_powered_shares(predicted, y)[1].interval
        found.append(low <= truth.mean() <= high)
    assert np.mean(found) > 0.9


def test_too_few_labels():
    with pytest.raises(ValueError, match="2 or more rows that were drawn at random, and there are"):
        prediction_powered_shares([0, 1, 0], [0, -1, -1])
