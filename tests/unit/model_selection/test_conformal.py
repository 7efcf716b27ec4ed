"""Sets of classes: their coverage, and when there are too few labels."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

from problems import hide, two_blobs
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.model_selection import CalibratedPartialClassifier, hide_labels
from semisvm.model_selection.conformal import Conformal, fewest_labels, nonconformity


def test_strangeness_is_the_lead_of_the_best_other_class():
    scores = np.array([[3.0, 1.0, 0.5], [1.0, 1.0, 0.0]])
    np.testing.assert_array_equal(nonconformity(scores), [[-2.0, 2.0, 2.5], [0.0, 0.0, 1.0]])


def exchangeable(rng, n, shift=1.0):
    """Scores of rows of three classes, all from one distribution."""
    codes = rng.integers(0, 3, n)
    return rng.standard_normal((n, 3)) + shift * np.eye(3)[codes], codes


@pytest.mark.parametrize("coverage", [0.5, 0.8, 0.9])
def test_sets_of_exchangeable_rows_have_the_coverage(coverage):
    """One model for all rows, so the share is at least the coverage on average."""
    rng, held, sizes = np.random.default_rng(0), [], []
    for _ in range(400):
        known = Conformal.fit(*exchangeable(rng, 19), np.zeros(19, dtype=int))
        scores, codes = exchangeable(rng, 50)
        # the predicted class is always in a set, which only adds to the coverage
        sets = known.sets([scores], scores.argmax(axis=1), coverage)
        held.append(sets[np.arange(50), codes].mean())
        sizes.append(sets.sum(axis=1).mean())
    assert np.mean(held) >= coverage - 0.01
    assert np.mean(sizes) < 3.0


@pytest.mark.parametrize("coverage", [0.3, 0.6, 0.75])
def test_sets_are_those_of_the_definition_where_scores_are_equal(coverage):
    rng = np.random.default_rng(2)
    held, codes = rng.integers(0, 4, (15, 3)).astype(float), rng.integers(0, 3, 15)
    known = Conformal.fit(held, codes, np.zeros(15, dtype=int))
    scores = rng.integers(0, 4, (40, 3)).astype(float)
    usual = scores.argmax(axis=1)
    as_strange = (known.scores >= nonconformity(scores)[..., None]).sum(axis=2)
    expected = 16 * coverage + as_strange + 1 > 16 + 1e-9
    expected[np.arange(40), usual] = True
    np.testing.assert_array_equal(known.sets([scores], usual, coverage), expected)
    assert not expected.all()


def test_no_set_is_empty_and_more_coverage_means_more_classes():
    rng = np.random.default_rng(1)
    known = Conformal.fit(*exchangeable(rng, 60, shift=6.0), np.zeros(60, dtype=int))
    scores, _ = exchangeable(rng, 200, shift=0.0)
    usual = scores.argmax(axis=1)
    small, large = (known.sets([scores], usual, coverage) for coverage in (0.5, 0.95))
    assert small.any(axis=1).all()
    assert small[np.arange(200), usual].all()
    assert (small <= large).all()
    unsure = Conformal.fit(*exchangeable(rng, 60, shift=1.0), np.zeros(60, dtype=int))
    sizes = [unsure.sets([scores], usual, coverage).sum() for coverage in (0.5, 0.8, 0.95)]
    assert sizes[0] < sizes[1] < sizes[2]


def test_too_few_labels_are_refused():
    known = Conformal(np.zeros(18), np.zeros(18, dtype=int))
    assert known.check(0.94) == 0.94
    with pytest.raises(ValueError, match=r"0.95 needs 19 .* has 18: .* at most 0.947"):
        known.check(0.95)
    assert fewest_labels(0.9) == 9
    assert Conformal(np.zeros(9), np.zeros(9, dtype=int)).check(0.9) == 0.9
    for wrong in (0.0, 1.0, 2.0, None):
        with pytest.raises(ValueError, match="coverage must be"):
            known.check(wrong)


def coverage_of(estimator, X, y, n_labels, coverage, seeds):
    held, sizes = [], []
    for seed in range(seeds):
        free = np.random.default_rng(seed).permutation(len(y))[n_labels:]
        model = CalibratedPartialClassifier(estimator, cv=4).fit(X, hide_labels(y, free))
        sets = model.predict_sets(X[free], coverage)
        held.append(sets[np.arange(len(free)), y[free]].mean())
        sizes.append(sets.sum(axis=1).mean())
    return np.mean(held), np.mean(sizes)


@pytest.mark.parametrize(
    "estimator", [TransductiveSVC(reg=0.1), TransductiveSVC(reg=0.1, kernel="rbf")]
)
def test_coverage_of_cells(estimator):
    """The second one has a kernel, so its sets rest on the last model."""
    X, y = load_breast_cancer(return_X_y=True)
    held, size = coverage_of(estimator, scale(X), y, 40, 0.9, seeds=6)
    assert held >= 0.87
    assert size < 1.4


@pytest.mark.filterwarnings("ignore:The least labelled class")
@pytest.mark.filterwarnings("ignore:A class has a single label")
def test_coverage_of_ten_digits():
    X, y = load_digits(return_X_y=True)
    held, size = coverage_of(TransductiveSVC(reg=0.1), scale(X), y, 100, 0.9, seeds=3)
    assert held >= 0.86
    assert size < 3.0


def test_coverage_of_texts(dataset):
    X, y = dataset("text1_pcmac")
    y = np.unique(y, return_inverse=True)[1]
    held, size = coverage_of(TransductiveSVC(reg=1e-3), X, y, 50, 0.8, seeds=5)
    assert held >= 0.75
    assert size < 1.5


def test_the_models_of_linear_folds_are_kept():
    X, y = two_blobs(120)
    partly = hide(y, 30)
    model = CalibratedPartialClassifier(NewtonSVC(), cv=3).fit(X, partly)
    known = model.conformal_
    assert known.coef.shape == (3, 1, X.shape[1])
    assert known.n_labels == 30
    # each held-out row is as strange as under the model of its fold
    scores = [m.decision_function(X) for m in known.models(model.estimator_)]
    rows = np.flatnonzero(partly >= 0)
    signs = np.where(partly[rows] == 1, 1.0, -1.0)
    own = np.array([-2 * signs[i] * scores[known.folds[i]][row] for i, row in enumerate(rows)])
    np.testing.assert_allclose(own, known.scores, atol=1e-5)
    kernel = CalibratedPartialClassifier(NewtonSVC(kernel="rbf"), cv=3).fit(X, partly)
    assert kernel.conformal_.coef is None


def test_a_calibrated_classifier_decides():
    X, y = two_blobs(200, gap=1.5)
    names = np.array(["ham", "spam"])[y]
    labels = np.where(hide(y, 60) >= 0, names, None)
    model = CalibratedPartialClassifier(TransductiveSVC(reg=0.1, unlabeled=None), unlabeled=None)
    model.fit(X, labels)
    usual, p = model.predict(X), model.predict_proba(X)
    sure = model.decide(X, abstain_below=0.9)
    answered = np.array([label is not None for label in sure])
    assert 0 < answered.sum() < len(X)
    np.testing.assert_array_equal(answered, p.max(axis=1) >= 0.9)
    assert (sure[answered] == usual[answered]).all()
    assert np.mean(usual[answered] == names[answered]) > np.mean(usual == names)
    cheap = model.decide(X, costs={("spam", "ham"): 10})
    assert (cheap == "spam").sum() > (usual == "spam").sum()
    first = model.top_classes(X[:5], 1)
    assert [row[0][0] for row in first] == usual[:5].tolist()
    with pytest.raises(ValueError, match="count"):
        model.top_classes(X, 0)
    with pytest.raises(ValueError, match="coverage must be"):
        model.predict_sets(X, 1.0)
