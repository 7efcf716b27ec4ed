"""``semisvm reproduce``: the tables and figures of the papers."""

import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import drawing
from semisvm.cli import options as shared
from semisvm.cli.errors import UserError
from semisvm.cli.outputs import Output, attempt
from semisvm.naming import near_match
from semisvm.reproduce import TABLES, Table

if TYPE_CHECKING:
    from semisvm.reproduce.runner import Progress


def reproduce(
    table: Annotated[
        str | None, typer.Argument(metavar="TABLE", help="Name of a table; see --list.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option("--data", help="Folder of the data sets. Default: SEMISVM_DATA."),
    ] = None,
    repeat: Annotated[
        int | None, typer.Option("--repeat", min=1, help="Number of random draws of labels.")
    ] = None,
    resume: Annotated[
        Path | None,
        typer.Option(
            "--resume",
            help="File that keeps what was measured, so that a run can go on after it was stopped.",
            metavar="FILE",
        ),
    ] = None,
    figure: drawing.Figure = None,
    jobs: Annotated[
        int, typer.Option("--jobs", min=1, help="Processes; times are always taken in one.")
    ] = 2,
    listed: Annotated[bool, typer.Option("--list", help="List the tables.")] = False,
    as_json: shared.Json = False,
) -> None:
    """Reproduce a table of the papers; takes minutes.

    The results are printed beside the published ones.
    """
    from semisvm.cli.output import print_json

    if listed:
        _list(as_json)
        return
    chosen = _named(table)
    _check_figure(chosen, figure)
    from semisvm.reproduce.data import MissingDataError, data_folder
    from semisvm.reproduce.runner import run

    try:
        # a table that needs no data set needs no folder either
        folder = data_folder(data) if chosen.needs or data is not None else Path()
        # what is printed on the way is for people
        with redirect_stdout(sys.stderr if as_json else sys.stdout):
            result = run(chosen, folder, repeat, jobs=jobs, resume=resume, watch=watched)
    except MissingDataError as error:
        raise UserError(f"{error}.") from None
    failure = None if figure is None else attempt(lambda: _draw(result["curves"], figure))
    if as_json:
        print_json(result)
    else:
        _judge(chosen, result["misses"], repeat)
    if failure is not None:
        raise UserError(f"the figure was not written: {failure}")


def watched(progress: "Progress") -> AbstractContextManager[None]:
    """Show the progress of a run, on a terminal."""
    from semisvm.cli.progress import shown

    return shown(progress) if sys.stderr.isatty() else nullcontext()


def _named(table: str | None) -> Table:
    if table is None:
        raise UserError("name a table; 'semisvm reproduce --list' lists them.")
    if table not in TABLES:
        near = near_match(table, TABLES)
        hint = f" Did you mean {near!r}?" if near else ""
        raise UserError(f"there is no table {table!r}.{hint} The tables are {', '.join(TABLES)}.")
    return TABLES[table]


def _check_figure(table: Table, figure: Output | None) -> None:
    if figure is not None and not table.figure:
        drawn = ", ".join(other.name for other in TABLES.values() if other.figure)
        raise UserError(f"{table.name!r} has no curves to draw. Those with a figure are {drawn}.")
    drawing.check(figure)


def _draw(curves: list[dict[str, Any]], figure: Output) -> None:
    from semisvm.reproduce.figures import draw_curves

    drawing.write(draw_curves(curves), figure)


def _list(as_json: bool) -> None:
    from semisvm.cli.output import print_json, print_table

    if as_json:
        print_json({"tables": [vars(table) for table in TABLES.values()]})
        return
    rows: list[list[Any]] = [
        [t.name, ", ".join(t.needs), f"{t.minutes:g}", t.summary, t.paper] for t in TABLES.values()
    ]
    header = ["name", "data sets", "minutes", "what it has", "paper"]
    print_table("Tables", header, rows)


def _judge(table: Table, misses: int, repeat: int | None) -> None:
    from semisvm.cli.output import print_line

    if not table.bars:
        print_line("No row of this table has a bar; compare it with the published figures.")
        return
    if misses == 0:
        print_line(f"All bars are reached ({table.bars}).")
        return
    bars = "1 bar" if misses == 1 else f"{misses} bars"
    luck = (
        ""
        if repeat is None
        else " Means over few draws may miss them by chance; leave out --repeat."
    )
    print_line(f"{bars} missed ({table.bars}); see MISSED above.{luck}")
