"""Rows in a folder of plain arrays, read through memory maps."""

from semisvm.ondisk.header import RowsError
from semisvm.ondisk.opened import RowsOnDisk, open_rows

__all__ = ["RowsError", "RowsOnDisk", "open_rows"]
