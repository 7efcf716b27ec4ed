"""A short report of a model, as text: what was chosen, how good it is, what is not known."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.estimators.class_shares import PRIORS, prior_source
from semisvm.model import Model
from semisvm.model_selection.intervals import held_out_interval
from semisvm.reporting.html import Markup, paragraph, tag
from semisvm.reporting.notebook import view
from semisvm.text import plain

MOST_SHOWN = 10
"""Classes, columns and notes in the text; the data have them all."""
CONFIDENCE = 0.95


@dataclass(frozen=True)
class ShortReport:
    """What is to be known of a fit.

    Attributes
    ----------
    data : dict
        Text, numbers, lists and dicts: ``chosen``, ``members``, ``held_out``, ``verdict``,
        ``shares``, ``shares_from``, ``rows``, ``labelled``, ``labels``, ``columns``, ``notes``.
    """

    data: dict[str, Any]

    def __str__(self) -> str:
        return "\n".join([*self._sentences(), *(f"- {note}" for note in self._notes())])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        """Return what notebooks show."""
        return str(report_view(self))

    def _sentences(self) -> Iterator[str]:
        data = self.data
        members = [f"{m['name']} {m['weight']:.0%}" for m in data["members"]]
        yield f"Chosen: {data['chosen']}" + (f" of {', '.join(members)}." if members else ".")
        held_out = data["held_out"]
        if held_out is None:
            yield "Accuracy: not known; with two labels or more of each class, some are held out."
        else:
            low, high = held_out["interval"]
            known = held_out["new_rows"]
            new = "" if known is None else f"; {known:.3f} on those that took no part in the fits"
            yield (
                f"Accuracy on held-out labels: {held_out['accuracy']:.3f} ({CONFIDENCE:.0%} "
                f"interval {low:.3f} to {high:.3f}, {held_out['n_labels']:,} labels){new}."
            )
        yield from data["verdict"]
        shares = _listed(data["shares"], lambda share: f"{share:.1%}")
        if shares:
            yield f"Class shares: {shares} ({data['shares_from']})."
        counts = _listed(data["labels"], lambda count: f"{count:,}")
        yield f"Rows: {data['rows']:,}, of which {data['labelled']:,} with a label: {counts}."
        if data["columns"]:
            few = len(data["columns"]) <= MOST_SHOWN
            kinds = Counter(data["columns"].values())
            counts = ", ".join(f"{count:,} {kind}" for kind, count in kinds.items())
            yield f"Columns: {_listed(data['columns'], str) if few else counts}."

    def _notes(self) -> list[str]:
        notes = self.data["notes"]
        rest = len(notes) - MOST_SHOWN
        return [*notes[:MOST_SHOWN], *([f"and {rest} more notes"] if rest > 0 else [])]


def _listed(entries: Mapping[str, Any], show: Any) -> str:
    shown = [f"{name} {show(value)}" for name, value in [*entries.items()][:MOST_SHOWN]]
    rest = len(entries) - len(shown)
    return ", ".join(shown) + (f" and {rest} more" if rest else "")


def short_report(model: Model) -> ShortReport:
    """Gather what is to be known of a fit.

    Parameters
    ----------
    model : Model
        Of one label per row.
    """
    summary, estimator = model.summary, model.estimator
    choice = summary.get("choice") or {}
    source = prior_source(estimator)
    shares = getattr(estimator, "class_prior_", None)
    used = source != "none" and shares is not None
    names = [str(label) for label in model.classes_.tolist()]
    verdict = (choice.get("methods") or {}).get("did_it_help")
    data = {
        "chosen": choice.get("name") or summary["method"],
        "members": _shares(choice.get("members", ())),
        "held_out": _held_out(model, choice),
        "verdict": _sentences(verdict) or list(choice.get("reasons", [])),
        "shares": dict(zip(names, np.asarray(shares).tolist(), strict=True)) if used else {},
        "shares_from": PRIORS[source],
        "rows": summary["rows"],
        "labelled": summary["labelled"],
        "labels": {str(label): count for label, count in summary["labels"].items()},
        "columns": {} if model.features is None else dict(model.features.kinds_),
        "notes": list(summary["notes"]),
    }
    made = plain(data)
    assert isinstance(made, dict)
    return ShortReport(made)


def _shares(members: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the names of the members of a committee, and their shares of the weight."""
    if len(members) == 1:
        return []  # one method, with a threshold or from another package
    total = sum(member["weight"] for member in members)
    return [{"name": m["name"], "weight": m["weight"] / total} for m in members]


def _held_out(model: Model, choice: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the accuracy on labels that were held out, to choose or to calibrate."""
    compared = choice.get("methods")
    if compared:
        own = next(m for m in compared["methods"] if m["name"] == choice["name"])
        return {
            "accuracy": own["mean"],
            "interval": own["interval"],
            "new_rows": own.get("new_rows"),
            "n_labels": compared["n_labeled"],
        }
    if model.conformal is None:
        return None
    right = model.conformal.scores < 0.0  # no other class scores better than the true one
    n_labels = model.summary.get("labelled", len(right))
    interval = held_out_interval(float(right.mean()), len(right), n_labels, CONFIDENCE)
    return {
        "accuracy": float(right.mean()),
        "interval": list(interval),
        "new_rows": None,
        "n_labels": len(right),
    }


def _sentences(verdict: Mapping[str, Any] | None) -> Sequence[str]:
    if verdict is None:
        return []
    return [verdict["sentence"], *([verdict["chance"]] if verdict.get("chance") else [])]


def report_view(report: ShortReport) -> Markup:
    """Show a short report."""
    notes = [tag("li", note) for note in report._notes()]
    return view(
        [paragraph(sentence) for sentence in report._sentences()],
        tag("ul", notes) if notes else None,
    )
