"""svmlight files: the numbers are exact, and mistakes are located."""

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from reading import refused
from semisvm.tables import DataError, DataWarning, read, read_chunks, svmlight, write_bytes
from semisvm.tables._svmlight_kernels import FAST, SLOW, parse_number
from semisvm.tables.svmlight import write_svmlight


@pytest.fixture
def write(write):
    return lambda content, name="data.svm": write(name, content)


def test_labels_and_values(write):
    data = read(write("+1 1:0.5 3:-2e-1\n-1 2:1\n0 1:3 # note\n"))
    assert data.labels.tolist() == [1, -1, None]
    assert data.X.toarray().tolist() == [[0.5, 0, -0.2], [0, 1, 0], [3, 0, 0]]
    assert data.lines.tolist() == [1, 2, 3]
    assert data.facts == {"zero_based": False}


def test_labels_keep_their_kind(write):
    assert read(write("1.5 1:1\n2 1:1\n")).labels.tolist() == [1.5, 2.0]
    assert read(write("0 1:1\n1 1:1\n"), unlabeled="none").labels.tolist() == [0, 1]
    assert read(write("9 1:1\n1 1:1\n"), unlabeled="9").labels.tolist() == [None, 1]
    assert "marker" in str(refused(write("1 1:1\n"), unlabeled="x"))


def test_zero_based_indices(write):
    path = write("1 0:1 2:5\n-1 1:2\n")
    assert read(path).X.toarray().tolist() == [[1, 0, 5], [0, 2, 0]]
    assert read(path).facts == {"zero_based": True}
    error = refused(path, zero_based=False)
    assert (error.line, error.column) == (1, 3)
    assert "zero_based=True" in str(error)
    assert read(write("1 1:1\n"), zero_based=True).X.shape == (1, 2)


def test_unsorted_indices_are_sorted(write):
    data = read(write("1 3:3 1:1\n-1 2:2\n"))
    assert data.X.toarray().tolist() == [[1, 0, 3], [0, 2, 0]]
    assert data.X.has_sorted_indices


@pytest.mark.parametrize(
    ("row", "column", "message"),
    [
        ("1 2:1 2:3", 7, "occurs twice"),
        ("1 2:1 3:1 2:3", 11, "occurs twice"),
        ("1 2:nan", 5, "'nan' is not a finite number"),
        ("1 2:inf", 5, "'inf' is not"),
        ("1 2:1e999", 5, "too large"),
        ("1 2:", 5, "missing"),
        ("1 2:1 x:3", 7, "'x:3' is not an index:value"),
        ("1 2:1 -3:3", 7, "'-3:3' is not"),
        ("1 2:1 7", 7, "'7' is not"),
        ("1 99999999999:1", 3, "too large"),
        ("1,2 2:1", 1, "several labels"),
        ("spam 2:1", 1, "label 'spam' is not a number"),
        ("nan 2:1", 1, "label 'nan'"),
        ("2:1", 1, "does not have a label"),
        ("1 2:1.5.1", 5, "not a finite"),
        ("1 2:1e", 5, "not a finite"),
        ("1 2:1e+x", 5, "not a finite"),
        ("1 2:.", 5, "not a finite"),
    ],
)
def test_mistakes_have_line_and_column(write, row, column, message):
    error = refused(write(f"1 1:1\n# comment\n\n{row}\n-1 1:1\n"))
    assert message in str(error)
    assert (error.line, error.column) == (4, column)


def test_comments_queries_blank_lines_and_missing_newline(write):
    content = "# head\n1 qid:3 1:1\n\n   \n-1 qid:4 2:2#x\r\n1 # nothing\n1 1:1"
    data = read(write(content))
    assert data.labels.tolist() == [1, -1, 1, 1]
    assert data.X.toarray().tolist() == [[1, 0], [0, 2], [0, 0], [1, 0]]
    assert data.lines.tolist() == [2, 5, 6, 7]


def test_giant_line(write):
    cells = " ".join(f"{i}:0.5" for i in range(1, 200_001))
    data = read(write(f"1 {cells}\n-1 1:1\n"))
    assert data.X.nnz == 200_001


def test_blocks_are_the_whole(write, monkeypatch):
    lines = [f"{1 if i % 3 else -1} {i % 7 + 1}:{i / 7} {i % 5 + 9}:2" for i in range(1500)]
    path = write("\n".join(lines))
    whole = read(path)
    monkeypatch.setattr(svmlight, "BLOCK", 997)
    again = read(path)
    assert (whole.X != again.X).nnz == 0
    assert whole.labels.tolist() == again.labels.tolist()
    assert whole.lines.tolist() == again.lines.tolist() == list(range(1, 1501))
    parts = list(read_chunks(path, n_features=13))
    assert len(parts) > 3
    assert (sparse.vstack([part.X for part in parts]) != whole.X).nnz == 0
    path.write_text("\n".join([*lines, "1 1:x"]))
    assert refused(path).line == 1501


