"""Opening files: how they are to be read; compression and encoding are detected."""

import codecs
import gzip
import io
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from semisvm.tables.errors import DataError, missing_column
from semisvm.tables.formats import FORMATS

GZIP_MAGIC = b"\x1f\x8b"
ZIP, OLD_EXCEL = b"PK\x03\x04", b"\xd0\xcf\x11\xe0"
WORKBOOK = "xl/workbook.xml"
"""Member of the archives that Excel writes."""
OTHER_SPREADSHEETS = {
    "xl/workbook.bin": "a binary Excel file (.xlsb)",
    "content.xml": "a spreadsheet of OpenOffice (.ods)",
}
PROTECTED = "EncryptedPackage".encode("utf-16-le")
"""Name of the part that holds an Excel file with a password."""
FOREIGN = {
    **{
        sign: f"{what}; use format={of.name!r}"
        for of in FORMATS.values()
        for sign, what in of.signs
    },
    ZIP: "a zip archive (perhaps a damaged Excel file); unpack it, or export it as CSV",
    OLD_EXCEL: "an old Excel file (.xls); save it as .xlsx or CSV",
    b"BZh": "compressed with bzip2; unpack it, or use gzip",
    b"\xfd7zXZ": "compressed with xz; unpack it, or use gzip",
    b"\x28\xb5\x2f\xfd": "compressed with zstd; unpack it, or use gzip",
}
BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
PEEK = 4096
SAVE_AGAIN = "Save it as .xlsx or as CSV, and read that."


Seen = Callable[[int], object]
"""Called with the number of further bytes of a file that were read."""


CHUNK_ROWS = 10_000


@dataclass(frozen=True)
class Options:
    """How a file is to be read; `semisvm.tables.read` explains the fields."""

    label: str | None = None
    columns: Sequence[str] | None = None
    encoding: str | None = None
    delimiter: str | None = None
    quotes: bool = True
    sheet: str | None = None
    unlabeled: str | None = None
    na_is_class: bool = False
    zero_based: bool | Literal["auto"] = "auto"
    n_features: int | None = None
    max_columns: int | None = None
    chunk_rows: int | None = None
    labels_apart: bool = False
    absent: bool = False
    seen: Seen | None = None

    @property
    def markers(self) -> tuple[str, ...]:
        """What stands for "no label" in a label column, besides blank."""
        return () if self.unlabeled is None else (self.unlabeled,)

    @property
    def label_columns(self) -> list[str]:
        """The label column, if there is one."""
        return [] if self.label is None else [self.label]

    def wanted(self, there: Sequence[str], path: str | Path) -> list[str]:
        """Return the feature columns to keep, or raise if one is not there."""
        known = set(there)
        for name in (*(self.columns or ()), *self.label_columns):
            if name not in known:
                raise missing_column(name, there, path)
        chosen = there if self.columns is None else list(dict.fromkeys(self.columns))
        return [name for name in chosen if name != self.label]


ALWAYS_COLUMNS = 1 << 24
"""A matrix of so many columns is read, however few values it has: 128 MiB per vector of weights."""

COLUMNS_PER_VALUE = 100
"""And a wider one if there is a value for so many columns."""


def too_wide(n_columns: int, n_values: int, max_columns: int | None) -> str | None:
    """Return why a matrix may not have so many columns; None if it may.

    A model has a weight for every column, whether or not there is a value in it. So an
    index that is large by mistake, or a hash of 31 bits, asks for gigabytes.

    Parameters
    ----------
    n_columns, n_values : int
    max_columns : int, optional
        Maximum number of columns, instead of the rule of thumb.
    """
    if max_columns is not None:
        if n_columns <= max_columns:
            return None
        return f"{n_columns:,} columns, but at most {max_columns:,} are allowed."
    if n_columns <= max(ALWAYS_COLUMNS, COLUMNS_PER_VALUE * n_values):
        return None
    return (
        f"{n_columns:,} columns, which is {n_columns * 8 / 2**30:.1f} GiB for every vector of "
        f"weights, but the file has {n_values:,} values. If this is intended, use "
        f"max_columns={n_columns}; if the columns are hashes, take them modulo "
        f"{ALWAYS_COLUMNS:,} or less."
    )


class _Watched(io.FileIO):
    """A file that reports how much of it is read."""

    def __init__(self, path: str | Path, seen: Seen) -> None:
        super().__init__(path, "rb")
        self._seen = seen

    def readinto(self, buffer: Any) -> int | None:
        read = super().readinto(buffer)
        self._seen(read or 0)
        return read


def _raw(path: str | Path, seen: Seen | None) -> BinaryIO:
    if seen is None:
        return open(path, "rb")
    return io.BufferedReader(_Watched(path, seen), 1 << 20)


@contextmanager
def open_bytes(path: str | Path, seen: Seen | None = None) -> Iterator[BinaryIO]:
    """Open a file for reading bytes, unpacked if it is gzip whatever its name.

    Errors of reading inside the block become `DataError`.

    Parameters
    ----------
    path : str or Path
    seen : function, optional
        Called with the number of further bytes that were read.
    """
    with _explained(path), _raw(path, seen) as raw:
        if raw.read(len(GZIP_MAGIC)) == GZIP_MAGIC:
            raw.seek(0)
            with gzip.open(raw, "rb") as unpacked:
                yield cast(BinaryIO, unpacked)
        else:
            raw.seek(0)
            yield raw


