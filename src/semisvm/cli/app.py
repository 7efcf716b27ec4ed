"""The commands put together."""

from collections.abc import Callable
from typing import Annotated, Any

import typer

from semisvm._version import __version__
from semisvm.cli.answers import answers
from semisvm.cli.audit import audit
from semisvm.cli.certify import certify
from semisvm.cli.compare import compare
from semisvm.cli.convert import convert
from semisvm.cli.evaluate import evaluate
from semisvm.cli.export import export
from semisvm.cli.fit import fit
from semisvm.cli.inspect import inspect, methods
from semisvm.cli.label import label
from semisvm.cli.messages import guarded, print_stderr
from semisvm.cli.options import with_options
from semisvm.cli.outputs import checked
from semisvm.cli.predict import predict
from semisvm.cli.reporting import report
from semisvm.cli.select import select


def warm() -> None:
    """Compile the numerical code for this machine now, rather than in the first fit."""
    from semisvm.warming import warm as compile_all

    seconds = compile_all()
    print_stderr(
        f"Compiled in {seconds:.0f} s." if seconds > 0 else "Everything was compiled before."
    )


COMMANDS: tuple[Callable[..., Any], ...] = tuple(
    with_options(command)
    for command in (
        fit,
        predict,
        evaluate,
        compare,
        select,
        label,
        answers,
        audit,
        certify,
        convert,
        inspect,
        report,
        export,
        methods,
        warm,
    )
)

app = typer.Typer(
    help="Train classifiers from few labelled and many unlabelled rows.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in COMMANDS:
    app.command()(guarded(checked(command)))


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"semisvm {__version__}")
        raise typer.Exit


@app.callback()
def about(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """Train classifiers from few labelled and many unlabelled rows."""
