"""Options that several commands share."""

from pathlib import Path
from typing import Annotated, Any

import typer

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, JSONL, Parquet, svmlight or npz file; text files may be gzipped.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, jsonl, parquet, svmlight or npz, if the name does not say.",
        rich_help_panel="Reading",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option("--encoding", help="Of text files; UTF-8 by default.", rich_help_panel="Reading"),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Between cells of CSV files.", rich_help_panel="Reading"),
]
NoQuotes = Annotated[
    bool,
    typer.Option("--no-quotes", help='The sign " does not quote cells.', rich_help_panel="Reading"),
]
Unlabeled = Annotated[
    str | None,
    typer.Option(
        "--unlabeled",
        help="What marks rows without label, besides blank; 'none' if all have one.",
        rich_help_panel="Reading",
    ),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option("--labels", help="Another file with one label a line.", rich_help_panel="Reading"),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="First index of svmlight files; found by looking for a 0.",
        rich_help_panel="Reading",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def reading(
    format: str | None, encoding: str | None, delimiter: str | None, no_quotes: bool
) -> dict[str, Any]:
    """Give the options of `semisvm.io.read` that do not depend on the command."""
    return {
        "format": format,
        "encoding": encoding,
        "delimiter": "\t" if delimiter == "\\t" else delimiter,
        "quotes": not no_quotes,
    }
