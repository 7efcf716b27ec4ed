"""A checkpoint is read whole or refused with the reason; nothing in it is run."""

import json

import numpy as np
import pytest
from benchmarks.fuzzing.models import pack, unpack

from semisvm.designs.fingerprints import fingerprint
from semisvm.persistence import CheckpointError, archive
from semisvm.persistence.checkpoints import CHECKPOINT, read_checkpoint, write_checkpoint
from semisvm.persistence.json_values import from_plain, to_plain
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


def test_checkpoints_and_models_have_one_container(path):
    document, arrays, _ = archive.read_archive(path, kind=CHECKPOINT)
    assert list(document) == ["format", "version", "semisvm", "content", "arrays"]
    assert len(arrays) == 3
    with pytest.raises(archive.ModelFileError, match="not a model file"):
        archive.read_archive(path)


def test_long_vectors(path):
    w = np.random.default_rng(0).standard_normal(400_000)
    write_checkpoint(path, {"w": w})
    assert read_checkpoint(path)["w"].tobytes() == w.tobytes()


def test_equal_arrays_are_two_in_memory(path):
    """A fit changes one of them."""
    write_checkpoint(path, {"w": np.zeros(3), "best": np.zeros(3)})
    found = read_checkpoint(path)
    found["w"][0] = 1.0
    assert found["best"][0] == 0.0


def test_the_same_content_gives_the_same_bytes(path, tmp_path):
    write_checkpoint(tmp_path / "other", CONTENT)
    assert path.read_bytes() == (tmp_path / "other").read_bytes()


def test_a_file_that_is_cut_off_is_refused(path):
    whole = path.read_bytes()
    for length in range(len(whole)):
        path.write_bytes(whole[:length])
        with pytest.raises(CheckpointError, match="damaged"):
            read_checkpoint(path)


def test_one_changed_bit_is_noticed_or_changes_nothing(path):
    """A zip has dates and the like, for which there is no checksum."""
    whole = path.read_bytes()
    refused = 0
    for place in range(len(whole)):
        changed = bytearray(whole)
        changed[place] ^= 1 << (place % 8)
        path.write_bytes(changed)
        try:
            np.testing.assert_equal(read_checkpoint(path), CONTENT)
        except CheckpointError:
            refused += 1
    assert refused > 0.8 * len(whole)


def rewritten(path, change):
    """Write a file with another document, whose checksums are right."""
    document, arrays = unpack(path.read_bytes(), CHECKPOINT)
    document = change(document) or document
    path.write_bytes(pack(document, arrays, CHECKPOINT))


def redirected(path, **facts):
    """Write a file that gives other facts about its first array."""
    real = json.dumps

    def dumps(document):
        document["arrays"]["0"]["whole"].update(facts)
        return real(document)

    document, arrays = unpack(path.read_bytes(), CHECKPOINT)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json, "dumps", dumps)
        path.write_bytes(pack(document, arrays, CHECKPOINT))


CHANGES = {
    "an array that is not there": lambda document: document["content"].update(
        text={"$": "array", "at": 99}
    ),
    "no content": lambda document: document.pop("content") and None,
    "a list": lambda document: document.update(content=[]),
    "only a list": lambda document: [1],
    "values nested too deeply": lambda document: document["content"].update(
        text=json.loads("[" * 150 + "]" * 150)
    ),
    "an unknown kind of value": lambda document: document["content"].update(
        text={"$": "function", "value": []}
    ),
    "no number": lambda document: document["content"].update(text={"$": "float", "value": "x"}),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_a_document_that_is_wrong_is_refused(path, change):
    rewritten(path, change)
    with pytest.raises(CheckpointError, match=r"damaged|not a checkpoint"):
        read_checkpoint(path)


@pytest.mark.parametrize(
    "facts",
    [{"shape": [1 << 60]}, {"shape": [-3]}, {"shape": [1] * 50}, {"type": "|O"}, {"type": "<q17"}],
    ids=str,
)
def test_wrong_facts_about_arrays_are_refused(path, facts):
    redirected(path, **facts)
    with pytest.raises(CheckpointError, match="damaged"):
        read_checkpoint(path)


def test_another_version_of_the_package(path):
    rewritten(path, lambda document: document.update(semisvm="0.0.1"))
    with pytest.raises(CheckpointError, match=r"written by semisvm 0\.0\.1, and this is"):
        read_checkpoint(path)


def test_another_version_of_the_file(path):
    rewritten(path, lambda document: document.update(version=3))
    with pytest.raises(CheckpointError, match="has version 3, written by a newer semisvm"):
        read_checkpoint(path)


@pytest.mark.parametrize("content", [b"", b"\n", b"PK\x03\x04", b"label,text\n1,a\n", bytes(1000)])
def test_a_file_of_another_kind(path, content):
    path.write_bytes(content)
    with pytest.raises(CheckpointError, match="not a checkpoint"):
        read_checkpoint(path)


def test_a_folder(tmp_path):
    with pytest.raises(DataError, match="this is a folder"):
        read_checkpoint(tmp_path)


def test_too_many_arrays_are_not_written(path, monkeypatch):
    monkeypatch.setattr(archive, "MAX_PARTS", 2)
    with pytest.raises(DataError, match="too many"):
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
def test_fingerprints_depend_on_every_byte_type_and_shape(dtype, monkeypatch):
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
