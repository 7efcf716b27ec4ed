"""Converted files are the matrices and labels that reading them whole gives."""

import gzip
import json
import zlib

import numpy as np
import pytest
from scipy import sparse

from semisvm import convert, load, open_rows, save, train
from semisvm.designs.disk_header import digest_of
from semisvm.persistence.column_states import features_of_rows
from semisvm.persistence.conversion import Progress
from semisvm.tables import ColumnFeatures, DataError, read, svmlight
from semisvm.tables.feature_states import state_of
from semisvm.tables.opening import CHUNK_ROWS
from semisvm.tables.svmlight import write_svmlight

KINDS = ("spam", "ham", "")


def same_rows(R, X):
    return R.shape == X.shape and abs(R[:] - X).max() < 1e-14


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(svmlight, "BLOCK", 300)


def svm_file(path, n=60, seed=0, labels=None):
    X = sparse.random(n, 30, 0.2, format="csr", random_state=seed)
    y = [(1, -1, None)[k % 3] for k in range(n)] if labels is None else labels
    with open(path, "wb") as stream:
        write_svmlight(stream, X, y)
    return X


def csv_lines(n, first=0, seed=0):
    rng = np.random.default_rng(seed)
    for k in range(first, first + n):
        words = " ".join(rng.choice([f"w{j}" for j in range(40)], 6))
        size = "" if rng.random() < 0.1 else f"{rng.normal():.3f}"
        yield {"text": words, "size": size, "kind": KINDS[k % 3]}


def write_csv(path, rows):
    rows = list(rows)
    text = [",".join(rows[0]), *(",".join(row.values()) for row in rows)]
    path.write_text("\n".join(text) + "\n")
    return path


def test_svmlight(tmp_path, small_blocks):
    svm_file(tmp_path / "a.svm")
    progress = Progress()
    R = convert(tmp_path / "a.svm", tmp_path / "a.rows", progress=progress)
    data = read(tmp_path / "a.svm")
    assert same_rows(R, data.X)
    assert R.labels().tolist() == data.labels.tolist()
    assert R.header.facts == {"zero_based": False}
    assert progress.rows == 60
    assert progress.bytes == progress.total == (tmp_path / "a.svm").stat().st_size
    assert progress.share == 1.0


def test_several_svmlight_files_and_patterns(tmp_path, small_blocks):
    X = [svm_file(tmp_path / f"part{k}.svm", seed=k, n=20 + k) for k in range(3)]
    (tmp_path / "part1.svm.gz").write_bytes(gzip.compress((tmp_path / "part1.svm").read_bytes()))
    (tmp_path / "part1.svm").unlink()
    R = convert(str(tmp_path / "part*"), tmp_path / "a.rows", dtype="float32")
    assert R.dtype == np.float32
    assert abs(R[:] - sparse.vstack(X)).max() < 1e-7
    assert R.y is not None
    assert R.y.shape == (63,)


def test_the_base_of_indices_is_found_in_all_files(tmp_path):
    (tmp_path / "a.svm").write_text("1 3:1\n-1 2:1\n")
    (tmp_path / "b.svm").write_text("1 0:1\n")
    R = convert([tmp_path / "a.svm", tmp_path / "b.svm"], tmp_path / "a.rows")
    assert R[:].toarray().tolist() == [[0, 0, 0, 1], [0, 0, 1, 0], [1, 0, 0, 0]]
    R = convert(tmp_path / "a.svm", tmp_path / "a.rows", zero_based=True)
    assert R.shape == (2, 4)


