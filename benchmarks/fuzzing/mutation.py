"""Changes of bytes that find the places where a reader believes what a file says."""

import io
import random
import re
import zipfile
from collections.abc import Callable, Sequence
from itertools import chain

Mutate = Callable[[bytes, random.Random], bytes]

LARGEST = 1 << 16
"""Bytes of a mutated input; larger ones are cut, so that every check is quick."""

MOST_CHANGES = 6

NUMBERS = [
    *(b"0", b"-1", b"1", b"2", b"-0", b"00", b"01", b"1.0", b"0.1", b"nan", b"inf", b"-inf"),
    *(b"1e19", b"-1e19", b"1e308", b"1e309", b"1e-400", b"127", b"128", b"255", b"256", b"65536"),
    *(b"2147483646", b"2147483647", b"4294967296", b"9007199254740993", b"9223372036854775807"),
    *(b"9223372036854775808", b"18446744073709551616", b"1" * 400, b"7" * 5000, b"0x10", b"1_0"),
]
BINARY = [
    value.to_bytes(size, order, signed=True)
    for size in (2, 4, 8)
    for value in (0, 1, -1, 127, 2 ** (8 * size - 1) - 1, -(2 ** (8 * size - 1)))
    for order in ("little", "big")
]
SIGNS = [b"\0", b"\n", b"\r", b"\r\n", b'"', b"'", b"\\", b"\t", b" ", b"\xff", b"\xef\xbb\xbf"]


def mutator(words: Sequence[bytes] = ()) -> Mutate:
    """Return a function that changes bytes in a few places.

    Parameters
    ----------
    words : sequence of bytes
        What means something in the format; inserted now and then.
    """
    tokens = [*words, *words, *NUMBERS, *SIGNS, *BINARY]

    def mutate(data: bytes, rng: random.Random) -> bytes:
        for _ in range(1 + min(int(rng.expovariate(0.7)), MOST_CHANGES)):
            data = rng.choice(CHANGES)(data, rng, tokens)
        return data[:LARGEST]

    return mutate


Tokens = Sequence[bytes]


def _place(data: bytes, rng: random.Random) -> tuple[int, int]:
    start = rng.randrange(len(data) + 1)
    return start, min(len(data), start + int(rng.expovariate(0.1)))


def flip(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Change one bit."""
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def set_byte(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Replace one byte by any other."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def insert(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Insert a token."""
    at = rng.randrange(len(data) + 1)
    return data[:at] + rng.choice(tokens) + data[at:]


def overwrite(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Write a token over what is there, which keeps lengths and offsets."""
    at, token = rng.randrange(len(data) + 1), rng.choice(tokens)
    return data[:at] + token + data[at + len(token) :]


def remove(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Remove some bytes."""
    start, stop = _place(data, rng)
    return data[:start] + data[stop:]


def repeat(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Repeat some bytes, there or elsewhere, once or many times."""
    start, stop = _place(data, rng)
    at = stop if rng.random() < 0.5 else rng.randrange(len(data) + 1)
    times = rng.choice((1, 1, 1, 2, 50))
    return data[:at] + data[start:stop] * times + data[at:]


def cut(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Keep the beginning, or the end."""
    at = rng.randrange(len(data) + 1)
    return data[:at] if rng.random() < 0.8 else data[at:]


def renumber(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Replace a number that is written in digits."""
    found = [match.span() for match in re.finditer(rb"-?\d+(\.\d+)?", data[:LARGEST])]
    if not found:
        return insert(data, rng, tokens)
    start, stop = rng.choice(found)
    return data[:start] + rng.choice(NUMBERS) + data[stop:]


def reorder(data: bytes, rng: random.Random, tokens: Tokens) -> bytes:
    """Move a line to another place."""
    lines = data.splitlines(keepends=True)
    if len(lines) < 2:
        return repeat(data, rng, tokens)
    line = lines.pop(rng.randrange(len(lines)))
    at = rng.randrange(len(lines) + 1)
    return b"".join(chain(lines[:at], [line], lines[at:]))


CHANGES = (flip, set_byte, insert, overwrite, remove, repeat, cut, renumber, renumber, reorder)


def archive_mutator(mutate: Mutate) -> Mutate:
    """Return a function that changes a zip file, mostly one member with a right checksum."""

    def changed(data: bytes, rng: random.Random) -> bytes:
        members = unpacked(data) if rng.random() < 0.75 else {}
        if not members:
            return mutate(data, rng)
        name = rng.choice(list(members))
        if rng.random() < 0.05:
            del members[name]
        elif rng.random() < 0.1:
            members[rng.choice(list(members))] = members[name]
        else:
            members[name] = mutate(members[name], rng)
        return packed(members, rng.choice((zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)))

    return changed


def unpacked(data: bytes) -> dict[str, bytes]:
    """Return the members of a zip file; none if it cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            if sum(info.file_size for info in infos) > LARGEST:
                return {}
            return {info.filename: archive.read(info) for info in infos}
    except Exception:
        return {}


def packed(members: dict[str, bytes], compression: int) -> bytes:
    """Make a zip file."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(zipfile.ZipInfo(name), content, compression)
    return stream.getvalue()
