"""``semisvm audit``: labels that may be mistakes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.embeddings import TrainingVectors
from semisvm.cli.inputs import Answered, LabelledFile, check_column, take_weights
from semisvm.cli.messages import UserError, as_usage_error, remarks_in_summary
from semisvm.cli.options import Columns, Words, class_shares
from semisvm.cli.outputs import EscapeFormulas, Output, check_new, file_option, row_writer
from semisvm.cli.printing import fit_command, print_json, print_line, print_notes, print_table
from semisvm.estimators.registry import get
from semisvm.text import shortened

if TYPE_CHECKING:
    from semisvm.model_selection import Audit
    from semisvm.preparing import Prepared
    from semisvm.tables.table import MatrixData, Table

WHAT = "labels in doubt"
FOLDS = 5
MOST_TEXT = 60
"""Characters of a row that are shown in the table."""
SUGGESTED, PROBABILITY = "semisvm_suggested", "semisvm_probability"


def audit(
    context: typer.Context,
    data: shared.Data,
    *,
    label: shared.Label = None,
    output: Annotated[
        Output | None,
        file_option(
            "-o",
            "--output",
            help="CSV, TSV or JSONL file for all labels in doubt. Correct the labels in it, and "
            "read it back with --answers.",
        ),
    ] = None,
    n: Annotated[
        int, typer.Option("-n", "--rows", min=1, help="Number of rows of the table.")
    ] = 20,
    algorithm: Annotated[
        str, typer.Option("-a", "--algorithm", help="Method (see 'semisvm methods').")
    ] = "tsvm",
    repeats: Annotated[
        int, typer.Option("--repeats", min=1, help="How many times the labels are held out.")
    ] = 3,
    answered: Answered,
    keep: Annotated[
        list[str] | None,
        typer.Option("--keep", help="A column to show in the file; repeatable. Default: all."),
    ] = None,
    escape: EscapeFormulas = True,
    prior: shared.Prior = None,
    sample_weight: shared.SampleWeight = None,
    columns: Columns,
    words: Words,
    vectors: TrainingVectors,
    as_is: shared.AsIs = False,
    seed: shared.Seed = 0,
    file: LabelledFile,
    as_json: shared.Json = False,
) -> None:
    """Find labels that may be mistakes.

    Labels are held out in turn, and compared with what models that have not seen them predict.
    The strongest contradictions come first; they are doubts, not verdicts. Models that predict no
    more labels than a guess of the most frequent class cannot judge: then no label is listed.
    """
    from semisvm.preparing import features_for, prepare

    check_new(output, WHAT)
    with as_usage_error():
        method = get(algorithm)
    if sample_weight is not None and not method.takes_weights:
        raise UserError(f"the method {method.name!r} takes no --sample-weight.")
    table, notes = file.read_and_join(data, label, answered)
    for name in keep or ():
        check_column(table, name)
    features = columns.features(words)
    with as_usage_error(), remarks_in_summary(not as_json):
        rows, weight = take_weights(answered.without_key(table), sample_weight)
        rows, _ = vectors.add(rows, features, shown=not as_json)
        features = features_for(method.name, features)
        prepared = prepare(rows, features, as_is=as_is, sample_weight=weight)
        prepared.notes += notes
        estimator = method.make(unlabeled=None, **_shares(prior, method, table))
        found = _audited(prepared, estimator, repeats, seed)
    if output is not None and found.can_judge:
        _write(table, found, output, {"label": label, "key": answered.key, "keep": keep}, escape)
    if as_json:
        facts = found.to_dict()
        for doubt in facts["doubts"]:
            doubt["row"] += 1
        print_json({"data": data, "method": method.name, **facts, "notes": prepared.notes})
    elif output is None or not output.is_standard:
        _show(table, prepared, found, n, data)
        if output is not None and not found.can_judge:
            print_line(f"{output} is not written.")
        elif output is not None:
            print_line(f"\n{len(found):,} rows are in {output}. Correct their labels, and read it:")
            model = f"{data.stem}.semisvm"
            corrected = [*(answered.answers or []), output]
            print_line(fit_command(context, answers=corrected, output=model))
        print_notes("note", prepared.notes)


def _shares(prior: str | None, method: Any, table: "Table | MatrixData") -> dict[str, Any]:
    shares = class_shares(prior, table)
    if shares is None:
        return {}
    if "class_prior" not in method.parameters:
        raise UserError(f"the method {method.name!r} has no --prior.")
    return {"class_prior": shares}


def _audited(prepared: "Prepared", estimator: Any, repeats: int, seed: int) -> "Audit":
    import warnings

    from semisvm.model_selection import audit_labels
    from semisvm.tables.errors import DataError
    from semisvm.tables.labels import count_repeated

    repeated = count_repeated(prepared.labels)
    if repeated < 2:
        raise DataError("labels are held out in turn, but no class has two labels.")
    with warnings.catch_warnings():
        # the summary counts the labels that cannot be held out
        warnings.simplefilter("ignore", UserWarning)
        return audit_labels(
            estimator,
            prepared.X,
            prepared.labels,
            cv=min(FOLDS, repeated),
            n_repeats=repeats,
            unlabeled=None,
            random_state=seed,
            sample_weight=prepared.weight,
        )


def _write(
    table: "Table | MatrixData",
    found: "Audit",
    output: Output,
    about: dict[str, Any],
    escape: bool | None,
) -> None:
    """Write the rows with their labels, to be corrected and read back."""
    from semisvm.tables.answers import BEFORE, LABEL, to_fill_in

    lines = to_fill_in(table, found.rows.tolist(), **about)
    for line, doubt in zip(lines, found.doubts, strict=True):
        line[about["label"] or LABEL] = str(doubt.given)
        line |= {
            BEFORE: str(doubt.given),
            SUGGESTED: str(doubt.suggested),
            PROBABILITY: round(doubt.probability, 4),
        }
    with row_writer(output, WHAT, escape) as write:
        if lines:
            write(lines)


def _show(
    table: "Table | MatrixData", prepared: "Prepared", found: "Audit", n: int, data: Path
) -> None:

    print_line(found.sentence())
    texts = _texts(table, prepared, found.rows[:n].tolist())
    rows = [
        [
            f"{d.row + 1}",
            str(d.given),
            str(d.suggested),
            f"{d.probability:.2f}",
            *texts.get(d.row, []),
        ]
        for d in found.doubts[:n]
    ]
    if rows:
        header = ["row", "label", "suggested", "probability", *(["text"] if texts else [])]
        print_table(f"\nLabels in doubt of {data}", header, rows)
    if len(found) > n:
        print_line(f"and {len(found) - n:,} more: -n shows more of them, -o writes them all.")


def _texts(
    table: "Table | MatrixData", prepared: "Prepared", rows: list[int]
) -> dict[int, list[str]]:
    """Return the beginning of the texts of rows; nothing if there is no text."""
    from semisvm.tables.table import Table

    if not isinstance(table, Table) or prepared.features is None:
        return {}
    features = prepared.features
    texts = [name for name, kind in features.kinds_.items() if kind == "text"]
    names = list(dict.fromkeys([*texts, *features.encoded_]))
    cells = zip(*(table.take(rows).text(name) for name in names), strict=True)
    shown = [shortened(" ".join(" ".join(row).split()), MOST_TEXT) for row in cells]
    return {row: [text] for row, text in zip(rows, shown, strict=True)} if names else {}
