"""A report as one HTML file: its sections, each from its part of the data."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from semisvm._version import __version__
from semisvm.reporting.data import report_data
from semisvm.reporting.figures import (
    LEVELS,
    TEMPERATURE,
    comparison_parts,
    score_figure,
    trace_figure,
)
from semisvm.reporting.html import (
    Markup,
    card,
    paragraph,
    percent,
    show,
    style,
    table,
    tag,
    verdict_box,
)
from semisvm.tables.writing import write_text
from semisvm.text import counted, measured_time

Data = Mapping[str, Any]

BAR = 100.0
WIDEST, MOST_ERRORS = 8, 12
"""Maximum classes of a confusion table; else the length of the list of errors."""


def section(heading: str, *content: Any, name: str) -> Markup:
    """Make a section with a heading."""
    return tag("section", tag("h2", heading), *content, id=name)


def done(data: Data) -> Markup:
    """Describe what was done: data, labels, method."""
    facts, method = data["data"], data["method"]
    what = f": {method['summary']}" if method["summary"] else ""
    cards = [
        card(show(facts["rows"]), "rows"),
        card(show(facts["labelled"]), "with a label"),
        card(show(facts["unlabelled"]), "without"),
        card(show(len(data["classes"])), "classes"),
        card(show(facts["features"]), "features"),
        card(_seconds(facts["fit_seconds"]), "to fit"),
    ]
    line = paragraph("Method ", tag("strong", method["name"]), f" ({method['estimator']}){what}.")
    used = [tag("li", tag("b", name), f" as {kind}") for name, kind in facts["columns"].items()]
    columns = [paragraph("Columns used:"), tag("ul", used, class_="flat")] if used else None
    return section("What was done", tag("div", cards, class_="cards"), line, columns, name="done")


def _seconds(value: float | None) -> str:
    return "–" if value is None else measured_time(value)


def notes(data: Data) -> Markup | None:
    """List warnings and remarks."""
    if not data["notes"]:
        return None
    entries = [tag("li", note) for note in data["notes"]]
    return section("Warnings and notes", tag("ul", entries), name="notes")


def helped(data: Data) -> Markup:
    """Report whether the unlabelled rows helped, and which method to take."""
    heading = "Did the unlabelled rows help?"
    comparison = data["comparison"]
    if comparison is None:
        text = (
            "This was not tested: the model was fitted without a comparison. To find out, compare "
            "it with the supervised model by cross-validation on the labelled rows: ",
            tag("code", "semisvm compare"),
            " does so.",
        )
        return section(heading, paragraph(*text, kind="verdict untested"), name="help")
    verdict = comparison["did_it_help"]
    box = verdict_box(verdict)
    return section(heading, box, _other_method(data, verdict["recommended"]), name="help")


def _other_method(data: Data, recommended: str) -> Markup | None:
    fitted = set(data["method"]["compared_as"])
    names = {method["name"] for method in data["comparison"]["methods"]}
    if recommended in fitted or not fitted & names:
        return None
    return paragraph(f"This model was fitted with {data['method']['name']}, not with that one.")


def comparison(data: Data) -> Markup | None:
    """Show methods side by side."""
    found = data["comparison"]
    if found is None:
        return None
    return section("Comparison of methods", comparison_parts(found), name="comparison")


def trace(data: Data) -> Markup:
    """Show the course of the fit, and what the optimiser noted."""
    heading, found = "How the fit went", data["trace"]
    noted = tag("ul", [tag("li", note) for note in data["fit_notes"]])
    remarks = [paragraph("Notes of the fit:"), noted] if data["fit_notes"] else None
    if data["members"]:
        return section(heading, *_members(data), remarks, name="trace")
    if found is None:
        return section(heading, paragraph("The model has no trace."), remarks, name="trace")
    method = data["method"]
    rounds = "–" if method["rounds"] is None else counted(method["rounds"], "round")
    text = f"{rounds} to the objective {show(method['objective'])}."
    if any(LEVELS.get(phase) == TEMPERATURE for phase in found["phase"]):
        text += (
            " At a temperature the free energy falls. The figure has the objective of the best "
            "labels that keep the class shares, which may rise."
        )
    elif any(value is not None for value in found["value"]):
        text += (
            " At one level the objective falls; it may rise where the level changes, because the "
            "unlabelled rows then count for more."
        )
    return section(heading, paragraph(text), trace_figure(found), remarks, name="trace")


def _members(data: Data) -> list[Markup]:
    text = (
        f"{counted(len(data['members']), 'method')} were fitted to all rows. Their scores, each on "
        "the same scale, are added up with these weights, which come from held-out labels. Each "
        "method has an objective of its own."
    )
    rows = [
        [
            member["name"],
            percent(member["share"]),
            f"{member['estimator']}({show(member['parameters'])})",
            show(member["rounds"]),
            show(member["objective"]),
        ]
        for member in data["members"]
    ]
    header = ["method", "weight", "estimator", "rounds", "objective"]
    return [paragraph(text), table(header, rows, {1, 3, 4})]


def evaluated(data: Data) -> Markup | None:
    """Show results on rows with known labels: scores, confusion table, examples."""
    found = data["evaluation"]
    if found is None:
        return None
    low, high = found["interval"]
    text = (
        f"Accuracy {found['accuracy']:.3f} ({100 * found['confidence']:g}% interval {low:.3f} to "
        f"{high:.3f}) and macro F {found['macro_f']:.3f} on the {show(found['rows'])} labelled "
        f"rows of {found['file']}. {found['chance']['sentence']}"
    )
    names = list(found["classes"])
    scores = [
        [name, *(f"{entry[key]:.3f}" for key in ("precision", "recall", "f")), show(entry["rows"])]
        for name, entry in found["classes"].items()
    ]
    parts = [
        paragraph(text),
        tag("ul", [tag("li", note) for note in found.get("notes", [])])
        if found.get("notes")
        else None,
        table(["class", "precision", "recall", "F", "rows"], scores, {1, 2, 3, 4}),
        *_confusion(names, found["confusion"]),
        *_examples(found["examples"]),
    ]
    return section("Results on rows with known labels", *parts, name="evaluation")


def _confusion(names: list[str], counts: list[list[int]]) -> list[Markup]:
    """Show the confusion table, or the most frequent errors where classes are many."""
    if len(names) <= WIDEST:
        rows = [[name, *map(show, row)] for name, row in zip(names, counts, strict=True)]
        header = ["true class, and predicted:", *names]
        return [tag("h3", "Confusion table"), table(header, rows, set(range(1, len(header))))]
    errors = [
        (counts[i][j], true, predicted)
        for i, true in enumerate(names)
        for j, predicted in enumerate(names)
        if i != j and counts[i][j]
    ]
    most = sorted(errors, key=lambda error: -error[0])[:MOST_ERRORS]
    rows = [[true, predicted, show(count)] for count, true, predicted in most]
    return [
        tag("h3", "Most frequent errors"),
        table(["true class", "predicted", "rows"], rows, {2}),
    ]


def _examples(examples: list[Data]) -> list[Markup]:
    """Show example rows, wrong and correct ones apart."""
    parts = []
    kinds = {
        False: "Examples of errors, the surest first",
        True: "Examples of correct predictions, the surest first",
    }
    for right, heading in kinds.items():
        rows = [
            [
                f"row {example['row']:,}",
                example["true"],
                example["predicted"],
                percent(example["probability"]),
                example["cells"],
            ]
            for example in examples
            if example["right"] is right
        ]
        if rows:
            header = ["", "true class", "predicted", "probability", ""]
            parts += [tag("h3", heading), table(header, rows, {3}, class_="stacked")]
    return parts


def scores(data: Data) -> Markup:
    """Show where the unlabelled rows lie."""
    heading, found = "Where the unlabelled rows lie", data["scores"]
    if found is None:
        text = "The model holds no scores of unlabelled rows."
        return section(heading, paragraph(text), name="scores")
    text = "The solid line is the boundary between the classes. Few rows near it are a good sign: "
    text += "methods of this kind look for a gap between the rows."
    if found["margin"] is not None:
        text += f" {percent(found['inside'])} of the unlabelled rows are within the margin, which "
        text += "the broken lines show."
    names = [entry["name"] for entry in data["classes"]]
    return section(heading, paragraph(text), score_figure(found, names), name="scores")


def classes(data: Data) -> Markup:
    """Show labels, prior and found shares of every class."""
    rows = [
        [
            entry["name"],
            show(entry["labels"]),
            percent(entry["label_share"]),
            percent(entry["prior"]),
            show(entry["found"]),
            percent(entry["found_share"]),
        ]
        for entry in data["classes"]
    ]
    header = ["class", "labels", "of the labels", "share used", "predicted", "of the predictions"]
    text = (
        f"“Share used” is the class share among the unlabelled rows that the fit worked with: "
        f"{data['prior']}. “Predicted” counts the unlabelled rows by the class that the model "
        "predicts. If these shares differ from what you know about the data, set the class shares."
    )
    return section(
        "Classes", paragraph(text), table(header, rows, set(range(1, 6))), name="classes"
    )


def top(data: Data) -> Markup:
    """Show the most indicative features of each class."""
    largest = max((f["weight"] for e in data["top"] for f in e["features"]), default=1.0)
    cards = [
        tag("div", tag("h3", entry["class"]), _words(entry["features"], largest), class_="words")
        for entry in data["top"]
    ]
    return section(
        "Most indicative features per class",
        paragraph("The features with the largest weights; the bars show the weights."),
        tag("div", cards, class_="columns"),
        name="top",
    )


def _words(features: list[Data], largest: float) -> Markup:
    if not features:
        return paragraph("No feature indicates this class.", kind="quiet")
    rows = [
        tag(
            "li",
            tag("span", feature["name"], class_="word"),
            tag("i", class_="weight", style=f"width:{BAR * feature['weight'] / largest:.1f}px"),
            tag("span", f"{feature['weight']:.3g}", class_="value"),
        )
        for feature in features
    ]
    return tag("ol", rows)


def settings(data: Data) -> Markup:
    """List parameters, how the file was read, and versions."""
    rows = [
        [p["name"], show(p["value"]), "" if p["value"] == p["default"] else show(p["default"])]
        for p in data["parameters"]
    ]
    parts = [table(["parameter", "value", "default, where it differs"], rows, set())]
    if data["settings"]:
        listed = [[name, show(value)] for name, value in data["settings"].items()]
        parts.append(table(["how the data were read", ""], listed, set()))
    return section("Settings", *parts, name="settings")


def versions(data: Data) -> Markup:
    """List the versions of the packages."""
    entries = [tag("li", tag("b", name), f" {value}") for name, value in data["versions"].items()]
    return section("Versions", tag("ul", entries, class_="flat"), name="versions")


SECTIONS: tuple[Callable[[Data], Markup | None], ...] = (
    done,
    evaluated,
    helped,
    notes,
    comparison,
    classes,
    top,
    scores,
    trace,
    settings,
    versions,
)
"""In the order of a reader's questions."""


