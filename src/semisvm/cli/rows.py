"""Rows written to a file, or to the terminal."""

import csv
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from semisvm.cli.errors import UserError

Rows = list[dict[str, Any]]
SUFFIXES = (".csv", ".tsv", ".jsonl")


def check_suffix(output: Path | None, what: str) -> str:
    """Give the suffix, which says the format, or refuse it; the terminal gets CSV."""
    suffix = ".csv" if output is None else output.suffix.lower()
    if suffix not in SUFFIXES:
        raise UserError(f"{what} are written to .csv, .tsv or .jsonl, not {suffix or output}.")
    return suffix


@contextmanager
def row_writer(output: Path | None, what: str) -> Iterator[Callable[[Rows], None]]:
    """Give a function that writes rows; a file takes its name when all are written."""
    from semisvm.io import write_text

    suffix = check_suffix(output, what)
    if output is None:
        yield _writing(sys.stdout, suffix)
        sys.stdout.flush()
    else:
        with write_text(output) as stream:
            yield _writing(stream, suffix)


def _writing(stream: TextIO, suffix: str) -> Callable[[Rows], None]:
    first = True

    def write(rows: Rows) -> None:
        nonlocal first
        if suffix == ".jsonl":
            stream.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            return
        delimiter = "\t" if suffix == ".tsv" else ","
        table = csv.DictWriter(stream, list(rows[0]), delimiter=delimiter, lineterminator="\n")
        if first:
            table.writeheader()
            first = False
        table.writerows(rows)

    return write
