"""Pictures and recordings in the cells of a table: paths, bytes, or base64."""

import base64
import binascii
from pathlib import Path
from typing import Any

from semisvm.labelling.records import LabelingError, Picture
from semisvm.tables.errors import is_missing

IMAGE, AUDIO = "image", "audio"
ENDINGS = {IMAGE: (".png", ".jpg", ".jpeg"), AUDIO: (".wav", ".mp3", ".ogg", ".flac")}
SIGNATURES = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    *((0, b"\xff" + second, "audio/mpeg") for second in (b"\xfb", b"\xf3", b"\xf2")),
    (0, b"OggS", "audio/ogg"),
    (0, b"fLaC", "audio/flac"),
)
"""Where a file has which bytes, and what it is then."""
HEAD = 16
"""Characters of base64, and more bytes than that of a file, tell what it is."""
LARGEST = 20_000_000
"""Bytes of a file that is shown."""
SHORTEST = 40
"""Characters of a file in base64: words are shorter."""
LOOKED_AT = 100


def media_type(content: bytes) -> str | None:
    """Return what a file is, by its first bytes; None if it is not shown."""
    return next((k for at, head, k in SIGNATURES if content.startswith(head, at)), None)


def media_kind(cells: Any) -> str | None:
    """Return "image" or "audio" if all cells of a column are such files; blanks do not count."""
    kinds: list[str | None] = []
    for cell in cells:
        if len(kinds) == LOOKED_AT:
            break
        if not is_missing(cell) and not (isinstance(cell, str) and not cell.strip()):
            kinds.append(_kind_of(cell))
    return kinds[0] if kinds and len(set(kinds)) == 1 else None


def _kind_of(cell: Any) -> str | None:
    if isinstance(cell, dict):  # a file as Hugging Face writes it
        cell = cell.get("path") if cell.get("bytes") is None else cell.get("bytes")
    if isinstance(cell, bytes):
        return _kind(cell[: 2 * HEAD])
    if not isinstance(cell, str):
        return None
    text = cell.strip()
    for kind, endings in ENDINGS.items():
        if text.lower().endswith(endings) and len(text) < 1000 and "\n" not in text:
            return kind if " " not in text or "/" in text or "\\" in text else None
    return _kind(_coded(text) or b"")


def _kind(head: bytes) -> str | None:
    found = media_type(head)
    return None if found is None else found.partition("/")[0]


def _coded(text: str) -> bytes | None:
    """Return the first bytes of what is in base64; None of other texts."""
    if len(text) <= SHORTEST:
        return None
    try:
        return base64.b64decode(_base64(text)[:HEAD], validate=True)
    except (binascii.Error, ValueError):
        return None


def _base64(text: str) -> str:
    """Return what is in base64, without the head of a data address."""
    head, comma, _ = text[:100].partition(",")
    if comma and head.startswith("data:") and head.endswith(";base64"):
        return text[len(head) + 1 :]
    return text


def read_media(cell: str, folder: Path | None) -> Picture:
    """Return the picture or recording that a cell holds or names.

    Parameters
    ----------
    cell : str
        Bytes are in base64.
    folder : Path or None
        Where paths begin; a file outside of it is not read, whatever is in the data.
    """
    text = cell.strip()
    coded = _coded(text)
    content = _file(text, folder) if coded is None or _kind(coded) is None else _decoded(text)
    found = media_type(content)
    if found is None:
        raise LabelingError("this file is neither PNG nor JPEG, WAV, MP3, OGG or FLAC.")
    return Picture(found, content)


def _decoded(cell: str) -> bytes:
    text = _base64(cell)
    if len(text) > LARGEST * 4 // 3:
        raise LabelingError("this file is too large to be shown.")
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError) as error:
        raise LabelingError("this file is not valid base64.") from error


def _file(text: str, folder: Path | None) -> bytes:
    if folder is None:
        raise LabelingError("there is no data file beside which this file could lie.")
    try:
        path = (folder / text).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise LabelingError(f"{text} is outside of the folder of the data, so it is not shown.")
        if path.stat().st_size > LARGEST:
            raise LabelingError("this file is too large to be shown.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, LabelingError):
            raise
        raise LabelingError(f"there is no file {text}.") from error