# Nothing may be fetched or run, whatever is in the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(data: Mapping[str, Any]) -> str:
    """Turn the data of a report into HTML.

    Parameters
    ----------
    data : mapping
        As of `report_data`, also after a round trip through JSON.

    Returns
    -------
    page : str
        Without scripts and external files; text of users is escaped.
    """
    sections = [made for made in (build(data) for build in SECTIONS) if made is not None]
    date = f"{data['created']} · " if data["created"] else ""
    header = tag("header", tag("h1", data["title"]), tag("p", f"{date}semisvm {__version__}"))
    body = tag("body", header, tag("main", sections))
    return f"<!DOCTYPE html>\n{tag('html', _head(data), body, lang='en')}\n"


def _head(data: Mapping[str, Any]) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", data["title"]),
        tag("style", Markup(style())),
    )


def write_report(
    model: Any, path: str | Path | BinaryIO, comparison: Any = None, **options: Any
) -> dict[str, Any]:
    """Write the report of a model to a file, which appears whole or not at all.

    Parameters
    ----------
    model : Model or fitted linear estimator of this package
    path : str, Path or binary stream
    comparison : Comparison or its ``to_dict()``, optional
    **options
        Of `report_data`.

    Returns
    -------
    data : dict
        The content of the report.
    """
    data = report_data(model, comparison, **options)
    page = render(data)
    with write_text(path) as stream:
        stream.write(page)
    return data
