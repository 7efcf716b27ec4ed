"""Labels from and for other tools: Label Studio and Prodigy.

Both keep a task for each row. Ours have the number of the row and a hash of its content, by which
answers find their rows again; tasks of others are found by the columns that they share with the
data.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.opening import open_text
from semisvm.tables.table import Table
from semisvm.tables.text_tables import parse, read_objects

LABEL_STUDIO, PRODIGY = "label-studio", "prodigy"
TOOLS = (LABEL_STUDIO, PRODIGY)
SUFFIXES = {LABEL_STUDIO: ".json", PRODIGY: ".jsonl"}
TASK = "task"
"""What a row of such a file is called in messages."""

ANSWERS = ("accept", "reject", "ignore")
OWN = {
    *("label", "answer", "accept", "options", "meta", "spans", "tokens", "relations", "config"),
    *("score", "priority", "html", "image"),
}
"""Keys of a task of Prodigy that are not cells of the row."""

CONTROL, SHOWN = "label", "text"
"""Names of the choices and of the text in the labelling interface of Label Studio."""

Task = Mapping[str, Any]
At = Callable[[str], DataError]


def read_tasks(path: str | Path, label: str) -> tuple[Table, list[Any]] | None:
    """Read tasks of Label Studio or Prodigy; None if a file is none of both.

    Parameters
    ----------
    path : str or Path
        A ``.json`` file is an export of Label Studio, as "JSON" or "JSON-MIN". A ``.jsonl`` file
        whose first object has an answer ("accept", "reject" or "ignore") is one of Prodigy.
    label : str
        Name of the label column, for exports with several choices.

    Returns
    -------
    table, labels
        The cells of the tasks, and a label or None for each.
    """
    suffix = Path(path).suffix.lower()
    if suffix == SUFFIXES[LABEL_STUDIO]:
        tasks = _array(path)
        found = [_studio_task(task, label, _at(path, k)) for k, task in enumerate(tasks)]
    elif suffix in (".jsonl", ".ndjson") and _is_prodigy(path):
        with open_text(path) as lines:
            tasks = [task for _, task in read_objects(lines, path)]
        found = [_prodigy_task(task, _at(path, k)) for k, task in enumerate(tasks)]
    else:
        return None
    return _table([cells for cells, _ in found], path), [answer for _, answer in found]


def _at(path: str | Path, number: int) -> At:
    """Return what makes the error for a task, counted from 0."""
    return lambda message: DataError(message, path, number + 1, word=TASK)


def _array(path: str | Path) -> list[Any]:
    with open_text(path) as stream:
        found = parse(stream.read(), path)
    if not isinstance(found, list) or not found:
        raise DataError(
            "answers in JSON are an export of Label Studio: an array of one task or more.", path
        )
    return found


def _is_prodigy(path: str | Path) -> bool:
    with open_text(path) as lines:
        for line in islice(lines, 100):
            if line.strip():
                try:
                    first = json.loads(line)
                except (ValueError, RecursionError):
                    return False
                return isinstance(first, dict) and first.get("answer") in ANSWERS
    return False


def _studio_task(task: Any, label: str, at: At) -> tuple[dict[str, Any], Any]:
    """Return the cells of a task, and what its annotators agree on."""
    if not isinstance(task, dict):
        raise at("this is not a task of Label Studio.")
    if "data" not in task:  # JSON-MIN: one level, with the label among the cells
        return _cells(task, {label}), _single(task.get(label), at)
    annotations = task.get("annotations") or ()
    if not isinstance(task["data"], dict) or not isinstance(annotations, (list, tuple)):
        raise at("this is not a task of Label Studio.")
    answers: dict[Any, None] = {}
    for annotation in annotations:
        if not isinstance(annotation, dict):
            raise at("the annotations of the task are not those of Label Studio.")
        answer = None if annotation.get("was_cancelled") else _choice(annotation, label, at)
        if answer is not None and annotation.get("ground_truth"):
            return _cells(task["data"]), answer
        if answer is not None:
            answers[answer] = None
    if len(answers) > 1:
        raise at(
            f"its annotators disagree: {', '.join(map(repr, answers))}. Delete all annotations but "
            "one, or mark one as ground truth."
        )
    return _cells(task["data"]), next(iter(answers), None)


def _choice(annotation: Task, label: str, at: At) -> Any:
    results = annotation.get("result") or []
    if not isinstance(results, list):
        raise at("the annotations of the task are not those of Label Studio.")
    named = {
        str(result.get("from_name")): result.get("value")
        for result in results
        if isinstance(result, dict) and result.get("type") == "choices"
    }
    if not named:
        return None
    if label not in named and len(named) > 1:
        raise at(
            f"there are choices named {', '.join(map(repr, named))}: name the one with the labels "
            "with label=."
        )
    return _single(named.get(label, next(iter(named.values()))), at)


def _single(found: Any, at: At) -> Any:
    """Return the one label of a row."""
    if isinstance(found, dict):
        found = found.get("choices")
    if isinstance(found, list):
        if len(found) > 1:
            raise at(
                f"it has {len(found)} labels, but a row has one: {', '.join(map(repr, found))}."
            )
        found = found[0] if found else None
    if isinstance(found, (list, dict)):
        raise at("its label is not text or a number.")
    return found


def _prodigy_task(task: Task, at: At) -> tuple[dict[str, Any], Any]:
    meta = task.get("meta")
    cells = {**_cells(meta if isinstance(meta, dict) else {}), **_cells(task, OWN)}
    if task.get("answer", "accept") != "accept":
        return cells, None
    return cells, _single(task.get("accept", task.get("label")), at)


def _cells(found: Task, left_out: Iterable[str] = ()) -> dict[str, Any]:
    """Return what are cells of a table."""
    return {
        str(name): value
        for name, value in found.items()
        if name not in left_out
        and not str(name).startswith("_")
        and not isinstance(value, (list, dict))
    }


def _table(rows: list[dict[str, Any]], path: str | Path) -> Table:
    names = dict.fromkeys(name for row in rows for name in row)
    columns: dict[str, Any] = {name: [row.get(name) for row in rows] for name in names}
    lines = np.arange(1, len(rows) + 1, dtype=np.int64)
    return Table(columns, None, str(path), lines, word=TASK)


def make_tasks(
    table: Table,
    labels: Sequence[Any],
    tool: str,
    text: str,
    classes: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Make tasks of rows, with their labels where they have one.

    Parameters
    ----------
    table : Table
        The cells to show, among them those that identify the rows.
    labels : sequence
        One per row; None for a row without.
    tool : {"label-studio", "prodigy"}
    text : str
        Column with the text that is to be read.
    classes : sequence of str
        Those to choose from; without any, the recipe of Prodigy has to name them.
    """
    make = _for_studio if tool == LABEL_STUDIO else _for_prodigy
    columns = {name: [_shown(cell) for cell in table.columns[name]] for name in table.names}
    rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    return [make(row, label, text, classes) for row, label in zip(rows, labels, strict=True)]


