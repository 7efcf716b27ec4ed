"""Comparisons claim what the scores allow, and no more."""

import json
import re

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from problems import hide, two_blobs
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.model_selection import (
    CalibratedPartialClassifier,
    PartialLabelKFold,
    compare,
    hide_labels,
)
from semisvm.model_selection.comparison_result import Comparison, FoldScore


def comparison(n_labeled=100, **scores):
    found = {
        name: [FoldScore(name, k, s, 0.1) for k, s in enumerate(values)]
        for name, values in scores.items()
    }
    return Comparison.of(
        found,
        baseline=next(iter(scores)),
        scoring="accuracy",
        confidence=0.95,
        test_share=0.25,
        n_labeled=n_labeled,
        n_unlabeled=100,
    )


def test_verdicts():
    base = [0.70, 0.72, 0.69, 0.71, 0.73]
    better = [0.80, 0.83, 0.79, 0.80, 0.84]
    same = [0.71, 0.71, 0.70, 0.70, 0.74]
    worse = [0.60, 0.61, 0.60, 0.60, 0.62]
    verdict = comparison(svm=base, same=same, better=better).did_it_help()
    assert (verdict.word, verdict.method, verdict.recommended) == ("helped", "better", "better")
    verdict = comparison(svm=base, same=same, worse=worse).did_it_help()
    assert (verdict.word, verdict.method, verdict.recommended) == ("no evidence", "same", "svm")
    verdict = comparison(svm=base, worse=worse).did_it_help()
    assert (verdict.word, verdict.recommended) == ("hurt", "svm")
    assert "supervised model, svm" in verdict.sentence
    verdict = comparison(svm=base).did_it_help()
    assert (verdict.word, verdict.recommended) == ("no evidence", "svm")


def test_no_verdict_from_folds_that_agree():
    """Two folds with the same gain have no variance: that is no proof."""
    found = comparison(n_labeled=16, svm=[0.750, 0.625], da=[0.938, 0.813])
    low, high = found.differences[0].interval
    assert low < 0.0 < found.differences[0].mean < high
    assert found.did_it_help().word == "no evidence"
    low, high = comparison(n_labeled=12, svm=[1.0] * 5)["svm"].interval
    assert low < 0.8
    assert high == 1.0


def test_one_fold_has_an_interval():
    found = comparison(n_labeled=30, svm=[0.5], da=[0.6])
    assert found["svm"].interval[0] < 0.4
    assert found.did_it_help().word == "no evidence"


def test_what_is_behind_is_not_called_the_best():
    base, worse = [0.70, 0.72, 0.69, 0.71, 0.73], [0.68, 0.72, 0.66, 0.69, 0.71]
    sentence = comparison(svm=base, da=worse, tsvm=worse).did_it_help().sentence
    assert re.search(r"none .* ahead.*\bda\b.* 0\.018 behind svm", sentence)
    assert "da is 0.018 behind svm" in comparison(svm=base, da=worse).did_it_help().sentence
    level = comparison(svm=base, da=[*base[1:], base[0]]).did_it_help().sentence
    assert "da is level with svm in accuracy" in level


def test_too_few_labels_prove_nothing():
    verdict = comparison(n_labeled=5, svm=[0.0, 0.0], other=[1.0, 1.0]).did_it_help()
    assert verdict.word == "no evidence"
    assert "too few" in verdict.sentence


def test_many_methods_share_the_doubt():
    base, other = [0.5, 0.5, 0.5, 0.5], [0.6, 0.7, 0.6, 0.7]
    alone = comparison(svm=base, a=other).differences[0].interval
    crowd = comparison(svm=base, a=other, b=base, c=base).differences[0].interval
    assert crowd[0] < alone[0]
    assert crowd[1] > alone[1]


def test_unlabelled_rows_help_where_they_should():
    X, y = two_blobs(1000, 200, gap=3.0)
    half = {"class_prior": [0.5, 0.5]}
    methods = {"svm": NewtonSVC(reg=0.1), "tsvm": TransductiveSVC(reg=0.1, **half)}
    seen, begun, finished = [], [], []
    found = compare(
        methods,
        X,
        hide(y, 40),
        callback=seen.append,
        progress=begun.append,
        finished=lambda so_far: finished.append([method.name for method in so_far.methods]),
    )
    assert found.best == "tsvm"
    assert found.did_it_help().word == "helped"
    assert found.n_labeled == 40
    assert len(seen) == 30
    assert [step.done for step in begun] == list(range(30))
    assert (str(begun[16]), begun[16].total) == ("tsvm, fold 2 of 15", 30)
    assert finished == [["svm"], ["svm", "tsvm"]]
    assert len(found["svm"].scores) == 15
    plain = json.loads(json.dumps(found.to_dict()))
    assert plain["did_it_help"]["word"] == found.did_it_help().word
    assert plain["methods"][1]["mean"] == found["tsvm"].mean
    assert plain["differences"][0]["interval"] == list(found.differences[0].interval)
    assert "tsvm" in str(found)
    with pytest.raises(KeyError, match="the methods are"):
        found["other"]


class Witness(ClassifierMixin, BaseEstimator):
    """Scores the number of rows and labels that it was given."""

    takes_unlabeled = True

    def fit(self, X, y):
        self.classes_ = np.array([0, 1])
        self.size_ = (len(X), int(np.count_nonzero(y >= 0)))
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def size(estimator, X, y):
    return estimator.size_[0] + estimator.size_[1] / 1000


