"""Folds of labelled rows, and scores of them."""

from itertools import cycle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from problems import hide, two_blobs
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.labels.partial import encode, is_unlabeled
from semisvm.model_selection import (
    PartialLabelKFold,
    TransductiveKFold,
    hide_labels,
    partial_scorer,
    with_twins,
)
from semisvm.model_selection.metrics import average_precision

NAMES = np.array(["down", "up"])


def marked(y, kind):
    """Mark the unlabelled rows of codes 0, 1, -1 in the ways there are."""
    free = y < 0
    if kind == "minus one":
        return y, -1
    if kind == "zero":
        return np.where(free, 0, 2 * y - 1), 0
    if kind == "nan":
        return np.where(free, np.nan, y), -1
    if kind == "word":
        return np.where(free, "?", NAMES[y]), "?"
    return np.where(free, None, NAMES[y]), -1


KINDS = ["minus one", "zero", "nan", "word", "none"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shuffle", [False, True])
def test_folds_share_the_labelled_rows(kind, shuffle):
    _, y = two_blobs(200, positive=0.3)
    codes = hide(y, 43)
    target, marker = marked(codes, kind)
    seed = 0 if shuffle else None
    cv = PartialLabelKFold(5, shuffle=shuffle, random_state=seed, unlabeled=marker)
    held = []
    for train, test in cv.split(None, target):
        assert set(np.flatnonzero(codes < 0)) <= set(train)
        assert not set(train) & set(test)
        assert len(train) + len(test) == len(y)
        held.append(test)
    np.testing.assert_array_equal(np.sort(np.concatenate(held)), np.flatnonzero(codes >= 0))
    for label in (0, 1):
        sizes = [np.count_nonzero(codes[test] == label) for test in held]
        assert max(sizes) - min(sizes) <= 1
    assert np.ptp([len(test) for test in held]) <= 1


def test_repeats_differ_and_seeds_repeat():
    y = hide(two_blobs(100)[1], 20)
    cv = PartialLabelKFold(4, n_repeats=2, shuffle=True, random_state=3)
    once, again = list(cv.split(None, y)), list(cv.split(None, y))
    assert len(once) == cv.get_n_splits() == 8
    assert all(np.array_equal(a[1], b[1]) for a, b in zip(once, again, strict=True))
    assert any(not np.array_equal(once[k][1], once[k + 4][1]) for k in range(4))


def test_single_label_always_trains():
    y = np.array([0, 0, 0, 1, 1, 1, 2, -1])
    with pytest.warns(UserWarning, match="single label"):
        splits = list(PartialLabelKFold(3).split(None, y))
    assert all(6 in train for train, _ in splits)
    assert all(len(np.unique(y[train[y[train] >= 0]])) == 3 for train, _ in splits)


def test_few_labels_of_a_class_are_reported():
    y = np.array([0, 0, 0, 0, 1, 1, -1])
    with pytest.warns(UserWarning, match="2 labels, fewer than n_splits=3"):
        splits = list(PartialLabelKFold(3).split(None, y))
    assert all({0, 1} <= set(y[train]) for train, _ in splits)


def test_mistakes_are_named():
    with pytest.raises(ValueError, match="take fewer folds"):
        list(PartialLabelKFold(5).split(None, [0, 0, 1, 1, -1]))
    with pytest.raises(ValueError, match="2 or more"):
        PartialLabelKFold(1)
    with pytest.raises(ValueError, match="shuffle=True"):
        PartialLabelKFold(n_repeats=2)
    with pytest.raises(ValueError, match="no labelled row"):
        list(PartialLabelKFold(2).split(None, [-1, -1]))


class Witness(ClassifierMixin, BaseEstimator):
    """Remembers what it was given."""

    seen: list = []  # noqa: RUF012 - clones must share it

    def fit(self, X, y):
        self.classes_ = np.unique(y[y >= 0])
        Witness.seen.append((X.copy(), y.copy()))
        return self

    def predict(self, X):
        return np.zeros(len(X), dtype=int)


def test_held_out_rows_train_without_labels():
    """Every row is there in every fold, and the held-out ones have no label."""
    X, y = two_blobs(60)
    y = hide(y, 12)
    Witness.seen.clear()
    X2, y2 = with_twins(X, y)
    cross_val_score(Witness(), X2, y2, cv=TransductiveKFold(4))
    for (rows, labels), (_, test) in zip(
        Witness.seen, PartialLabelKFold(4).split(X, y), strict=True
    ):
        found = {x.tobytes(): label for x, label in zip(rows, labels, strict=True)}
        assert len(found) == len(rows) == len(X)
        expected = hide_labels(y, test)
        assert all(found[X[i].tobytes()] == expected[i] for i in range(len(X)))


@pytest.mark.parametrize(
    ("kind", "form"), list(zip(KINDS, cycle(["array", "sparse", "frame"]), strict=False))
)
def test_unmodified_search(kind, form):
    X, y = two_blobs(150)
    target, marker = marked(hide(y, 30), kind)
    if form == "sparse":
        X = sparse.csr_matrix(X)
    if form == "frame":
        X = pytest.importorskip("pandas").DataFrame(X)
    model = TransductiveSVC(unlabeled=marker, class_prior="labels")
    scoring = partial_scorer(unlabeled=marker)
    cv = PartialLabelKFold(3, unlabeled=marker)
    assert cross_val_score(model, X, target, cv=cv, scoring=scoring).mean() > 0.85
    search = GridSearchCV(model, {"reg": [1e-2, 1e-1]}, cv=cv, scoring=scoring)
    assert search.fit(X, target).best_score_ > 0.85
    X2, y2 = with_twins(X, target, marker)
    cv = TransductiveKFold(3, unlabeled=marker)
    search = GridSearchCV(model, {"reg": [1e-2, 1e-1]}, cv=cv, scoring=scoring)
    assert search.fit(X2, y2).best_score_ > 0.85


def test_texts_in_a_pipeline():
    texts = ["good film", "bad film", "good fun", "bad fun", "good day", "bad day", "good", "bad"]
    y = np.array(["up", "down", "up", "down", None, None, None, None], dtype=object)
    model = make_pipeline(CountVectorizer(), TransductiveSVC(class_prior=[0.5, 0.5]))
    X2, y2 = with_twins(texts, y)
    assert isinstance(X2, list)
    assert cross_val_score(model, X2, y2, cv=TransductiveKFold(2)).tolist() == [1.0, 1.0]


def test_forgotten_twins_are_noticed():
    X, y = two_blobs(60)
    y = hide(y, 12)
    with pytest.raises(ValueError, match="with_twins"):
        list(TransductiveKFold(3).split(X, y))
    y[-12:] = -1
    with pytest.raises(ValueError, match="with_twins"):
        list(TransductiveKFold(3).split(X, y))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("codes", [[0, 1, 1, -1, 0, 1], [0, 1, 1, 0, 0, 1]])
def test_hide_labels(kind, codes):
    target, marker = marked(np.array(codes), kind)
    found = encode(hide_labels(target, [1, 3], marker), marker).codes
    assert found.tolist() == [0, -1, 1, -1, 0, 1]
    np.testing.assert_array_equal(hide_labels(target, [], marker), target)
    assert is_unlabeled(hide_labels(target, range(6), marker), marker).all()


def test_hide_labels_leaves_y_alone():
    y = np.array([1, 2, 3], dtype=np.uint8)
    assert hide_labels(y, [0]).tolist() == [-1, 2, 3]
    assert y.tolist() == [1, 2, 3]
    assert hide_labels(np.array([True, False]), [0]).tolist() == [None, False]


def test_average_precision_is_that_of_the_rarer_class():
    from sklearn.metrics import average_precision_score

    rng = np.random.default_rng(0)
    y = (rng.random(200) < 0.1).astype(int)
    scores = y + rng.standard_normal(200)
    expected = average_precision_score(y, scores)
    assert average_precision(y, scores) == pytest.approx(expected)
    assert average_precision(1 - y, -scores) == pytest.approx(expected)
    assert average_precision(y, np.column_stack([-scores, scores])) == pytest.approx(expected)
    three = np.arange(200) % 3
    columns = (three[:, None] == np.arange(3)) + rng.standard_normal((200, 3))
    expected = np.mean([average_precision_score(three == k, columns[:, k]) for k in range(3)])
    assert average_precision(three, columns) == pytest.approx(expected)
    assert np.isnan(average_precision(np.zeros(5, dtype=int), np.arange(5.0)))


@pytest.mark.parametrize(
    "name", ["accuracy", "balanced_accuracy", "f1_macro", "average_precision", "neg_log_loss"]
)
def test_scorers_ignore_unlabelled_rows(name):
    X, y = two_blobs(80)
    partly = hide(y, 20)
    model = TransductiveSVC(loss="log").fit(X, partly)
    known = partly >= 0
    score = partial_scorer(name)
    assert score(model, X, partly) == score(model, X[known], y[known])
    names = np.where(known, NAMES[partly], None)
    named = clone(model).fit(X, names)
    assert score(named, X, names) == pytest.approx(score(model, X, partly))


def test_scorers_agree_with_those_of_scikit_learn():
    X, y = two_blobs(80, gap=1.0)
    model = NewtonSVC().fit(X[:20], y[:20])
    for name in ("accuracy", "balanced_accuracy", "f1_macro"):
        expected = get_scorer(name)(model, X, y)
        assert partial_scorer(name)(model, X, y) == pytest.approx(expected)
    sure = SVC(probability=False)
    with pytest.raises(ValueError, match="scoring must be one of"):
        partial_scorer("roc")
    with pytest.raises(ValueError, match="no row to score"):
        partial_scorer()(sure, X, np.full(80, -1))


def test_balanced_accuracy_of_a_fold_without_a_class():
    y, predicted = np.array([0, 0, 1]), np.array([0, 2, 1])

    class Fixed:
        def predict(self, X):
            return predicted

    assert partial_scorer("balanced_accuracy")(Fixed(), np.zeros((3, 1)), y) == 0.75


class TestGroups:
    def make(self, n_groups=12, seed=0):
        rng = np.random.default_rng(seed)
        group = rng.integers(n_groups, size=120)
        y = rng.integers(2, size=120)
        return group, hide_labels(y, rng.random(120) < 0.5)

    @pytest.mark.parametrize("shuffle", [False, True])
    def test_rows_of_a_group_are_on_one_side(self, shuffle):
        group, y = self.make()
        cv = PartialLabelKFold(4, shuffle=shuffle, random_state=0 if shuffle else None)
        held = []
        for train, test in cv.split(y, y, group):
            assert not set(group[train]) & set(group[test])
            assert (y[test] >= 0).all()
            held.append(test)
        np.testing.assert_array_equal(np.sort(np.concatenate(held)), np.flatnonzero(y >= 0))

    def test_scikit_learn_passes_groups_on(self):
        group, y = self.make()
        X = np.random.default_rng(1).normal(size=(len(y), 3))
        scores = cross_val_score(NewtonSVC(), X, y, groups=group, cv=PartialLabelKFold(3))
        assert scores.shape == (3,)

    def test_every_class_trains_in_every_fold(self):
        group, y = self.make()
        y[y == 1] = np.where(group[y == 1] == 3, 1, 0)
        for train, _ in PartialLabelKFold(4).split(y, y, group):
            assert {0, 1} <= set(y[train])

    def test_repeats_differ(self):
        group, y = self.make()
        cv = PartialLabelKFold(3, n_repeats=2, shuffle=True, random_state=0)
        tests = [test.tolist() for _, test in cv.split(y, y, group)]
        assert len(tests) == 6
        assert tests[:3] != tests[3:]

    def test_too_few_groups_are_refused(self):
        group, y = self.make(n_groups=2)
        with pytest.raises(ValueError, match=r"groups .*there are 2"):
            list(PartialLabelKFold(3).split(y, y, group))

    def test_folds_with_twins_refuse_groups(self):
        X, y = with_twins(np.arange(8.0)[:, None], [0, 1, 0, 1, -1, -1, 0, 1])
        with pytest.raises(ValueError, match="cannot keep groups apart"):
            list(TransductiveKFold(2).split(X, y, np.arange(len(y))))
