"""What people use instead, tuned by cross-validation on the labelled rows.

Every rival gets the grid that its users would try, five folds of the labels, and the same rows.
The supervised ones see the labelled rows only.

- `LogisticRegression` and `LinearSVC`: seven values of C, classes weighted or not.
- "best of four": LogisticRegression, SVC with the Gaussian kernel, a random forest and nearest
  neighbours with their grids; the cross-validation takes one, as tools for automatic machine
  learning do.
- `SelfTrainingClassifier` around the tuned LogisticRegression: three thresholds.
- "latent directions": LogisticRegression with its grid on 30 or 100 singular vectors of all rows,
  labelled or not, at length one: ten lines of scikit-learn.
- `LabelSpreading`: neighbours or the Gaussian kernel, four values each, and two of alpha. It
  stands for `LabelPropagation` too, which is its limit without clamping.
"""

from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
from papers.data import UNLABELED
from sklearn.decomposition import TruncatedSVD
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC

from semisvm.model_selection import PartialLabelKFold

Fit = Callable[[Any, Any], Any]
FOLDS = 5
STRENGTHS = [1e4, 1e3, 100.0, 10.0, 1.0, 0.1, 0.01]
"""Values of C. Of equal ones the first is taken, and little regularisation suits unit rows."""
LINEAR = {"C": STRENGTHS, "class_weight": ["balanced", None]}
WIDTHS = [0.1, 1.0, 10.0]
"""Gammas of Gaussian kernels, for unit rows."""
THRESHOLDS = [0.6, 0.8, 0.95]
NEIGHBOURS = [3, 5, 10, 20]
DIRECTIONS = [30, 100]


def rotated(X: Any) -> Any:
    """Return rows with the same inner products in at most n columns, as a dense array (n, r).

    Distances and penalised linear models are the same there, and need far less time for texts.
    """
    if isinstance(X, np.ndarray):
        return X
    values, vectors = np.linalg.eigh((X @ X.T).toarray())
    return vectors * np.sqrt(np.maximum(values, 0.0))


def _searched(model: Any, grid: Any, folds: Any = FOLDS) -> GridSearchCV:
    return GridSearchCV(model, grid, cv=folds, scoring="accuracy")


def _supervised(search: GridSearchCV) -> Fit:
    def fit(X: Any, y: Any) -> Any:
        return search.fit(X[y != UNLABELED], y[y != UNLABELED])

    return fit


def logistic() -> GridSearchCV:
    """Return LogisticRegression with its search."""
    return _searched(LogisticRegression(max_iter=1000), LINEAR)


def best_of_four() -> GridSearchCV:
    """Return the search among four kinds of supervised models."""
    return _searched(
        Pipeline([("model", LogisticRegression())]),
        [
            {
                "model": [LogisticRegression(max_iter=1000)],
                **{f"model__{name}": values for name, values in LINEAR.items()},
            },
            {
                "model": [SVC()],
                "model__C": [1.0, 10.0, 100.0],
                "model__gamma": WIDTHS,
            },
            {"model": [RandomForestClassifier(random_state=0)]},
            {
                "model": [KNeighborsClassifier()],
                "model__n_neighbors": [1, 3],
                "model__weights": ["uniform", "distance"],
            },
        ],
    )


def _self_training(X: Any, y: Any) -> Any:
    tuned = _supervised(logistic())(X, y).best_params_
    learner = SelfTrainingClassifier(LogisticRegression(**tuned, max_iter=1000))
    return _searched(learner, {"threshold": THRESHOLDS}, PartialLabelKFold(FOLDS)).fit(X, y)


def _label_spreading(X: Any, y: Any) -> Any:
    alphas = {"alpha": [0.2, 0.8], "max_iter": [200]}
    grid = [
        {"kernel": ["knn"], "n_neighbors": NEIGHBOURS, **alphas},
        {"kernel": ["rbf"], "gamma": [1.0, 5.0, 20.0, 100.0], **alphas},
    ]
    return _searched(LabelSpreading(), grid, PartialLabelKFold(FOLDS)).fit(X, y)


class _LatentDirections:
    """`TruncatedSVD` of all rows, and the best search on the labelled ones."""

    def fit(self, X: Any, y: Any) -> Any:
        found = []
        for k in DIRECTIONS:
            svd = TruncatedSVD(min(k, *X.shape), random_state=0).fit(X)
            model = _supervised(logistic())(normalize(svd.transform(X)), y)
            found.append((model.best_score_, svd, model))
        _, self.svd, self.model = max(found, key=itemgetter(0))
        return self

    def predict(self, X: Any) -> Any:
        return self.model.predict(normalize(self.svd.transform(X)))


def rivals() -> dict[str, Fit]:
    """Return functions that tune and fit, to rows of `rotated` and partly labelled y."""
    return {
        "LogisticRegression": _supervised(logistic()),
        "LinearSVC": _supervised(_searched(LinearSVC(), LINEAR)),
        "best of four": _supervised(best_of_four()),
        "latent directions": lambda X, y: _LatentDirections().fit(X, y),
        "SelfTraining": _self_training,
        "LabelSpreading": _label_spreading,
    }
