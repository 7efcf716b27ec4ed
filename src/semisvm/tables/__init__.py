"""Files and data frames, their columns, and the features made of them.

`read` returns a `Table` of columns or `MatrixData`, `read_chunks` the same piece by piece; a
`DataError` has what is wrong with a file, and where. `ColumnFeatures` turns a table into a
matrix. `to_fill_in` returns rows to be labelled, `to_tasks` those for other tools, and
`join_answers` adds their labels. Files that are written appear whole or not at all.
"""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
