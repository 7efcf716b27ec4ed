"""Rows that took no part in a fit are predicted like the unlabelled rows that did."""

import re
import warnings
from itertools import cycle

import numpy as np
import pytest
from sklearn.datasets import make_moons
from sklearn.feature_extraction.text import TfidfVectorizer

from problems import short_texts, two_blobs
from promises import EVERY_METHOD
from semisvm.estimators import registry

N_LABELS, N_NEW = 30, 600
MOST_ERRORS = 4.0
"""Differences allowed, in standard errors: chance makes larger ones once in 16,000 comparisons."""


def blobs(seed):
    return (*two_blobs(300 + N_NEW, 8, gap=1.5, seed=seed), 300)


def moons(seed):
    return (*make_moons(300 + N_NEW, noise=0.15, random_state=seed), 300)


def texts(seed):
    return (*short_texts(500 + N_NEW, n_words=400, seed=seed), 500)


def rare_words(seed):
    return (*short_texts(500 + N_NEW, n_words=6000, seed=seed), 500)


def standard_error(share, *counts):
    # a share of zero or one is not certain either
    share = min(max(share, 0.05), 0.95)
    return np.sqrt(share * (1.0 - share) * sum(1.0 / count for count in counts))


def in_turns():
    """Pair every method with texts of both kinds, and with blobs or moons."""
    for method, easy in zip(registry.methods(), cycle((blobs, moons)), strict=False):
        for data in (easy, texts, rare_words):
            yield pytest.param(method, data, id=f"{method.name}-{data.__name__}")


@pytest.mark.parametrize(("method", "data"), list(in_turns()))
def test_new_rows_are_predicted_like_unlabelled_ones(method, data):
    X, y, n = data(0)
    if method.suits.most_unlabeled == 100:
        # a search over all labellings
        n = N_LABELS + 20
    inside, outside, right = predictions(method.make(), X, y, n, N_LABELS)
    check(inside, outside, right, n - N_LABELS)


def predictions(model, X, y, n, n_labels):
    """Return the shares of class 1 on unlabelled and on new rows, and the two accuracies."""
    labels = np.where(np.arange(n) < n_labels, y[:n], -1)
    with warnings.catch_warnings():
        # the default reg is for rows of about length one
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X[:n], labels)
    inside, outside = model.predict(X[n_labels:n]), model.predict(X[-N_NEW:])
    right = [np.mean(inside == y[n_labels:n]), np.mean(outside == y[-N_NEW:])]
    return np.mean(inside == 1), np.mean(outside == 1), right


def check(inside, outside, right, n_unlabeled):
    """Compare accuracies and shares of two samples of one source: no more than chance does."""
    allowed = MOST_ERRORS * standard_error(np.mean(right), n_unlabeled, N_NEW)
    assert abs(right[0] - right[1]) < allowed, f"accuracy {right}"
    # shares vary with the labels of the rows as well, so at least like those of equal classes
    allowed = MOST_ERRORS * standard_error(0.5, n_unlabeled, N_NEW)
    assert abs(inside - outside) < allowed, f"shares {inside} and {outside}"


@pytest.fixture(scope="module")
def sentences(newsgroups):
    """First sentences of messages about driving and about science, 12 words on average."""
    groups = ("rec.autos", "rec.motorcycles", "sci.space", "sci.med")
    texts, y = [], []
    for body, group in zip(*newsgroups(*groups), strict=True):
        own = " ".join(line for line in body.splitlines() if line[:1] not in (">", "|", ":"))
        found = [part for part in re.split(r"[.!?]\s+", own) if 5 <= len(part.split()) <= 25]
        if found:
            texts.append(found[0])
            y.append(int(group.startswith("sci")))
    rows = np.random.default_rng(0).permutation(len(y))[: 560 + N_NEW]
    X = TfidfVectorizer(sublinear_tf=True).fit_transform(texts)
    return X[rows], np.array(y)[rows]


@EVERY_METHOD
def test_sentences(method, sentences):
    X, y = sentences
    n = 80 if method.suits.most_unlabeled == 100 else 560
    inside, outside, right = predictions(method.make(), X, y, n, 60)
    check(inside, outside, right, n - 60)