def test_labels_of_later_pieces_change_what_the_first_are(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:1\n2 1:1\n")
    (tmp_path / "b.svm").write_text("2.5 1:1\n")
    R = convert([tmp_path / "a.svm", tmp_path / "b.svm"], tmp_path / "a.rows")
    assert R.classes == [1.0, 2.0, 2.5]
    cells = ["3"] * CHUNK_ROWS + ["3.0", "x", "", "NA"]
    write_csv(tmp_path / "c.csv", ({"kind": c, "size": str(k % 7)} for k, c in enumerate(cells)))
    R = convert(tmp_path / "c.csv", tmp_path / "a.rows", label="kind")
    whole = read(tmp_path / "c.csv", label="kind")
    assert R.classes == ["3", "3.0", "x"]
    assert R.labels().tolist() == whole.labels.tolist()
    assert R.header.missing_words == whole.missing_words == {"NA": 1}


def test_labels_apart_and_none(tmp_path):
    (tmp_path / "a.svm").write_text("1:1\n\n2:1\n")
    (tmp_path / "y.txt").write_text("a\n0\nb\n")
    R = convert(
        tmp_path / "a.svm", tmp_path / "a.rows", labels_file=tmp_path / "y.txt", unlabeled="0"
    )
    assert R.y.tolist() == ["a", None, "b"]
    (tmp_path / "y.txt").write_text("a\n")
    with pytest.raises(DataError, match="1 labels for 3 rows"):
        convert(tmp_path / "a.svm", tmp_path / "a.rows", labels_file=tmp_path / "y.txt")
    assert convert(tmp_path / "a.svm", tmp_path / "a.rows").classes == []


SUFFIXES = {
    "csv": lambda path, rows: write_csv(path, rows),
    "jsonl": lambda path, rows: path.write_text("\n".join(map(json.dumps, rows))),
}


@pytest.mark.parametrize("suffix", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("hashed", [None, 32])
def test_tables(tmp_path, suffix, hashed):
    paths = [tmp_path / f"{k}.{suffix}" for k in range(2)]
    for k, path in enumerate(paths):
        rows = list(csv_lines(90, 90 * k, k))
        if suffix == "parquet":
            pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
            pq.write_table(pa.Table.from_pylist(rows), path)
        else:
            SUFFIXES[suffix](path, rows)
    features = ColumnFeatures(hash_columns=hashed)
    progress = Progress()
    R = convert(paths, tmp_path / "a.rows", label="kind", features=features, progress=progress)
    whole = write_csv(tmp_path / "all.csv", [*csv_lines(90, 0, 0), *csv_lines(90, 90, 1)])
    data = read(whole, label="kind")
    expected = ColumnFeatures(hash_columns=hashed).fit_transform(data)
    assert same_rows(R, expected)
    assert R.labels().tolist() == data.labels.tolist()
    assert progress.share == 1.0
    assert progress.rows == 180


def test_keys_of_json_lines_that_come_late(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"size": k % 7 + 0.5} for k in range(CHUNK_ROWS + 5)]
    path.write_text("\n".join(json.dumps(row) for row in [*rows, {"size": 1, "kind": "a"}]))
    R = convert(path, tmp_path / "a.rows", label="kind")
    assert R.classes == ["a"]
    assert np.flatnonzero(R.codes == 0).tolist() == [CHUNK_ROWS + 5]
    with pytest.raises(DataError, match="there is no column 'kin'"):
        convert(path, tmp_path / "a.rows", label="kin")


def test_models_of_converted_tables_predict_from_files(tmp_path):
    path = write_csv(tmp_path / "a.csv", csv_lines(120))
    convert(path, tmp_path / "a.rows", label="kind", dtype="float32")
    data = read(tmp_path / "a.rows")
    model = train(data, "tsvm")
    save(model, tmp_path / "m")
    table = read(path, label="kind")
    again = load(tmp_path / "m")
    assert np.allclose(again.decision_function(table), model.decision_function(data), atol=1e-6)
    assert again.settings["label"] == "kind"
    other = write_csv(tmp_path / "b.csv", csv_lines(120, seed=1))
    convert(other, tmp_path / "b.rows", label="kind")
    with pytest.raises(DataError, match="not those of the model"):
        again.predict(read(tmp_path / "b.rows"))
    svm_file(tmp_path / "c.svm")
    with pytest.raises(DataError, match="fitted to columns, but this is a matrix"):
        again.predict(read(tmp_path / "c.svm"))


def tampered(folder, change):
    """Change the features of a folder of rows, with right checksums."""
    path, head = folder / "features.json", folder / "header.json"
    tree = json.loads(path.read_text())
    change(tree)
    path.write_text(json.dumps(tree))
    header = json.loads(head.read_text())
    del header["sha256"]
    header["features"] = zlib.crc32(path.read_bytes())
    head.write_text(json.dumps({**header, "sha256": digest_of(header)}))


FEATURES = {
    "no words": (
        lambda tree: tree["state"]["blocks"][0].pop("words"),
        r"blocks\[0\] has no words",
    ),
    "kinds": (lambda tree: tree["state"].update(kinds=7), "features.kinds must be a list"),
    "no scale": (
        lambda tree: tree["arrays"]["scales"].append(None),
        "features.scales must be",
    ),
    "a negative idf": (
        lambda tree: tree["arrays"]["0.idf"].__setitem__(0, -1.0),
        "within bounds",
    ),
    "a pattern": (
        lambda tree: tree["state"]["blocks"][0]["settings"].update(token_pattern="(a+)+b"),
        "token_pattern must be one of",
    ),
    "one word less": (
        lambda tree: [
            tree["arrays"]["0.idf"].pop(),
            tree["state"]["blocks"][0]["words"].pop(),
        ],
        "columns",
    ),
}


@pytest.mark.parametrize("what", FEATURES)
def test_features_of_rows_are_checked_like_those_of_models(tmp_path, what):
    change, reason = FEATURES[what]
    source = write_csv(tmp_path / "a.csv", csv_lines(90))
    folder = convert(source, tmp_path / "a.rows", label="kind").path
    model = train(read(folder), "svm")
    tampered(folder, change)
    with pytest.raises(DataError, match=f"features of these rows are damaged: .*{reason}"):
        train(read(folder), "svm")
    with pytest.raises(DataError, match="are not those of the model"):
        model.predict(read(folder))


def test_features_of_rows_keep_to_the_memory_of_model_files():
    features = ColumnFeatures(text=["x" * 2000], hash_columns=2**16).fit({"x" * 2000: ["a b"]})
    state, arrays = state_of(features)
    with pytest.raises(ValueError, match="their names would need 131,072,000 bytes, of which"):
        features_of_rows(json.loads(json.dumps(state)), arrays, 2**16)


def test_tables_of_numbers_are_dense(tmp_path):
    rows = ({"a": f"{k % 7}.5", "b": str(k * k)} for k in range(40))
    R = convert(write_csv(tmp_path / "a.csv", rows), tmp_path / "a.rows")
    assert not R.is_sparse
    assert np.allclose(R[:].std(axis=0), 0.5**0.5)
    assert R.y is None


def test_arrays(tmp_path):
    X = np.random.default_rng(0).normal(size=(25, 4))
    y = np.array([2, 1, -1, 2, 1] * 5)
    np.savez(tmp_path / "a.npz", X=X, y=y)
    sparse.save_npz(tmp_path / "b.npz", sparse.csr_matrix(X > 1, dtype=float))
    R = convert(tmp_path / "a.npz", tmp_path / "a.rows")
    assert np.array_equal(R[:], X)
    assert np.array_equal(R.y, y)
    R = convert(tmp_path / "b.npz", tmp_path / "b.rows")
    assert np.array_equal(R[:].toarray(), X > 1)
    X[3, 2] = np.nan
    np.savez(tmp_path / "a.npz", X=X)
    with pytest.raises(DataError, match=r"a\.npz, row 4, column 3: the value nan"):
        convert(tmp_path / "a.npz", tmp_path / "a.rows")
    assert np.array_equal(open_rows(tmp_path / "a.rows").y, y)


def test_what_is_refused(tmp_path):
    csv = write_csv(tmp_path / "a.csv", csv_lines(20))
    svm_file(tmp_path / "a.svm")
    (tmp_path / "wide.svm").write_text("1 1:1\n-1 2000000000:1\n")
    (tmp_path / "bad.svm").write_text("1 1:1\n-1 2:nan\n")
    for sources, options, message in [
        ([csv, tmp_path / "a.svm"], {}, "this is a svmlight file, but .* is csv"),
        (csv, {"label": "kin"}, "Did you mean 'kind'"),
        (csv, {"dtype": "int32"}, "float64 or float32"),
        (tmp_path / "none.csv", {}, "there is no such file"),
        (tmp_path / "*.tsv", {}, "none has a name like this"),
        (tmp_path, {}, "this is a folder"),
        (tmp_path / "a.svm", {"label": "kind"}, "no named columns"),
        (csv, {"label": "kind", "labels_file": csv}, "not both"),
        (tmp_path / "wide.svm", {}, "2,000,000,000 columns"),
        (tmp_path / "bad.svm", {}, r"bad\.svm, line 2"),
        ([], {}, "no file to convert"),
    ]:
        with pytest.raises(ValueError, match=message):
            convert(sources, tmp_path / "a.rows", **options)
    assert not (tmp_path / "a.rows").exists()


def test_identifiers_are_no_labels(tmp_path, monkeypatch):
    monkeypatch.setattr("semisvm.tables.labels.MOST_CLASSES", 10)
    rows = ({"kind": f"id{k}", "size": str(k % 7)} for k in range(40))
    with pytest.raises(DataError, match="more than 10 different labels"):
        convert(write_csv(tmp_path / "a.csv", rows), tmp_path / "a.rows", label="kind")
