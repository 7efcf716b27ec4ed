"""Data matrices behind one small interface: scores, pull-back, curvature, column scales."""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.designs.base import Design, Floats, Index, RowList
    from semisvm.designs.csr import CsrDesign, StoredCsrDesign
    from semisvm.designs.dense import DenseDesign
    from semisvm.designs.disk import RowsOnDisk, open_rows
    from semisvm.designs.disk_header import RowsError
    from semisvm.designs.making import make_design
    from semisvm.designs.workers import Workers, thread_count

_HOMES = {
    "CsrDesign": "semisvm.designs.csr",
    "DenseDesign": "semisvm.designs.dense",
    "Design": "semisvm.designs.base",
    "Floats": "semisvm.designs.base",
    "Index": "semisvm.designs.base",
    "RowList": "semisvm.designs.base",
    "RowsError": "semisvm.designs.disk_header",
    "RowsOnDisk": "semisvm.designs.disk",
    "StoredCsrDesign": "semisvm.designs.csr",
    "Workers": "semisvm.designs.workers",
    "make_design": "semisvm.designs.making",
    "open_rows": "semisvm.designs.disk",
    "thread_count": "semisvm.designs.workers",
}

__all__ = [
    "CsrDesign",
    "DenseDesign",
    "Design",
    "Floats",
    "Index",
    "RowList",
    "RowsError",
    "RowsOnDisk",
    "StoredCsrDesign",
    "Workers",
    "make_design",
    "open_rows",
    "thread_count",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
