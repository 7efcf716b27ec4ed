"""``semisvm demo``: few labels against many unlabelled rows."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option("--out", help="Folder of the picture.")] = Path("out"),
    draws: Annotated[int, typer.Option("--draws", min=1, help="Random draws of labels.")] = 20,
) -> None:
    """Show on bundled data what unlabelled rows are worth."""
    from semisvm.demo import main

    main(["--out", str(out), "--draws", str(draws)])
