"""Answers are joined to the rows they are meant for, or refused."""

import pytest

from semisvm.tables import DataError, join_answers, read

DATA = "id,text,kind\np,one,x\nq,two,\nq,three,\n"


def joined(write, *contents, **options):
    data = read(write("data.csv", DATA), label="kind")
    files = [write(f"{k}.csv", content) for k, content in enumerate(contents)]
    return join_answers(data, files, label="kind", **options).data.labels.tolist()


def test_a_corrected_label_replaces_that_of_the_data(write):
    assert joined(write, "semisvm_row,kind,semisvm_before\n1,a,x\n2,b,\n") == ["a", "b", None]
    assert joined(write, "semisvm_row,kind,semisvm_before\n1,,x\n") == [None] * 3


def test_files_of_answers_that_disagree_are_refused(write):
    first = "semisvm_row,kind,semisvm_before\n1,a,x\n"
    assert joined(write, first, first) == ["a", None, None]
    with pytest.raises(DataError, match=r"1\.csv, line 2.*'b' disagrees with 'a' of .*0\.csv"):
        joined(write, first, "semisvm_row,kind,semisvm_before\n1,b,a\n")


def test_a_key_of_two_rows_is_refused(write):
    assert joined(write, "id,kind\np,x\n", key="id") == ["x", None, None]
    with pytest.raises(DataError, match=r"2 rows .* the key 'q'"):
        joined(write, "id,kind\nq,a\n", key="id")
    with pytest.raises(DataError, match="has no row with the key 'z'"):
        joined(write, "id,kind\nz,a\n", key="id")
