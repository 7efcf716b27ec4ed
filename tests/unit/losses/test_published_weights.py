"""What ``reg`` is for the published weights: first-order conditions in ``coef_`` itself."""

import numpy as np
import pytest
from scipy.optimize import minimize

from problems import two_blobs
from semisvm import ExpectationConstrainedClassifier, NewtonSVC

REG = 0.05


def gradients(X, y, coef, intercept):
    """Slopes of the mean logistic loss, or half the mean squared hinge, in weights and bias."""
    signs, rows = 2.0 * y - 1.0, np.column_stack([X, np.ones(len(X))])
    margins = signs * (X @ coef + intercept)
    log = -(signs / (1.0 + np.exp(margins))) @ rows / len(y)
    hinge = -(signs * np.maximum(1.0 - margins, 0.0)) @ rows / len(y)
    return {"log": log, "squared_hinge": hinge}


@pytest.mark.parametrize(("loss", "part"), [("log", 0.25), ("squared_hinge", 0.5)])
@pytest.mark.parametrize("seed", range(3))
def test_two_classes_have_this_part_of_the_squared_weights(loss, part, seed):
    """The regulariser is part * reg ||(coef_, intercept_)||^2, whose slope is twice that."""
    X, y = two_blobs(60, 4, gap=1.0, seed=seed)
    model = NewtonSVC(REG, loss=loss, tol=1e-13).fit(X, y)
    weights = np.append(model.coef_[0], model.intercept_[0])
    slope = gradients(X, y, weights[:-1], weights[-1])[loss]
    np.testing.assert_allclose(slope + 2.0 * part * REG * weights, 0.0, atol=1e-6)


def test_maxent_of_two_classes_as_two_opposite_vectors():
    """lambda/2 of two vectors, each half of ``coef_``, is lambda/4 of it."""
    X, y = two_blobs(60, 4, gap=1.0)
    signs, rows = 2.0 * y - 1.0, np.column_stack([X, np.ones(len(X))])

    def objective(w):
        return 0.25 * REG * w @ w + np.logaddexp(0.0, -signs * (rows @ w)).mean()

    best = minimize(objective, np.zeros(5), tol=1e-12).x
    one = NewtonSVC(REG, loss="log", tol=1e-13).fit(X, y)
    two = ExpectationConstrainedClassifier(REG, constraint_weight=0.0, tol=1e-10).fit(X, y)
    for model in (one, two):
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), best, atol=1e-3)
    assert one.objective_ == pytest.approx(objective(best), rel=1e-6)
