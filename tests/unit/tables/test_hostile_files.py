"""Files that are damaged, or made to do harm: one error, and no memory or time for them."""

import csv
import io
import json
import struct
import tracemalloc
import zipfile
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from reading import refused
from semisvm.tables import DataError, DataWarning, read, read_chunks
from semisvm.tables.opening import Options
from semisvm.tables.text_tables import column_names


def npy(header, content=b""):
    text = header.encode() + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + content


def npz(arrays, compression=zipfile.ZIP_STORED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as archive:
        for name, content in arrays.items():
            archive.writestr(name + ".npy", content)
    return stream.getvalue()


def header(shape, kind="<f8"):
    return f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}}}"


class Counting(str):
    """A name that counts how often it is compared."""

    compared = 0
    __hash__ = str.__hash__

    def __eq__(self, other):
        Counting.compared += 1
        return str.__eq__(self, other)

    def strip(self):
        return self


def test_names_are_compared_a_few_times_each():
    names = [Counting(f"c{i}") for i in range(300)]
    Counting.compared = 0
    assert all(a is b for a, b in zip(column_names(names, "a.csv"), names, strict=True))
    Options(columns=names, label=names[0]).wanted(names, "a.csv")
    assert Counting.compared < 10 * len(names)


def test_many_columns(write):
    n = 40_000
    names = [f"c{i}" for i in range(n)]
    path = write("a.csv", ",".join(names) + "\n" + ",".join(["1"] * n) + "\n")
    assert len(read(path, columns=names).names) == n


