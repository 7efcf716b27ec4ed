"""``semisvm answers``: labels from one tool to another; and the option ``--to``."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.inputs import Answered, Answers, FileFormat, Key, LabelledFile, Marks
from semisvm.cli.messages import UserError
from semisvm.cli.outputs import Output, file_option
from semisvm.cli.printing import print_line, print_notes
from semisvm.text import visible_json

if TYPE_CHECKING:
    from semisvm.tables.table import MatrixData, Table

Tool = Annotated[
    str | None,
    typer.Option(
        "--to",
        metavar="TOOL",
        help="Write tasks for another tool: label-studio (.json) or prodigy (.jsonl).",
    ),
]


def check_tool(tool: str | None, output: Output | None) -> None:
    """Refuse an unknown tool, or a file that has another format."""
    from semisvm.tables.annotation_tools import SUFFIXES, TOOLS

    if tool is None:
        return
    if tool not in TOOLS:
        raise UserError(f"--to must be one of {', '.join(TOOLS)}, not {tool!r}.")
    if output is None or output.is_standard or output.path.suffix.lower() != SUFFIXES[tool]:
        raise UserError(f"tasks for {tool} are written to a {SUFFIXES[tool]} file: name one.")


def text_of(data: "Table | MatrixData", text: list[str] | None) -> str:
    """Return the column that is to be read: a given one, or the first that looks like text."""
    from semisvm.tables.row_vectors import text_columns
    from semisvm.tables.table import Table

    if not isinstance(data, Table):
        raise UserError(f"tasks are made of tables, but {data.path} is a matrix.")
    found = text or text_columns(data)
    if not found:
        raise UserError("no column looks like text: name the one to be read with --text.")
    data.column(found[0])
    return found[0]


def write_tasks(output: Output, tasks: Sequence[dict[str, Any]], tool: str) -> None:
    """Write tasks: one array, or one object per line, as the tool reads them."""
    from semisvm.tables.annotation_tools import SUFFIXES

    lines = [visible_json(json.dumps(task, ensure_ascii=False)) for task in tasks]
    with output.text() as stream:
        if SUFFIXES[tool] == ".json":
            stream.write("[\n" + ",\n".join(lines) + "\n]\n")
        else:
            stream.writelines(f"{line}\n" for line in lines)


def about_tool(tool: str, text: str, classes: Sequence[str]) -> str:
    """Describe how the tool shows the tasks."""
    from semisvm.tables.annotation_tools import ARGILLA, DOCCANO, LABEL_STUDIO, studio_interface

    if tool == LABEL_STUDIO:
        named = classes or ["your first class", "your second class"]
        return f"the labelling interface for Label Studio: {studio_interface(text, named)}"
    named = ",".join(classes) or "A,B"
    if tool == DOCCANO:
        return f"doccano imports the file as JSONL into a text classification with labels {named}."
    if tool == ARGILLA:
        return (
            f"rg.Dataset.records.from_json reads the file; the dataset has a text field {text!r} "
            f"and a LabelQuestion 'label' with labels {named}."
        )
    return (
        "in Prodigy the recipe textcat.manual with --exclusive and --label "
        f"{named} asks for the labels, and db-out writes the file to read back."
    )


def answers(
    data: shared.Data,
    output: Annotated[
        Output,
        file_option(
            "-o",
            "--output",
            help="File to write: .csv for --answers of other commands, or of the format of --to.",
        ),
    ],
    *,
    answers: Answers = None,
    to: Tool = None,
    label: shared.Label = None,
    key: Key = None,
    text: shared.Text = None,
    marks: Marks,
    form: FileFormat,
) -> None:
    """Take the labels of a file and of --answers to another tool.

    Reads answers of 'semisvm label' and 'select', and exports of Label Studio (.json) and Prodigy
    (.jsonl). All rows that have a label are written.
    """
    from semisvm.tables.labels import label_texts

    check_tool(to, output)
    if to is None and output.path.suffix.lower() != ".csv":
        raise UserError(
            "answers are written to a .csv file; tasks for another tool need --to label-studio or "
            "--to prodigy."
        )

    file = LabelledFile(marks=marks, form=form)
    found, notes = file.read_and_join(data, label, Answered(answers, key))
    labelled = label_texts(found.labels)
    if not labelled:
        raise UserError(f"neither {data} nor --answers have a label.")
    if to is None:
        _write_csv(output, found, labelled, label, key)
    else:
        shown, classes = text_of(found, text), sorted(set(labelled.values()))
        _write_tasks(output, found, sorted(labelled), to, shown, key, classes)
        notes.append(about_tool(to, shown, classes))
    print_line(f"{len(labelled):,} labels are in {output}.")
    print_notes("note", notes)


def _write_csv(
    output: Output,
    data: "Table | MatrixData",
    labelled: dict[int, str],
    label: str | None,
    key: str | None,
) -> None:
    from semisvm.tables.answers import check_columns, write_answers

    check_columns(data, label, key)
    write_answers(output.path, data, labelled, {}, label=label, key=key)


def _write_tasks(
    output: Output,
    data: "Table | MatrixData",
    rows: list[int],
    tool: str,
    text: str,
    key: str | None,
    classes: list[str],
) -> None:
    from semisvm.tables.answers import to_tasks

    made = to_tasks(data, rows, tool, text, key=key, classes=classes)
    write_tasks(output, made, tool)
