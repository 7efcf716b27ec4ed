"""Rows as tasks of other tools for labelling, which `join_answers` reads back."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from semisvm.io.annotation_tools import make_tasks
from semisvm.io.answers import CHECK, ROW
from semisvm.io.contents import counted, row_hashes
from semisvm.io.errors import DataError
from semisvm.io.table import MatrixData, Table
from semisvm.io.vectors import without_vectors


def to_tasks(
    data: Table | MatrixData,
    rows: Sequence[int],
    tool: str,
    text: str,
    *,
    key: str | None = None,
    keep: Sequence[str] | None = None,
    classes: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Return rows as tasks of Label Studio or Prodigy, which `join_answers` reads back.

    Labels that are there go with them.

    Parameters
    ----------
    data : Table or MatrixData
    rows : sequence of int
        From 0.
    tool : {"label-studio", "prodigy"}
    text : str
        Column with the text that is to be read.
    key : str, optional
        Column that identifies the rows; by default they are counted, and their content is told
        by a hash.
    keep : sequence of str, optional
        Columns to show besides the text; all by default.
    classes : sequence of str
        Those to choose from.
    """
    if isinstance(data, MatrixData):
        raise DataError("tasks are made of tables, and this is a matrix.", data.path)
    table = without_vectors(data.take(rows))
    names = table.names if keep is None else [*keep, text, *([] if key is None else [key])]
    columns = {name: table.column(name) for name in dict.fromkeys(names)}
    if key is None:
        hashes = counted(row_hashes(data))
        columns |= {ROW: [int(row) + 1 for row in rows], CHECK: [hashes[row] for row in rows]}
    labels = [None] * len(rows) if table.labels is None else table.labels.tolist()
    return make_tasks(replace(table, columns=columns), labels, tool, text, classes)
