"""What must hold of folds, priors and paths for any labels."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from problems import hide, two_blobs
from semisvm import TransductiveSVCCV
from semisvm.model_selection import PartialLabelKFold, TransductiveKFold, estimate_prior, with_twins

targets = st.lists(st.integers(-1, 3), min_size=12, max_size=60).map(np.array)


def foldable(y):
    labeled = y[y >= 0]
    counts = np.bincount(labeled, minlength=1)
    return counts[counts > 1].sum() >= 3 and len(np.unique(labeled)) > 1


@given(y=targets, seed=st.integers(0, 5))
@settings(max_examples=100)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_every_fold_can_train_and_be_scored(y, seed):
    if not foldable(y):
        return
    classes = set(y[y >= 0].tolist())
    cv = PartialLabelKFold(3, shuffle=True, random_state=seed)
    held = []
    for train, test in cv.split(None, y):
        assert len(test) > 0
        assert np.all(y[test] >= 0)
        assert set(y[train][y[train] >= 0].tolist()) == classes
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(len(y)))
        held.append(test)
    assert len(np.unique(np.concatenate(held))) == sum(map(len, held))
    assert np.ptp([len(test) for test in held]) <= 1


@given(y=targets)
@settings(max_examples=50)
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_twins_never_bring_a_label(y):
    if not foldable(y):
        return
    X = np.arange(len(y), dtype=float)[:, None]
    X2, y2 = with_twins(X, y)
    for train, test in TransductiveKFold(3).split(X2, y2):
        assert sorted(X2[train, 0]) == X[:, 0].tolist()
        assert np.all(y2[train][np.isin(X2[train, 0], test)] == -1)


@pytest.mark.parametrize("seed", range(3))
def test_unlabelled_rows_may_come_in_any_order(seed):
    X, y = two_blobs(150)
    partly = hide(y, 30)
    free = np.flatnonzero(partly < 0)
    order = np.arange(150)
    order[free] = np.random.default_rng(seed).permutation(free)
    np.testing.assert_allclose(
        estimate_prior(X, partly), estimate_prior(X[order], partly[order]), rtol=1e-6
    )
    here = TransductiveSVCCV(regs=[1.0, 0.1], cv=3).fit(X, partly)
    there = TransductiveSVCCV(regs=[1.0, 0.1], cv=3).fit(X[order], partly[order])
    assert here.reg_ == there.reg_
    np.testing.assert_allclose(here.scores_, there.scores_)
    np.testing.assert_allclose(here.coef_, there.coef_, atol=1e-3)
