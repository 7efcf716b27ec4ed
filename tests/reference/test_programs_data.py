"""The 1-norm machines on the papers' data, where they are at hand."""

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import scale

from semisvm import ConcaveSVC, MixedIntegerSVC, OneNormSVC, RobustLPC


@pytest.mark.parametrize(("name", "published"), [("wbc", 0.967), ("wdbc", 0.954)])
def test_full_rlp_has_the_published_correctness(name, published, dataset):
    X, y = dataset(name)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    assert abs(cross_val_score(RobustLPC(), scale(X), y, cv=folds).mean() - published) < 0.015


def test_unlabelled_rows_and_a_prior_help_on_wdbc(dataset):
    """57 labels, as in the tables of the paper, which buys a tenth of them."""
    X, y = dataset("wdbc")
    X, scores = scale(X), []
    for seed in range(5):
        rows = np.random.default_rng(seed).permutation(len(y))[:57]
        labels = np.full(len(y), -1)
        labels[rows] = y[rows]
        free = labels == -1
        share = float(y[free].mean())
        models = (OneNormSVC(), ConcaveSVC(class_prior=[1 - share, share]))
        scores.append([m.fit(X, labels).score(X[free], y[free]) for m in models])
    supervised, semi = np.mean(scores, axis=0)
    assert semi > supervised + 0.005
    assert semi > 0.945


def test_global_optimum_of_fifty_rows_of_wbc(dataset):
    X, y = dataset("wbc")
    rows = np.random.default_rng(0).permutation(len(y))[:70]
    X, labels = scale(X)[rows], np.where(np.arange(70) < 20, y[rows], -1)
    local, best = ConcaveSVC().fit(X, labels), MixedIntegerSVC().fit(X, labels)
    assert best.optimality_gap_ <= 1e-4
    assert 1.001 < local.objective_ / best.objective_ < 1.1
