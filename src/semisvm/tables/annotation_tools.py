"""Labels from and for other tools: Label Studio, Prodigy, doccano and Argilla.

All keep a task for each row. Ours have the number of the row and a hash of its content, by which
answers find their rows again; tasks of others are found by the columns that they share with the
data.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import numpy as np

from semisvm.tables.errors import DataError, is_missing
from semisvm.tables.opening import open_text
from semisvm.tables.table import Table
from semisvm.tables.text_tables import parse, read_objects

LABEL_STUDIO, PRODIGY, DOCCANO, ARGILLA = "label-studio", "prodigy", "doccano", "argilla"
TOOLS = (LABEL_STUDIO, PRODIGY, DOCCANO, ARGILLA)
SUFFIXES = {LABEL_STUDIO: ".json", PRODIGY: ".jsonl", DOCCANO: ".jsonl", ARGILLA: ".json"}
TASK = "task"
"""What a row of such a file is called in messages."""

ANSWERS = ("accept", "reject", "ignore")
OWN = {
    *("label", "answer", "accept", "options", "meta", "spans", "tokens", "relations", "config"),
    *("score", "priority", "html", "image"),
}
"""Keys of a task of Prodigy that are not cells of the row."""

DOCCANO_OWN = {"id", "label", "Comments"}
"""Keys of doccano that are not cells of the row."""
DATA_ID = "data_id"
"""What the column ``id`` of the data is called in doccano, which has numbers of its own there."""

CONTROL, SHOWN = "label", "text"
"""Names of the choices and of the text in the labelling interface of Label Studio."""

Task = Mapping[str, Any]
At = Callable[[str], DataError]


@dataclass(frozen=True)
class ToolAnswer:
    """A label that somebody gave in another tool.

    Attributes
    ----------
    value : Any
    by : str or None
        Who gave it, as the tool names people.
    time : str or None
    is_truth : bool
        Whether it stands for all others of the row.
    """

    value: Any
    by: str | None = None
    time: str | None = None
    is_truth: bool = False


def read_tasks(path: str | Path, label: str) -> tuple[Table, list[Any]] | None:
    """Read tasks of another tool, of which each has one label; None if a file is of none.

    Parameters
    ----------
    path : str or Path
        See `read_tool_answers`.
    label : str
        Name of the label column, for exports with several choices.

    Returns
    -------
    table, labels
        The cells of the tasks, and a label or None for each.
    """
    found = read_tool_answers(path, label)
    if found is None:
        return None
    table, answers = found
    return table, [_agreed(given, _at(path, k)) for k, given in enumerate(answers)]


def _agreed(answers: list[ToolAnswer], at: At) -> Any:
    """Return what the annotators of a task agree on, or what is the truth."""
    truth = next((answer.value for answer in answers if answer.is_truth), None)
    values = list(dict.fromkeys(answer.value for answer in answers))
    if truth is None and len(values) > 1:
        raise at(
            f"its annotators disagree: {', '.join(map(repr, values))}. Delete all annotations but "
            "one, or mark one as ground truth."
        )
    return truth if truth is not None else next(iter(values), None)


def read_tool_answers(path: str | Path, label: str) -> tuple[Table, list[list[ToolAnswer]]] | None:
    """Read what people have answered in another tool; None if a file is of none.

    Parameters
    ----------
    path : str or Path
        A ``.json`` file is an export of Label Studio, as "JSON" or "JSON-MIN", or one of Argilla,
        if its records have fields and responses. A ``.jsonl`` file is one of Prodigy if its first
        object has an answer ("accept", "reject" or "ignore"), of Argilla if it has fields and
        responses, and of doccano if its label is a list.
    label : str
        Name of the label column, for exports with several choices.

    Returns
    -------
    table, answers
        The cells of the tasks, and the answers to each.
    """
    suffix = Path(path).suffix.lower()
    if suffix == ".json":
        tasks = _array(path)
        read = _argilla_record if _is_argilla(tasks[0]) else _studio_task
    elif suffix in (".jsonl", ".ndjson"):
        tool = _tool_of(path)
        if tool is None:
            return None
        read = {PRODIGY: _prodigy_task, ARGILLA: _argilla_record, DOCCANO: _doccano_line}[tool]
        with open_text(path) as lines:
            tasks = [task for _, task in read_objects(lines, path)]
    else:
        return None
    found = [read(task, label, _at(path, k)) for k, task in enumerate(tasks)]
    return _table([cells for cells, _ in found], path), [answers for _, answers in found]


def _at(path: str | Path, number: int) -> At:
    """Return what makes the error for a task, counted from 0."""
    return lambda message: DataError(message, path, number + 1, word=TASK)


def _array(path: str | Path) -> list[Any]:
    with open_text(path) as stream:
        found = parse(stream.read(), path)
    if not isinstance(found, list) or not found:
        raise DataError(
            "answers in JSON are an export of Label Studio or Argilla: an array of one task or "
            "more.",
            path,
        )
    return found


def _tool_of(path: str | Path) -> str | None:
    """Return whose lines a file has, by the first one."""
    with open_text(path) as lines:
        for line in islice(lines, 100):
            if line.strip():
                try:
                    first = json.loads(line)
                except (ValueError, RecursionError):
                    return None
                if not isinstance(first, dict):
                    return None
                if first.get("answer") in ANSWERS:
                    return PRODIGY
                if _is_argilla(first):
                    return ARGILLA
                return DOCCANO if isinstance(first.get("label"), list) else None
    return None


def _is_argilla(task: Any) -> bool:
    return isinstance(task, dict) and all(
        isinstance(task.get(name), dict) for name in ("fields", "responses")
    )


Read = tuple[dict[str, Any], list[ToolAnswer]]


def _studio_task(task: Any, label: str, at: At) -> Read:
    """Return the cells of a task, and the answers of its annotators."""
    if not isinstance(task, dict):
        raise at("this is not a task of Label Studio.")
    if "data" not in task:  # JSON-MIN: one level, with the label among the cells
        return _cells(task, {label}), _given(_single(task.get(label), at))
    annotations = task.get("annotations") or ()
    if not isinstance(task["data"], dict) or not isinstance(annotations, (list, tuple)):
        raise at("this is not a task of Label Studio.")
    answers: list[ToolAnswer] = []
    for annotation in annotations:
        if not isinstance(annotation, dict):
            raise at("the annotations of the task are not those of Label Studio.")
        if annotation.get("was_cancelled"):
            continue
        value, is_truth = _choice(annotation, label, at), bool(annotation.get("ground_truth"))
        about = (_studio_person(annotation), annotation.get("created_at"))
        answers += _given(value, *about, is_truth)
    return _cells(task["data"]), answers


def _given(
    value: Any, by: Any = None, time: Any = None, is_truth: bool = False
) -> list[ToolAnswer]:
    if value is None:
        return []
    who, when = (None if part is None else str(part) for part in (by, time))
    return [ToolAnswer(value, who, when, is_truth)]


def _studio_person(annotation: Task) -> Any:
    """Return who made an annotation: by the name that we gave, or as Label Studio does."""
    for result in annotation.get("result") or ():
        meta = result.get("meta") if isinstance(result, dict) else None
        named = meta.get("text") if isinstance(meta, dict) else None
        if isinstance(named, list) and named and isinstance(named[0], str):
            return named[0]
    by = annotation.get("completed_by")
    return by.get("email") or by.get("id") if isinstance(by, dict) else by


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


def _prodigy_task(task: Task, label: str, at: At) -> Read:
    meta = task.get("meta")
    cells = {**_cells(meta if isinstance(meta, dict) else {}), **_cells(task, OWN)}
    if task.get("answer", "accept") != "accept":
        return cells, []
    when = task.get("_timestamp")
    if isinstance(when, (int, float)):
        try:
            when = datetime.fromtimestamp(when, UTC).isoformat()
        except (OverflowError, OSError, ValueError):
            raise at(f"its _timestamp {when!r} is not a time.") from None
    value = _single(task.get("accept", task.get("label")), at)
    return cells, _given(value, task.get("_annotator_id"), when)


def _doccano_line(task: Task, label: str, at: At) -> Read:
    cells = _cells(task, DOCCANO_OWN)
    if DATA_ID in cells:
        cells["id"] = cells.pop(DATA_ID)
    return cells, _given(_single(task.get("label"), at))


def _argilla_record(task: Any, label: str, at: At) -> Read:
    if not _is_argilla(task):
        raise at("this is not a record of Argilla.")
    metadata = task.get("metadata")
    cells = {**_cells(task["fields"]), **_cells(metadata if isinstance(metadata, dict) else {})}
    named = task["responses"]
    if label not in named and len(named) > 1:
        raise at(
            f"there are questions named {', '.join(map(repr, named))}: name the one with the "
            "labels with label=."
        )
    answers: list[ToolAnswer] = []
    for response in named.get(label, next(iter(named.values()), None)) or ():
        if not isinstance(response, dict):
            raise at("the responses of the record are not those of Argilla.")
        if response.get("status", "submitted") == "submitted":
            answers += _given(_single(response.get("value"), at), response.get("user_id"))
    return cells, answers


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
    answers: Sequence[Sequence[ToolAnswer]] | None = None,
) -> list[dict[str, Any]]:
    """Make tasks of rows, with their labels where they have one.

    Parameters
    ----------
    table : Table
        The cells to show, among them those that identify the rows.
    labels : sequence
        One per row; None for a row without.
    tool : {"label-studio", "prodigy", "doccano", "argilla"}
    text : str
        Column with the text that is to be read.
    classes : sequence of str
        Those to choose from; without any, the recipe of Prodigy has to name them.
    answers : sequence of sequence of ToolAnswer, optional
        Who gave which label, per row. Label Studio and Argilla take all of them, the others the
        label of the row.
    """
    columns = {name: [_shown(cell) for cell in table.columns[name]] for name in table.names}
    rows = (dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True))
    given = answers or [_given(label) for label in labels]
    made = zip(rows, labels, given, strict=True)
    return [_MAKE[tool](row, label, list(said), text, classes) for row, label, said in made]


def _shown(cell: Any) -> Any:
    if is_missing(cell):
        return None
    return cell.item() if isinstance(cell, np.generic) else cell


Row = dict[str, Any]


def _for_studio(
    row: Row, label: Any, answers: list[ToolAnswer], text: str, classes: Sequence[str]
) -> Row:
    annotations = []
    for answer in answers:
        chosen = {"choices": [str(answer.value)]}
        result: Row = {"from_name": CONTROL, "to_name": SHOWN, "type": "choices", "value": chosen}
        about: Row = {} if answer.time is None else {"created_at": answer.time}
        about |= {"ground_truth": True} if answer.is_truth else {}
        if answer.by is not None:
            result["meta"] = {"text": [answer.by]}
        annotations.append({"result": [result], **about})
    return {"data": row, **({"annotations": annotations} if annotations else {})}


def _for_prodigy(
    row: Row, label: Any, answers: list[ToolAnswer], text: str, classes: Sequence[str]
) -> Row:
    rest = {name: cell for name, cell in row.items() if name != text}
    task: Row = {"text": str(row[text] or ""), "meta": rest}
    if classes:
        task["options"] = [{"id": name, "text": name} for name in classes]
    if label is not None:
        task |= {"accept": [str(label)], "answer": "accept"}
        by = next((answer.by for answer in answers if answer.value == label), None)
        task |= {} if by is None else {"_annotator_id": by}
    return task


def _for_doccano(
    row: Row, label: Any, answers: list[ToolAnswer], text: str, classes: Sequence[str]
) -> Row:
    rest = {DATA_ID if name == "id" else name: cell for name, cell in row.items() if name != text}
    return {"text": str(row[text] or ""), "label": [] if label is None else [str(label)], **rest}


def _for_argilla(
    row: Row, label: Any, answers: list[ToolAnswer], text: str, classes: Sequence[str]
) -> Row:
    rest = {name: cell for name, cell in row.items() if name != text and cell is not None}
    responses = [
        {"value": str(one.value), "user_id": str(uuid.uuid5(uuid.NAMESPACE_URL, one.by or ""))}
        for one in answers
        if not one.is_truth  # which is nobody's in particular, and would be a second answer
    ]
    found = {CONTROL: responses} if responses else {}
    return {"fields": {text: str(row[text] or "")}, "metadata": rest, "responses": found}


_MAKE = {
    LABEL_STUDIO: _for_studio,
    PRODIGY: _for_prodigy,
    DOCCANO: _for_doccano,
    ARGILLA: _for_argilla,
}


def studio_interface(text: str, classes: Sequence[str]) -> str:
    """Return the labelling interface of Label Studio in which `make_tasks` are shown."""
    choices = "".join(f"<Choice value={quoteattr(name)}/>" for name in classes)
    return (
        f'<View><Text name="{SHOWN}" value={quoteattr("$" + text)}/>'
        f'<Choices name="{CONTROL}" toName="{SHOWN}" choice="single">{choices}</Choices></View>'
    )