def test_width_of_a_model(write):
    path = write("1 1:1 9:1\n")
    with pytest.warns(DataWarning, match="1 values are in columns after the 3"):
        assert read(path, n_features=3).X.toarray().tolist() == [[1, 0, 0]]
    assert read(path, n_features=12).X.shape == (1, 12)
    with pytest.raises(ValueError, match="n_features"):
        list(read_chunks(path))


def test_separate_labels(write, tmp_path):
    data = write("1:1 2:1\n\n3:1\n", "examples")
    labels = write("1\n0\n-1\n", "labels")
    both = read(data, labels_file=labels, format="svmlight")
    assert both.labels.tolist() == [1, None, -1]
    assert both.X.toarray().tolist() == [[1, 1, 0], [0, 0, 0], [0, 0, 1]]
    error = refused(data, labels_file=write("1\n", "few"), format="svmlight")
    assert "1 labels for the 3 rows" in str(error)
    np.save(tmp_path / "y.npy", np.array([1, 0, 2]))
    both = read(data, labels_file=tmp_path / "y.npy", format="svmlight")
    assert both.labels.tolist() == [1, None, 2]
    assert "not both" in str(refused(data, labels_file=labels, format="svmlight", label="y"))


def test_files_without_labels_and_other_files(write):
    assert read(write("1:1\n2:1\n")).labels is None
    assert "has a label" in str(refused(write("1:1\n1 2:1\n")))
    assert "is empty" in str(refused(write("")))
    assert "is empty" in str(refused(write("# only a comment\n")))
    assert "UTF-16" in str(refused(write("1 1:1\n".encode("utf-16"))))
    assert "no named columns" in str(refused(write("1 1:1\n"), label="y"))
    assert read(write(b"\xef\xbb\xbf1 1:1\n")).labels.tolist() == [1]
    assert read(write(gzip.compress(b"1 1:1\n"), "a.svm.gz")).labels.tolist() == [1]


finite = st.floats(allow_nan=False, allow_infinity=False)


@settings(max_examples=300)
@given(value=finite, digits=st.integers(1, 25))
def test_numbers_are_those_of_python(value, digits):
    for text in (repr(value), f"{value:.{digits}g}", f"{value:.{digits}e}"):
        how, read_value = parse_number(np.frombuffer(text.encode(), dtype=np.uint8), 0, len(text))
        assert how in (FAST, SLOW)
        if how == FAST:
            assert read_value == float(text)


@settings(max_examples=300)
@given(m=st.integers(0, 10**19 - 1), shift=st.integers(0, 22))
def test_long_fractions_are_rounded_rightly(m, shift):
    digits = str(m).rjust(shift + 1, "0")
    text = f"{digits[: len(digits) - shift]}.{digits[len(digits) - shift :]}"
    how, value = parse_number(np.frombuffer(text.encode(), dtype=np.uint8), 0, len(text))
    assert how == SLOW or value == float(text)


def test_most_long_fractions_are_fast():
    rng = np.random.default_rng(0)
    texts = [f"{x:.17g}".encode() for x in rng.random(500)]
    sure = [parse_number(np.frombuffer(t, dtype=np.uint8), 0, len(t))[0] == FAST for t in texts]
    assert np.mean(sure) > 0.99


@settings(max_examples=50)
@given(
    rows=st.lists(
        st.tuples(st.integers(-3, 3), st.dictionaries(st.integers(0, 30), finite, max_size=5)),
        min_size=1,
        max_size=8,
    )
)
def test_round_trip(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("svm") / "data.svm"
    X = sparse.lil_array((len(rows), 31))
    for i, (_, cells) in enumerate(rows):
        for column, value in cells.items():
            X[i, column] = value
    with write_bytes(path) as stream:
        write_svmlight(stream, X, [label for label, _ in rows])
    data = read(path, n_features=31, zero_based=False)
    assert (X.tocsr() != data.X).nnz == 0
    assert data.labels.tolist() == [label or None for label, _ in rows]


def test_columns_of_a_matrix_are_refused(tmp_path):
    (tmp_path / "x.svm").write_text("1 1:2.0\n")
    with pytest.raises(DataError, match="without named columns"):
        list(read_chunks(tmp_path / "x.svm", columns=["a"]))
