"""Tasks of other tools for labelling, and the option ``--to``."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli.errors import UserError
from semisvm.cli.outputs import Output
from semisvm.visible import visible_json

if TYPE_CHECKING:
    from semisvm.io import MatrixData, Table

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
    from semisvm.io.annotation_tools import SUFFIXES, TOOLS

    if tool is None:
        return
    if tool not in TOOLS:
        raise UserError(f"--to must be one of {', '.join(TOOLS)}, not {tool!r}.")
    if output is None or output.is_standard or output.path.suffix.lower() != SUFFIXES[tool]:
        raise UserError(f"tasks for {tool} are written to a {SUFFIXES[tool]} file: name one.")


def text_of(data: "Table | MatrixData", text: list[str] | None) -> str:
    """Return the column that is to be read: a given one, or the first that looks like text."""
    from semisvm.columns.encoders import text_columns
    from semisvm.io import Table

    if not isinstance(data, Table):
        raise UserError(f"tasks are made of tables, but {data.path} is a matrix.")
    found = text or text_columns(data)
    if not found:
        raise UserError("no column looks like text: name the one to be read with --text.")
    data.column(found[0])
    return found[0]


def write_tasks(output: Output, tasks: Sequence[dict[str, Any]], tool: str) -> None:
    """Write tasks: one array for Label Studio, one object per line for Prodigy."""
    from semisvm.io.annotation_tools import LABEL_STUDIO

    lines = [visible_json(json.dumps(task, ensure_ascii=False)) for task in tasks]
    with output.text() as stream:
        if tool == LABEL_STUDIO:
            stream.write("[\n" + ",\n".join(lines) + "\n]\n")
        else:
            stream.writelines(f"{line}\n" for line in lines)


def about_tool(tool: str, text: str, classes: Sequence[str]) -> str:
    """Say how the tool shows the tasks."""
    from semisvm.io.annotation_tools import LABEL_STUDIO, studio_interface

    if tool == LABEL_STUDIO:
        named = classes or ["your first class", "your second class"]
        return f"the labelling interface for Label Studio: {studio_interface(text, named)}"
    named = ",".join(classes) or "A,B"
    return (
        "in Prodigy the recipe textcat.manual with --exclusive and --label "
        f"{named} asks for the labels, and db-out writes the file to read back."
    )