def test_a_new_key_in_every_row(write):
    path = write("a.jsonl", "".join(json.dumps({f"k{i}": i}) + "\n" for i in range(20_000)))
    tracemalloc.start()
    error = refused(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "too sparse for a table" in error.message
    assert 3000 < error.line < 4000
    assert peak < 50e6
    chosen = read(path, columns=["k7"])
    assert (len(chosen), chosen.columns["k7"][7]) == (20_000, 7)


def test_wide_and_filled_json_lines(write):
    row = json.dumps({f"k{i}": i for i in range(2000)}) + "\n"
    assert len(read(write("a.jsonl", row * 10)).names) == 2000


def test_a_large_index_is_refused_before_memory_is_reserved(write):
    path = write("a.svm", "1 1:1\n-1 2147483646:1\n")
    error = refused(path)
    assert error.line == 2
    assert "16.0 GiB" in error.message
    assert "max_columns=2147483646" in error.message
    assert read(path, max_columns=2147483646).X.shape == (2, 2147483646)
    with pytest.warns(DataWarning, match="left out"):
        assert read(path, n_features=3).X.shape == (2, 3)
    assert "at most 5" in refused(write("a.svm", "1 7:1\n"), max_columns=5).message
    assert read(write("a.svm", "1 10000000:1\n")).X.shape == (1, 10_000_000)


def test_a_wide_sparse_array(tmp_path):
    path = tmp_path / "X.npz"
    X = sparse.csr_matrix(([1.0], ([0], [2**30])), shape=(1, 2**30 + 1))
    sparse.save_npz(path, X)
    assert "GiB" in refused(path).message
    assert read(path, max_columns=2**31).X.shape == X.shape
    sparse.save_npz(path, sparse.coo_matrix(([1.0], ([0], [0])), shape=(2**40, 1)))
    assert "rows" in refused(path).message


@pytest.mark.parametrize("form", ["csr", "csc", "bsr", "coo", "dia"])
def test_sparse_formats(tmp_path, form):
    X = sparse.csr_matrix([[1.0, 0, 3], [0, 2, 0]])
    sparse.save_npz(tmp_path / "X.npz", X.asformat(form))
    np.testing.assert_array_equal(read(tmp_path / "X.npz").X.toarray(), X.toarray())


SMALL = npy(header("(1, 1)"), bytes(8))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.npy", npy("{'descr': '''")),
        ("a.npy", npy("(" * 200)),
        ("a.npy", npy(header("(1,)", "|O"), bytes(8))),
        ("a.npy", npy(header(f"({2**60}, 2)"))),
        ("a.npy", npy(header(f"({10**30}, 2)"))),
        ("a.npy", npy(header("(1000000000000, 1)"))),
        ("a.npy", npy(header("(-1, 1)"), bytes(8))),
        ("a.npy", npy(header(f"({2**60}, 1)", "<U0"))),
        ("a.npy", npy(header("(1, 1)", "<f9"), bytes(8))),
        ("a.npy", npy(header("(1, 1)"), bytes(7))),
        ("a.npy", b"\x93NUMPY\x09\x00" + bytes(100)),
        ("a.npy", b"\x93NUMPY"),
        ("a.npz", npz({"X": npy(header("(1000000000000, 1)"))})),
        ("a.npz", npz({"X": SMALL}, zipfile.ZIP_LZMA)),
        ("a.npz", npz({"X": SMALL}).replace(b"PK\x01\x02", b"PK\x09\x09")),
        ("a.npz", npz({"X": SMALL})[:-30]),
        ("a.npz", npz({"format": SMALL, "data": SMALL, "shape": SMALL})),
        ("a.jsonl", '{"a": ' + "1" * 5000 + "}"),
        ("a.jsonl", '{"a": "' + "x" * 50),
        ("a.csv", "a,b\n1,2\n".encode("utf-16-le")),
        ("a.csv", b"\x1f\x8b\x08\x00 nonsense"),
        ("a.svm", "1 qidfoo 1:1\n"),
        ("a.svm", "1 qid:x 1:1\n"),
        ("a.svm", "1 qid: 1:1\n"),
        ("a.parquet", b"PAR1" + bytes(40) + b"PAR1"),
    ],
)
def test_refused_with_an_error_of_ours(write, name, content):
    path = write(name, content)
    assert str(path) in str(refused(path))


@pytest.mark.parametrize(
    ("content", "encoding"),
    [
        (b"a,b\n1,2\n", "rot13"),
        (b"a,b\n1,2\n", "base64"),
        (b"a,b\n1,2\n", "no such"),
        (b"a,b\n1,2\n", "a\0b"),
        (b"a,b\n1,2\n", "undefined"),
        ("a,b\n1,2\n".encode("utf-16-le"), "utf-16"),
        (b"a,b\n1,\xff\n", "ascii"),
    ],
)
def test_encodings_that_do_not_fit(write, content, encoding):
    assert "encoding" in refused(write("a.csv", content), encoding=encoding).message


@pytest.mark.parametrize("delimiter", ["", "::", '"', "\n", "\r"])
def test_delimiters_that_are_none(write, delimiter):
    path = write("a.csv", "a,b\n1,2\n")
    with pytest.raises(DataError, match="delimiter cannot be"):
        list(read_chunks(path, delimiter=delimiter, columns=["a"]))


def test_queries_of_svmlight_are_skipped(write):
    assert read(write("a.svm", "1 qid:17 3:1\n")).X.shape == (1, 3)


def test_numbers_that_overflow(write):
    table = read(write("a.jsonl", '{"a": 1' + "0" * 400 + "}\n"))
    with pytest.raises(DataError, match="infinite"):
        table.numbers("a")


def test_parquet_with_a_name_twice(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"]), path)
    assert "'a' twice" in refused(path).message
    pq.write_table(pa.table({"a": [2**60 + 1, 1], "b": [1, 2]}), path)
    assert read(path).columns["a"] == [2**60 + 1, 1]
    assert len(read(path, columns=[])) == 2


def test_parquet_labels_are_of_one_kind_in_all_groups(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"y": ["1", "2", "x", "y"]}), path, row_group_size=2)
    assert read(path, label="y").labels.tolist() == ["1", "2", "x", "y"]


def test_interleaved_readers_of_long_cells(write):
    limit = csv.field_size_limit()
    rows = "a,b\n" + f"1,{'x' * (limit + 9)}\n" * 4
    one, two = (
        read_chunks(write(name, rows), columns=["b"], chunk_rows=1) for name in ("a.csv", "b.csv")
    )
    next(one), next(two)
    assert csv.field_size_limit() == limit
    one.close()
    assert len(list(two)) == 3
    assert csv.field_size_limit() == limit


def test_long_cells_in_threads(write):
    limit = csv.field_size_limit()
    path = write("a.csv", "a,b\n" + f"1,{'x' * (limit + 9)}\n" * 30)
    with ThreadPoolExecutor(4) as pool:
        tables = pool.map(lambda _: sum(map(len, read_chunks(path, chunk_rows=1))), range(8))
        assert list(tables) == [30] * 8
    assert csv.field_size_limit() == limit


def test_other_arrays_may_be_of_any_type(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, X=np.eye(2), names=np.array([{}, None], dtype=object))
    assert read(path).X.shape == (2, 2)
    np.savez(path, X=np.eye(2), y=np.array([{}, None], dtype=object))
    (part,) = read_chunks(path)
    assert part.X.shape == (2, 2)
    assert "type object" in refused(path).message


def test_labels_beside_are_not_read_for_predictions(tmp_path):
    np.savez(tmp_path / "new.npz", X=np.eye(3))
    np.save(tmp_path / "y.npy", np.zeros(7))
    (part,) = read_chunks(tmp_path / "new.npz", n_features=3)
    assert part.labels is None
    assert "move one" in refused(tmp_path / "new.npz").message
