"""``semisvm reproduce``: the tables of the papers."""

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.errors import UserError
from semisvm.naming import near_match
from semisvm.reproduce import TABLES


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
    if table is None:
        raise UserError("name a table; 'semisvm reproduce --list' lists them.")
    if table not in TABLES:
        near = near_match(table, TABLES)
        hint = f" Did you mean {near!r}?" if near else ""
        raise UserError(f"there is no table {table!r}.{hint} The tables are {', '.join(TABLES)}.")
    from semisvm.reproduce.data import MissingDataError, data_folder

    try:
        # a table that needs no data set needs no folder either
        folder = data_folder(data) if TABLES[table].needs or data is not None else Path()
        # what is printed on the way is for people
        with redirect_stdout(sys.stderr if as_json else sys.stdout):
            result = TABLES[table].run(folder, repeat)
    except MissingDataError as error:
        raise UserError(f"{error}.") from None
    if as_json:
        print_json(result)
    else:
        _judge(result["misses"], repeat)


def _list(as_json: bool) -> None:
    from semisvm.cli.output import print_json, print_table

    if as_json:
        print_json({"tables": [vars(table) for table in TABLES.values()]})
        return
    rows: list[list[Any]] = [
        [t.name, ", ".join(t.needs), t.summary, t.paper] for t in TABLES.values()
    ]
    print_table("Tables", ["name", "data sets", "what it has", "paper"], rows)


def _judge(misses: int, repeat: int | None) -> None:
    from semisvm.cli.output import print_line

    if misses == 0:
        print_line("All bars are reached.")
        return
    bars = "1 bar" if misses == 1 else f"{misses} bars"
    luck = (
        ""
        if repeat is None
        else " Means over few draws may miss them by chance; leave out --repeat."
    )
    print_line(f"{bars} missed; see MISSED above.{luck}")
