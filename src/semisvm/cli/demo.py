"""``semisvm demo``: what unlabelled rows are worth."""

from pathlib import Path
from typing import Annotated

import typer

from semisvm.cli.outputs import Output, folder_output

FOLDER = Output(Path("out"), folder=True)


def demo(
    out: Annotated[
        Output,
        typer.Option(
            "--out",
            help="Folder for the figure.",
            parser=folder_output,
            metavar="FOLDER",
        ),
    ] = FOLDER,
    draws: Annotated[
        int, typer.Option("--draws", min=1, help="Number of random draws of labels.")
    ] = 20,
) -> None:
    """Show the gain from unlabelled rows on bundled data."""
    from semisvm.demo import main

    main(["--out", str(out.path), "--draws", str(draws)])
