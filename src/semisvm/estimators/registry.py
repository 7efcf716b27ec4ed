"""The one list of methods; the command line, model files, docs and common tests use it.

A method is an estimator with some parameters fixed, under a short name, with the data that it
suits. To add one, add an entry to `METHODS`; nothing else names methods. Estimators are imported
when one is made.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from semisvm import estimators
from semisvm.designs.costs import Cost
from semisvm.text import did_you_mean, series

if TYPE_CHECKING:
    from semisvm.estimators.scoring import ScoringClassifier


@dataclass(frozen=True)
class Suits:
    """What data a method is for.

    Attributes
    ----------
    needs_unlabeled : bool
        Whether it gains anything over supervised learning only from unlabelled rows.
    uses_prior : bool
        Whether it uses the class shares.
    probabilities : bool
        Whether its scores are probabilities without calibration.
    most_unlabeled : int, optional
        Number of unlabelled rows beyond which it takes too long.
    """

    needs_unlabeled: bool = True
    uses_prior: bool = True
    probabilities: bool = False
    most_unlabeled: int | None = None


@dataclass(frozen=True)
class Method:
    """An entry of the registry.

    Attributes
    ----------
    name : str
    aliases : tuple of str
    estimator_name : str
        Its class, one of `semisvm.estimators`.
    summary : str
        One line.
    suits : Suits
    parameters : tuple of str
        Those that users may set.
    cost : Cost
        Rough cost of a fit; comparisons choose what is quick on data of this size.
    fixed : mapping
        Parameters of the estimator that make it this method.
    auto : bool
        Whether it is among the few that are tried where the method itself is chosen.
    varies : tuple of str
        What is tried there too, where it suits the rows: "reg", another regularisation; "rbf", the
        Gaussian kernel; "latent", the rows along latent directions.
    compared : bool
        Whether it is compared where no methods are named; not if it differs from another
        one only in the choice of rows to label.
    """

    name: str
    aliases: tuple[str, ...]
    estimator_name: str
    summary: str
    suits: Suits
    parameters: tuple[str, ...]
    cost: Cost
    fixed: Mapping[str, Any] = field(default_factory=dict)
    auto: bool = False
    varies: tuple[str, ...] = ()
    compared: bool = True

    @property
    def title(self) -> str:
        """What the method is called in words: the beginning of its summary."""
        return self.summary.partition(":")[0].partition(",")[0]

    def load(self) -> Any:
        """Import the class of the estimator."""
        return getattr(estimators, self.estimator_name)

    def make(self, **parameters: Any) -> "ScoringClassifier":
        """Make an estimator.

        Parameters
        ----------
        **parameters
            Of the estimator; those that make the method cannot be changed.
        """
        changed = sorted(set(parameters) & set(self.fixed))
        if changed:
            raise ValueError(f"the method {self.name!r} fixes {', '.join(changed)}.")
        return self.load()(**self.fixed, **parameters)

    @property
    def takes_weights(self) -> bool:
        """Whether a fit takes weights of the rows."""
        return "sample_weight" in inspect.signature(self.load().fit).parameters

    @property
    def takes_evidence(self) -> bool:
        """Whether a fit takes evidence about unlabelled rows."""
        return "evidence" in inspect.signature(self.load().fit).parameters

    @property
    def takes_classes(self) -> bool:
        """Whether a fit takes classes without a label."""
        return "classes" in inspect.signature(self.load()).parameters

    @property
    def options(self) -> list[str]:
        """Options of its parameters on the command line."""
        return [OPTIONS[name] for name in self.parameters if name in OPTIONS]

    def default(self, name: str) -> Any:
        """Return the default of a parameter: the signature of the estimator has it."""
        return inspect.signature(self.load()).parameters[name].default

    def misfit(self, n_unlabeled: int) -> str | None:
        """Return why the method does not suit data with so many unlabelled rows; None if it does.

        All methods are for two and for more classes, and for sparse and dense rows.
        """
        if self.suits.needs_unlabeled and n_unlabeled == 0:
            return "it needs unlabelled rows"
        most = self.suits.most_unlabeled
        if most is not None and n_unlabeled > most:
            return f"it is for at most {most:,} unlabelled rows"
        return None


AUTO = "auto"
"""Name for a method that is chosen by cross-validation."""

OPTIONS = {
    "reg": "--reg",
    "unlabeled_weight": "--unlabeled-weight",
    "class_prior": "--prior",
    "class_weight": "--class-weight",
    "label_noise": "--label-noise",
    "n_jobs": "--jobs",
    "kernel": "--kernel",
}
"""Parameters of methods that have an option on the command line."""

SUPERVISED = Suits(needs_unlabeled=False, uses_prior=False)
SEMI = ("reg", "unlabeled_weight", "class_prior", "n_jobs")
EVIDENCE = ("evidence_weight", "label_noise")
MEANS = ("C", "C_unlabeled", "class_prior", "kernel", "n_jobs", "balance_tol")
MAXENT = Suits(probabilities=True)
GRAPH = Suits(uses_prior=False)

METHODS: tuple[Method, ...] = (
    Method(
        "svm",
        ("supervised", "newton"),
        "NewtonSVC",
        "supervised linear SVM on the labelled rows: the baseline",
        SUPERVISED,
        ("reg", "loss", "kernel", "class_weight", "n_jobs"),
        Cost(entry=40),
        auto=True,
        varies=("reg",),
    ),
    Method(
        "tsvm",
        ("transductive",),
        "TransductiveSVC",
        "transductive SVM: finds labels of the unlabelled rows and switches them; fast",
        Suits(),
        (*SEMI, "kernel", "loss", "balance_tol", *EVIDENCE),
        Cost(entry=500),
        auto=True,
        varies=("reg", "latent"),
    ),
    Method(
        "da",
        ("annealed", "annealing"),
        "AnnealedSVC",
        "deterministic annealing: soft labels that harden; depends less on its start",
        Suits(),
        (*SEMI, "kernel", "loss", "temperature", "balance_tol", *EVIDENCE),
        Cost(entry=2_000),
        auto=True,
    ),
    Method(
        "gradient",
        ("nabla",),
        "GradientTSVC",
        "gradient TSVM: pushes outputs of unlabelled rows away from zero; fast and smooth",
        Suits(),
        (*SEMI, "kernel", "balance_tol", *EVIDENCE),
        Cost(entry=500),
        auto=True,
        varies=("rbf", "latent"),
    ),
    Method(
        "lds",
        ("low-density",),
        "LowDensitySeparation",
        "low density separation: distances along the data; for thousands of rows, not more",
        Suits(),
        (*SEMI, "balance_tol", *EVIDENCE),
        Cost(entry=500, triple=2),
    ),
    Method(
        "means3vm",
        ("mean", "means"),
        "MeanSVC",
        "label means: separates the means of the two classes, then fits an SVM; fast",
        Suits(),
        MEANS,
        Cost(entry=1_800),
        fixed={"method": "iter"},
    ),
    Method(
        "means3vm-mkl",
        ("mean-mkl",),
        "MeanSVC",
        "label means by a convex relaxation, with cutting planes",
        Suits(),
        MEANS,
        Cost(entry=2_000),
        fixed={"method": "mkl"},
    ),
    Method(
        "lapsvm",
        ("laplacian",),
        "LaplacianSVC",
        "Laplacian SVM: outputs that are smooth on a graph of neighbours; for curved shapes",
        GRAPH,
        ("reg", "manifold_weight", "n_neighbors", "power", "kernel", "n_jobs"),
        Cost(entry=1_500, near=80),
    ),
    Method(
        "laprls",
        (),
        "LaplacianRLSC",
        "Laplacian least squares: like lapsvm, by one linear system",
        GRAPH,
        ("reg", "manifold_weight", "n_neighbors", "power", "kernel", "n_jobs"),
        Cost(entry=1_000, near=55),
        auto=True,
        varies=("latent",),
    ),
    Method(
        "cluster-kernel",
        (),
        "ClusterKernelSVC",
        "supervised SVM with a kernel from clusters of all rows",
        GRAPH,
        ("reg", "n_clusters", "kernel", "n_jobs"),
        Cost(entry=500, pair=3_000),
    ),
    Method(
        "semiboost",
        (),
        "SemiBoostClassifier",
        "boosting of an SVM by rows whose labels their neighbours agree on",
        GRAPH,
        ("unlabeled_weight", "n_neighbors", "n_estimators"),
        Cost(entry=3_500, near=20),
    ),
    Method(
        "committee",
        (),
        "SemiSupervisedCommittee",
        "committee of several methods, weighted by held-out labels; probabilities",
        MAXENT,
        ("class_prior", "n_jobs"),
        Cost(entry=15_000, pair=400),
        compared=False,
    ),
    Method(
        "tsvm-log",
        ("maxent",),
        "TransductiveSVC",
        "transductive maxent: like tsvm, with the logistic loss and probabilities",
        MAXENT,
        (*SEMI, "kernel", "balance_tol"),
        Cost(entry=1_500),
        fixed={"loss": "log"},
    ),
    Method(
        "entropy",
        ("er",),
        "EntropyRegularizedClassifier",
        "maxent with low entropy on the unlabelled rows and class shares as constraints",
        MAXENT,
        (*SEMI, "kernel", "constraint_tol", *EVIDENCE),
        Cost(entry=15_000),
    ),
    Method(
        "expectation",
        ("ec",),
        "ExpectationConstrainedClassifier",
        "maxent whose mean probabilities on the unlabelled rows are the class shares",
        MAXENT,
        ("reg", "class_prior", "kernel", "n_jobs", "constraint_tol", *EVIDENCE),
        Cost(entry=1_000),
    ),
    Method(
        "posterior",
        ("pr",),
        "PosteriorRegularizedClassifier",
        "maxent pulled towards soft labels that keep the class shares",
        MAXENT,
        ("reg", "class_prior", "kernel", "n_jobs", "kl_weight", *EVIDENCE),
        Cost(entry=1_500),
    ),
    Method(
        "rlp",
        ("robust-lp",),
        "RobustLPC",
        "robust linear program on the labelled rows: fewest errors, then the least 1-norm",
        SUPERVISED,
        ("kernel",),
        Cost(entry=500),
    ),
    Method(
        "onenorm",
        ("lp",),
        "OneNormSVC",
        "supervised SVM with the 1-norm, a linear program: few weights that are not zero",
        SUPERVISED,
        ("mu", "kernel"),
        Cost(entry=200),
    ),
    Method(
        "fsv",
        ("feature-selection",),
        "FeatureSelectionSVC",
        "supervised SVM that pays for every feature it uses: fewer than the 1-norm; many labels",
        SUPERVISED,
        ("mu", "kernel"),
        Cost(entry=1_000),
    ),
    Method(
        "vs3vm",
        ("concave",),
        "ConcaveSVC",
        "concave S3VM by linear programs: few weights; for thousands of rows, not more",
        Suits(most_unlabeled=10_000),
        ("mu", "nu", "class_prior", "kernel"),
        Cost(entry=20_000),
    ),
    Method(
        "mip",
        ("s3vm",),
        "MixedIntegerSVC",
        "S3VM as a mixed-integer program: the global optimum; for tens of unlabelled rows",
        Suits(most_unlabeled=100),
        ("mu", "nu", "class_prior", "kernel", "time_limit", "mip_gap", "n_jobs"),
        Cost(entry=20_000, triple=20_000),
    ),
    Method(
        "cvs3vm",
        ("clustered",),
        "ClusteredSVC",
        "vs3vm that chooses in Python which rows to label next; given labels, the same",
        Suits(most_unlabeled=10_000),
        ("mu", "nu", "class_prior", "kernel"),
        Cost(entry=20_000),
        compared=False,
    ),
)


def methods() -> tuple[Method, ...]:
    """Return all methods, the supervised baseline first."""
    return METHODS


@cache
def _by_name() -> dict[str, Method]:
    return {name: method for method in METHODS for name in (method.name, *method.aliases)}


def get(name: str) -> Method:
    """Return a method by its name or an alias.

    Raises
    ------
    ValueError
        With the names there are, and the one that may be meant.
    """
    found = _by_name().get(name.casefold())
    if found is None:
        hint = did_you_mean(name, _by_name())
        names = ", ".join(method.name for method in METHODS)
        raise ValueError(f"there is no method {name!r}.{hint} The methods are {names}.")
    return found


def without_effect(
    method: Method, names: Iterable[str], others: Iterable[Method] = METHODS
) -> list[str]:
    """Name the given parameters that have no effect, because the method does not have them.

    Parameters
    ----------
    method : Method
    names : iterable of str
        Of the parameters.
    others : iterable of Method
        Methods to name that have them.

    Returns
    -------
    sentences : list of str
    """
    found = []
    for name in names:
        if name in method.parameters:
            continue
        having = [m.name for m in others if name in m.parameters]
        rest = f"; {series(having)} would use it" if having else ""
        found.append(f"the parameter {name} has no effect: {method.name} does not use it{rest}.")
    return found


def find(estimator: Any) -> Method | None:
    """Return the method that an estimator belongs to, or None."""
    name = type(estimator).__name__
    parameters = estimator.get_params(deep=False)
    fitting = [
        method
        for method in METHODS
        if method.estimator_name == name
        and all(parameters.get(key) == value for key, value in method.fixed.items())
    ]
    return max(fitting, key=lambda method: len(method.fixed), default=None)


def estimator_classes() -> dict[str, str]:
    """Return the estimators by class name, as "module:class": what model files may hold."""
    return {name: f"{estimators.__name__}:{name}" for name in dir(estimators)}


def is_committee(estimator: Any) -> bool:
    """Return whether an estimator is a fitted committee."""
    return hasattr(estimator, "names_") and hasattr(estimator, "estimators_")
