"""CSV and TSV: read rightly, or refused with file, line and column."""

import csv
import gzip
import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reading import refused
from semisvm.tables import DataError, read, read_chunks


@pytest.fixture
def write(write):
    return lambda content, name="data.csv": write(name, content)


def test_labels_blank_means_unlabelled(write):
    table = read(write("text,label\ngood,yes\nbad, \nugly,no\n"), label="label")
    assert table.labels.tolist() == ["yes", None, "no"]
    assert table.names == ["text"]
    assert table.text("text") == ["good", "bad", "ugly"]
    assert table.lines.tolist() == [2, 3, 4]


def test_whole_number_labels_are_numbers(write):
    content = "x,y\n1,1.0\n2,\n3,0.0\n"
    assert read(write(content), label="y").labels.tolist() == [1, None, 0]
    assert read(write("x,y\n1,01\n2,7\n"), label="y").labels.tolist() == ["01", "7"]


def test_marker_of_unlabelled_rows(write):
    table = read(write("x,y\n1,?\n2,a\n"), label="y", unlabeled="?")
    assert table.labels.tolist() == [None, "a"]


def test_absent_trailing_newline_and_other_line_ends(write):
    for content in ("a,b\n1,2\n3,4", "a,b\r\n1,2\r\n3,4\r\n", "a,b\n1,2\n\n3,4\n\n"):
        assert read(write(content)).text("b") == ["2", "4"]


def test_line_breaks_and_quotes_inside_cells(write):
    table = read(write('a,b\n"one\ntwo","say ""hi"""\nlast,row\n'))
    assert table.text("a") == ["one\ntwo", "last"]
    assert table.text("b") == ['say "hi"', "row"]
    assert table.lines.tolist() == [2, 4]


def test_semicolons_and_tabs(write):
    assert read(write("a;b\n1;2,5\n")).text("b") == ["2,5"]
    assert read(write("a\tb\n1\t2,5\n", "data.tsv")).text("b") == ["2,5"]
    assert read(write("a\tb\n1\t2,5\n")).text("b") == ["2,5"]
    assert read(write("a|b\n1|2\n")).text("b") == ["2"]
    assert read(write("a,b|c\n1,2\n")).text("b|c") == ["2"]
    assert read(write("a|b\n1|2\n"), delimiter=",").text("a|b") == ["1|2"]
    assert "one character" in str(refused(write("a|b\n1|2\n"), delimiter="||"))


def test_missing_column_names_those_there_are(write):
    error = refused(write("text,lable\na,b\n"), label="Label")
    assert "no column 'Label'. Did you mean 'lable'? The columns are 'text', 'lable'" in str(error)
    assert str(error).startswith(error.path)
    assert "no column 'zzz'. The columns" in str(refused(write("a,b\n1,2\n"), columns=["zzz"]))


@pytest.mark.parametrize(("row", "message"), [("1", "'b' missing"), ("1,2,x", "extra cell is 'x'")])
def test_ragged_rows(write, row, message):
    error = refused(write(f"a,b\n1,2\n{row}\n"))
    assert error.line == 3
    assert message in str(error)


def test_empty_files(write):
    assert "is empty" in str(refused(write("")))
    assert "is empty" in str(refused(write("\n\n")))
    assert "first line is blank" in str(refused(write("\na,b\n1,2\n")))
    assert "no row below" in str(refused(write("a,b\n")))
    assert "the name 'a' more than once" in str(refused(write("a,a\n1,2\n")))


def test_unclosed_quote_names_the_line_where_it_opens(write):
    error = refused(write('a,b\n1,2\n3,"open\n5,6\n7,8\n'))
    assert error.line == 3
    assert "never closed" in str(error)


def test_text_after_a_quote(write):
    path = write('a\tb\n"yes" he said\t2\n', "data.tsv")
    error = refused(path)
    assert error.line == 2
    assert "quotes=False" in str(error)
    assert read(path, quotes=False).text("a") == ['"yes" he said']


def test_giant_line_is_read(write):
    giant = "word " * 400_000
    table = read(write(f"a,b\n{giant},2\n"))
    assert len(table.text("a")[0]) == 2_000_000
    assert csv.field_size_limit() == 131072


