"""Headers and values of arrays, as model files and files of users share them."""

import io
import struct

import numpy as np
import pytest
from numpy.lib import format as npy

from semisvm.persistence import archive
from semisvm.tables import array_files as arrays


def written(array):
    stream = io.BytesIO()
    npy.write_array(stream, array, allow_pickle=False)
    return stream.getvalue()


def test_both_readers_read_what_numpy_writes():
    array = np.asfortranarray(np.arange(6.0).reshape(2, 3))
    content = written(array)
    entry = {"type": array.dtype.str, "shape": [2, 3]}
    found = archive.read_array(io.BytesIO(content), len(content), entry)
    np.testing.assert_array_equal(found, array)
    version, length, text = arrays.read_head(io.BytesIO(content))
    assert version == (1, 0)
    assert npy.MAGIC_LEN + len(length) + len(text) + array.nbytes == len(content)


@pytest.mark.parametrize(
    ("head", "message"),
    [
        (npy.magic(1, 0) + struct.pack("<H", 60_000), "60,000 bytes"),
        (npy.magic(2, 0) + struct.pack("<I", 1 << 30), "1,073,741,824 bytes"),
        (npy.magic(3, 0) + struct.pack("<I", 10), "version"),
    ],
)
def test_both_readers_refuse_a_header_before_it_is_read(head, message):
    class Stream(io.BytesIO):
        def read(self, size=-1):
            assert 0 <= size <= 8
            return super().read(size)

    with pytest.raises(ValueError, match=message):
        arrays.read_head(Stream(head), most=1_000)
    with pytest.raises(ValueError, match=message):
        archive.read_array(Stream(head), len(head), {"type": "<f8", "shape": [1]})


def test_an_empty_array_whose_header_is_cut_off_is_refused():
    content = written(np.empty(0)).rstrip()
    with pytest.raises(ValueError, match="EOF"):
        archive.read_array(io.BytesIO(content), len(content), {"type": "<f8", "shape": [0]})


@pytest.mark.parametrize("size", [0, 5, 10, 12])
def test_pieces_are_as_long_as_requested_or_as_the_stream(size, monkeypatch):
    monkeypatch.setattr(arrays, "PIECE", 4)
    stream = io.BytesIO(b"0123456789")
    assert arrays.read_pieces(stream, size) == b"0123456789"[:size]
    assert stream.tell() == min(size, 10)
