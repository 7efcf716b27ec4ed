"""Rows in a folder of plain arrays, read through memory maps."""

from semisvm.ondisk.opened import RowsOnDisk, open_rows

__all__ = ["RowsOnDisk", "open_rows"]