def test_held_out_rows_hide_their_labels():
    """Half of the four rows of a fold stay in, without their labels."""
    X, y = two_blobs(60)
    found = compare([Witness()], X, hide(y, 12), cv=3, scoring=size)
    rows, labels = np.divmod(np.round(1000 * np.array(found["Witness"].scores)), 1000)
    assert set(labels) == {8}
    assert rows.mean() == 58
    assert np.abs(rows - 58).max() <= 1


class Forgetful(NewtonSVC):
    """Right on the rows of its fit, wrong on all others."""

    def fit(self, X, y, sample_weight=None):
        super().fit(X, y)
        self.seen_ = {row.tobytes() for row in np.asarray(X)}
        return self

    def decision_function(self, X):
        known = [row.tobytes() in self.seen_ for row in np.asarray(X)]
        return np.where(known, 1.0, -1.0) * super().decision_function(X)


def test_new_rows_show_what_rows_of_the_fit_hide():
    X, y = two_blobs(300)
    methods = {"svm": NewtonSVC(), "forgetful": Forgetful()}
    found = compare(methods, X, hide(y, 60), cv=3)
    wrong = found["forgetful"]
    assert wrong.new_rows < 0.1
    assert wrong.fit_rows > 0.9
    assert 0.4 < wrong.mean < 0.6
    assert found.differences[0].verdict == "hurt"
    assert found.best == "svm"
    assert "(new rows 0.0" in str(found)
    assert found.to_dict()["methods"][1]["new_rows"] == wrong.new_rows


def test_helped_on_rows_of_the_fit_only():
    """Ahead overall, and behind on the rows that the model is for."""
    base = [FoldScore("svm", k, 0.5, 0.1, 1, 0.5, 0.5) for k in range(5)]
    other = [FoldScore("graph", k, 0.7, 0.1, 1, 0.4, 1.0) for k in range(5)]

    def verdict(use):
        about = {"scoring": "accuracy", "confidence": 0.95, "test_share": 0.25}
        found = {"svm": base, "graph": other}
        numbers = {"n_labeled": 200, "n_unlabeled": 100, "use": use}
        return Comparison.of(found, baseline="svm", **about, **numbers).did_it_help()

    assert (verdict("transduction").word, verdict("new_rows").word) == ("helped", "no evidence")
    assert verdict("new_rows").recommended == "svm"


def test_rankings_are_compared():
    X, y = two_blobs(300)
    y = hide(y, 60)
    y[np.flatnonzero(y == 1)[5:]] = -1
    found = compare(
        {"svm": NewtonSVC(), "upside down": Forgetful()}, X, y, cv=5, scoring="average_precision"
    )
    assert found["svm"].mean > 0.9
    assert found["upside down"].new_rows < found["svm"].new_rows
    share = 5 / np.count_nonzero(y >= 0)
    assert found["svm"].chance.guess == pytest.approx(share, abs=0.05)
    # three folds hold out no row of the rare class: they have no ranking
    y[np.flatnonzero(y == 1)[2:]] = -1
    with pytest.warns(UserWarning, match="some folds hold out none"):
        few = compare([NewtonSVC()], X, y, cv=PartialLabelKFold(5), scoring="average_precision")
    assert len(few["NewtonSVC"].scores) == 2


def test_texts_names_and_processes():
    texts = ["good film", "bad film", "good fun", "bad fun", "good day", "bad day"] * 3
    y = np.array((["up", "down"] * 9), dtype=object)
    y = hide_labels(y, range(8, 18))
    model = make_pipeline(CountVectorizer(), NewtonSVC())
    cv = PartialLabelKFold(2, shuffle=True, random_state=0)
    one = compare({"svm": model}, texts, y, cv=cv)
    two = compare({"svm": model}, texts, y, cv=cv, n_jobs=2)
    assert one["svm"].scores == two["svm"].scores == (1.0, 1.0)


def test_mistakes_are_named():
    X, y = two_blobs(20)
    with pytest.raises(ValueError, match="baseline must be one of"):
        compare([NewtonSVC()], X, y, baseline="svm")
    with pytest.raises(ValueError, match="pass a dict"):
        compare([NewtonSVC(), NewtonSVC()], X, y)
    with pytest.raises(ValueError, match="no estimator"):
        compare([], X, y)
    with pytest.raises(ValueError, match="confidence"):
        compare([NewtonSVC()], X, y, confidence=95)


def test_groups_are_held_out_together():
    """Copies of a row in other folds make nearest rows look right; in groups they do not."""
    rng = np.random.default_rng(0)
    X, y = np.repeat(rng.normal(size=(24, 30)), 5, axis=0), np.repeat(rng.permutation(24) % 2, 5)
    y[::5] = -1
    groups = np.repeat(np.arange(24), 5)
    methods = {"near": KNeighborsClassifier(1), "svm": NewtonSVC()}
    alone, grouped = compare(methods, X, y), compare(methods, X, y, groups=groups)
    assert alone["near"].mean == 1.0
    assert grouped["near"].mean < 0.8
    assert grouped["near"].fit_rows is None
    low, high = grouped["near"].interval
    assert high - low > alone["near"].interval[1] - alone["near"].interval[0]
    sure = CalibratedPartialClassifier(KNeighborsClassifier(1)).fit(X, y)
    unsure = CalibratedPartialClassifier(KNeighborsClassifier(1)).fit(X, y, groups=groups)
    assert np.mean(unsure.conformal_.scores < 0.0) < np.mean(sure.conformal_.scores < 0.0)
    with pytest.raises(ValueError, match="groups has 3 entries"):
        compare(methods, X, y, groups=[1, 2, 3])
