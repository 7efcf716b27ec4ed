"""Reading data from files, and writing files that appear whole or not at all.

`read` returns a `Table` of columns or `MatrixData`, `read_chunks` the same piece by piece;
a `DataError` says what is wrong with a file, and where. `to_fill_in` returns rows to be
labelled, `to_tasks` those for other tools, and `join_answers` adds their labels.
"""

from semisvm.io.answers import Joined, join_answers, to_fill_in
from semisvm.io.errors import DataError, DataWarning
from semisvm.io.labels import about_missing, count_labels, remarks
from semisvm.io.reading import FORMATS, find_format, read, read_chunks
from semisvm.io.rows_writing import write_rows
from semisvm.io.table import MatrixData, Table, as_table
from semisvm.io.tasks import to_tasks
from semisvm.io.writing import write_bytes, write_text

__all__ = [
    "FORMATS",
    "DataError",
    "DataWarning",
    "Joined",
    "MatrixData",
    "Table",
    "about_missing",
    "as_table",
    "count_labels",
    "find_format",
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
