"""``semisvm answers``: labels from one tool to another."""

from typing import TYPE_CHECKING, Annotated

from semisvm.cli import options as shared
from semisvm.cli import tasks
from semisvm.cli.errors import UserError
from semisvm.cli.outputs import Output, file_option
from semisvm.cli.reading import Answered, Answers, FileFormat, Key, LabelledFile, Marks

if TYPE_CHECKING:
    from semisvm.io import MatrixData, Table


def answers(
    data: shared.Data,
    output: Annotated[
        Output,
        file_option(
            "-o",
            "--output",
            help="File to write: .csv for --answers of other commands, or what --to says.",
        ),
    ],
    *,
    answers: Answers = None,
    to: tasks.Tool = None,
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
    tasks.check_tool(to, output)
    if to is None and output.path.suffix.lower() != ".csv":
        raise UserError(
            "answers are written to a .csv file; tasks for another tool need --to label-studio or "
            "--to prodigy."
        )
    from semisvm.cli.output import print_line, print_notes

    file = LabelledFile(marks=marks, form=form)
    found, notes = file.read_and_join(data, label, Answered(answers, key))
    labelled = _labelled(found)
    if not labelled:
        raise UserError(f"neither {data} nor --answers have a label.")
    if to is None:
        _write_csv(output, found, labelled, label, key)
    else:
        shown, classes = tasks.text_of(found, text), sorted(set(labelled.values()))
        _write_tasks(output, found, sorted(labelled), to, shown, key, classes)
        notes.append(tasks.about_tool(to, shown, classes))
    print_line(f"{len(labelled):,} labels are in {output}.")
    print_notes("note", notes)


def _labelled(data: "Table | MatrixData") -> dict[int, str]:
    cells = [] if data.labels is None else data.labels.tolist()
    return {row: str(value) for row, value in enumerate(cells) if value is not None}


def _write_csv(
    output: Output,
    data: "Table | MatrixData",
    labelled: dict[int, str],
    label: str | None,
    key: str | None,
) -> None:
    from semisvm.io.answers import check_columns, write_answers

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
    from semisvm.io import to_tasks

    made = to_tasks(data, rows, tool, text, key=key, classes=classes)
    tasks.write_tasks(output, made, tool)
