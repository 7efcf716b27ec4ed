"""Class shares below one row: a mean can have them, labels cannot."""

import numpy as np
import pytest

from problems import hide, two_blobs
from semisvm import (
    ConcaveSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    GradientTSVC,
    LowDensitySeparation,
    MeanSVC,
    MixedIntegerSVC,
    PosteriorRegularizedClassifier,
    TransductiveSVC,
)

SHARE = 0.004
BY_MEANS = [
    ConcaveSVC(),
    MixedIntegerSVC(),
    GradientTSVC(balance_tol=None),
    LowDensitySeparation(),
    EntropyRegularizedClassifier(),
    ExpectationConstrainedClassifier(),
]


def name_of(estimator):
    return type(estimator).__name__


@pytest.fixture(scope="module")
def problem():
    """Two classes, of which the unlabelled rows have the first only."""
    X, y = two_blobs(50)
    labels = hide(y, 8)
    kept = (labels != -1) | (y == 0)
    return X[kept], labels[kept]


@pytest.mark.parametrize("estimator", BY_MEANS, ids=name_of)
def test_means_have_shares_of_less_than_a_row(estimator, problem):
    X, labels = problem
    free = labels == -1
    assert SHARE * free.sum() < 0.5
    model = estimator.set_params(class_prior=[1.0 - SHARE, SHARE]).fit(X, labels)
    assert model.class_prior_.tolist() == [1.0 - SHARE, SHARE]
    assert np.isfinite(model.coef_).all()
    assert np.mean(model.predict(X[free]) == 0) > 0.9
    # the share is the real number, not that of zero rows
    if isinstance(estimator, (ConcaveSVC, GradientTSVC)):
        mean = model.decision_function(X[free]).mean()
        assert mean == pytest.approx(2.0 * SHARE - 1.0, abs=1e-6)
    if isinstance(estimator, ExpectationConstrainedClassifier):
        mean = model.predict_proba(X[free])[:, 1].mean()
        assert mean == pytest.approx(SHARE, abs=2 * model.constraint_tol)


@pytest.mark.parametrize("estimator", BY_MEANS[:3], ids=name_of)
def test_a_share_of_zero_is_refused(estimator, problem):
    with pytest.raises(ValueError, match="zero rows"):
        estimator.set_params(class_prior=[1.0, 0.0]).fit(*problem)


@pytest.mark.parametrize(
    "estimator", [MeanSVC(), TransductiveSVC(), PosteriorRegularizedClassifier()], ids=name_of
)
def test_labels_need_a_row(estimator, problem):
    """The mean of the rows of a class needs one, and so does a label."""
    with pytest.raises(ValueError, match=r"zero rows\. Give the class a larger share"):
        estimator.set_params(class_prior=[1.0 - SHARE, SHARE]).fit(*problem)
