"""Sets of classes that hold the true one as often as required."""

import copy
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats
from semisvm.validation import check_share

ROUNDING = 1e-9
"""Of 1 - coverage, which is not 0.1 for a coverage of 0.9."""


def nonconformity(scores: Floats) -> Floats:
    """Compute how much better another class scores than each class, shape (n, m)."""
    order = np.sort(scores, axis=1)
    best, second = order[:, -1:], order[:, -2:-1]
    others = np.where(np.arange(scores.shape[1]) == scores.argmax(axis=1)[:, None], second, best)
    return np.asarray(others - scores)


def fewest_labels(coverage: float) -> int:
    """Return how many held-out labels a coverage needs: 1 / (1 - coverage) - 1.

    >>> [fewest_labels(coverage) for coverage in (0.5, 0.8, 0.9, 0.95)]
    [1, 4, 9, 19]
    """
    return math.ceil(1.0 / (1.0 - coverage) - 1.0 - ROUNDING)


@dataclass(frozen=True)
class Conformal:
    r"""How far scores can be off, by held-out labels (CV+).

    With the score f_y(x) of class y, let ``s(x, y) = max over k != y of f_k(x), minus f_y(x)``.
    Each of the h held-out labelled rows i was scored by a model g(i) that had not seen its label:
    s_i. Class y belongs to the set of a row x unless the row would be among the strangest
    with it: ::

        (1 + number of i with s_i >= s_g(i)(x, y)) / (h + 1)  >  1 - coverage

    where x is scored by the model of row i's fold. Linear models are kept for this. Where they
    are not kept (kernels, committees), the last model, which has seen all labels, scores x.

    Attributes
    ----------
    scores : array of shape (h,)
        The s_i.
    folds : int array of shape (h,)
    coef, intercept : arrays of shape (k, s, d) and (k, s), or None
        The models of the folds.

    Notes
    -----
    Let alpha = 1 - coverage. If the labelled rows and the row in question are exchangeable
    (labels were missing at random), the sets of CV+ hold the true class with probability at
    least 1 - 2 alpha - min(2 (1 - 1/k) / (h/k + 1), (1 - k/h) / (k + 1)), whatever the data and the
    model, and about 1 - alpha in practice. That holds for new rows if held-out rows take no part in
    the fits, and for the unlabelled rows of the fit if held-out rows stay in as such. Two
    things are not exactly as in the theorem: the folds are stratified, and the class shares are
    estimated once, from all labels. For models that are not kept no such bound is known.

    References
    ----------
    Vovk, Cross-conformal predictors, Annals of Mathematics and Artificial Intelligence 74, 2015,
    doi:10.1007/s10472-013-9368-4. Romano, Sesia and Candes, Classification with valid and adaptive
    coverage, NeurIPS 2020. Barber, Candes, Ramdas and Tibshirani, Predictive inference with the
    jackknife+, Annals of Statistics 49, 2021, doi:10.1214/20-AOS1965.
    """

    scores: Floats
    folds: NDArray[np.intp]
    coef: Floats | None = None
    intercept: Floats | None = None

    @classmethod
    def fit(
        cls,
        scores: Floats,
        codes: NDArray[np.intp],
        folds: NDArray[np.intp],
        weights: tuple[Floats, Floats] | None = None,
    ) -> "Conformal":
        """Learn from scores (h, m) of rows of known class, and perhaps keep their models."""
        own = nonconformity(scores)[np.arange(len(codes)), codes]
        coef, intercept = (None, None) if weights is None else weights
        return cls(own, folds, coef, intercept)

    @property
    def n_folds(self) -> int:
        """Number of folds."""
        return int(self.folds.max(initial=0)) + 1

    @property
    def n_labels(self) -> int:
        """Number of held-out labels."""
        return len(self.scores)

    @property
    def most_coverage(self) -> float:
        """The largest coverage for which there are enough labels."""
        return self.n_labels / (self.n_labels + 1)

    def check(self, coverage: float) -> float:
        """Return a coverage for which there are enough labels, or raise ValueError."""
        share = check_share("the parameter coverage", coverage)
        needed = fewest_labels(share)
        if self.n_labels < needed:
            raise ValueError(
                f"a coverage of {share:g} needs {needed} held-out labels or more, and the model "
                f"has {self.n_labels}: sets would hold all classes. Ask for at most "
                f"{math.floor(1000 * self.most_coverage) / 1000:g}, or label more rows."
            )
        return share

    def models(self, estimator: Any) -> list[Any]:
        """Return the models of the folds; the last one, where they were not kept."""
        if self.coef is None or self.intercept is None:
            return [estimator]
        found = []
        for coef, intercept in zip(self.coef, self.intercept, strict=True):
            model = copy.copy(estimator)
            model.coef_, model.intercept_ = coef, intercept
            found.append(model)
        return found

    def sets(
        self, scored: Sequence[Floats], usual: NDArray[np.intp], coverage: float
    ) -> NDArray[np.bool_]:
        """Return which classes belong to the sets of rows, shape (n, m).

        Parameters
        ----------
        scored : sequence of arrays of shape (n, m)
            The scores of the rows by the model of each fold; or by the last model alone.
        usual : int array of shape (n,)
            The predictions, which are always in the set: no set is empty.
        coverage : float

        Raises
        ------
        ValueError
            If there are too few labels for the coverage.
        """
        alpha = 1.0 - self.check(coverage)
        n_stranger = np.zeros(scored[0].shape, dtype=np.intp)
        for k, scores in enumerate(scored):
            known = np.sort(self.scores if self.coef is None else self.scores[self.folds == k])
            n_stranger += len(known) - np.searchsorted(known, nonconformity(scores), side="left")
        inside = n_stranger + 1 > alpha * (self.n_labels + 1) + ROUNDING
        inside[np.arange(len(usual)), usual] = True
        return inside
