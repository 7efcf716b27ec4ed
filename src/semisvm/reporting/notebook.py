"""What notebooks show of traces, comparisons, choices and fitted estimators.

The pieces are those of the report. All text comes from data and is escaped; there are no scripts,
and nothing is fetched.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from semisvm.reporting.figures import LEVELS, comparison_parts, runs, trace_data, trace_figure
from semisvm.reporting.html import (
    DIAGRAM,
    VIEW,
    Markup,
    diagram_style,
    paragraph,
    percent,
    show,
    table,
    tag,
    verdict_box,
    view_style,
)
from semisvm.text import counted, measured_time, plain

ROUNDS = 200
MOST_ROWS = 20
MOST_NOTES = 10


def view(*content: Any) -> Markup:
    """Make a part of a notebook, with its style."""
    return tag("div", tag("style", Markup(view_style())), *content, class_=VIEW)


def diagram_view(diagram: str) -> Markup:
    """Hold a diagram of scikit-learn, which follows the page then."""
    return tag("div", tag("style", Markup(diagram_style())), Markup(diagram), class_=DIAGRAM)


def trace_view(trace: Any) -> Markup:
    """Show a `Trace`."""
    return view(tag("h3", "Trace"), _trace_parts(trace))


def _trace_parts(trace: Any) -> list[Any]:
    if len(trace) == 0:
        return [paragraph("No rounds."), _notes(trace.notes)]
    drawn = trace_figure(plain(trace_data(trace, ROUNDS)))
    last = trace.rows[-1]
    facts = [counted(len(trace), "round")]
    if "passes" in last:
        facts.append(f"{last['passes']:.3g} passes over the rows")
    if "seconds" in last:
        facts.append(measured_time(float(last["seconds"])))
    return [paragraph(", ".join(facts), "."), drawn, _phase_table(trace), _notes(trace.notes)]


def _phase_table(trace: Any) -> Markup:
    """List the phases: rounds, levels, objective at their ends."""
    rows, phases = [], [str(row.get("phase", "")) for row in trace.rows]
    for name, part in runs(phases):
        own = trace.rows[part]
        levels = list(dict.fromkeys(row["value"] for row in own if _is_number(row.get("value"))))
        span = show(levels[0]) if len(levels) == 1 else "–"
        if len(levels) > 1:
            span = f"{show(levels[0])} to {show(levels[-1])}"
        what = f" ({LEVELS[name]})" if levels and name in LEVELS else ""
        rows.append([name, show(len(own)), span + what, show(own[-1].get("objective"))])
    header = ["phase", "rounds", "levels", "objective"]
    return table(header, _few(rows), {1, 3})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and bool(np.isfinite(value))


def _few(rows: list[list[Any]]) -> list[list[Any]]:
    """Leave out rows in the middle of a long table."""
    if len(rows) <= MOST_ROWS:
        return rows
    half, gap = MOST_ROWS // 2, [""] * (len(rows[0]) - 1)
    left = f"… {len(rows) - MOST_ROWS} more …"
    return [*rows[:half], [left, *gap], *rows[-half:]]


def _notes(notes: Sequence[str]) -> Markup | None:
    if not notes:
        return None
    shown = [tag("li", note) for note in notes[:MOST_NOTES]]
    if len(notes) > MOST_NOTES:
        shown.append(tag("li", f"and {len(notes) - MOST_NOTES} more"))
    return tag("ul", shown)


def comparison_view(comparison: Any) -> Markup:
    """Show a `Comparison`."""
    data = plain(comparison.to_dict())
    return view(
        tag("h3", "Did the unlabelled rows help?"),
        verdict_box(data["did_it_help"]),
        comparison_parts(data),
    )


def choice_view(choice: Any) -> Markup:
    """Show a `Choice`."""
    data = plain(choice.to_dict())
    parameters = [[name, show(value)] for name, value in data["parameters"].items()]
    members = [[m["name"], m["method"], f"{m['weight']:.3g}"] for m in data["members"]]
    skipped = [tag("li", tag("b", name), f": {why}") for name, why in data["skipped"].items()]
    return view(
        tag("h3", "Chosen: ", data["method"]),
        tag("ul", [tag("li", reason) for reason in [*data["reasons"], *data["notes"]]]),
        table(["parameter", "value"], parameters, set()) if parameters else None,
        table(["member", "method", "weight"], members, {2}) if members else None,
        [paragraph("Left out:"), tag("ul", skipped)] if skipped else None,
        comparison_parts(data["methods"]) if data["methods"] else None,
        paragraph(data["cost"], kind="quiet") if data["cost"] else None,
    )


def estimator_view(estimator: Any) -> Markup:
    """Show what the fit of an estimator found: classes, shares, and its course."""
    facts = [
        ["objective", _range(estimator.objective_)],
        ["rounds", _range(estimator.n_iter_)],
        ["features", show(int(estimator.n_features_in_))],
    ]
    if hasattr(estimator, "reg_"):
        facts.append(["regularisation", show(float(estimator.reg_))])
    return view(
        tag("h3", f"Fitted {type(estimator).__name__}"),
        table(["", ""], facts, {1}),
        _class_table(estimator),
        tag("details", tag("summary", "How the fit went"), _trace_parts(estimator.trace_)),
    )


def _range(values: Any) -> str:
    """Write a number, or the smallest and the largest of several."""
    found = np.atleast_1d(values)
    ends = [show(value) for value in dict.fromkeys([found.min().item(), found.max().item()])]
    return " to ".join(ends)


def _class_table(estimator: Any) -> Markup | None:
    names = getattr(estimator, "label_names_", None)
    several = names is not None
    names = np.asarray(estimator.classes_ if names is None else names)
    shares = np.asarray(estimator.class_prior_)
    errors = getattr(estimator, "class_prior_std_", None)
    rows = []
    for k, name in enumerate(names.tolist()):
        sure = "" if errors is None or not errors[k] else f" ± {percent(float(errors[k]))}"
        rows.append([name, f"{percent(float(shares[k]))}{sure}"])
    first = "label" if several else "class"
    return table([first, "share among the unlabelled rows"], _few(rows), {1})
