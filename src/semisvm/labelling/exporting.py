"""The labelled file: all rows with their labels."""

import csv
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from semisvm.io import MatrixData, Table, write_text
from semisvm.io.answers import ROW

DELIMITERS = {".csv": ",", ".tsv": "\t"}


def write_labelled(
    file: str | Path | BinaryIO,
    data: Table | MatrixData,
    label: str,
    answers: Mapping[int, str],
) -> None:
    """Write all rows with their labels; the file appears whole or not at all.

    Parameters
    ----------
    file : str, Path or binary stream
        ``.tsv`` and ``.jsonl`` are what they say, everything else is CSV. Of a matrix only the
        numbers and labels of rows are written.
    data : Table or MatrixData
    label : str
        Name of the label column, which comes last.
    answers : mapping
        Row -> label; other rows get a blank.
    """
    named = isinstance(file, (str, Path))
    suffix = Path(str(file)).suffix.lower() if named else ".csv"
    with write_text(file) as stream:
        if suffix == ".jsonl":
            for line in _lines(data, label, answers):
                stream.write(json.dumps(line, ensure_ascii=False) + "\n")
            return
        table = csv.writer(stream, delimiter=DELIMITERS.get(suffix, ","), lineterminator="\n")
        lines = _lines(data, label, answers)
        first = next(lines)
        table.writerow(first)
        table.writerow(first.values())
        table.writerows(line.values() for line in lines)


def _lines(
    data: Table | MatrixData, label: str, answers: Mapping[int, str]
) -> Iterator[dict[str, Any]]:
    if isinstance(data, MatrixData):
        for row in range(len(data)):
            yield {ROW: row + 1, label: answers.get(row, "")}
        return
    columns = {name: data.text(name) for name in data.names}
    for row, cells in enumerate(zip(*columns.values(), strict=True)):
        yield {**dict(zip(columns, cells, strict=True)), label: answers.get(row, "")}
