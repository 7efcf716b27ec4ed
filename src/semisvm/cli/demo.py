"""``semisvm demo``: few labels against many unlabelled rows."""

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
            help="Folder of the picture.",
            parser=folder_output,
            metavar="FOLDER",
        ),
    ] = FOLDER,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Random draws of labels.")] = 20,
) -> None:
    """Show on bundled data what unlabelled rows are worth."""
    from semisvm.demo import main

    main(["--out", str(out.path), "--draws", str(draws)])
