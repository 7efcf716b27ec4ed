"""``python -m papers``: run a table of the papers and print it beside the published one."""

import argparse
import json
import sys
from contextlib import AbstractContextManager, nullcontext, redirect_stdout
from pathlib import Path
from typing import Any

from papers import TABLES, Table
from papers.data import MissingDataError, data_folder
from papers.runner import JOBS, Progress, run
from semisvm.tables import DataError
from semisvm.text import did_you_mean

ROOT = Path(__file__).resolve().parent.parent
BESIDE = ROOT.parent / "shared" / "data"
ALL = "all"
KINDS = (".png", ".svg", ".pdf")


def read_arguments(arguments: list[str]) -> argparse.Namespace:
    """Parse and check the command line."""
    parser = argparse.ArgumentParser(prog="python -m papers", description=__doc__)
    add = parser.add_argument
    add("table", nargs="?", metavar="TABLE", help="name of a table (see --list), or all")
    add("--data", metavar="DIR", help="folder of the data sets (default: $SEMISVM_DATA)")
    add("--repeat", type=int, metavar="N", help="random draws of labels")
    add("--resume", type=Path, metavar="FILE", help="finished measurements, to go on if stopped")
    add("--figure", type=Path, metavar="FILE", help="draw the curves as .png, .svg or .pdf")
    add("--jobs", type=int, default=JOBS, metavar="N", help="processes for what is not timed")
    add("--out", type=Path, metavar="DIR", help="all: folder of results, figures, measurements")
    add("--json", action="store_true", help="print the results as JSON")
    add("--list", action="store_true", help="list the tables")
    options = parser.parse_args(arguments)
    if not options.list:
        _check(parser, options)
    return options


def _check(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    name = options.table
    if name is None:
        parser.error("name a table, or all; --list prints what there is")
    if name != ALL and name not in TABLES:
        hint = did_you_mean(name, TABLES)
        parser.error(f"there is no table {name!r}.{hint} The tables are {', '.join(TABLES)}.")
    for option in ("repeat", "jobs"):
        if getattr(options, option) is not None and getattr(options, option) < 1:
            parser.error(f"--{option} must be at least 1")
    if (name == ALL) != (options.out is not None):
        parser.error("all needs --out DIR, which is for nothing else")
    if name == ALL and (options.resume or options.figure or options.json):
        parser.error("all writes measurements, figures and results to --out")
    if options.figure is not None:
        _check_figure(parser, TABLES[name], options.figure)


def _check_figure(parser: argparse.ArgumentParser, table: Table, figure: Path) -> None:
    if not table.figure:
        drawn = ", ".join(other.name for other in TABLES.values() if other.figure)
        parser.error(f"{table.name!r} has no curves to draw. Those with a figure are {drawn}.")
    if figure.suffix.lower() not in KINDS:
        parser.error(f"figures are written to .png, .svg or .pdf, not {figure.name!r}.")
    if not figure.absolute().parent.is_dir():
        parser.error(f"there is no folder {str(figure.parent)!r} for the figure.")


def watched(progress: Progress) -> AbstractContextManager[None]:
    """Show the progress of a run, on a terminal."""
    from semisvm.cli.progress import shown

    return shown(progress) if sys.stderr.isatty() else nullcontext()


def run_one(table: Table, options: argparse.Namespace) -> None:
    """Run a table; print it, or its results as JSON, and draw its curves."""
    # a table that needs no data set needs no folder either
    folder = data_folder(options.data, BESIDE) if table.needs or options.data else Path()
    # with --json, progress goes to stderr and stdout has nothing but JSON
    with redirect_stdout(sys.stderr if options.json else sys.stdout):
        result = run(
            table, folder, options.repeat, jobs=options.jobs, resume=options.resume, watch=watched
        )
    if options.json:
        print(json.dumps(result, indent=1))
    else:
        print(judgement(table, result["misses"], options.repeat))
    if options.figure is not None:
        draw(result["curves"], options.figure)


def run_all(options: argparse.Namespace) -> None:
    """Run the tables that are not done yet, the quickest first; go on where a run was stopped.

    Each table has its file of measurements (NAME.jsonl). A table that is done is written as
    NAME.json and, if it has curves, NAME.png.
    """
    folder, out = data_folder(options.data, BESIDE), options.out
    out.mkdir(parents=True, exist_ok=True)
    for table in sorted(TABLES.values(), key=lambda table: table.minutes):
        kept = out / f"{table.name}.jsonl"
        try:
            result = run(
                table, folder, options.repeat, jobs=options.jobs, resume=kept, watch=watched
            )
        except MissingDataError as error:
            print(f"{table.name} is left out: {error}")
            continue
        text = json.dumps(result, indent=1)
        (out / f"{table.name}.json").write_text(text, encoding="utf-8")
        if result["curves"]:
            draw(result["curves"], out / f"{table.name}.png")
        print(judgement(table, result["misses"], options.repeat))


def draw(curves: list[dict[str, Any]], figure: Path) -> None:
    """Write the curves of a table to a file."""
    from papers.figures import draw_curves

    drawn = draw_curves(curves)
    drawn.savefig(figure, dpi=110, bbox_inches="tight")


def listing(as_json: bool) -> str:
    """Return what `TABLES` has, as text or as JSON."""
    if as_json:
        return json.dumps({"tables": [vars(table) for table in TABLES.values()]}, indent=1)
    papers = list(dict.fromkeys(table.paper for table in TABLES.values()))
    lines = []
    for paper in papers:
        lines += [paper]
        lines += [
            f"  {t.name:10} {t.minutes:5g} min  {t.summary} ({', '.join(t.needs) or 'no data set'})"
            for t in TABLES.values()
            if t.paper == paper
        ]
    return "\n".join(lines)


def judgement(table: Table, misses: int, repeat: int | None) -> str:
    """Return how the rows of a table compare with its bars."""
    if not table.bars:
        return "No row of this table has a bar; compare it with the published figures."
    if misses == 0:
        return f"All bars are reached ({table.bars})."
    bars = "1 bar" if misses == 1 else f"{misses} bars"
    luck = " Means over few draws may miss them by chance; leave out --repeat." if repeat else ""
    return f"{bars} missed ({table.bars}); see MISSED above.{luck}"


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line names."""
    options = read_arguments(sys.argv[1:] if arguments is None else arguments)
    if options.list:
        print(listing(options.json))
        return 0
    try:
        if options.table == ALL:
            run_all(options)
        else:
            run_one(TABLES[options.table], options)
    except (MissingDataError, DataError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
