"""Excel workbooks: what the cells become, which sheet is read, and files that are refused."""

import io
import re
import sys
import warnings
import zipfile
from contextlib import suppress
from datetime import date, datetime, time, timedelta

import numpy as np
import pytest

from reading import refused
from semisvm.tables import DataError, excel, find_format, read, read_chunks

HEADER = ["text", "size", "kind"]
DAY = date(2024, 5, 1)


@pytest.fixture
def save(tmp_path):
    """Write sheets of rows to a workbook; return its path."""
    openpyxl = pytest.importorskip("openpyxl")

    def write(name="mail.xlsx", **sheets):
        book = openpyxl.Workbook()
        book.remove(book.active)
        for title, rows in sheets.items():
            sheet = book.create_sheet(title)
            for row in rows:
                sheet.append(row)
        path = tmp_path / name
        with open(path, "wb") as stream:
            book.save(stream)
        return path

    return write


def changed(path, member, change):
    """Change a member of a workbook."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    members[member] = change(members[member])
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_cells_become_what_a_csv_file_has(save, tmp_path):
    rows = [HEADER, ["win a prize", 3, "spam"], ["lunch", 1.5, None], ["notes", None, "ham"]]
    table = read(save(Mail=rows), label="kind")
    assert table.names == ["text", "size"]
    assert table.column("size") == [3, 1.5, None]
    assert table.labels.tolist() == ["spam", None, "ham"]
    assert table.lines.tolist() == [2, 3, 4]
    same = tmp_path / "mail.csv"
    same.write_text("text,size,kind\nwin a prize,3,spam\nlunch,1.5,\nnotes,,ham\n")
    other = read(same, label="kind")
    np.testing.assert_array_equal(table.numbers("size"), other.numbers("size"))
    assert table.text("text") == other.text("text")
    assert table.labels.tolist() == other.labels.tolist()


def test_dates_durations_booleans_and_errors(save):
    rows = [
        ["day", "moment", "hour", "lasts", "flag", "wrong", "label"],
        [DAY, datetime(2024, 5, 1, 9, 30), time(7, 5), timedelta(hours=2), True, "#DIV/0!", 1],
        [date(2024, 5, 2), datetime(2024, 5, 2), time(8), timedelta(hours=30), False, "#N/A", 2],
    ]
    table = read(save(Mail=rows), label="label")
    assert table.column("day") == ["2024-05-01", "2024-05-02"]
    assert table.column("moment") == ["2024-05-01T09:30:00", "2024-05-02"]
    assert table.column("hour") == ["07:05:00", "08:00:00"]
    assert table.column("lasts") == [7200.0, 108000.0]
    assert table.column("flag") == [True, False]
    assert table.column("wrong") == [None, None]
    assert table.labels.tolist() == [1, 2]


def test_thousands_in_text_are_read_as_in_csv(save):
    table = read(save(Mail=[["price"], ["56,125"], ["1,000,000.5"]]))
    with pytest.warns(UserWarning, match="commas separate thousands, so '56,125' is read as 56125"):
        assert table.numbers("price").tolist() == [56125.0, 1000000.5]


def test_blank_rows_columns_and_names(save):
    rows = [[], [None, "size", 2024, None], [], ["a", 1, 2, None], [], ["b", None, 3], ["c"], []]
    table = read(save(Mail=rows))
    assert table.names == ["column_1", "size", "2024"]
    assert table.column("column_1") == ["a", "b", "c"]
    assert table.column("2024") == [2, 3, None]
    # rows as Excel counts them
    assert table.lines.tolist() == [4, 6, 7]
    with pytest.raises(DataError, match="row 4, column 'column_1': 'a' is not a number"):
        table.numbers("column_1")


def test_pieces_are_those_of_the_whole(save):
    rows = [HEADER, *([f"text {k}", k, "spam"] for k in range(25))]
    path = save(Mail=rows)
    seen = []
    pieces = list(read_chunks(path, columns=["size", "text"], chunk_rows=10, seen=seen.append))
    assert [len(piece) for piece in pieces] == [10, 10, 5]
    assert [cell for piece in pieces for cell in piece.column("size")] == list(range(25))
    assert pieces[2].lines.tolist() == [22, 23, 24, 25, 26]
    assert sum(seen) == path.stat().st_size
    assert min(seen) >= 0


def test_which_sheet(save):
    path = save(Mail=[["a"], [1]], Other=[["b"], [2]], Empty=[])
    with pytest.warns(UserWarning, match="3 sheets .*'Mail', the first one, is read.*sheet="):
        assert read(path).names == ["a"]
    assert read(path, sheet="Other").names == ["b"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert read(path, sheet="Mail").names == ["a"]
    mistake = str(refused(path, sheet="mail"))
    assert (
        "no sheet 'mail'. Did you mean 'Mail'? The sheets are 'Mail', 'Other', 'Empty'." in mistake
    )
    mistake = str(refused(path, sheet="Empty"))
    assert "'Empty' is empty. Name another one with sheet=: 'Mail', 'Other'." in mistake
    csv = path.with_suffix(".csv")
    csv.write_text("a\n1\n")
    assert "a csv file has no sheets" in str(refused(csv, sheet="Mail"))


@pytest.mark.parametrize("name", ["a.xlsx", "a.xlsm", "a.csv", "a.dat", "a.npz", "a.parquet", "a"])
def test_workbooks_are_recognised_by_their_content(name, save):
    path = save(name, Mail=[HEADER, ["a", 1, "ham"]])
    assert find_format(path) == "xlsx"
    assert read(path).column("text") == ["a"]
    assert read(path, format="xlsx").column("text") == ["a"]
    assert "this is an Excel file, not tsv" in str(refused(path, format="tsv"))


def test_what_is_wrong_with_a_table(save):
    mistake = refused(save(Mail=[["Mail of May"], HEADER, ["a", 1, "ham"]]))
    assert "the cell C2 ('kind') is outside the table: row 1" in mistake.message
    assert (mistake.line, mistake.word) == (2, "row")
    assert "header but no row" in str(refused(save(Mail=[HEADER])))
    assert "row 2: the header has the name 'a'" in str(refused(save(Mail=[[], ["a", "a"], [1, 2]])))
    assert "no column 'kin'. Did you mean 'kind'?" in str(
        refused(save(Mail=[HEADER, ["a", 1, "ham"]]), label="kin")
    )


def test_formulas_count_as_their_results(save):
    path = save(Mail=[["size", "twice"], [1, "=2*A2"], [2, "=2*A3"]])
    # nothing has computed them
    mistake = refused(path)
    assert mistake.column == "twice"
    assert "results of the formulas" in mistake.message
    sheet = "xl/worksheets/sheet1.xml"
    for result in (b"2", b"4"):
        put = b"<v>" + result + b"</v>"
        changed(path, sheet, lambda content, put=put: re.sub(rb"<v ?/>", put, content, count=1))
    assert read(path).column("twice") == [2, 4]
    # a column without any cell is no such column
    assert read(save(Mail=[["a", "b"], [1], [2]])).column("b") == [None, None]


def test_without_openpyxl(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    path = tmp_path / "a.csv"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("xl/workbook.xml", "<workbook/>")
    mistake = str(refused(path))
    assert "pip install 'semisvm[excel]'. Or save the sheet as CSV" in mistake


def test_other_spreadsheets_and_passwords(tmp_path):
    path = tmp_path / "a.xlsx"
    old = b"\xd0\xcf\x11\xe0" + bytes(600)
    path.write_bytes(old)
    assert "an old Excel file (.xls). Save it as .xlsx" in str(refused(path))
    # the name of the part stands anywhere, also across two pieces of the file
    path.write_bytes(old + bytes((1 << 20) - 620) + "EncryptedPackage".encode("utf-16-le"))
    assert "remove the password" in str(refused(path))
    for member, what in (("xl/workbook.bin", ".xlsb"), ("content.xml", ".ods")):
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr(member, "x")
        assert what in str(refused(path, format="csv"))


def test_damaged_workbooks(save, tmp_path):
    path = save(Mail=[HEADER, *([f"text {k}", k, "ham"] for k in range(50))])
    whole = path.read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(60):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), 5):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        with suppress(DataError):
            read(path, format="xlsx")
    path.write_bytes(whole[: len(whole) // 2])
    assert "damaged, or is none" in str(refused(path))
    path.write_text("text,kind\na,ham\n")
    assert "damaged, or is none" in str(refused(path))
    assert "no such file" in str(refused(tmp_path / "none.xlsx"))


def test_memory_and_rows_are_bounded(save, monkeypatch):
    path = save(Mail=[["a"], [1]])
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/bomb.xml", bytes(1 << 20))
    monkeypatch.setattr(excel, "ALWAYS_BYTES", 1 << 16)
    monkeypatch.setattr(excel, "MOST_RATIO", 10)
    assert "would unpack to" in str(refused(path))
    monkeypatch.undo()
    path = save(Mail=[["a"], [1]])
    far = b'<row r="4000000000"><c r="A4000000000"><v>1</v></c></row></sheetData>'
    sheet = "xl/worksheets/sheet1.xml"
    changed(path, sheet, lambda content: content.replace(b"</sheetData>", far))
    assert "a sheet has no such row" in str(refused(path))


def test_sizes_that_a_sheet_declares_are_not_trusted(save):
    path = save(Mail=[["a", "b"], [1, 2], [3, 4]])
    sheet = "xl/worksheets/sheet1.xml"
    for declared in (b'ref="A1:A1"', b'ref="A1:XFD1048576"'):
        changed(path, sheet, lambda content, d=declared: content.replace(b'ref="A1:B3"', d))
        table = read(path)
        assert table.column("b") == [2, 4]
        changed(path, sheet, lambda content, d=declared: content.replace(d, b'ref="A1:B3"'))


def test_charts_and_comments_are_left_alone(save):
    openpyxl = pytest.importorskip("openpyxl")
    path = save(Mail=[["a"], [1]])
    book = openpyxl.load_workbook(path)
    book["Mail"]["A2"].comment = openpyxl.comments.Comment("a note", "me")
    chart = openpyxl.chart.BarChart()
    chart.add_data(openpyxl.chart.Reference(book["Mail"], min_col=1, min_row=1, max_row=2))
    book.create_chartsheet("Chart").add_chart(chart)
    stream = io.BytesIO()
    book.save(stream)
    path.write_bytes(stream.getvalue())
    assert read(path).column("a") == [1]
