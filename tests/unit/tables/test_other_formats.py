"""JSON lines, Parquet, numpy files, labels and writing."""

import json
import sys

import numpy as np
import pytest
from scipy import sparse

from reading import refused
from semisvm.tables import (
    DataError,
    Table,
    as_table,
    count_labels,
    read,
    read_chunks,
    remarks,
    write_bytes,
    write_text,
)
from semisvm.tables.labels import text_labels


@pytest.mark.parametrize("suffix", ["jsonl", "ndjson", "json"])
def test_json_lines(tmp_path, suffix):
    path = tmp_path / f"data.{suffix}"
    path.write_text('{"t": "a", "n": 1, "y": "p"}\n\n{"t": null, "y": null, "b": true}')
    table = read(path, label="y")
    assert table.labels.tolist() == ["p", None]
    assert table.text("t") == ["a", ""]
    assert table.text("b") == ["", "True"]
    assert table.numbers("n")[0] == 1
    assert table.lines.tolist() == [1, 3]
    chunks = list(read_chunks(path, columns=["n"], chunk_rows=1))
    assert [chunk.text("n") for chunk in chunks] == [["1"], [""]]
    with pytest.raises(DataError, match="no column 'm'"):
        list(read_chunks(path, columns=["m"], chunk_rows=1))


@pytest.mark.parametrize(
    ("content", "line", "message"),
    [
        ('{"a": 1}\n{"a": }\n', 2, "not JSON"),
        ('[{"a": 1}]', 1, "one JSON array"),
        ('[\n{"a": 1}]', 1, "one JSON array"),
        ("3\n", 1, "not a int"),
        ('{"a": ' + "[" * 100_000, 1, "JSON|nested"),
        ("", None, "empty"),
        ('{"a": 1, "y": [2]}', 1, "label must be text"),
    ],
)
def test_broken_json_lines(tmp_path, content, line, message):
    path = tmp_path / "data.jsonl"
    path.write_text(content)
    label = "y" if '"y"' in content else None
    with pytest.raises(DataError, match=message) as caught:
        read(path, label=label)
    assert caught.value.line == line


def test_nested_cells_are_no_text(tmp_path):
    path = tmp_path / "data.jsonl"
    path.write_text('{"a": [1, 2]}')
    with pytest.raises(DataError, match="list or object"):
        read(path).text("a")


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "data.parquet"
    columns = {"t": ["a", None, "c"], "n": [1, 2, None], "y": ["p", None, "q"]}
    pq.write_table(pa.table(columns), path, row_group_size=2)
    table = read(path, label="y")
    assert table.lines.tolist() == [1, 2, 3]
    assert table.labels.tolist() == ["p", None, "q"]
    assert table.text("t") == ["a", "", "c"]
    np.testing.assert_array_equal(table.numbers("n"), [1, 2, np.nan])
    assert [len(chunk) for chunk in read_chunks(path, chunk_rows=2)] == [2, 1]
    assert "row 1" in str(table.error("no", 0))
    assert "Did you mean 't'" in str(refused(path, columns=["T"]))
    path.write_bytes(b"PAR1 nonsense")
    assert "cannot be read" in str(refused(path))
    assert "no such file" in str(refused(tmp_path / "none.parquet"))
    pq.write_table(pa.table({"a": pa.array([], pa.string())}), path)
    assert "no rows" in str(refused(path))


def test_parquet_needs_an_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert "pip install 'semisvm[parquet]'" in str(refused(tmp_path / "a.parquet"))


def test_npz(tmp_path):
    X = sparse.csr_matrix([[1.0, 0], [0, 2], [3, 0]])
    path = tmp_path / "X.npz"
    sparse.save_npz(path, X)
    assert read(path).labels is None
    np.save(tmp_path / "y.npy", np.array([0, -1, 1]))
    error = refused(path)
    assert "-1, 0 and 1" in str(error)
    assert read(path, unlabeled="-1").labels.tolist() == [0, None, 1]
    assert read(path, unlabeled="0").labels.tolist() == [None, -1, 1]
    np.save(tmp_path / "y.npy", np.array(["a", "", "b"]))
    assert read(path).labels.tolist() == ["a", None, "b"]
    assert (read(path).X != X).nnz == 0
    assert [len(c) for c in read_chunks(path, chunk_rows=2, n_features=2)] == [2, 1]
    assert "2 columns, but the model expects 5" in str(refused(path, n_features=5))


