"""Pieces that reports and notebooks share."""

from collections.abc import Mapping
from typing import Any

from semisvm.reporting.figures import comparison_figure
from semisvm.reporting.html import Markup, table, tag

Data = Mapping[str, Any]

HEADLINES = {
    "helped": "✓ Yes, they helped",
    "no evidence": "Not known yet",
    "hurt": "✗ No, they hurt",
}


def show(value: Any) -> str:
    """Write a value for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {show(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(show(item) for item in value)
    return str(value)


def percent(share: float | None) -> str:
    """Write a share."""
    return "–" if share is None else f"{100 * share:.1f}%"


def paragraph(*content: Any, kind: str | None = None) -> Markup:
    """Make a paragraph."""
    return tag("p", *content, class_=kind)


def card(value: str, name: str) -> Markup:
    """Make a card of a number and what it is."""
    return tag("div", tag("b", value), tag("span", name), class_="card")


def verdict_box(verdict: Data) -> Markup:
    """Show a verdict: a headline, and its sentences."""
    word = verdict["word"]
    told = [verdict["sentence"], *([verdict["chance"]] if verdict["chance"] else [])]
    head = paragraph(tag("strong", f"{HEADLINES[word]}."))
    kind = f"verdict {word.replace(' ', '-')}"
    return tag("div", head, [paragraph(text) for text in told], class_=kind)


def comparison_parts(found: Data) -> list[Markup]:
    """Show methods side by side: what was done, a figure and a table."""
    differences = {d["name"]: d for d in found["differences"]}
    rows = [_method_row(m, differences.get(m["name"])) for m in found["methods"]]
    confidence = f"{100 * found['confidence']:g}%"
    header = ["method", found["scoring"], f"{confidence} interval", "difference", "interval"]
    header += ["unlabelled rows", "seconds a fit"]
    text = (
        f"Cross-validated on the {show(found['n_labeled'])} labelled rows, all methods on the "
        f"same folds. Differences are relative to {found['baseline']}, the supervised method; "
        "their intervals hold for all methods at once."
    )
    return [paragraph(text), comparison_figure(found), table(header, rows, {1, 2, 3, 4, 6})]


def _method_row(method: Data, difference: Data | None) -> list[Any]:
    low, high = method["interval"]
    row = [method["name"], f"{method['mean']:.3f}", f"{low:.3f} to {high:.3f}"]
    seconds = f"{method['fit_seconds']:.3g}"
    if difference is None:
        return [*row, "–", "–", "supervised", seconds]
    low, high = difference["interval"]
    gap = [f"{difference['mean']:+.3f}", f"{low:+.3f} to {high:+.3f}"]
    return [*row, *gap, difference["verdict"], seconds]