def test_endless_cell_is_refused(write, monkeypatch):
    monkeypatch.setattr("semisvm.tables.text_tables.LONGEST_CELL", 150_000)
    error = refused(write('a,b\n1,"' + "x\n" * 100_000))
    assert error.line == 2
    assert "longer than 150,000 characters" in str(error)


def test_latin_1_gives_line_and_byte(write):
    path = write("a,b\nfine,1\ncaf\xe9,2\n".encode("latin-1"))
    error = refused(path)
    assert error.line == 3
    assert "0xe9 at byte 4" in str(error)
    assert "encoding='latin-1'" in str(error)
    assert read(path, encoding="latin-1").text("a")[1] == "café"


def test_encodings_by_their_marks(write):
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-32"):
        table = read(write("ä,b\né,1\n".encode(encoding)))
        assert table.names == ["ä", "b"]
        assert table.text("ä") == ["é"]
    assert "utf-16-le" in str(refused(write("a,b\n1,2\n".encode("utf-16-le"))))
    assert "no encoding" in str(refused(write("a\n1\n"), encoding="klingon"))
    assert "not utf-16" in str(refused(write(b"\xff\xfea\0\n\0\x00\xd8a\0"))).lower()


def test_gzip_is_seen_whatever_the_name(write):
    packed = gzip.compress(b"a,b\n1,2\n")
    for name in ("data.csv.gz", "data.csv"):
        assert read(write(packed, name)).text("b") == ["2"]
    assert read(write("a,b\n1,2\n", "data.csv.gz")).text("b") == ["2"]


def test_broken_gzip(write):
    packed = gzip.compress(bytes(range(256)) * 50)
    assert "truncated" in str(refused(write(packed[:-12], "a.csv.gz"), encoding="latin-1"))
    damaged = packed[:40] + b"\0\0\0\0" + packed[44:]
    assert "damaged" in str(refused(write(damaged, "a.csv.gz"), encoding="latin-1"))


def test_files_of_other_kinds(write, tmp_path):
    assert "Excel" in str(refused(write(b"PK\x03\x04abc")))
    assert "Parquet" in str(refused(write(b"PAR1abc")))
    assert "no such file" in str(refused(tmp_path / "none.csv"))
    assert "folder" in str(refused(tmp_path, format="csv"))
    assert "does not show the format" in str(refused(write("a", "data.xyz")))
    assert "Did you mean 'parquet'" in str(refused(write("a"), format="parqet"))


def test_numbers(write):
    table = read(write("x\n1\n\n 2.5 \nNA\n-1e3\n".replace("\n\n", '\n""\n')))
    assert table.numbers("x").tolist()[0::2] == [1.0, 2.5, -1000.0]
    assert str(table.numbers("x")[1]) == "nan"
    for bad, message in (
        ("abc", "'abc' is not a number"),
        ("1_0", "'1_0' is"),
        ("inf", "infinite"),
        ("-1e200", "too large"),
    ):
        with pytest.raises(DataError, match=message) as caught:
            read(write(f"x\n1\n{bad}\n")).numbers("x")
        assert (caught.value.line, caught.value.column) == (3, "x")


def test_chunks_are_the_whole(write):
    path = write("a,b\n" + "".join(f"{i},{i * i}\n" for i in range(25)))
    chunks = list(read_chunks(path, columns=["b"], chunk_rows=10))
    assert [len(chunk) for chunk in chunks] == [10, 10, 5]
    assert chunks[0].names == ["b"]
    whole = [cell for chunk in chunks for cell in chunk.text("b")]
    assert whole == read(path).text("b")
    assert chunks[2].lines[0] == 22


cells = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)


@settings(max_examples=60)
@given(rows=st.lists(st.tuples(cells, cells), min_size=1, max_size=6))
def test_quoting_round_trip(rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("csv") / "data.csv"
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("first", "second"), *rows])
    path.write_bytes(text.getvalue().encode())
    table = read(path)
    assert list(zip(table.text("first"), table.text("second"), strict=True)) == rows
