"""The formats of files, one entry each: readers, commands, help and messages follow from them."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from semisvm.text import series


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes
    ----------
    name : str
        As in ``format=``.
    title : str
        What people call it.
    suffixes : tuple of str
        Of its files. Files that are written have the first one.
    reader : str
        ``module:function``, which yields tables or matrices for a path and `Options`.
    is_table : bool
        Whether its columns have names.
    is_text : bool
        Whether files are text, which may be gzipped, and which people edit.
    writer : str, optional
        ``module:function``, a context manager that yields a function of rows for a path. Tables
        that are text are written too.
    signs : tuple of (bytes, str)
        How files of bytes begin, and what they are.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    reader: str
    is_table: bool = True
    is_text: bool = False
    writer: str | None = None
    signs: tuple[tuple[bytes, str], ...] = ()

    @property
    def is_written(self) -> bool:
        """Whether commands write it."""
        return self.writer is not None or (self.is_table and self.is_text)


EXCEL, NPZ, ROWS = "xlsx", "npz", "rows"
TEXT_TABLES = "semisvm.tables.text_tables"

FORMATS: dict[str, Format] = {
    one.name: one
    for one in (
        Format("csv", "CSV", (".csv",), f"{TEXT_TABLES}:read_csv", is_text=True),
        Format("tsv", "TSV", (".tsv", ".tab"), f"{TEXT_TABLES}:read_tsv", is_text=True),
        Format(
            "jsonl",
            "JSONL",
            (".jsonl", ".ndjson", ".json"),
            f"{TEXT_TABLES}:read_json_lines",
            is_text=True,
        ),
        Format(
            "parquet",
            "Parquet",
            (".parquet", ".pq"),
            "semisvm.tables.parquet:read_parquet",
            writer="semisvm.tables.parquet:parquet_writer",
            signs=((b"PAR1", "a Parquet file"),),
        ),
        Format(EXCEL, "Excel", (".xlsx", ".xlsm"), "semisvm.tables.excel:read_excel"),
        Format(
            "svmlight",
            "svmlight",
            (".svm", ".svmlight", ".libsvm", ".dat", ".txt"),
            "semisvm.tables.svmlight:read_svmlight",
            is_table=False,
            is_text=True,
        ),
        Format(
            NPZ,
            "npz",
            (".npz", ".npy"),
            "semisvm.tables.array_files:read_npz",
            is_table=False,
            signs=((b"\x93NUMPY", "a .npy array"),),
        ),
        Format(ROWS, "", (), "semisvm.tables.reading:read_stored", is_table=False),
    )
}
"""All formats by name; that of a folder of ``semisvm convert`` is the last one."""

TABLES = tuple(one.name for one in FORMATS.values() if one.is_table)
SUFFIXES = {suffix: one.name for one in FORMATS.values() for suffix in one.suffixes}


def load(function: str) -> Callable[..., Any]:
    """Import a function by its name, ``module:function``."""
    module, name = function.split(":")
    return getattr(import_module(module), name)


FILES = tuple(one for one in FORMATS.values() if one.suffixes)


def titles(formats: Iterable[Format] = FILES) -> str:
    """Return what formats are called, as words of a sentence."""
    return series((one.title for one in formats), "or")
