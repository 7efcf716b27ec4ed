"""``semisvm report``, and the option ``--report`` of other commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.embeddings import Vectors
from semisvm.cli.inputs import FileFormat
from semisvm.cli.outputs import Output, attempt, file_option
from semisvm.cli.predict import as_model
from semisvm.cli.printing import print_json, print_line

if TYPE_CHECKING:
    from semisvm.model import Model
    from semisvm.tables.errors import DataError

ReportFile = Annotated[
    Output | None,
    file_option("--report", help="HTML report to write: what was done, and the results."),
]


def report(
    model: shared.ModelFile,
    *,
    output: Annotated[
        Output | None,
        file_option("-o", "--output", help="HTML file to write; - is standard output."),
    ] = None,
    card: Annotated[
        Output | None, file_option("--card", help="Markdown file to write: a model card.")
    ] = None,
    evaluate: Annotated[
        Path | None,
        typer.Option(
            "--evaluate",
            metavar="FILE",
            help="Rows with labels that took no part in the fit: adds results, a confusion table "
            "and example rows.",
        ),
    ] = None,
    label: Annotated[
        str | None,
        typer.Option("--label", help="--evaluate: label column. Default: that of the fit."),
    ] = None,
    vectors: Vectors,
    form: FileFormat,
    title: Annotated[str | None, typer.Option("--title", help="Title of the report.")] = None,
    top: shared.TopWords = 12,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the content of the report as JSON.")
    ] = False,
) -> None:
    """Write a report about a model as one HTML file, or a model card in Markdown."""
    from semisvm.cli.messages import UserError
    from semisvm.persistence.model_files import load
    from semisvm.reporting.card import write_card
    from semisvm.reporting.data import report_data

    if output is None and card is None and not as_json:
        raise UserError("name the file to write with -o or --card, or use --json.")
    if evaluate is None:
        _check_unused(label, vectors, form)
    bundle = as_model(load(model))
    options: dict[str, Any] = {"title": title or f"Model {model.name}", "top": top}
    if evaluate is not None:
        options["evaluation"] = _evaluated(bundle, evaluate, label, vectors, form)
    failure = write(bundle, output, **options)
    if failure is not None:
        raise failure
    if card is not None:
        write_card(bundle, card.target, **options)
    if as_json:
        print_json(report_data(bundle, **options))
    else:
        print_written(output)
        print_written(card, "Card")


def _check_unused(label: str | None, vectors: Vectors, form: FileFormat) -> None:
    """Refuse options about the file of --evaluate, if there is none."""
    from semisvm.cli.messages import UserError

    if label is not None:
        raise UserError("--label is the label column of --evaluate FILE, which is not given.")
    if vectors.are_wanted:
        raise UserError("--embeddings and --encoder are for --evaluate FILE, which is not given.")
    if form != FileFormat():
        raise UserError("options about reading are for --evaluate FILE, which is not given.")


def _evaluated(
    bundle: "Model", data: Path, label: str | None, vectors: Vectors, form: FileFormat
) -> dict[str, Any]:
    """Judge a model by a file, as ``semisvm evaluate`` does, with example rows."""
    from semisvm.cli.evaluate import assessed_file
    from semisvm.reporting.data import evaluation_data

    facts, table = assessed_file(bundle, data, label, vectors, form)
    return evaluation_data(bundle, table, facts)


def write(
    model: "Model", output: Output | None, comparison: Any = None, **options: Any
) -> "DataError | None":
    """Write the report, if one is wanted; return why it cannot be written.

    Parameters
    ----------
    model : Model
    output : Output or None
    comparison : Comparison or dict, optional
    **options
        Of `semisvm.reporting.report_data`.
    """
    if output is None:
        return None
    from semisvm.reporting.page import write_report

    return attempt(lambda: write_report(model, output.target, comparison, **options))


def print_written(output: Output | None, what: str = "Report") -> None:
    """Report that the file was written, if one was."""
    if output is not None and not output.is_standard:
        print_line(f"{what} {output}")


def today() -> str:
    """Return the date for what is written, in UTC."""
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%d")