@contextmanager
def open_text(
    path: str | Path, encoding: str | None = None, seen: Seen | None = None
) -> Iterator[io.TextIOWrapper]:
    """Open a file for reading text; line ends are left as they are.

    Parameters
    ----------
    path : str or Path
    encoding : str, optional
        By default UTF-8, or that of a byte order mark.
    seen : function, optional
        Called with the number of further bytes that were read.
    """
    with open_bytes(path, seen) as stream:
        buffered = io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20)
        head = buffered.peek(PEEK)[:PEEK]
        refuse_foreign(head, path)
        found = encoding or find_encoding(head, path)
        text = _decoded(buffered, found)
        try:
            yield text
        except UnicodeError as error:  # of utf-16 without a byte order mark, too
            raise _locate(path, found) or _undecodable(path, found) from error


def is_workbook(path: str | Path) -> bool:
    """Return whether a file is an Excel workbook, by its content; refuse other spreadsheets.

    Parameters
    ----------
    path : str or Path
        A file that cannot be opened is left to its reader, and so is standard input.
    """
    if not Path(path).is_file():
        return False
    try:
        with open(path, "rb") as stream:
            head = stream.read(len(OLD_EXCEL))
            protected = head == OLD_EXCEL and _contains(stream, PROTECTED)
        names = _members(path) if head == ZIP else set()
    except (OSError, zipfile.BadZipFile, NotImplementedError, ValueError, UnicodeError):
        return False
    if protected:
        raise DataError(
            "this Excel file has a password. Open it in Excel, remove the password, and save it "
            "again.",
            path,
        )
    if head == OLD_EXCEL:
        raise DataError(f"this is an old Excel file (.xls). {SAVE_AGAIN}", path)
    for name, what in OTHER_SPREADSHEETS.items():
        if name in names:
            raise DataError(f"this is {what}. {SAVE_AGAIN}", path)
    return WORKBOOK in names


def _contains(stream: BinaryIO, wanted: bytes) -> bool:
    """Return whether the rest of a file contains some bytes."""
    last = b""
    while piece := stream.read(1 << 20):
        if wanted in last + piece:
            return True
        last = piece[-len(wanted) :]
    return False


def _members(path: str | Path) -> set[str]:
    with zipfile.ZipFile(path) as archive:
        return set(archive.namelist())


@contextmanager
def there_to_read(path: str | Path) -> Iterator[None]:
    """Raise a `DataError` with the reason if a file cannot be opened."""
    try:
        yield
    except FileNotFoundError as error:
        raise DataError("there is no such file.", path) from error
    except IsADirectoryError as error:
        raise DataError("this is a folder, not a file.", path) from error
    except PermissionError as error:
        raise DataError("this file may not be read (permission denied).", path) from error


@contextmanager
def _explained(path: str | Path) -> Iterator[None]:
    try:
        with there_to_read(path):
            yield
    except EOFError as error:
        raise DataError(
            "the gzip file ends too early: it is truncated. Copy or download it again.", path
        ) from error
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"the gzip file is damaged ({error}).", path) from error
    except OSError as error:
        raise DataError(f"this file cannot be read ({error.strerror or error}).", path) from error


def refuse_foreign(head: bytes, path: str | Path) -> None:
    """Refuse files that are not text, with what they are."""
    for magic, what in FOREIGN.items():
        if head.startswith(magic):
            raise DataError(f"this is {what}.", path)


def find_encoding(head: bytes, path: str | Path) -> str:
    """Return the encoding that the first bytes of a file show; UTF-8 if they show none."""
    for mark, encoding in BOMS.items():
        if head.startswith(mark):
            return encoding
    if head.count(0) > len(head) // 4:
        order = "le" if head[1:2] == b"\0" else "be"
        raise DataError(
            "every other byte is zero, as in UTF-16 without a byte order mark: use "
            f"encoding='utf-16-{order}'.",
            path,
            line=1,
        )
    return "utf-8"


def _decoded(stream: "io.BufferedReader[io.RawIOBase]", encoding: str) -> io.TextIOWrapper:
    try:
        return io.TextIOWrapper(stream, encoding=encoding, newline="")
    except (LookupError, ValueError) as error:  # unknown, not of text, or no name at all
        raise DataError(f"there is no encoding {encoding!r}; try utf-8 or latin-1.") from error


def _locate(path: str | Path, encoding: str) -> DataError | None:
    """Find the first bytes that are not text; the file is read again, line by line."""
    if not encoding.startswith("utf-8"):
        return None
    with open_bytes(path) as lines:
        for number, line in enumerate(lines, start=1):
            try:
                line.decode("utf-8")
            except UnicodeDecodeError as error:
                return DataError(
                    f"byte 0x{line[error.start]:02x} at byte {error.start + 1} of the line is not "
                    "UTF-8. If the file is in an older encoding, name it, for instance with "
                    "encoding='latin-1'.",
                    path,
                    line=number,
                )
    return None


def _undecodable(path: str | Path, encoding: str) -> DataError:
    return DataError(
        f"the file is not {encoding}: name its encoding, for instance with encoding='latin-1'.",
        path,
    )
