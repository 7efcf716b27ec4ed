"""Every table of the papers in turn, with results and figures in a folder; goes on if stopped.

Each table has its file of measurements (NAME.jsonl), so that whatever ends the run, the same
command goes on with the measurement that was running. A table that is done is written as NAME.json
and, if it has curves, NAME.png.
"""

import json
from pathlib import Path
from typing import Any

from semisvm.cli.reproduce import watched
from semisvm.reproduce import TABLES, Table
from semisvm.reproduce.data import MissingDataError
from semisvm.reproduce.figures import draw_curves
from semisvm.reproduce.runner import run as run_table

REPEAT = 0
"""The usual draws of every table."""


def run(folder: Path, repeat: int, out: Path) -> dict[str, Any]:
    """Run what is not done yet; the quick tables first."""
    out.mkdir(parents=True, exist_ok=True)
    results = [one(table, folder, repeat or None, out) for table in by_time()]
    return {"misses": sum(result["misses"] for result in results)}


def by_time() -> list[Table]:
    """Return the tables, the quickest first."""
    return sorted(TABLES.values(), key=lambda table: table.minutes)


def one(table: Table, folder: Path, repeat: int | None, out: Path) -> dict[str, Any]:
    """Run a table and write its files; say so if its data are not there."""
    kept = out / f"{table.name}.jsonl"
    try:
        result = run_table(table, folder, repeat, resume=kept, watch=watched)
    except MissingDataError as error:
        print(f"{table.name} is left out: {error}")
        return {"misses": 0}
    text = json.dumps(result, indent=1)
    (out / f"{table.name}.json").write_text(text, encoding="utf-8")
    if result["curves"]:
        draw_curves(result["curves"]).savefig(out / f"{table.name}.png", dpi=110)
    return result
