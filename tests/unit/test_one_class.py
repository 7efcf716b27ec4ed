"""Labels of one class alone in `train`, `SemiSupervisedClassifier` and `choose`."""

import numpy as np
import pytest

from semisvm import AnnealedSVC, SemiSupervisedClassifier
from semisvm.labels.partial import encode
from semisvm.model_selection import choose
from semisvm.model_selection.recall import held_out_recall
from semisvm.training import train


@pytest.fixture
def rows():
    """Return two clouds of points, the names of their classes, and some labels of one."""
    rng = np.random.default_rng(0)
    of_spam = np.arange(150) % 3 == 0
    X = rng.normal(size=(150, 4)) + 2.0 * of_spam[:, np.newaxis]
    names = np.where(of_spam, "spam", "ham")
    return X, names, np.where(of_spam & (np.arange(150) % 2 == 0), names, None)


def test_one_class_is_enough_for_the_classifier(rows):
    X, names, y = rows
    model = SemiSupervisedClassifier(classes=["spam", "ham"]).fit(X, y)
    assert model.classes_.tolist() == ["ham", "spam"]
    assert model.score(X, names) > 0.9
    assert isinstance(model.model_.estimator, AnnealedSVC)
    notes = " ".join(model.report_.data["notes"])
    assert "no row is labelled 'ham'" in notes
    assert "of the rows labelled 'spam'" in notes


def test_a_named_method_takes_the_share(rows):
    X, _, y = rows
    model = SemiSupervisedClassifier(
        "tsvm", classes=["spam", "ham"], class_prior={"spam": 0.2, "ham": 0.8}
    ).fit(X, y)
    assert model.model_.estimator.class_prior_.tolist() == [0.8, 0.2]
    assert not model.model_.has_probabilities


def test_declared_classes_with_labels_change_nothing(rows):
    X, names, _ = rows
    y = np.where(np.arange(len(X)) < 40, names, None)
    one, other = (
        SemiSupervisedClassifier("tsvm", classes=classes).fit(X, y)
        for classes in (None, ["ham", "spam"])
    )
    np.testing.assert_array_equal(one.decision_function(X), other.decision_function(X))
    assert other.model_.has_probabilities


def test_more_classes_with_shares_are_fitted(rows):
    X, names, _ = rows
    y = np.where(np.arange(len(X)) < 40, names, None)
    shares = {"ham": 0.3, "news": 0.3, "spam": 0.4}
    model = train(X, "tsvm", y=y, classes=["ham", "news", "spam"], class_prior=shares)
    assert "no row is labelled 'news'" in " ".join(model.summary["notes"])
    assert np.mean(model.predict(X) == "news") > 0.1


def test_recall_is_that_of_fits_without_the_row(rows):
    X, _, y = rows
    X, y = X[:60].copy(), y[:60]
    X[[0, 6]] = -2.0  # two of the class are on the wrong side
    made = AnnealedSVC(classes=["ham", "spam"], class_prior=[0.8, 0.2], unlabeled=None)
    known = np.flatnonzero(y == "spam")
    found = held_out_recall(made, X, encode(y, None, ["ham", "spam"]), len(known))
    right = []
    for row in known:
        rest = np.arange(len(X)) != row
        right.append(made.fit(X[rest], y[rest]).predict(X[[row]])[0] == "spam")
    assert found.label == "spam"
    assert found.n_labels == len(known)
    assert found.value == np.mean(right)
    assert 0.0 < found.interval[0] < found.value < found.interval[1] < 1.0


def test_groups_of_held_out_rows_take_no_part(rows):
    X, _, y = rows
    made = AnnealedSVC(classes=["ham", "spam"], class_prior=[0.8, 0.2], unlabeled=None)
    labels = encode(y, None, ["ham", "spam"])
    group = np.where(np.arange(len(X)) % 6 == 0, 0, np.arange(len(X)))  # all labels are in one
    with pytest.raises(ValueError, match="no labelled row"):
        held_out_recall(made, X, labels, 5, group=group)
    weight = np.ones(len(X))
    same = (held_out_recall(made, X, labels, 5, sample_weight=w) for w in (None, weight))
    assert len({found.value for found in same}) == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, "one class only, 'spam'.*SemiSupervisedClassifier"),
        ({"classes": ["ham"]}, r"labels of \['spam'\], and classes=\['ham'\]"),
        ({"classes": ["ham", "spam"], "method": "svm"}, "'svm' needs labels of every class"),
        ({"classes": ["ham", "spam"], "probabilities": True}, "no row is labelled 'ham'"),
        ({"classes": ["ham", "spam"], "weak": ["ham"] * 150}, "weak labels is learnt"),
    ],
)
def test_what_cannot_be_is_refused(rows, options, message):
    X, _, y = rows
    with pytest.raises(ValueError, match=message):
        train(X, y=y, **options)


def test_a_choice_needs_labels_of_two_classes(rows):
    X, _, y = rows
    with pytest.raises(ValueError, match=r"of one class only.*AnnealedSVC and SemiSupervisedCl"):
        choose(X, y, unlabeled=None)
