"""Options that several commands have; those that belong together are in `groups` of their own."""

from pathlib import Path
from typing import Annotated

import typer

from semisvm.cli.errors import UserError

NEW_ROWS, TRANSDUCTION = "new_rows", "transduction"
DATA = (
    "CSV, TSV, JSONL, Parquet, Excel, svmlight or npz file (text files may be gzipped), or a "
    "folder of 'semisvm convert'"
)
Data = Annotated[Path, typer.Argument(metavar="DATA", help=f"{DATA}.", show_default=False)]
ManyData = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA",
        help=f"{DATA}; with --workers or --cluster also several files, or a pattern in quotes.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Label column; blank, NA and the like mean unlabelled."),
]
Text = Annotated[list[str] | None, typer.Option("--text", help="A text column; repeatable.")]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        help="Class shares among the unlabelled rows: spam=0.4,ham=0.6, or 'equal', or "
        "'labelled' for those of the labels. Default: 'estimate', from all rows.",
    ),
]
Use = Annotated[
    str,
    typer.Option(
        "--use",
        help="What the model is for: new_rows, or transduction if only for the unlabelled rows of "
        "the file.",
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", help="Number of threads or processes; -1 for all cores.")
]
AsIs = Annotated[
    bool,
    typer.Option(
        "--as-is", help="Leave a matrix as it is: no tf-idf of counts, no scaling of columns."
    ),
]
SampleWeight = Annotated[
    str | None,
    typer.Option(
        "--sample-weight",
        metavar="COLUMN",
        help="Column of weights, which is then no feature: a row of weight 2 counts like two rows, "
        "one of weight 0 like none.",
    ),
]
TopWords = Annotated[int, typer.Option("--top", min=0, help="Number of words per class.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of random choices.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def check_use(use: str) -> None:
    """Refuse a use that there is not."""
    if use not in (NEW_ROWS, TRANSDUCTION):
        raise UserError(f"--use must be {NEW_ROWS} or {TRANSDUCTION}, not {use!r}.")
