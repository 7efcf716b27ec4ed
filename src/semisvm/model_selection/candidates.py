"""What is tried where a method is chosen, and what was chosen.

Tried are methods that differ, with a few settings each. Chosen is a method or a committee, with its
parameters and the reasons in sentences.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from semisvm.designs.costs import Cost, Size
from semisvm.designs.validation import typical_variance
from semisvm.estimators.foreign import ForeignClassifier
from semisvm.estimators.interop import takes_unlabeled
from semisvm.estimators.registry import Method, Suits, get, methods
from semisvm.estimators.scoring import ScoringClassifier
from semisvm.estimators.stacking import SLOPE
from semisvm.labels.partial import PartialLabels
from semisvm.losses import SQUARED_HINGE
from semisvm.maps.graph_laplacian import NEIGHBORS
from semisvm.maps.latent import LATENT, N_COMPONENTS
from semisvm.maps.left_out import MANY_COLUMNS
from semisvm.model_selection.comparison_result import Comparison
from semisvm.model_selection.intervals import Interval

COMMITTEE = "committee"
STRENGTH = 1.0 / 3.0
"""Regularisation, in units of the typical variance of the rows, that is tried besides the
default. For a table of few columns it is a hundred times the default, and much better; for
texts it is the default."""
APART = 3.0
"""Factor between two regularisations from which both are tried."""
MOST_KERNEL_ROWS = 3_000
"""Kernel features take a square matrix of the rows."""
RBF = {"kernel": "rbf", "gamma": "mean_distance"}
EVIDENCE = "evidence"
EVIDENCE_WEIGHTS = {"tsvm": (0.2, 1.0), "da": (0.2,)}
"""Weights of evidence that are tried, where there is any. All methods are tried without it too."""
LIKELIHOOD = "expectation", {"evidence_weight": 1.0, "constraint_weight": 0.0}
"""The method, and parameters, that maximises the likelihood of the evidence: a maxent classifier
trained on weak labels whose errors it knows. Neither margins nor class shares have a part in it."""
LIKELIHOOD_WEIGHT = 6.0
"""What it weighs in a committee before any label was held out: it was the best single candidate on
most sets, and few held-out labels do not show it."""
DIRECTIONS = Cost(entry=800.0)
"""Of latent directions, besides a fit to them."""


@dataclass(frozen=True)
class ForeignMethod(Method):
    """A classifier of another package in the place of a method.

    Attributes
    ----------
    estimator : classifier
    """

    estimator: Any = None

    @classmethod
    def of(cls, name: str, estimator: Any) -> "ForeignMethod":
        """Make it of a classifier under a name."""
        ForeignClassifier(estimator)._check_parameters()
        suits = Suits(needs_unlabeled=takes_unlabeled(estimator), uses_prior=False)
        summary = f"{type(estimator).__name__}, of another package"
        about = (name, (), ForeignClassifier.__name__, summary, suits, (), Cost())
        return cls(*about, estimator=estimator)

    def make(self, **parameters: Any) -> ScoringClassifier:
        """Make a member of a committee; threads are its own."""
        parameters.pop("n_jobs", None)
        return ForeignClassifier(self.estimator, **parameters)

    @property
    def takes_weights(self) -> bool:
        """Whether a fit takes weights of the rows."""
        return ForeignClassifier(self.estimator).takes_weights

    @property
    def takes_evidence(self) -> bool:
        """Whether a fit takes evidence about rows."""
        return False


@dataclass(frozen=True)
class Entry:
    """A method with settings.

    Attributes
    ----------
    name : str
        For people: the method, and what differs from its defaults.
    method : Method
    parameters : dict
        Of the estimator.
    seconds : float
        Rough estimate of the time of one fit.
    last_seconds : float
        The same for the fit to all rows, where only some are used to choose.
    weight : float
        In a committee, before any label was held out.
    uses_evidence : bool
        Whether evidence about unlabelled rows has a part in the fit.
    """

    name: str
    method: Method
    parameters: dict[str, Any] = field(default_factory=dict)
    seconds: float = 0.0
    last_seconds: float = 0.0
    weight: float = 1.0
    uses_evidence: bool = False

    @property
    def is_safe(self) -> bool:
        """Whether it rests on more than the structure of the unlabelled rows."""
        return self.uses_evidence or not self.method.suits.needs_unlabeled

    def make(self, unlabeled: Any, **more: Any) -> Any:
        """Make the estimator."""
        return self.method.make(unlabeled=unlabeled, **self.parameters, **more)


def pool(X: Any, labels: PartialLabels, given: Mapping[str, Any]) -> list[Entry]:
    """List what suits the data, the supervised method first.

    Parameters
    ----------
    X : validated rows
        All, or some that stand for all.
    labels : PartialLabels
        Of all rows.
    given : mapping
        Parameters that the user has set: each goes to the methods that have it, and is not
        varied.
    """
    size = Size.of(X, len(labels.classes))
    full = size.with_rows(len(labels.codes))
    suited = None if "reg" in given else suited_reg(X)
    found: list[Entry] = []
    for method in candidates(labels):
        fixed = accepted(method, given)
        seconds, last = method.cost.seconds(size), method.cost.seconds(full)
        varied = method.takes_evidence and "evidence_weight" not in fixed
        if labels.evidence is not None and varied:
            found += _with_evidence(method, fixed, seconds, last)
            fixed = {**fixed, "evidence_weight": 0.0}
        found.append(Entry(method.name, method, fixed, seconds, last))
        if "reg" in method.varies and suited is not None:
            name = f"{method.name} reg={suited:g}"
            parameters = {**fixed, "reg": suited}
            found.append(Entry(name, method, parameters, seconds, last))
        if "kernel" not in given:
            found += _other_kernels(method, fixed, size, full)
    if labels.evidence is not None:
        if "evidence_weight" not in given:
            found.append(_of_likelihood(given, size, full))
        found = [replace(entry, uses_evidence=_weighs_evidence(entry)) for entry in found]
    # the cheap ones first, so that slow ones are tried while there is time
    return [found[0], *sorted(found[1:], key=lambda entry: entry.seconds)]


def _other_kernels(
    method: Method, fixed: dict[str, Any], size: Size, full: Size
) -> Iterator[Entry]:
    """Yield what is tried of a method besides its own kernel, or graph."""
    name, cost, wide = method.name, method.cost, has_directions(size)
    if wide and "latent" in method.varies:
        times = (_latent_seconds(method, size), _latent_seconds(method, full))
        yield Entry(f"{name} latent", method, {**fixed, **along(method)}, *times)
    elif "rbf" in method.varies and _takes_kernel(full):
        times = (3.0 * cost.seconds(size), 3.0 * cost.seconds(full))
        yield Entry(f"{name} rbf", method, {**fixed, **RBF}, *times)


def _with_evidence(
    method: Method, fixed: dict[str, Any], seconds: float, last: float
) -> Iterator[Entry]:
    """Yield the ways to use evidence that are tried of a method."""
    for value in EVIDENCE_WEIGHTS.get(method.name, ()):
        name = f"{method.name} {EVIDENCE}={value:g}"
        parameters = {**fixed, "evidence_weight": value}
        yield Entry(name, method, parameters, seconds, last)


def _of_likelihood(given: Mapping[str, Any], size: Size, full: Size) -> Entry:
    """Return the maxent classifier of the evidence."""
    name, own = LIKELIHOOD
    method = get(name)
    parameters = {**accepted(method, given), **own}
    times = (method.cost.seconds(size), method.cost.seconds(full))
    return Entry(f"maxent {EVIDENCE}", method, parameters, *times, LIKELIHOOD_WEIGHT)


def _weighs_evidence(entry: Entry) -> bool:
    return entry.method.takes_evidence and entry.parameters.get("evidence_weight") != 0.0


def has_directions(size: Size) -> bool:
    """Return whether rows have many more directions than those that are taken."""
    return min(size.n_rows, size.n_columns) >= MANY_COLUMNS


def along(method: Method) -> dict[str, Any]:
    """Return the parameters with which a method works along latent directions."""
    number = {"n_components": N_COMPONENTS}
    # where neighbours are the kernel, they are those along the directions
    return number if method.default("kernel") == NEIGHBORS else {"kernel": LATENT, **number}


def _latent_seconds(method: Method, size: Size) -> float:
    n, columns = size.n_rows, N_COMPONENTS
    features = replace(size, n_columns=columns, n_entries=n * columns, is_sparse=False)
    return DIRECTIONS.seconds(replace(size, n_classes=2)) + method.cost.seconds(features)


def suited_reg(X: Any) -> float | None:
    """Return a regularisation that suits the variance of the rows; None if the default does.

    Parameters
    ----------
    X : validated rows
    """
    found = float(f"{STRENGTH * typical_variance(X):.2g}")
    usual = SQUARED_HINGE.default_reg
    return None if usual / APART < found < usual * APART or found == 0.0 else found


def candidates(labels: PartialLabels) -> list[Method]:
    """List the methods to choose from, the supervised one first."""
    n = len(labels.unlabeled)
    return [method for method in methods() if method.auto and method.misfit(n) is None]


def accepted(method: Method, given: Mapping[str, Any]) -> dict[str, Any]:
    """Keep the given parameters that the method has."""
    return {name: value for name, value in given.items() if name in method.parameters}


def _takes_kernel(size: Size) -> bool:
    return size.suits_array and size.n_rows <= MOST_KERNEL_ROWS


def about_scores(found: Comparison) -> str:
    """List the mean score of everything that was tried."""
    tried = ", ".join(f"{m.name} {m.mean:.3f}" for m in found.methods)
    return f"Mean {found.scoring} on labels that were held out: {tried}.{_about_parts(found)}"


def _about_parts(found: Comparison) -> str:
    """Return the scores of the chosen one on new rows and on rows of the fit, if both are known."""
    if found.chosen is None:
        return ""
    own = found[found.chosen]
    if own.new_rows is None or own.fit_rows is None:
        return ""
    return (
        f" Half of them took no part in the fit: {own.name} {own.new_rows:.3f} on these, "
        f"{own.fit_rows:.3f} on the others."
    )


def about_weights(name: str, shares: Mapping[str, float], doubt: str | None = None) -> str:
    """Describe the method, or the members of the committee with their weights.

    Parameters
    ----------
    name : str
        Of the method, or "committee".
    shares : mapping of str to float
        Weights of the methods that took part, with the sum 1.
    doubt : str, optional
        Why only supervised methods took part.
    """
    if doubt:
        kinds = "supervised methods" + (" and evidence" if EVIDENCE in "".join(shares) else "")
        used = f"Only {kinds} are used here ({', '.join(shares)}), because {doubt}."
        return f"{used} {about_weights(name, shares)}" if len(shares) > 1 else used
    if name == COMMITTEE:
        kept = sorted((share, member) for member, share in shares.items() if share > 0.0)[::-1]
        weights = ", ".join(f"{member} {share:.0%}" for share, member in kept)
        return f"No method was clearly the best, so they decide together, with weights {weights}."
    if len(shares) == 1:
        return f"{name} decides alone: no other method was tried to the end."
    return (
        f"{name} decides alone: it was the surest of the held-out labels, and all others together "
        f"would have {1.0 - shares[name]:.0%} of the weight in a committee."
    )


def about_evidence(what: str, gain: float, interval: Interval, confidence: float) -> str:
    """Describe what evidence was worth.

    Parameters
    ----------
    what : str
        The evidence, in a clause that begins the sentence.
    gain : float
        Accuracy on held-out labels with it, minus that without it.
    interval : pair of floats
        For the gain.
    confidence : float
        Of the interval.
    """
    low, high = interval
    worth = (
        "helps" if low > 0.0 else "does harm" if high < 0.0 else "makes no difference that shows"
    )
    numbers = (
        f"{100 * gain:+.1f} points, {confidence:.0%} interval {100 * low:+.1f} to {100 * high:+.1f}"
    )
    return f"{what}; using this {worth} on held-out labels ({numbers})."


def given_up(dropped: Mapping[str, str]) -> list[str]:
    """List what does not take part, with the reasons; nothing if all do."""
    listed = "; ".join(f"{name}, because {why}" for name, why in dropped.items())
    return [f"Given up: {listed}."] if listed else []


@dataclass(frozen=True)
class Member:
    """A method of a committee: its name, method of the registry, parameters and weight."""

    name: str
    method: str
    parameters: dict[str, Any]
    weight: float


@dataclass(frozen=True)
class Choice:
    """What was chosen, and why.

    Attributes
    ----------
    method : str
        A name of `semisvm.estimators.registry`; "committee" for several.
    parameters : dict
        Of its estimator: the given ones and the chosen ones.
    reasons : tuple of str
        Sentences.
    ignored : tuple of str
        Names of given parameters that nothing chosen has.
    notes : tuple of str
        Sentences about them.
    members : tuple of Member
        Of a committee.
    methods : Comparison or None
        What was tried, and the committee; None where nothing was compared.
    skipped : dict
        What was left out or given up, with the reason.
    cost : str
        A sentence about the time that the choice took; empty where nothing was compared.
    name : str
        What was chosen, as ``methods`` calls it, such as "svm reg=0.09".
    weight : float
        Slope of the probabilities of a single method, in units of the spread of its scores.
    """

    method: str
    parameters: dict[str, Any]
    reasons: tuple[str, ...]
    ignored: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    members: tuple[Member, ...] = ()
    methods: Comparison | None = field(default=None, repr=False)
    skipped: dict[str, str] = field(default_factory=dict, repr=False)
    cost: str = ""
    name: str = ""
    weight: float = SLOPE

    def make(self, **more: Any) -> ScoringClassifier:
        """Make the estimator, not fitted; it has ``predict_proba``.

        A method that has no probabilities of its own is the only member of a committee, with the
        slope that the held-out labels suggest.

        Parameters
        ----------
        **more
            Further parameters, such as ``unlabeled``.
        """
        found = get(self.method).make(**{**self.parameters, **more})
        if hasattr(found, "predict_proba"):
            return found
        own = {name: more[name] for name in ("unlabeled", "n_jobs") if name in more}
        members = [(self.name or self.method, found)]
        return get(COMMITTEE).make(estimators=members, weights=[self.weight], **own)

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        from semisvm.reporting.notebook import choice_view

        return str(choice_view(self))

    def to_dict(self) -> dict[str, Any]:
        """Return everything as dicts, lists, strings and numbers, for JSON."""
        parameters = {
            k: v for k, v in self.parameters.items() if k not in ("estimators", "weights")
        }
        return {
            "method": self.method,
            "name": self.name,
            "parameters": parameters,
            "members": [dict(vars(member)) for member in self.members],
            "reasons": list(self.reasons),
            "ignored": list(self.ignored),
            "notes": list(self.notes),
            "methods": None if self.methods is None else self.methods.to_dict(),
            "skipped": dict(self.skipped),
            "cost": self.cost,
            "weight": self.weight,
        }
