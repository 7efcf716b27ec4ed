"""Searches along a path find what the long way finds."""

import numpy as np
import pytest
from sklearn.base import clone

from problems import hide, two_blobs
from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.labels.hierarchy import build
from semisvm.labels.partial import encode
from semisvm.model_selection import (
    AnnealedSVCCV,
    PartialLabelKFold,
    TransductiveSVCCV,
    hide_labels,
    partial_scorer,
)
from semisvm.model_selection.search import Grid, best_setting

PAIRS = [(TransductiveSVCCV, TransductiveSVC), (AnnealedSVCCV, AnnealedSVC)]


def three_blobs(n=240, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    centres = np.array([[0.0, 2.0], [2.0, -1.0], [-2.0, -1.0]])
    return rng.standard_normal((n, 2)) + centres[y], y


@pytest.mark.parametrize(("search", "single"), PAIRS)
@pytest.mark.parametrize("problem", [two_blobs, three_blobs])
def test_last_model_is_the_single_one(search, single, problem):
    X, y = problem(n=150)
    partly = hide(y, 30)
    # estimates of the shares depend on reg
    shares = {"class_prior": "labels"}
    grid = {"regs": [0.3, 0.03], "unlabeled_weights": [0.1, 1.0]}
    model = search(**grid, cv=3, **shares).fit(X, partly)
    assert model.scores_.shape == (3, 2, 2)
    chosen = {"reg": model.reg_, "unlabeled_weight": model.unlabeled_weight_}
    expected = single(**chosen, **shares).fit(X, partly)
    np.testing.assert_allclose(model.coef_, expected.coef_, rtol=1e-10)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    assert model.objective_ == pytest.approx(expected.objective_)
    assert any("chosen" in note for note in model.trace_.notes)
    assert hasattr(model, "label_distribution_") == (single is AnnealedSVC)


def test_scores_are_those_of_held_out_rows():
    """One setting, one fold at a time: fitted with the labels of the fold hidden."""
    X, y = two_blobs(200, gap=1.5)
    partly = hide(y, 40)
    cv = PartialLabelKFold(4)
    model = TransductiveSVCCV(regs=[0.1], cv=cv).fit(X, partly)
    score, single = partial_scorer("accuracy"), TransductiveSVC(reg=0.1, tol=1e-3)
    for k, (_, fold) in enumerate(cv.split(X, partly)):
        fitted = clone(single).fit(X, hide_labels(partly, fold))
        assert model.scores_[k, 0, 0] == score(fitted, X[fold], partly[fold])


@pytest.mark.parametrize("single", [TransductiveSVC, AnnealedSVC])
def test_path_is_about_as_good_as_single_fits(single):
    X, y = two_blobs(300, 20, gap=3.0)
    partly = hide(y, 30)
    labels = encode(partly)
    prior, regs = np.array([0.5, 0.5]), np.geomspace(1.0, 1e-2, 7)
    with Workers(1) as workers:
        design = make_design(X, 1.0, workers)
        grid = Grid(single, regs.tolist(), [1.0], design, build(None, labels.classes))
        points = list(grid.path(labels, prior))
    assert sorted(point.column for point in points) == list(range(7))
    for point in points:
        cold = single(reg=regs[point.column], class_prior=prior).fit(X, partly)
        assert point.solution.objective <= 1.1 * cold.objective_
        codes = (cold.decision_function(X) > 0).astype(int)
        assert np.mean((point.scores(np.arange(300)) > 0) == codes) > 0.95


def test_best_setting():
    plateau = np.tile([[[0.5, 0.7, 0.7, 0.7, 0.1]]], (4, 1, 1))
    assert best_setting(plateau) == (0, 2)
    clear = plateau.copy()
    clear[:, 0, 0] = 0.9
    assert best_setting(clear) == (0, 0)
    lucky = plateau.copy()
    lucky[0, 0, 1] = 0.8  # one fold, a row more
    assert best_setting(lucky) == (0, 2)


def test_bad_regularisation_is_not_taken():
    X, y = two_blobs(400, 60, gap=2.0)
    model = TransductiveSVCCV(regs=[1e-7, 1.0, 0.5]).fit(X, hide(y, 60))
    assert model.regs_.tolist() == [1.0, 0.5, 1e-7]
    assert model.reg_ > 1e-7
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("names", [np.array(["down", "up"]), np.array([3, 7])])
def test_every_kind_of_label(names):
    X, y = two_blobs(100)
    partly = hide(y, 30)
    target = np.where(partly < 0, None, names[partly])
    TransductiveSVCCV(regs=2, cv=3, scoring="average_precision").fit(X, target)
    model = TransductiveSVCCV(regs=2, cv=3, scoring="f1_macro").fit(X, target)
    assert model.classes_.tolist() == names.tolist()
    assert set(model.predict(X)) == set(names.tolist())


def test_mistakes_are_named():
    X, y = two_blobs(40)
    for wrong, message in [
        ({"regs": []}, "regs is empty"),
        ({"regs": [1.0, -1.0]}, "every value of regs"),
        ({"regs": 0}, "regs must be a whole number"),
        ({"unlabeled_weights": [0.0]}, "every value of unlabeled_weights"),
        ({"scoring": "neg_log_loss"}, "scoring must be one of"),
        ({"loss": "hubert"}, "loss must be one of"),
        ({"cv": 1}, "n_splits"),
    ]:
        with pytest.raises(ValueError, match=message):
            TransductiveSVCCV(**wrong).fit(X, y)
