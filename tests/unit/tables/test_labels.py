"""Labels of every format: missing ones, and those that must not change."""

import json
from io import StringIO

import numpy as np
import pytest

import semisvm
from reading import refused
from semisvm.tables import DataError, about_missing, join_answers, read, read_chunks
from semisvm.tables.labels import text_labels
from semisvm.text import MISSING_WORDS

WORDS = ["NaN", "N/A", "null", "None", "<NA>", "#N/A"]


def as_csv(write, labels):
    return write("a.csv", "x,y\n" + "".join(f"{i},{label}\n" for i, label in enumerate(labels)))


def as_json_lines(write, labels):
    return write("a.jsonl", "".join(json.dumps({"x": 1, "y": label}) + "\n" for label in labels))


def as_parquet(write, labels):
    pa = pytest.importorskip("pyarrow")
    path = write("a.parquet", b"")
    pytest.importorskip("pyarrow.parquet").write_table(pa.table({"y": labels}), path)
    return path


@pytest.mark.parametrize("make", [as_csv, as_json_lines, as_parquet])
def test_words_of_missing_values_are_unlabelled(write, make):
    path = make(write, ["spam", "ham", *WORDS, "nan", "nan"])
    found = read(path, label="y")
    assert found.labels.tolist() == ["spam", "ham", *[None] * 8]
    assert found.missing_words == {"nan": 2, **dict.fromkeys(WORDS, 1)}
    kept = read(path, label="y", na_is_class=True)
    assert kept.labels.tolist() == ["spam", "ham", *WORDS, "nan", "nan"]
    assert kept.missing_words == {}


def test_words_in_files_of_labels(write, tmp_path):
    data = write("a.svm", "1:1\n2:1\n1:2\n")
    for labels in (write("labels", "1\nNA\n2\n"), tmp_path / "labels.npy"):
        if labels.suffix:
            np.save(labels, np.array(["1", "NA", "2"]))
        found = read(data, labels_file=labels)
        assert found.labels.tolist() == [1, None, 2]
        assert found.missing_words == {"NA": 1}
        kept = read(data, labels_file=labels, na_is_class=True)
        assert kept.labels.tolist() == ["1", "NA", "2"]


def test_words_in_answers(write):
    data = read(write("a.csv", "x\nu\nv\nw\n"))
    answers = write("b.csv", "semisvm_row,label\n1,p\n2,None\n")
    joined = join_answers(data, [answers])
    assert joined.data.labels.tolist() == ["p", None, None]
    assert any("'None' (1)" in note for note in joined.notes)
    joined = join_answers(data, [answers], na_is_class=True)
    assert joined.data.labels.tolist() == ["p", "None", None]


def test_the_note_has_the_count_and_a_remedy():
    (note,) = about_missing({"NA": 1200, "n/a": 1})
    assert note.startswith("1,201 rows")
    assert "'NA' (1,200), 'n/a' (1)" in note
    assert "na_is_class=True" in note
    assert about_missing({}) == []


def test_training_reports_it(write):
    rows = [f"{i % 2}.{i % 7},{'pq'[i % 2] if i < 12 else 'None'}" for i in range(30)]
    table = read(write("a.csv", "x,y\n" + "\n".join(rows)), label="y")
    with pytest.warns(semisvm.tables.DataWarning, match="18 rows count as unlabelled"):
        model = semisvm.train(table, "svm")
    assert "'None' (18)" in model.summary["notes"][0]
    only = read(as_csv(write, ["NA", "NA", "FR"]), label="y")
    with pytest.raises(DataError, match="na_is_class"):
        semisvm.train(only, "svm")


def test_the_words_are_those_of_pandas():
    pd = pytest.importorskip("pandas")
    spelt = [
        "#N/A",
        "#N/A N/A",
        "#NA",
        "-1.#IND",
        "-1.#QNAN",
        "-NaN",
        "-nan",
        "1.#IND",
        "1.#QNAN",
        "<NA>",
        "N/A",
        "NA",
        "NULL",
        "NaN",
        "None",
        "n/a",
        "nan",
        "null",
    ]
    frame = pd.read_csv(StringIO("a,b\n" + "".join(f"{word},1\n" for word in spelt)))
    assert frame["a"].isna().all()
    assert {word.casefold() for word in spelt} == MISSING_WORDS


def test_large_numbers_of_svmlight_are_refused(write):
    error = refused(write("a.svm", "1 1:1\n1e19 1:1\n2e19 1:1\n"))
    assert (error.line, "1e+19" in str(error)) == (2, True)
    assert refused(write("a.svm", "1 1:1\n9007199254740993 1:1\n")).line == 2
    exact = read(write("a.svm", "1 1:1\n9007199254740991 1:1\n"))
    assert exact.labels.tolist() == [1, 9007199254740991]
    (part,) = read_chunks(write("a.svm", "1e19 1:1\n"), n_features=1)
    assert part.labels is None


@pytest.mark.parametrize(
    ("y", "labels"),
    [
        (np.array([1, 2**63 + 5], np.uint64), None),
        (np.array([1, 2**63 - 1], np.uint64), [1, 2**63 - 1]),
        (np.array([1.0, 1e19]), None),
        (np.array([1, 1 + 2j]), None),
        (np.array([b"spam", b"ham"]), ["spam", "ham"]),
        (np.array([b"sp\xe4m", b"ham"]), None),
        (np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"), None),
        (np.array([np.inf, 1.0]), None),
        (np.array([0.5, 1.0], np.float16), [0.5, 1.0]),
    ],
)
def test_labels_of_arrays_are_kept_or_refused(tmp_path, y, labels):
    path = tmp_path / "data.npz"
    np.savez(path, X=np.eye(2), y=y)
    if labels is None:
        assert any(word in refused(path).message for word in ("label", "type"))
    else:
        assert read(path).labels.tolist() == labels


def test_labels_stay_apart():
    assert text_labels([1, True]).tolist() == ["1", "True"]
    large = [10**19, 10**19 + 1, 1]
    assert len(set(text_labels(large).tolist())) == 3
    assert text_labels(map(str, large)).tolist() == [str(value) for value in large]
    assert text_labels(["7" * 5000, "1"]).tolist() == ["7" * 5000, "1"]
    assert text_labels([1e19, 0.5]).tolist() == [str(10**19), "0.5"]
    assert text_labels([10**400, 1]).tolist() == [str(10**400), "1"]
    assert text_labels([b"spam"]).tolist() == ["spam"]
    assert text_labels(["-0", "0"]).tolist() == ["-0", "0"]
    for wrong in (float("inf"), b"\xff", [1]):
        with pytest.raises(DataError, match="row 2"):
            text_labels(["a", wrong])