def test_npz_with_labels_inside(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.eye(3, dtype=np.float32), y=np.array([1.0, np.nan, -1]))
    data = read(path)
    assert data.X.dtype == np.float32
    assert data.labels.tolist() == [1, None, -1]
    np.savez(path, X=np.eye(3), y=np.array([True, False, True]))
    assert read(path).labels.tolist() == [True, False, True]
    np.savez(path, X=np.eye(3), y=np.zeros(2))
    assert "2 labels for 3 rows" in str(refused(path))
    np.savez(path, X=np.eye(3), y=np.zeros((3, 2)))
    assert "one column" in str(refused(path))
    np.savez(path, Z=np.eye(3))
    assert "the arrays are 'Z'" in str(refused(path))
    np.savez(path, X=np.zeros(3))
    assert "must be a matrix" in str(refused(path))
    np.savez(path, X=np.zeros((0, 3)))
    assert "no rows" in str(refused(path))
    np.save(tmp_path / "X.npy", np.eye(2))
    assert read(tmp_path / "X.npy").X.shape == (2, 2)


def test_npz_is_never_unpickled(tmp_path):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.array([[{}]], dtype=object))
    assert "cannot be read" in str(refused(path))
    path.write_bytes(path.read_bytes()[:100])
    assert "cannot be read" in str(refused(path))
    np.save(tmp_path / "X.npy", np.array([{}], dtype=object))
    assert "cannot be read" in str(refused(tmp_path / "X.npy"))


def test_npz_with_indices_out_of_range(tmp_path):
    X = sparse.csr_matrix([[1.0, 0], [0, 2]])
    X.indices[0] = 7
    sparse.save_npz(tmp_path / "X.npz", X)
    assert "cannot be read" in str(refused(tmp_path / "X.npz"))


def test_remarks_on_labels():
    labels = text_labels(["a", "a", "b", "?", "?", "?", ""])
    assert count_labels(labels) == {"?": 3, "a": 2, "b": 1}
    once, marker = remarks(labels)
    assert "'b' appear once" in once
    assert "use unlabeled='?'" in marker
    assert remarks(text_labels(["a", "a", "b", "b"])) == []
    (marker,) = remarks(text_labels(["a", "a", "b", "b", "-", "-", "-", "-"]))
    assert "use unlabeled='-'" in marker
    (case,) = remarks(text_labels(["Yes", "Yes", "no", "no", "yes", "yes"]))
    assert "different classes: 'Yes', 'yes'." in case


def test_label_kinds():
    assert text_labels([True, None, False]).tolist() == [True, None, False]
    assert text_labels([1, 2.0, float("nan")]).tolist() == [1, 2, None]
    assert text_labels([1.5, 2]).tolist() == [1.5, 2.0]
    assert text_labels(["a", 1]).tolist() == ["a", "1"]
    assert text_labels(["9007199254740993", "2"]).tolist() == [9007199254740993, 2]
    assert text_labels([-1, 1], ["-1"]).tolist() == [None, 1]


def test_tables_from_frames():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    columns = {"t": ["a", None], "n": [1.0, 2.0]}
    for frame in (pd.DataFrame(columns), pl.DataFrame(columns), columns):
        table = as_table(frame)
        assert table.text("t") == ["a", ""]
        assert table.numbers("n").tolist() == [1, 2]
    assert as_table(pd.DataFrame({"s": pd.array(["x", pd.NA], "string")})).text("s") == ["x", ""]
    with pytest.raises(TypeError, match="data frame"):
        as_table([1, 2])
    with pytest.raises(ValueError, match="different lengths"):
        as_table({"a": [1], "b": []})


def test_a_table_of_labels_alone(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("y\n1\n2\n")
    table = read(path, label="y")
    assert (len(table), table.names) == (2, [])


def test_rows_of_a_table():
    table = Table({"a": [1, 2, 3], "b": [4, 5, 6]})
    assert table[1:].columns["b"] == [5, 6]
    assert table.without(["a"]).names == ["b"]


@pytest.mark.parametrize("failure", [KeyboardInterrupt, ValueError])
def test_nothing_is_left_of_a_failed_write(tmp_path, failure):
    path = tmp_path / "out.csv"
    path.write_text("old")

    def fail():
        with write_text(path) as stream:
            stream.write("half")
            raise failure

    with pytest.raises(failure):
        fail()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_written_files_replace(tmp_path):
    path = tmp_path / "out.csv"
    with write_text(path) as stream:
        stream.write("a\r\n")
        assert not path.exists()
    assert path.read_bytes() == b"a\r\n"
    path.chmod(0o640)
    with write_bytes(path) as stream:
        stream.write(b"b")
    assert path.stat().st_mode & 0o777 == 0o640
    with pytest.raises(DataError, match="no folder"), write_bytes(tmp_path / "x" / "y"):
        pass
    with pytest.raises(DataError, match="a folder"), write_bytes(tmp_path):
        pass


def test_errors_survive_other_processes():
    import pickle

    error = DataError("bad.", "a.csv", 3, "x")
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == str(error) == "a.csv, line 3, column 'x': bad."
    assert json.dumps(error.line) == "3"
