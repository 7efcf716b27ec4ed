"""Cells that a spreadsheet would run, written as text and read back."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semisvm.tables.text_tables import escaped, is_formula, unescaped


@pytest.mark.parametrize(
    "cell", ["=HYPERLINK(1)", "@SUM(A1)", "+cmd|' /C calc'!A0", "-2+3", "\t=1", "\r=1", "\uff1d1+1"]
)
def test_formulas(cell):
    assert is_formula(cell)
    assert not is_formula(escaped(cell))


@pytest.mark.parametrize(
    "cell",
    ["-1", "+1", "-1.5e-7", "-1,000.5", "-5%", "-.5", "-inf", "-", "+", "--", "", "spam", -1, 2.5],
)
def test_numbers_and_signs_are_never_altered(cell):
    assert not is_formula(cell)
    assert escaped(cell) == cell


@given(st.text(alphabet="'=+-@1ae \t", max_size=6))
def test_every_cell_comes_back(cell):
    stream = io.StringIO()
    csv.writer(stream).writerow([escaped(cell)])
    (back,) = next(csv.reader([stream.getvalue()]))
    assert unescaped(back) == cell
    assert not is_formula(back)
