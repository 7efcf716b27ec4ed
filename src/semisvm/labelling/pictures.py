"""Columns of pictures: paths beside the data file, or PNG and JPEG in base64."""

import base64
import binascii
from pathlib import Path
from typing import Any

from semisvm.labelling.records import LabelingError, Picture
from semisvm.tables.errors import is_missing

IMAGE = "image"
ENDINGS = (".png", ".jpg", ".jpeg")
SIGNATURES = {b"\x89PNG\r\n\x1a\n": "image/png", b"\xff\xd8\xff": "image/jpeg"}
IN_BASE64 = ("iVBORw0KGgo", "/9j/")
"""How both begin in base64."""
LARGEST = 20_000_000
"""Bytes of a picture that are shown."""
LOOKED_AT = 100


def holds_pictures(cells: Any) -> bool:
    """Return whether all cells of a column, as far as there are any, are pictures."""
    found: list[Any] = []
    for cell in cells:
        if len(found) == LOOKED_AT:
            break
        if not is_missing(cell) and not (isinstance(cell, str) and not cell.strip()):
            found.append(cell)
    return bool(found) and all(isinstance(cell, str) and _is_picture(cell) for cell in found)


def _is_picture(cell: str) -> bool:
    text = cell.strip()
    if text.lower().endswith(ENDINGS) and len(text) < 1000 and "\n" not in text:
        return " " not in text or "/" in text or "\\" in text
    return _base64(text).startswith(IN_BASE64) and len(text) > 40


def _base64(text: str) -> str:
    """Return what is in base64, without the head of a data address."""
    head, comma, _ = text[:100].partition(",")
    if comma and head.startswith("data:image/") and head.endswith(";base64"):
        return text[len(head) + 1 :]
    return text


def read_picture(cell: str, folder: Path | None) -> Picture:
    """Return the picture that a cell holds or names.

    Parameters
    ----------
    cell : str
    folder : Path or None
        Where paths begin; a file outside of it is not read, whatever is in the data.
    """
    text = cell.strip()
    coded = _base64(text)
    content = _decoded(coded) if coded.startswith(IN_BASE64) else _file(text, folder)
    for signature, media_type in SIGNATURES.items():
        if content.startswith(signature):
            return Picture(media_type, content)
    raise LabelingError("this picture is neither PNG nor JPEG.")


def _decoded(text: str) -> bytes:
    if len(text) > LARGEST * 4 // 3:
        raise LabelingError("this picture is too large to be shown.")
    try:
        return base64.b64decode(text, validate=False)
    except (binascii.Error, ValueError) as error:
        raise LabelingError("this picture is not valid base64.") from error


def _file(text: str, folder: Path | None) -> bytes:
    if folder is None:
        raise LabelingError("there is no data file beside which this picture could lie.")
    try:
        path = (folder / text).resolve()
        if not path.is_relative_to(folder.resolve()):
            raise LabelingError(f"{text} is outside of the folder of the data, so it is not shown.")
        if path.stat().st_size > LARGEST:
            raise LabelingError("this picture is too large to be shown.")
        return path.read_bytes()
    except (OSError, ValueError) as error:
        if isinstance(error, LabelingError):
            raise
        raise LabelingError(f"there is no picture {text}.") from error
