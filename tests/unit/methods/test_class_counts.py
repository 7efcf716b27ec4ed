"""What annealing returns keeps the class counts, wherever it ends."""

import numpy as np
import pytest

from promises import clusters, losses_by_classes
from semisvm import AnnealedSVC
from semisvm.labels.partial import prior_counts
from semisvm.methods.annealing import Cooling
from semisvm.solvers import State

SHARES = {2: [0.2, 0.8], 3: [0.1, 0.3, 0.6]}
TREE = [["low", 0], ["low", 1], ["high", 2]]


def check_counts(model, partly, m):
    free = partly == -1
    found = np.bincount(model.transduction_[free], minlength=m)
    np.testing.assert_array_equal(found, prior_counts(np.array(SHARES[m]), int(free.sum())))


@pytest.mark.parametrize(("loss", "m"), losses_by_classes())
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_labels_keep_the_counts(m, loss):
    X, _, partly = clusters(m)
    check_counts(AnnealedSVC(loss=loss, class_prior=SHARES[m]).fit(X, partly), partly, m)


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("after", [1, 4, 12])
def test_also_of_a_fit_that_was_stopped(m, after):
    X, _, partly = clusters(m)
    rows = []

    def stop(row):
        rows.append(row)
        return len(rows) >= after

    model = AnnealedSVC(class_prior=SHARES[m], callback=stop).fit(X, partly)
    check_counts(model, partly, m)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_also_with_a_hierarchy_and_few_rounds():
    X, _, partly = clusters(3)
    model = AnnealedSVC(class_prior=SHARES[3], hierarchy=TREE, max_iter=1).fit(X, partly)
    check_counts(model, partly, 3)


class Path:
    """A task whose points have given objectives and imbalances."""

    smooth = True

    def __init__(self, points):
        self.points = iter(points)
        self.rows = self.all = self

    def assign(self, prices):
        self.value, self.missed = next(self.points)
        return prices, self.value, self.value

    def fit(self):
        return 0.0

    def objective(self, w, lam, fit, cost):
        return cost

    def imbalance(self):
        return self.missed


@pytest.mark.parametrize(
    ("points", "best"),
    [
        # the lowest objective is that of a point which puts most rows into one class
        ([(3.0, 0.1), (1.0, 0.5), (2.0, 0.05), (2.5, 0.0)], 2),
        # none is balanced: the one that is most so
        ([(3.0, 0.4), (1.0, 0.5), (2.0, 0.3)], 2),
    ],
)
def test_many_classes_return_a_balanced_point(points, best):
    method = Cooling(Path(points), State(np.zeros(1)), 1.0, 1e-6)
    for k in range(len(points)):
        method.state.w[0] = k
        method._inspect()
    assert method.best.w[0] == best
