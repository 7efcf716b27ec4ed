"""The one list of methods; the command line, model files, docs and common tests use it.

A method is an estimator with some parameters fixed, under a short name, with the data that it
suits. To add one, add an entry to `METHODS`; nothing else names methods. Estimators are imported
when one is made.
"""

import inspect
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from importlib import import_module
from typing import Any

from semisvm.designs.costs import Cost
from semisvm.text import near_match, series


@dataclass(frozen=True)
class Parameter:
    """A parameter that users may set.

    Attributes
    ----------
    name : str
        Of the estimator.
    type : type
    help : str
    option : str, optional
        Its option on the command line.
    choices : tuple of str
        Allowed values of a text.
    """

    name: str
    type: type
    help: str
    option: str | None = None
    choices: tuple[str, ...] = ()


@dataclass(frozen=True)
class Suits:
    """What data a method is for.

    Attributes
    ----------
    two, many : bool
        Two classes; more than two.
    sparse, dense : bool
        Kinds of matrices.
    needs_unlabeled : bool
        Whether it gains anything over supervised learning only from unlabelled rows.
    uses_prior : bool
        Whether it uses the class shares.
    probabilities : bool
        Whether its scores are probabilities without calibration.
    most_unlabeled : int, optional
        Number of unlabelled rows beyond which it takes too long.
    """

    two: bool = True
    many: bool = True
    sparse: bool = True
    dense: bool = True
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
    estimator : str
        "module:class".
    summary : str
        One line.
    suits : Suits
    parameters : tuple of Parameter
    cost : Cost
        Rough cost of a fit; comparisons choose what is quick on data of this size.
    fixed : mapping
        Parameters of the estimator that make it this method.
    auto : bool
        Whether it is among the few that are tried where the method itself is chosen.
    varies : str
        A parameter of which another value is tried there too: "reg", "kernel" or none.
    compared : bool
        Whether it is compared where no methods are named; not if it differs from another
        one only in the choice of rows to label.
    """

    name: str
    aliases: tuple[str, ...]
    estimator: str
    summary: str
    suits: Suits
    parameters: tuple[Parameter, ...]
    cost: Cost
    fixed: Mapping[str, Any] = field(default_factory=dict)
    auto: bool = False
    varies: str = ""
    compared: bool = True

    @property
    def title(self) -> str:
        """What the method is called in words: the beginning of its summary."""
        return self.summary.partition(":")[0].partition(",")[0]

    @property
    def estimator_name(self) -> str:
        """Name of the class."""
        return self.estimator.partition(":")[2]

    def load(self) -> Any:
        """Import the class of the estimator."""
        module, _, name = self.estimator.partition(":")
        return getattr(import_module(module), name)

    def make(self, **parameters: Any) -> Any:
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

    def parameter(self, name: str) -> Parameter | None:
        """Return a parameter by its name, or None if the method does not have it."""
        return next((p for p in self.parameters if p.name == name), None)

    def default(self, name: str) -> Any:
        """Return the default of a parameter: the signature of the estimator has it."""
        return inspect.signature(self.load()).parameters[name].default

    def suits_classes(self, n_classes: int) -> bool:
        """Return whether the method is for so many classes."""
        return self.suits.two if n_classes <= 2 else self.suits.many

    def misfit(self, n_classes: int, n_unlabeled: int, is_sparse: bool) -> str | None:
        """Return why the method does not suit data, or None if it does.

        Parameters
        ----------
        n_classes, n_unlabeled : int
        is_sparse : bool
            Kind of the matrix.
        """
        if not self.suits_classes(n_classes):
            return "it is for two classes" if self.suits.two else "it is for many classes"
        if self.suits.needs_unlabeled and n_unlabeled == 0:
            return "it needs unlabelled rows"
        most = self.suits.most_unlabeled
        if most is not None and n_unlabeled > most:
            return f"it is for at most {most:,} unlabelled rows"
        if not (self.suits.sparse if is_sparse else self.suits.dense):
            return f"it does not take {'sparse' if is_sparse else 'dense'} data"
        return None


AUTO = "auto"
"""Name for a method that is chosen by cross-validation."""

REG = Parameter(
    "reg", float, "strength of the regularisation; by default that of the loss", "--reg"
)
UNLABELED_WEIGHT = Parameter(
    "unlabeled_weight",
    float,
    "total weight of the unlabelled rows, against 1 for the labelled ones",
    "--unlabeled-weight",
)
PRIOR = Parameter("class_prior", dict, "class shares among the unlabelled rows", "--prior")
CLASS_WEIGHT = Parameter(
    "class_weight", dict, "factors of the classes, or 'balanced'", "--class-weight"
)
JOBS = Parameter("n_jobs", int, "threads", "--jobs")
LOSS = Parameter(
    "loss",
    str,
    "loss of a row",
    None,
    ("squared_hinge", "huber", "rounded_hinge", "hinge", "squared", "log", "crammer_singer"),
)
KERNEL = Parameter(
    "kernel",
    str,
    "kernel of the rows; others than linear are for thousands of rows",
    "--kernel",
    ("linear", "rbf", "poly", "sigmoid", "laplacian", "cosine"),
)
GRAPH_KERNEL = replace(KERNEL, choices=("neighbors", *KERNEL.choices))
TEMPERATURE = Parameter("temperature", float, "first temperature")
BALANCE = Parameter(
    "balance_tol", float, "how far the outputs of two classes may differ from the class shares"
)
CONSTRAINT = Parameter(
    "constraint_tol", float, "how far mean probabilities may differ from the class shares"
)
KL_WEIGHT = Parameter("kl_weight", float, "weight of the class shares")
MU = Parameter("mu", float, "weight of the 1-norm, against 1 for each labelled row")
NU = Parameter("nu", float, "weight of each unlabelled row, against 1 for each labelled one")
TIME_LIMIT = Parameter("time_limit", float, "time limit of the search in seconds, for two classes")
MIP_GAP = Parameter("mip_gap", float, "relative gap to the lower bound that counts as optimal")

COST = Parameter("C", float, "cost of a labelled row, against 1/2 ||w||^2")
UNLABELED_COST = Parameter("C_unlabeled", float, "cost of the means and of an unlabelled row")
MANIFOLD_WEIGHT = Parameter("manifold_weight", float, "weight of the roughness on the graph")
NEIGHBORS = Parameter("n_neighbors", int, "neighbours per row in the graph")
POWER = Parameter("power", int, "how many times the Laplacian of the graph is applied")
CLUSTERS = Parameter("n_clusters", int, "clusters per run of k-means")
ROUNDS = Parameter("n_estimators", int, "maximum number of boosting rounds")

SUPERVISED = Suits(needs_unlabeled=False, uses_prior=False)
SEMI = (REG, UNLABELED_WEIGHT, PRIOR, JOBS)
MEANS = (COST, UNLABELED_COST, PRIOR, KERNEL, JOBS, BALANCE)
MAXENT = Suits(probabilities=True)
GRAPH = Suits(uses_prior=False)

METHODS: tuple[Method, ...] = (
    Method(
        "svm",
        ("supervised", "newton"),
        "semisvm.estimators:NewtonSVC",
        "supervised linear SVM on the labelled rows: the baseline",
        SUPERVISED,
        (REG, LOSS, KERNEL, CLASS_WEIGHT, JOBS),
        Cost(entry=40),
        auto=True,
        varies="reg",
    ),
    Method(
        "tsvm",
        ("transductive",),
        "semisvm.estimators:TransductiveSVC",
        "transductive SVM: finds labels of the unlabelled rows and switches them; fast",
        Suits(),
        (*SEMI, KERNEL, LOSS, BALANCE),
        Cost(entry=500),
        auto=True,
        varies="reg",
    ),
    Method(
        "da",
        ("annealed", "annealing"),
        "semisvm.estimators:AnnealedSVC",
        "deterministic annealing: soft labels that harden; depends less on its start",
        Suits(),
        (*SEMI, KERNEL, LOSS, TEMPERATURE, BALANCE),
        Cost(entry=2_000),
        auto=True,
    ),
    Method(
        "gradient",
        ("nabla",),
        "semisvm.estimators:GradientTSVC",
        "gradient TSVM: pushes outputs of unlabelled rows away from zero; fast and smooth",
        Suits(),
        (*SEMI, KERNEL, BALANCE),
        Cost(entry=500),
        auto=True,
        varies="kernel",
    ),
    Method(
        "lds",
        ("low-density",),
        "semisvm.estimators:LowDensitySeparation",
        "low density separation: distances along the data; for thousands of rows, not more",
        Suits(),
        (*SEMI, BALANCE),
        Cost(entry=500, triple=2),
    ),
    Method(
        "means3vm",
        ("mean", "means"),
        "semisvm.estimators:MeanSVC",
        "label means: separates the means of the two classes, then fits an SVM; fast",
        Suits(),
        MEANS,
        Cost(entry=1_800),
        fixed={"method": "iter"},
        auto=True,
    ),
    Method(
        "means3vm-mkl",
        ("mean-mkl",),
        "semisvm.estimators:MeanSVC",
        "label means by a convex relaxation, with cutting planes",
        Suits(),
        MEANS,
        Cost(entry=2_000),
        fixed={"method": "mkl"},
    ),
    Method(
        "lapsvm",
        ("laplacian",),
        "semisvm.estimators:LaplacianSVC",
        "Laplacian SVM: outputs that are smooth on a graph of neighbours; for curved shapes",
        GRAPH,
        (REG, MANIFOLD_WEIGHT, NEIGHBORS, POWER, GRAPH_KERNEL, JOBS),
        Cost(entry=1_500, near=80),
    ),
    Method(
        "laprls",
        (),
        "semisvm.estimators:LaplacianRLSC",
        "Laplacian least squares: like lapsvm, by one linear system",
        GRAPH,
        (REG, MANIFOLD_WEIGHT, NEIGHBORS, POWER, GRAPH_KERNEL, JOBS),
        Cost(entry=1_000, near=55),
        auto=True,
    ),
    Method(
        "cluster-kernel",
        (),
        "semisvm.estimators:ClusterKernelSVC",
        "supervised SVM with a kernel from clusters of all rows",
        GRAPH,
        (REG, CLUSTERS, KERNEL, JOBS),
        Cost(entry=500, pair=3_000),
    ),
    Method(
        "semiboost",
        (),
        "semisvm.estimators:SemiBoostClassifier",
        "boosting of an SVM by rows whose labels their neighbours agree on",
        GRAPH,
        (UNLABELED_WEIGHT, NEIGHBORS, ROUNDS),
        Cost(entry=3_500, near=20),
    ),
    Method(
        "committee",
        (),
        "semisvm.estimators:SemiSupervisedCommittee",
        "committee of several methods, weighted by held-out labels; probabilities",
        MAXENT,
        (PRIOR, JOBS),
        Cost(entry=15_000, pair=400),
        compared=False,
    ),
    Method(
        "tsvm-log",
        ("maxent",),
        "semisvm.estimators:TransductiveSVC",
        "transductive maxent: like tsvm, with the logistic loss and probabilities",
        MAXENT,
        (*SEMI, KERNEL, BALANCE),
        Cost(entry=1_500),
        fixed={"loss": "log"},
    ),
    Method(
        "entropy",
        ("er",),
        "semisvm.estimators:EntropyRegularizedClassifier",
        "maxent with low entropy on the unlabelled rows and class shares as constraints",
        MAXENT,
        (*SEMI, KERNEL, CONSTRAINT),
        Cost(entry=15_000),
    ),
    Method(
        "expectation",
        ("ec",),
        "semisvm.estimators:ExpectationConstrainedClassifier",
        "maxent whose mean probabilities on the unlabelled rows are the class shares",
        MAXENT,
        (REG, PRIOR, KERNEL, JOBS, CONSTRAINT),
        Cost(entry=1_000),
    ),
    Method(
        "posterior",
        ("pr",),
        "semisvm.estimators:PosteriorRegularizedClassifier",
        "maxent pulled towards soft labels that keep the class shares",
        MAXENT,
        (REG, PRIOR, KERNEL, JOBS, KL_WEIGHT),
        Cost(entry=1_500),
    ),
    Method(
        "rlp",
        ("robust-lp",),
        "semisvm.estimators:RobustLPC",
        "robust linear program on the labelled rows: fewest errors, then the least 1-norm",
        SUPERVISED,
        (KERNEL,),
        Cost(entry=500),
    ),
    Method(
        "onenorm",
        ("lp",),
        "semisvm.estimators:OneNormSVC",
        "supervised SVM with the 1-norm, a linear program: few weights that are not zero",
        SUPERVISED,
        (MU, KERNEL),
        Cost(entry=200),
    ),
    Method(
        "fsv",
        ("feature-selection",),
        "semisvm.estimators:FeatureSelectionSVC",
        "supervised SVM that pays for every feature it uses: fewer than the 1-norm; many labels",
        SUPERVISED,
        (MU, KERNEL),
        Cost(entry=1_000),
    ),
    Method(
        "vs3vm",
        ("concave",),
        "semisvm.estimators:ConcaveSVC",
        "concave S3VM by linear programs: few weights; for thousands of rows, not more",
        Suits(most_unlabeled=10_000),
        (MU, NU, PRIOR, KERNEL),
        Cost(entry=20_000),
    ),
    Method(
        "mip",
        ("s3vm",),
        "semisvm.estimators:MixedIntegerSVC",
        "S3VM as a mixed-integer program: the global optimum; for tens of unlabelled rows",
        Suits(most_unlabeled=100),
        (MU, NU, PRIOR, KERNEL, TIME_LIMIT, MIP_GAP, JOBS),
        Cost(entry=20_000, triple=20_000),
    ),
    Method(
        "cvs3vm",
        ("clustered",),
        "semisvm.estimators:ClusteredSVC",
        "vs3vm that chooses in Python which rows to label next; given labels, the same",
        Suits(most_unlabeled=10_000),
        (MU, NU, PRIOR, KERNEL),
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
        near = near_match(name, _by_name())
        hint = f" Did you mean {near!r}?" if near else ""
        names = ", ".join(method.name for method in METHODS)
        raise ValueError(f"there is no method {name!r}.{hint} The methods are {names}.")
    return found


def without_effect(
    method: Method, names: Iterable[str], others: Iterable[Method] = METHODS
) -> list[str]:
    """Say which given parameters have no effect, because the method does not have them.

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
        if method.parameter(name) is not None:
            continue
        having = [m.name for m in others if m.parameter(name) is not None]
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
    found = {method.estimator_name: method.estimator for method in METHODS}
    # not a method of one label
    return {**found, "MultiLabelSVC": "semisvm.estimators:MultiLabelSVC"}
