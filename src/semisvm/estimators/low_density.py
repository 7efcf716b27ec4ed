"""Low density separation: distances along paths through the data, then `GradientTSVC`."""

from dataclasses import KW_ONLY
from typing import Any

import numpy as np

from semisvm.estimators.gradient import GradientDescentClassifier
from semisvm.estimators.parameters import parameters
from semisvm.kernels.paths import PathMap, fit_paths
from semisvm.validation import check_count, check_real


@parameters
class LowDensitySeparation(GradientDescentClassifier):
    r"""Low density separation (LDS).

    Distances are measured along paths through the data, on the graph of nearest
    neighbours, with edge lengths d_e relative to their mean: ::

        D_ij = 1/rho log(1 + min over paths from i to j of sum_e (exp(rho d_e) - 1))

    So rows of one dense region are close, and rows on two sides of a gap are far apart.
    Multidimensional scaling turns the distances into features, scaled to mean length one,
    and `GradientTSVC` is fitted to the features. The distances need n x n numbers: this is
    a method for thousands of rows.

    Parameters
    ----------
    reg : float or None, default=1e-2
        Strength of the regularisation, lambda.
    n_neighbors : int, default=200
        Number of neighbours per row in the graph; unconnected parts are joined by the
        shortest edge between them.
    rho : float, default=4.0
        How strongly long edges count. With 0.5 a distance is close to the length of the
        shortest path, with 10 to the longest edge that no path can avoid.
    share : float, default=0.1
        Fraction of the variance of the distances that the features may leave out.
    unlabeled_weight : float, default=1.0
        Final weight of the unlabelled rows, lambda'. With 0 this is the supervised machine.
    class_prior : None, "estimate", "labels", array of shape (m,) or dict, default=None
        Shares of the classes among the unlabelled rows, in the order of ``classes_`` or
        by class. None, or "estimate", estimates them from labelled and unlabelled rows
        (`semisvm.model_selection.estimate_prior`); "labels" takes the labelled fractions.
    annealing_rate : float or None, default=None
        Factor between the weights of successive levels; None is 2.
    balance_tol : float or None, default=0.1
        For two classes: how far the share of positive outputs may be from the class share,
        relative to the share of the rarer class. Beyond that the mean output is moved
        between the levels, and at the end the intercept, which is chosen for new rows. None
        moves neither. With more classes or a hierarchy intercepts are never moved, and other
        values are an error.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    tol : float, default=1e-5
        The last level stops when ||gradient||^2 / (2 reg) is this fraction of the objective.
    max_iter : int, default=500
        Maximum number of quasi-Newton steps per level.
    warm_start : bool, default=False
        Start from the weights of the last fit, at the final weight of the unlabelled rows.
    n_jobs : int, default=None
        Number of threads; None is one, -1 uses all cores.
    verbose : int, default=0
        Print one line per level.
    callback : callable, default=None
        Called with each row of the trace; the fit stops when it returns True.

    Attributes
    ----------
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the features.
    intercept_ : array of shape (1,) or (m,)
    kernel_map_ : PathMap
        The features; paths to a new row go through its neighbours.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Class shares that were used.
    class_prior_std_ : array of shape (m,)
        Their standard errors; zero for given shares.
    reg_ : float
        Strength of the regularisation that was used.
    transduction_ : array of shape (n,)
        The given labels, and labels of the unlabelled rows by their outputs: for two classes
        these keep the class shares up to ``balance_tol``, so near the threshold they may
        differ from predictions.
    objective_ : float
        For more than two classes, the sum over their problems.
    n_iter_ : int
        Number of levels.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Chapelle and Zien, Semi-supervised classification by low density separation, AISTATS
    2005.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import LowDensitySeparation
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = np.where(np.arange(200) < 6, y, -1)
    >>> model = LowDensitySeparation(n_neighbors=10, class_prior=[0.5, 0.5]).fit(X, labels)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    reg: float | None = 1e-2
    _: KW_ONLY
    n_neighbors: int = 200
    rho: float = 4.0
    share: float = 0.1

    @property
    def features_by(self) -> str:
        """Distances along paths, which take the place of a kernel."""
        return "paths"

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_count("n_neighbors", self.n_neighbors)
        check_real("rho", self.rho, above=0)
        if not 0.0 <= check_real("share", self.share) < 1.0:
            raise ValueError(f"share must be at least 0 and below 1, got {self.share!r}.")

    def _features(self, X: Any) -> tuple[PathMap, Any]:
        if X.shape[0] < 2:
            raise ValueError("LowDensitySeparation needs at least two rows, got n_samples=1.")
        found, features = fit_paths(
            X.astype(np.float64, copy=False),
            n_neighbors=int(self.n_neighbors),
            rho=float(self.rho),
            share=float(self.share),
            n_jobs=self.n_jobs,
        )
        self._check_same_features(found)
        return found, features
