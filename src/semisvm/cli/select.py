"""``semisvm select``: which rows to label next."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.answers import Tool, about_tool, check_tool, text_of, write_tasks
from semisvm.cli.embeddings import TrainingVectors
from semisvm.cli.inputs import Answered, Answers, Key, LabelledFile, check_column
from semisvm.cli.messages import UserError, as_usage_error
from semisvm.cli.options import Columns, Words
from semisvm.cli.outputs import EscapeFormulas, Output, check_new, file_option, row_writer
from semisvm.cli.printing import fit_command, print_json, print_line, print_notes
from semisvm.text import did_you_mean

if TYPE_CHECKING:
    from semisvm.model_selection.selection import Selection

WAYS = ("clusters", "margin", "random")
WHAT = "rows to label"


def select(
    context: typer.Context,
    data: shared.Data,
    *,
    n: Annotated[int, typer.Option("-n", "--rows", min=1, help="Number of rows.")] = 50,
    output: Annotated[
        Output | None,
        file_option(
            "-o", "--output", help="New CSV, TSV or JSONL file. Default, or -: standard output."
        ),
    ] = None,
    to: Tool = None,
    label: shared.Label = None,
    by: Annotated[
        str,
        typer.Option(
            "--by",
            help="clusters: rows at the centres of clusters, largest cluster first; margin: rows "
            "that an SVM trained on the labels so far is least sure of; random.",
        ),
    ] = WAYS[0],
    key: Key = None,
    answers: Answers = None,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="A column to show in the output; repeatable. Default: all."),
    ] = None,
    escape: EscapeFormulas = True,
    columns: Columns,
    words: Words,
    vectors: TrainingVectors,
    seed: shared.Seed = 0,
    file: LabelledFile,
    as_json: shared.Json = False,
) -> None:
    """Choose which rows to label next, and write a file to fill in.

    'semisvm fit DATA --answers FILE' reads the file back; blank labels stay unlabelled.
    """
    check_tool(to, output)
    check_new(output, WHAT, any_suffix=to is not None)
    selection = _selection(by, seed)
    from semisvm.preparing import features_of
    from semisvm.tables.answers import LABEL, check_columns, to_fill_in, to_tasks
    from semisvm.tables.labels import about_missing, label_texts

    answered = Answered(answers, key)
    found = file.read(data, label, label_comes=bool(answers))
    check_columns(found, label, key)
    found, notes = answered.join(found, label, file.marks)
    for name in keep or ():
        check_column(found, name)
    features = columns.features(words)
    table, _ = vectors.add(answered.without_key(found), features, shown=not as_json)
    X, transformer = features_of(table, features)
    notes += [] if transformer is None else transformer.notes_
    notes += about_missing(found.missing_words)
    with as_usage_error():
        rows = selection.select(X, n, found.labels)
    if to is None:
        lines = to_fill_in(found, rows.tolist(), label=label, key=key, keep=keep, picked=by)
    else:
        shown, classes = text_of(found, columns.text), sorted({*label_texts(found.labels).values()})
        lines = to_tasks(found, rows.tolist(), to, shown, key=key, keep=keep, classes=classes)
        notes.append(about_tool(to, shown, classes))
    if as_json:
        chosen = [int(row) + 1 for row in rows]
        print_json({"data": data, "by": by, "rows": chosen, "lines": lines, "notes": notes})
    if to is not None and output is not None:
        write_tasks(output, lines, to)
    elif output is not None or not as_json:
        with row_writer(output, WHAT, escape) as write:
            write(lines)
    if output is None or output.is_standard or as_json:
        return
    print_line(f"{n:,} of {len(found):,} rows of {data} are in {output}.")
    model, back = f"{data.stem}.semisvm", output.path
    if to is None:
        print_line(f"Fill in the column {label or LABEL!r} and read the file back:")
    else:
        print_line("Label them there, export, and read the export back:")
        back = back.with_stem(f"{back.stem}-labelled")
    print_line(fit_command(context, answers=[*(answers or []), back], output=model))
    print_notes("note", notes)


def _selection(by: str, seed: int) -> "Selection":
    if by not in WAYS:
        hint = did_you_mean(by, WAYS)
        raise UserError(f"--by must be one of {', '.join(WAYS)}, not {by!r}.{hint}")
    from semisvm.model_selection.selection import KMedianSelection, MarginSelection, RandomSelection

    made: dict[str, Any] = {
        "clusters": lambda: KMedianSelection(unlabeled=None, random_state=seed),
        "margin": lambda: MarginSelection(unlabeled=None),
        "random": lambda: RandomSelection(unlabeled=None, random_state=seed),
    }
    return made[by]()
