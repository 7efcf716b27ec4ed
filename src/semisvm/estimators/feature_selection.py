"""FSV: an SVM that counts its weights, minimised by a sequence of linear programs."""

from dataclasses import KW_ONLY

from semisvm.estimators.one_norm import OneNormClassifier
from semisvm.estimators.parameters import parameters
from semisvm.methods.feature_selection import Counting
from semisvm.methods.linear_programs import Found
from semisvm.objectives.two_classes import TwoClassTask
from semisvm.validation import check_real


@parameters
class FeatureSelectionSVC(OneNormClassifier):
    r"""SVM that selects features: the number of nonzero weights is part of the objective (FSV).

    Minimises, over the labelled rows, to a local minimum, ::

        sum_i max(0, 1 - y_i (w . x_i + b)) + mu sum_k [ 1 - exp(-sharpness |w_k|) ]

    A weight costs nearly nothing or nearly mu, whatever its size, while the 1-norm of
    `OneNormSVC` also shrinks the weights it keeps. Each step solves a linear program that lies
    above the objective and touches it at the last weights, so the objective never rises. The
    intercept is free; among equally good ones the middle one is taken. Unlabelled rows are not
    used; ``transduction_`` holds predictions for them. More than two classes are solved as
    one-vs-rest problems.

    Parameters
    ----------
    mu : float, default=1.0
        Price of a feature against the sum (not the mean) of the errors.
    sharpness : float, default=5.0
        How quickly a weight counts as a whole feature; relative to the unit of the columns,
        which should be standardised.
    kernel : str or callable, default="linear"
        "linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", a function of two rows,
        or "precomputed". With a kernel other than "linear",
        f(x) = sum_j u_j k(x, a_j) + b with one weight u_j for each training row a_j,
        labelled or not, and the weights that are counted are the u_j. The kernel need
        not be positive semi-definite.
    gamma : float, "scale" or "mean_distance", default="scale"
        Coefficient of the kernel: "scale" is 1 / (d var(X)), "mean_distance" is
        1 / (2 width^2), where width is the average distance between two rows.
    degree : int, default=3
        Degree of the kernel "poly".
    coef0 : float, default=1.0
        Constant term of the kernels "poly" and "sigmoid".
    n_components : int or None, default=None
        Maximum number of training rows a_j that have a weight (reduced SVM), drawn at random
        by their values: the same rows in any order of X. None takes all distinct rows.
    kernel_tol : float, default=1e-4
        Not used: the kernel is exact. For the same parameters as other methods.
    tol : float, default=1e-6
        Stop when a program gains less than this part of the objective.
    max_iter : int, default=200
        Maximum number of linear programs.
    unlabeled : scalar, default=-1
        Value in y that marks unlabelled rows, in addition to None and NaN.
    verbose : int, default=0
        Print one line per level.
    callback : callable, default=None
        Called with each row of the trace.

    Attributes
    ----------
    coef_ : array of shape (1, d) or (m, d)
    intercept_ : array of shape (1,) or (m,)
    n_nonzero_ : int array of shape (1,) or (m,)
        Number of features that were selected.
    kernel_map_ : ExpansionMap or None
        Rows a_j of the kernel (``pivots``), with one weight each in ``coef_``; None if linear.
    classes_ : array of shape (m,)
    class_prior_ : array of shape (m,)
        Shares of the classes among the labelled rows.
    reg_ : float
        mu.
    transduction_ : array of shape (n,)
        The given labels, and predictions for the unlabelled rows.
    objective_ : float
        For more than two classes, the sum over their problems.
    n_iter_ : int
        Number of linear programs solved.
    trace_ : Trace
    n_features_in_ : int
    feature_names_in_ : array of shape (d,)

    References
    ----------
    Bradley and Mangasarian, Feature selection via concave minimization and support vector
    machines, ICML 1998.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.preprocessing import scale
    >>> from semisvm import FeatureSelectionSVC
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FeatureSelectionSVC(mu=10.0).fit(scale(X), y)
    >>> round(model.score(scale(X), y), 2), model.n_nonzero_.tolist()
    (0.97, [3])
    """

    mu: float = 1.0
    _: KW_ONLY
    sharpness: float = 5.0
    tol: float = 1e-6
    max_iter: int = 200

    def _check_parameters(self) -> None:
        self._check_shared_parameters()
        check_real("mu", self.mu, above=0)
        check_real("sharpness", self.sharpness, above=0)

    def _check_tol(self) -> None:
        # 0 is allowed: there are finitely many vertices, so the objective stops falling
        check_real("tol", self.tol, at_least=0)

    def _solve_program(self, task: TwoClassTask) -> Found:
        method = Counting(task, float(self.mu), float(self.sharpness))
        rounds, settled = method.follow(float(self.tol), self.max_iter)
        return Found(method.state.w, method.state.objective, rounds, settled)
