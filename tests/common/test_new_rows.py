"""Rows that took no part in a fit are predicted like the unlabelled rows that did."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import make_moons

from problems import short_texts, two_blobs
from semisvm import registry

EVERY = pytest.mark.parametrize("method", registry.methods(), ids=lambda method: method.name)
N_LABELS, N_NEW = 30, 600
MOST_ERRORS = 4.0
"""Differences allowed, in standard errors: chance makes larger ones once in 16,000 comparisons."""


def blobs(seed):
    return (*two_blobs(300 + N_NEW, 8, gap=1.5, seed=seed), 300)


def moons(seed):
    return (*make_moons(300 + N_NEW, noise=0.15, random_state=seed), 300)


def texts(seed):
    return (*short_texts(500 + N_NEW, n_words=400, seed=seed), 500)


def standard_error(share, *counts):
    # a share of zero or one is not certain either
    share = min(max(share, 0.05), 0.95)
    return np.sqrt(share * (1.0 - share) * sum(1.0 / count for count in counts))


@EVERY
@pytest.mark.parametrize(("data", "seed"), [(blobs, 0), (moons, 0), (texts, 0), (texts, 1)])
def test_new_rows_are_predicted_like_unlabelled_ones(method, data, seed):
    X, y, n = data(seed)
    if method.suits.most_unlabeled == 100:
        # a search over all labellings
        n = N_LABELS + 20
    labels = np.where(np.arange(n) < N_LABELS, y[:n], -1)
    with warnings.catch_warnings():
        # the default reg is for rows of about length one
        warnings.simplefilter("ignore", UserWarning)
        model = method.make().fit(X[:n], labels)
    counts = (n - N_LABELS, N_NEW)
    inside, outside = model.predict(X[N_LABELS:n]), model.predict(X[-N_NEW:])
    right = [np.mean(inside == y[N_LABELS:n]), np.mean(outside == y[-N_NEW:])]
    allowed = MOST_ERRORS * standard_error(np.mean(right), *counts)
    assert abs(right[0] - right[1]) < allowed, f"accuracy {right}"
    shares = [np.mean(inside == 1), np.mean(outside == 1)]
    # shares vary with the labels of the rows as well, so at least like those of equal classes
    assert abs(shares[0] - shares[1]) < MOST_ERRORS * standard_error(0.5, *counts), f"{shares}"