def _shown(cell: Any) -> Any:
    if is_missing(cell):
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


def _for_studio(
    row: dict[str, Any], label: Any, text: str, classes: Sequence[str]
) -> dict[str, Any]:
    if label is None:
        return {"data": row}
    chosen = {"choices": [str(label)]}
    result = {"from_name": CONTROL, "to_name": SHOWN, "type": "choices", "value": chosen}
    return {"data": row, "annotations": [{"result": [result]}]}


def _for_prodigy(
    row: dict[str, Any], label: Any, text: str, classes: Sequence[str]
) -> dict[str, Any]:
    rest = {name: cell for name, cell in row.items() if name != text}
    task: dict[str, Any] = {"text": str(row[text] or ""), "meta": rest}
    if classes:
        task["options"] = [{"id": name, "text": name} for name in classes]
    if label is not None:
        task |= {"accept": [str(label)], "answer": "accept"}
    return task


def studio_interface(text: str, classes: Sequence[str]) -> str:
    """Return the labelling interface of Label Studio in which `make_tasks` are shown."""
    choices = "".join(f"<Choice value={quoteattr(name)}/>" for name in classes)
    return (
        f'<View><Text name="{SHOWN}" value={quoteattr("$" + text)}/>'
        f'<Choices name="{CONTROL}" toName="{SHOWN}" choice="single">{choices}</Choices></View>'
    )
