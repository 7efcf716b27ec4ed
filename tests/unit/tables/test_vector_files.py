"""Vectors in files: lists in Parquet and JSON lines, arrays beside a table; Parquet written."""

import json

import numpy as np
import pytest

from semisvm.tables import ColumnFeatures, DataError, Table, read, read_chunks, to_fill_in
from semisvm.tables.parquet import parquet_writer
from semisvm.tables.row_hashes import row_hashes
from semisvm.tables.row_vectors import RowVectors

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

VECTORS = np.arange(12.0).reshape(4, 3)
LISTS = VECTORS.tolist()


def parquet(path, **columns):
    pq.write_table(pa.table(columns), path)
    return path


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.float32()),
        pa.list_(pa.float64(), 3),
        pa.large_list(pa.int64()),
        pa.list_(pa.float16()),
    ],
)
def test_lists_of_any_type_are_arrays(tmp_path, kind):
    cells = [list(map(int, row)) for row in LISTS] if "int" in str(kind) else LISTS
    if kind.value_type == pa.float16():
        cells = [[np.float16(x) for x in row] for row in LISTS]
    path = parquet(tmp_path / "x.parquet", v=pa.array(cells, kind), t=list("abcd"))
    assert np.array_equal(read(path).columns["v"], VECTORS)
    pieces = [piece.columns["v"] for piece in read_chunks(path, chunk_rows=3)]
    assert np.array_equal(np.concatenate(pieces), VECTORS)


def test_tensors_of_a_fixed_shape_are_arrays(tmp_path):
    tensor = pa.ExtensionArray.from_storage(
        pa.fixed_shape_tensor(pa.float64(), [3]), pa.array(LISTS, pa.list_(pa.float64(), 3))
    )
    path = parquet(tmp_path / "x.parquet", v=tensor)
    assert np.array_equal(read(path).columns["v"], VECTORS)


@pytest.mark.parametrize("kind", [pa.list_(pa.float64()), pa.list_(pa.float64(), 3)])
def test_a_missing_list_is_a_missing_vector(tmp_path, kind):
    cells = [LISTS[0], None, *LISTS[2:]]
    try:
        path = parquet(tmp_path / "x.parquet", v=pa.array(cells, kind))
    except pa.ArrowNotImplementedError:
        pytest.skip("this version of pyarrow writes no missing lists of fixed size")
    found = read(path).columns["v"]
    assert np.isnan(found[1]).all()
    assert np.array_equal(found[[0, 2, 3]], VECTORS[[0, 2, 3]])


def test_lists_of_different_lengths_are_left_out_with_a_reason(tmp_path):
    path = parquet(tmp_path / "x.parquet", v=[[1.0], [2.0, 3.0]], size=[0.5, 1.5])
    features = ColumnFeatures().fit(read(path))
    assert features.kinds_ == {"size": "numeric"}
    assert "not all of the same length" in features.notes_[0]


def test_json_lines_and_parquet_are_the_same(tmp_path):
    lines = [json.dumps({"v": row, "t": text}) for row, text in zip(LISTS, "abcd", strict=True)]
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    path = parquet(tmp_path / "x.parquet", v=LISTS, t=list("abcd"))
    tables = [read(tmp_path / "x.jsonl"), read(path)]
    made = [ColumnFeatures(features=["v"]).fit_transform(table) for table in tables]
    assert np.array_equal(*made)
    hashes = [row_hashes(table) for table in tables]
    assert hashes[0] == hashes[1]
    assert len(set(hashes[0])) == 4


def test_files_to_fill_in_show_no_vectors():
    table = Table({"v": VECTORS, "t": list("abcd")})
    assert list(to_fill_in(table, [1, 2])[0]) == ["semisvm_row", "label", "t"]


def test_vectors_are_joined_by_row_in_pieces(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS.astype(np.float32))
    vectors = RowVectors.load(tmp_path / "v.npy")
    table = Table({"t": list("abcd")})
    parts = [vectors.join(table[:3]), vectors.join(table[3:])]
    vectors.finish()
    assert np.array_equal(np.concatenate([p.columns["embeddings"] for p in parts]), VECTORS)


def test_wrong_numbers_of_vectors_are_refused(tmp_path):
    np.save(tmp_path / "v.npy", VECTORS)
    short, long = Table({"t": list("abc")}), Table({"t": list("abcde")})
    vectors = RowVectors.load(tmp_path / "v.npy")
    with pytest.raises(DataError, match="4 vectors, but the data has more than 4 rows"):
        vectors.join(long)
    vectors.join(short)
    with pytest.raises(DataError, match="4 vectors, but the data has 3 rows"):
        vectors.finish()
    with pytest.raises(DataError, match="already"):
        RowVectors.load(tmp_path / "v.npy").join(Table({"embeddings": list("abcd")}))


@pytest.mark.parametrize("wrong", [np.ones(4), np.array([["a"]]), np.ones((2, 0))])
def test_arrays_that_are_no_vectors_are_refused(tmp_path, wrong):
    np.save(tmp_path / "v.npy", wrong)
    with pytest.raises(DataError, match="embeddings are an array of numbers"):
        RowVectors.load(tmp_path / "v.npy")


def test_parquet_is_written_in_pieces(tmp_path):
    path = tmp_path / "out.parquet"
    with parquet_writer(path) as write:
        write([{"label": "a", "score": 0.5, "why": None}])
        write([{"label": "b", "score": 1.5, "why": "x"}, {"label": None, "score": 2, "why": None}])
    found = pq.read_table(path)
    assert found.to_pylist() == [
        {"label": "a", "score": 0.5, "why": None},
        {"label": "b", "score": 1.5, "why": "x"},
        {"label": None, "score": 2.0, "why": None},
    ]
    assert str(found.schema.field("score").type) == "double"


def test_a_column_without_values_is_text(tmp_path):
    with parquet_writer(tmp_path / "out.parquet") as write:
        write([{"why": None}])
    assert str(pq.read_schema(tmp_path / "out.parquet").field("why").type) == "string"


def test_values_of_two_types_are_refused_and_leave_no_file(tmp_path):
    def write_two_types():
        with parquet_writer(tmp_path / "out.parquet") as write:
            write([{"label": 1}])
            write([{"label": "one"}])

    with pytest.raises(DataError, match="not all of one type"):
        write_two_types()
    assert list(tmp_path.iterdir()) == []
