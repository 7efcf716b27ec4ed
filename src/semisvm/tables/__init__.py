"""Files and data frames, their columns, and the features made of them.

`read` returns a `Table` of columns or `MatrixData`, `read_chunks` the same piece by piece; a
`DataError` has what is wrong with a file, and where. `ColumnFeatures` turns a table into a
matrix. `to_fill_in` returns rows to be labelled, `to_tasks` those for other tools, and
`join_answers` adds their labels. Files that are written appear whole or not at all.
"""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.tables.answers import Joined, join_answers, to_fill_in, to_tasks
    from semisvm.tables.embeddings import encode_texts
    from semisvm.tables.errors import DataError, DataWarning
    from semisvm.tables.features import ColumnFeatures
    from semisvm.tables.kinds import find_kind
    from semisvm.tables.labels import about_missing, count_labels, remarks
    from semisvm.tables.reading import FORMATS, find_format, read, read_chunks
    from semisvm.tables.rows_writing import write_rows
    from semisvm.tables.table import MatrixData, Table, as_table
    from semisvm.tables.writing import write_bytes, write_text

_HOMES = {
    "ColumnFeatures": "semisvm.tables.features",
    "DataError": "semisvm.tables.errors",
    "DataWarning": "semisvm.tables.errors",
    "FORMATS": "semisvm.tables.reading",
    "Joined": "semisvm.tables.answers",
    "MatrixData": "semisvm.tables.table",
    "Table": "semisvm.tables.table",
    "about_missing": "semisvm.tables.labels",
    "as_table": "semisvm.tables.table",
    "count_labels": "semisvm.tables.labels",
    "encode_texts": "semisvm.tables.embeddings",
    "find_format": "semisvm.tables.reading",
    "find_kind": "semisvm.tables.kinds",
    "join_answers": "semisvm.tables.answers",
    "read": "semisvm.tables.reading",
    "read_chunks": "semisvm.tables.reading",
    "remarks": "semisvm.tables.labels",
    "to_fill_in": "semisvm.tables.answers",
    "to_tasks": "semisvm.tables.answers",
    "write_bytes": "semisvm.tables.writing",
    "write_rows": "semisvm.tables.rows_writing",
    "write_text": "semisvm.tables.writing",
}

__all__ = [
    "FORMATS",
    "ColumnFeatures",
    "DataError",
    "DataWarning",
    "Joined",
    "MatrixData",
    "Table",
    "about_missing",
    "as_table",
    "count_labels",
    "encode_texts",
    "find_format",
    "find_kind",
    "join_answers",
    "read",
    "read_chunks",
    "remarks",
    "to_fill_in",
    "to_tasks",
    "write_bytes",
    "write_rows",
    "write_text",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
