"""What was chosen: a method or a committee, with its parameters and the reasons in sentences."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from semisvm.estimators.registry import get
from semisvm.methods.weighing import SLOPE
from semisvm.model_selection.comparison import Comparison


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


def about_weights(name: str, shares: Mapping[str, float]) -> str:
    """Describe the method, or the members of the committee with their weights."""
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


def given_up(dropped: Mapping[str, str]) -> list[str]:
    """List what does not take part, with the reasons; nothing if all do."""
    listed = "; ".join(f"{name}, because {why}" for name, why in dropped.items())
    return [f"Given up: {listed}."] if listed else []


COMMITTEE = "committee"


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

    def make(self, **more: Any) -> Any:
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
