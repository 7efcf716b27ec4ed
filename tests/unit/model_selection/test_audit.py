"""Labels that were made wrong are found, and the others are mostly left alone."""

import re

import numpy as np
import pytest
from benchmarks.audit import flipped, found_in
from benchmarks.trust import draw
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import normalize, scale

from problems import hide, two_blobs
from semisvm import LaplacianRLSC, NewtonSVC, TransductiveSVC
from semisvm.model_selection import Audit, audit_labels
from semisvm.model_selection.audit import mean_scores
from semisvm.model_selection.crossfit import CrossFit


def test_wrong_labels_of_bundled_data_come_first():
    """5% of the labels are wrong, so chance is 5%; precision at k is above ten times that."""
    X, y = load_breast_cancer(return_X_y=True)
    runs = [found_in(draw(scale(X), y, 200, seed), TransductiveSVC, seed) for seed in range(3)]
    assert np.mean([run["at_k"] for run in runs]) > 0.5
    assert np.mean([run["listed"] for run in runs]) > 0.8


def test_wrong_labels_of_ten_classes():
    X, y = load_digits(return_X_y=True)
    found = found_in(draw(normalize(X), y, 200, 0), NewtonSVC, 0)
    assert found["at_k"] > 0.5


@pytest.mark.filterwarnings("ignore:The least labelled class")
@pytest.mark.parametrize("name", ["text1_pcmac", "r8_tfidf"])
def test_wrong_labels_of_texts(dataset, name):
    X, y = dataset(name)
    y = np.unique(y, return_inverse=True)[1]
    runs = [found_in(draw(X, y, 200, seed), TransductiveSVC, seed) for seed in range(2)]
    assert np.mean([run["at_k"] for run in runs]) > 0.4
    assert np.mean([run["at_2k"] for run in runs]) > 0.6


def test_the_words_about_a_doubt():
    X, y = two_blobs(200, gap=8.0)
    labels = np.where(hide(y, 60) >= 0, np.array(["ham", "spam"])[y], None)
    row = int(np.flatnonzero(labels == "ham")[0])
    labels[row] = "spam"
    found = audit_labels(TransductiveSVC(reg=0.1, unlabeled=None), X, labels, unlabeled=None)
    first = found.doubts[0]
    assert (first.row, first.given, first.suggested) == (row, "spam", "ham")
    assert first.probability > 0.7
    assert first.probability + first.given_probability == pytest.approx(1.0)
    assert (found.n_checked, found.n_unchecked) == (60, 0)
    assert found.agreement == pytest.approx(1 - len(found) / 60)
    assert found.to_dict()["doubts"][0]["suggested"] == "ham"
    verb = "is" if len(found) == 1 else "are"
    assert f"{len(found)} of 60 labels {verb} contradicted" in found.sentence()


def test_models_no_better_than_a_guess_cannot_judge():
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((120, 8)), np.array([0] * 40 + [1] * 20 + [-1] * 60)
    found = audit_labels(NewtonSVC(), X, y)
    assert found.agreement < found.majority == pytest.approx(2 / 3)
    assert not found.can_judge
    assert len(found) == 0
    assert "cannot be judged" in found.sentence()
    assert "66.7%" in found.sentence()
    assert found.to_dict()["can_judge"] is False


def test_no_doubt_takes_one_sentence():
    message = Audit((), 60, 0, 1.0).sentence()
    assert re.fullmatch(r"None of 60 labels .*contradicted[^.]*\.", message)


def test_doubts_are_sorted_and_repeat():
    X, y = two_blobs(150, gap=1.0)
    found = audit_labels(NewtonSVC(), X, hide(y, 60), n_repeats=2)
    sure = [doubt.given_probability for doubt in found.doubts]
    assert sure == sorted(sure)
    assert found == audit_labels(NewtonSVC(), X, hide(y, 60), n_repeats=2)
    assert isinstance(found, Audit)


@pytest.mark.filterwarnings("ignore:A class has a single label")
def test_a_label_that_is_the_only_one_of_its_class_is_not_judged():
    X, y = two_blobs(120)
    labels = hide(y, 40)
    labels[int(np.flatnonzero(labels < 0)[0])] = 2
    found = audit_labels(NewtonSVC(), X, labels)
    assert (found.n_checked, found.n_unchecked) == (40, 1)
    assert "1 were left out" in found.sentence()


def test_other_estimators():
    X, y = two_blobs(120, gap=4.0)
    labels, wrong = flipped(draw(X, y, 40, 0).labels, 2, 0.05, 0)
    data = draw(X, y, 40, 0)
    found = audit_labels(LaplacianRLSC(), data.X, labels, n_repeats=1)
    assert set(wrong) <= set(found.rows.tolist())


def test_scores_of_several_repeats_are_averaged():
    rows, codes = np.array([4, 7, 7, 4]), np.array([0, 1, 1, 0])
    scores = np.array([-1.0, -3.0, 1.0, 2.0])
    found = CrossFit(rows, codes, scores, np.array([0, 0, 1, 1]))
    places, mean, classes, _ = mean_scores(found)
    assert places.tolist() == [4, 7]
    assert classes.tolist() == [0, 1]
    np.testing.assert_array_equal(mean, [[-0.5, 0.5], [1.0, -1.0]])


def test_too_few_labels():
    with pytest.raises(ValueError, match="folds need as many labelled rows"):
        audit_labels(NewtonSVC(), np.eye(4), np.array([0, 1, -1, -1]))
    with pytest.raises(ValueError, match="n_repeats"):
        audit_labels(NewtonSVC(), np.eye(4), np.array([0, 1, 0, 1]), n_repeats=0)
