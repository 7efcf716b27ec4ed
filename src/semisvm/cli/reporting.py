"""``semisvm report``, and the option ``--report`` of other commands."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.predict import as_model

if TYPE_CHECKING:
    from semisvm.model import Model

ReportFile = Annotated[
    Path | None,
    typer.Option("--report", help="HTML file to write: what was done, and what came of it."),
]


def report(
    model: shared.ModelFile,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="HTML file to write.", show_default=False)
    ] = None,
    title: Annotated[str | None, typer.Option("--title", help="Of the report.")] = None,
    top: Annotated[int, typer.Option("--top", min=0, help="Words of each class.")] = 12,
    as_json: Annotated[bool, typer.Option("--json", help="Print what the report says.")] = False,
) -> None:
    """Write a report of a model as one HTML file."""
    from semisvm.cli.errors import UserError
    from semisvm.cli.output import print_json
    from semisvm.model_files import load
    from semisvm.report import report_data

    if output is None and not as_json:
        raise UserError("name the file to write with -o, or ask for --json.")
    bundle = as_model(load(model))
    named = title or f"Model {model.name}"
    if output is not None:
        write(bundle, output, title=named, top=top, quiet=as_json)
    if as_json:
        print_json(report_data(bundle, title=named, top=top))


def check_place(path: Path | None) -> None:
    """Refuse a place that cannot be written to before the work begins."""
    from semisvm.io import DataError

    if path is not None and not path.parent.is_dir():
        raise DataError(f"there is no folder {str(path.parent)!r} to write to.", path)
    if path is not None and path.is_dir():
        raise DataError("this is a folder, not a file.", path)


def write(
    model: "Model",
    path: Path | None,
    comparison: Any = None,
    *,
    quiet: bool = False,
    **options: Any,
) -> None:
    """Write the report, if one is wanted, and say so.

    Parameters
    ----------
    model : Model
    path : Path or None
    comparison : Comparison or dict, optional
    quiet : bool, default=False
    **options
        Of `semisvm.report.report_data`.
    """
    if path is None:
        return
    from semisvm.report import write_report

    write_report(model, path, comparison, **options)
    if not quiet:
        typer.echo(f"Report {path}")
