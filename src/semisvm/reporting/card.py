"""A model card: the content of a report in Markdown, under the headings usual for cards."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from semisvm.reporting.data import report_data
from semisvm.reporting.html import percent, show
from semisvm.tables.writing import write_text

Data = Mapping[str, Any]

MOST_CLASSES = 30
"""Rows of the table of classes; a card is read by people."""
NOT_SHOWN = ("unlabeled",)
"""Parameters about the form of the labels, not about the model."""
SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~&])")
CAVEATS = (
    "Every row gets one of the classes above, also a row that belongs to none of them, or that is "
    "unlike all rows of the training.",
    "Unlabelled rows help if the boundary between the classes runs where rows are few. Where that "
    "is not so, they can hurt; see the metrics.",
    "Accuracy was estimated on labelled rows. If these were not drawn at random, it may differ on "
    "other rows.",
)


def escaped(value: Any) -> str:
    """Write text of users so that Markdown shows it as it is, on one line."""
    return SPECIAL.sub(r"\\\1", " ".join(show(value).split()))


def render_card(data: Data) -> str:
    """Turn the data of a report into a model card.

    Parameters
    ----------
    data : mapping
        As of `report_data`, also after a round trip through JSON.
    """
    parts = [f"# {escaped(data['title'])}"]
    for heading, build in SECTIONS.items():
        parts += [f"## {heading}", *build(data)]
    return "\n\n".join(parts) + "\n"


def write_card(model: Any, path: str | Path | BinaryIO, **options: Any) -> dict[str, Any]:
    """Write the card of a model to a Markdown file; return the data that it is made of.

    Parameters
    ----------
    model : Model or fitted linear estimator of this package
    path : str, Path or binary stream
    **options
        Of `report_data`, such as ``title`` and ``comparison``.
    """
    data = report_data(model, **options)
    with write_text(path) as stream:
        stream.write(render_card(data))
    return data


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(entries: Iterable[str]) -> str:
    return "\n".join(f"- {entry}" for entry in entries)


def _details(data: Data) -> list[str]:
    method, facts = data["method"], data["data"]
    what = f": {escaped(method['summary'])}" if method["summary"] else ""
    changed = [p for p in data["parameters"] if p["value"] != p["default"]]
    set_to = ", ".join(
        f"{escaped(p['name'])} = {escaped(p['value'])}"
        for p in changed
        if p["name"] not in NOT_SHOWN
    )
    versions = ", ".join(f"{escaped(k)} {escaped(v)}" for k, v in data["versions"].items())
    facts = {
        "Method": f"{escaped(method['name'])} ({escaped(method['estimator'])}){what}",
        **({"Members": _members(data)} if data["members"] else {}),
        "Kind": f"semi-supervised classifier, {len(data['classes'])} classes, "
        f"{show(facts['features'])} features",
        "Parameters that differ from the defaults": set_to or "none",
        "Date": escaped(data["created"]) if data["created"] else "not recorded",
        "Made with": versions,
    }
    return [_list(f"{name}: {value}" for name, value in facts.items())]


def _members(data: Data) -> str:
    return ", ".join(f"{escaped(m['name'])} {percent(m['share'])}" for m in data["members"])


def _use(data: Data) -> list[str]:
    names = [escaped(entry["name"]) for entry in data["classes"]]
    listed = ", ".join(names[:MOST_CLASSES])
    more = f" and {len(names) - MOST_CLASSES} more" if len(names) > MOST_CLASSES else ""
    columns = ", ".join(f"{escaped(n)} ({escaped(k)})" for n, k in data["data"]["columns"].items())
    given = f"rows with the columns {columns}" if columns else "rows of a matrix"
    return [
        f"The model assigns {given} to one of the classes {listed}{more}.",
        "It is meant for rows from the source of the training rows. Who it is for, which decisions "
        "rest on it and what an error costs are not in the model file: add them here before you "
        "pass the card on.",
    ]


def _training(data: Data) -> list[str]:
    facts = data["data"]
    sentence = (
        f"{show(facts['rows'])} rows, of which {show(facts['labelled'])} have a label and "
        f"{show(facts['unlabelled'])} have none; both were used. “Share used” is the class share "
        f"among the unlabelled rows that the fit worked with: {data['prior']}. “Predicted” is the "
        "share of the unlabelled rows for which the model predicts the class."
    )
    rows = [
        [
            escaped(e["name"]),
            show(e["labels"]),
            percent(e["label_share"]),
            percent(e["prior"]),
            percent(e["found_share"]),
        ]
        for e in data["classes"][:MOST_CLASSES]
    ]
    header = ["class", "labels", "of the labels", "share used", "predicted"]
    return [sentence, _table(header, rows)]


def _metrics(data: Data) -> list[str]:
    found = data["comparison"]
    if found is None and data["evaluation"] is not None:
        return _evaluated(data)
    if found is None:
        return [
            "Not measured: the model was fitted without a comparison. `semisvm evaluate` measures "
            "it on rows with labels, `semisvm compare` by cross-validation."
        ]
    confidence = f"{100 * found['confidence']:g}%"
    fitted = set(data["method"]["compared_as"])
    rows = []
    for method in found["methods"]:
        low, high = method["interval"]
        name = escaped(method["name"])
        name = f"**{name}** (this model)" if method["name"] in fitted else name
        rows.append([name, f"{method['mean']:.3f}", f"{low:.3f} to {high:.3f}"])
    sentence = (
        f"Cross-validated on the {show(found['n_labeled'])} labelled rows; no model was "
        "judged by labels that it was trained with."
    )
    header = ["method", escaped(found["scoring"]), f"{confidence} interval"]
    verdict = found["did_it_help"]
    verdicts = [verdict["sentence"], *([verdict["chance"]] if verdict["chance"] else [])]
    return [*_evaluated(data), sentence, _table(header, rows), *map(escaped, verdicts)]


def _evaluated(data: Data) -> list[str]:
    """Return the results on rows with known labels, with the confusion table."""
    found = data["evaluation"]
    if found is None:
        return []
    low, high = found["interval"]
    sentence = (
        f"On the {show(found['rows'])} labelled rows of {escaped(found['file'])}: accuracy "
        f"{found['accuracy']:.3f} ({100 * found['confidence']:g}% interval {low:.3f} to "
        f"{high:.3f}), macro F {found['macro_f']:.3f}. {escaped(found['chance']['sentence'])}"
    )
    names = [escaped(name) for name in found["classes"]]
    if len(names) > MOST_CLASSES:
        return [sentence]
    counts = zip(names, found["confusion"], strict=True)
    rows = [[name, *map(show, row)] for name, row in counts]
    return [sentence, _table(["true class, and predicted:", *names], rows)]


def _caveats(data: Data) -> list[str]:
    # what the optimiser noted comes last
    noted = [*data["notes"], *data["fit_notes"]]
    return [_list([*CAVEATS, *map(escaped, noted)])]


SECTIONS: dict[str, Callable[[Data], list[str]]] = {
    "Model details": _details,
    "Intended use": _use,
    "Training data": _training,
    "Metrics": _metrics,
    "Caveats": _caveats,
}
