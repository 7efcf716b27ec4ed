"""Figures that commands write: the option ``--figure``, what it needs, and the file."""

from typing import Annotated, Any

from semisvm.cli.errors import UserError
from semisvm.cli.outputs import Output, binary_output, file_option

KINDS = (".png", ".svg", ".pdf")
Figure = Annotated[
    Output | None,
    file_option("--figure", help="Figure to write, as .png, .svg or .pdf.", parser=binary_output),
]


def check(figure: Output | None) -> None:
    """Import what draws before anything is computed, or say what is missing."""
    from importlib import import_module

    if figure is None:
        return
    if figure.path.suffix.lower() not in KINDS:
        raise UserError(f"figures are written to .png, .svg or .pdf, not {figure.path.name!r}.")
    try:
        import_module("matplotlib").use("Agg")
        import_module("semisvm.displays")
    except ImportError as error:
        raise UserError(
            f"--figure needs {error.name}, which is missing. Install it with: "
            "pip install 'semisvm[plots]'"
        ) from None


def write(drawn: Any, figure: Output) -> None:
    """Write a figure of matplotlib to the file."""
    from semisvm.io import write_bytes

    with write_bytes(figure.target) as stream:
        kind = figure.path.suffix.lower().removeprefix(".")
        drawn.savefig(stream, format=kind, bbox_inches="tight")
