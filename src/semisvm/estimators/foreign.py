"""Classifiers of other packages as members of a committee."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import is_classifier
from sklearn.utils import get_tags
from sklearn.utils.validation import has_fit_parameter

from semisvm.designs import Floats
from semisvm.designs.validation import read_rows
from semisvm.estimators.interop import fit_partly, row_hook, scores_of
from semisvm.estimators.parameters import parameters
from semisvm.estimators.scoring import ScoringClassifier, fitting, publish
from semisvm.labels.partial import UNLABELED_CODE, encode
from semisvm.labels.weights import checked_weights
from semisvm.methods.solution import Solution
from semisvm.solvers.trace import Recorder
from semisvm.validation import check_same_length


@dataclass(frozen=True)
class ForeignScores:
    """The scores of a classifier of another package as features.

    Attributes
    ----------
    model : fitted classifier
        Of classes 0 to m - 1.
    rank : int
        Number of features: 1 for two classes, m for more.
    smallest : float
        Smaller probabilities count as this one.
    """

    model: Any
    rank: int
    smallest: float

    @property
    def pivots(self) -> NDArray[np.intp]:
        """None: only the model itself may keep training rows."""
        return np.empty(0, dtype=np.intp)

    def transform(self, X: Any) -> Floats:
        """Compute the scores, shape (n, rank)."""
        return scores_of(self.model, X, self.smallest).reshape(-1, self.rank)


@parameters
class ForeignClassifier(ScoringClassifier):
    """A classifier of another package among estimators of this one.

    It is fitted to the labelled rows, or to all rows if it takes unlabelled ones (see
    `semisvm.estimators.interop`). Its scores are the features of a model with weights one.

    Parameters
    ----------
    estimator : classifier
        With ``decision_function`` or ``predict_proba``.

    Attributes
    ----------
    kernel_map_ : ForeignScores
    """

    estimator: Any = None

    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to the labelled rows, or to all of them.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            Only if the classifier takes weights.
        """
        with fitting(self):
            self._fit_rows(X, y, sample_weight)
        return self

    @property
    def features_by(self) -> str:
        """Scores of the classifier, which take the place of a kernel."""
        return "foreign"

    @property
    def takes_weights(self) -> bool:
        """Whether the classifier can be fitted with weights of the rows."""
        return bool(has_fit_parameter(self.estimator, "sample_weight"))

    def _check_parameters(self) -> None:
        made = self.estimator
        if not (hasattr(made, "fit") and hasattr(made, "get_params") and is_classifier(made)):
            raise ValueError(f"a member of a committee must be a classifier, got {made!r}.")

    def _fit_rows(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None) -> None:
        X, labels = read_rows(X, self), encode(y, self.unlabeled)
        check_same_length(X, labels.codes, "y")
        m = len(labels.classes)
        recorder = Recorder(self.callback, self.verbose, row_hook(self))
        weight = checked_weights(sample_weight, X, labels)
        codes = labels.codes.astype(np.intp)
        model = fit_partly(self.estimator, X, codes, UNLABELED_CODE, weight)
        # so few labels cannot show that a probability is smaller
        smallest = 0.5 / len(labels.labeled)
        found = ForeignScores(model, 1 if m == 2 else m, smallest)
        scores = found.transform(X)
        free = scores[labels.unlabeled]
        guessed = (free[:, 0] > 0.0).astype(np.intp) if m == 2 else free.argmax(axis=1)
        self.kernel_map_ = found
        self.coef_ = np.eye(found.rank)
        self.intercept_ = np.zeros(found.rank)
        solution = Solution(self.intercept_, 0.0, 1, True, guessed)
        publish(self, labels, labels.fractions(), solution, recorder)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = get_tags(self.estimator).input_tags.sparse
        return tags
