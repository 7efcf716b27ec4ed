"""A checkpoint is read whole or refused, and says why; nothing in it is run."""

import hashlib
import json

import numpy as np
import pytest

from semisvm.designs.fingerprints import fingerprint
from semisvm.persistence import CheckpointError
from semisvm.persistence import checkpoint_files as files
from semisvm.persistence.checkpoint_files import LENGTH, read_checkpoint, write_checkpoint
from semisvm.persistence.values import from_plain, to_plain
from semisvm.tables.errors import DataError

CONTENT = {
    "text": "ü",
    "none": None,
    "truth": True,
    "numbers": [1, -0.0, 1e-300, 0.1, float("inf"), float("nan"), np.float64(0.3), np.int64(7)],
    "nested": {"w": np.array([0.1, -0.0, 5e-324]), "codes": np.arange(3)},
    "table": np.arange(6.0).reshape(2, 3),
}


@pytest.fixture
def path(tmp_path):
    name = tmp_path / "fit.checkpoint"
    write_checkpoint(name, CONTENT)
    return name


def test_what_was_written_is_read_bit_for_bit(path):
    found = read_checkpoint(path)
    assert list(found) == list(CONTENT)
    np.testing.assert_equal(found["numbers"], CONTENT["numbers"])
    assert str(found["numbers"][1]) == "-0.0"
    for ours, theirs in (
        (found["nested"]["w"], CONTENT["nested"]["w"]),
        (found["nested"]["codes"], CONTENT["nested"]["codes"]),
        (found["table"], CONTENT["table"]),
    ):
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        assert ours.tobytes() == theirs.tobytes()
        assert ours.flags.writeable


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_checkpoint(tmp_path / "other", CONTENT)
    assert path.read_bytes() == (tmp_path / "other").read_bytes()


def test_a_file_that_is_cut_off_is_refused(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="damaged"):
            read_checkpoint(path)


def test_one_changed_bit_is_noticed(path):
    whole = path.read_bytes()
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        with pytest.raises(CheckpointError, match=r"damaged|version \d"):
            read_checkpoint(path)


def test_what_follows_the_end_is_noticed(path):
    path.write_bytes(path.read_bytes() + b"x")
    with pytest.raises(CheckpointError, match="damaged"):
        read_checkpoint(path)


def rewritten(path, change, tail=b""):
    """Write a file with another header, whose checksum is right."""
    line, rest = path.read_bytes().split(b"\n", 1)
    (length,) = LENGTH.unpack(rest[32:40])
    header, arrays = json.loads(rest[40 : 40 + length]), rest[40 + length :] + tail
    text = json.dumps(change(header) or header).encode()
    body = LENGTH.pack(len(text)) + text + arrays
    path.write_bytes(line + b"\n" + hashlib.sha256(body).digest() + body)


CHANGES = {
    "a huge array": lambda header: header["arrays"][0].update(shape=[1 << 60]),
    "a negative shape": lambda header: header["arrays"][0].update(shape=[-3]),
    "many axes": lambda header: header["arrays"][0].update(shape=[1] * 50),
    "objects": lambda header: header["arrays"][0].update(type="|O"),
    "no such type": lambda header: header["arrays"][0].update(type="<q17"),
    "no arrays": lambda header: header.update(arrays=[]),
    "an array that is not there": lambda header: header["content"].update(
        text={"$": "array", "at": 99}
    ),
    "no content": lambda header: header.pop("content") and None,
    "a list": lambda header: header.update(content=[]),
    "only a list": lambda header: [1],
    "values nested too deeply": lambda header: header["content"].update(
        text=json.loads("[" * 150 + "]" * 150)
    ),
    "an unknown kind of value": lambda header: header["content"].update(
        text={"$": "function", "value": []}
    ),
    "no number": lambda header: header["content"].update(text={"$": "float", "value": "x"}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_header_that_is_wrong_is_refused(path, change):
    rewritten(path, change)
    with pytest.raises(CheckpointError, match="damaged"):
        read_checkpoint(path)


def test_a_header_that_says_it_is_long(path):
    line, rest = path.read_bytes().split(b"\n", 1)
    for length in (len(rest), 1 << 40, (1 << 64) - 1):
        body = LENGTH.pack(length) + rest[40:]
        path.write_bytes(line + b"\n" + hashlib.sha256(body).digest() + body)
        with pytest.raises(CheckpointError, match="damaged"):
            read_checkpoint(path)


def test_another_version_of_the_package(path):
    rewritten(path, lambda header: header.update(semisvm="0.0.1"))
    with pytest.raises(CheckpointError, match=r"written by semisvm 0\.0\.1, and this is"):
        read_checkpoint(path)


def test_another_version_of_the_file(path, monkeypatch):
    monkeypatch.setattr(files, "VERSION", 2)
    with pytest.raises(CheckpointError, match="has version 1, and this semisvm reads version 2"):
        read_checkpoint(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"PK\x03\x04", b"label,text\n1,a\n", bytes(1000)])
def test_a_file_of_another_kind(path, content):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        read_checkpoint(path)


def test_a_folder(tmp_path):
    with pytest.raises(DataError, match="cannot be read"):
        read_checkpoint(tmp_path)


def test_a_trace_that_is_too_long_is_not_written(path, monkeypatch):
    monkeypatch.setattr(files, "MAX_HEADER", 50)
    with pytest.raises(DataError, match="too large"):
        write_checkpoint(path, CONTENT)


def test_what_is_not_data_is_not_written(path):
    with pytest.raises(TypeError, match="not plain data"):
        write_checkpoint(path, {"f": len})


def test_the_values_of_checkpoints_and_models_have_one_encoder():
    arrays = []
    plain = to_plain(CONTENT, arrays)
    assert plain["nested"] == {"w": {"$": "array", "at": 0}, "codes": {"$": "array", "at": 1}}
    assert plain["numbers"][4:6] == [to_plain(float("inf")), to_plain(float("nan"))]
    np.testing.assert_equal(from_plain(json.loads(json.dumps(plain)), aside=arrays), CONTENT)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "U3", "?"])
def test_fingerprints_see_every_byte_type_and_shape(dtype, monkeypatch):
    monkeypatch.setattr("semisvm.designs.fingerprints.PIECE", 64)
    array = np.arange(60).reshape(20, 3).astype(dtype)
    known = {fingerprint(array)}
    assert fingerprint(np.asfortranarray(array)) in known
    assert fingerprint(array.reshape(-1)) not in known
    assert fingerprint(array.reshape(-1).view(np.uint8)) not in known
    for place in np.ndindex(array.shape):
        other = array.copy()
        other[place] = not other[place] if dtype == "?" else "x" if dtype == "U3" else 99
        assert fingerprint(other) not in known


def test_fingerprints_of_nothing():
    assert fingerprint(np.empty((0, 3))) != fingerprint(np.empty((0, 4)))
    assert fingerprint() != fingerprint(np.empty(0))
