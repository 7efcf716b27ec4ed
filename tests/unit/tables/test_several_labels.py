"""Several labels per row: one column per label, or one column of tags."""

import numpy as np
import pytest

from semisvm.tables import DataError, Table
from semisvm.tables.opening import Options
from semisvm.tables.several_labels import label_columns, tag_column


def test_tags_of_text_and_of_lists():
    cells = ["spam; urgent", "", ";", "urgent", None, ["spam", "new"], [], float("nan")]
    found = tag_column(Table({"tags": cells}), "tags")
    assert found.names == ["new", "spam", "urgent"]
    assert found.cells.tolist() == [
        [0, 1, 1],
        [None] * 3,
        [0, 0, 0],
        [0, 0, 1],
        [None] * 3,
        [1, 1, 0],
        [0, 0, 0],
        [None] * 3,
    ]
    assert found.known.sum() == 15
    assert found.counts()["spam"] == {"0": 3, "1": 2}
    other = tag_column(Table({"t": ["a|b", "c"]}), "t", "|", ["a", "z"])
    assert other.cells.tolist() == [[1, 0], [0, 0]]


def test_columns_with_the_same_two_values():
    table = Table({"a": ["yes", "", "no"], "b": ["no", "NA", "?"]})
    found = label_columns(table, ["a", "b"], Options(unlabeled="?"))
    assert found.cells.tolist() == [["yes", "no"], [None, None], ["no", None]]
    numbers = label_columns(Table({"a": np.array([0, 1]), "b": ["1", ""]}), ["b", "a"], Options())
    assert numbers.names == ["b", "a"]
    assert numbers.cells.tolist() == [[1, 0], [None, 1]]


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda t: label_columns(t, ["a", "b"], Options()), r"column 'b'.*'x', 'y', 'z'"),
        (lambda t: label_columns(t, ["a", "c"], Options()), r"If -1 marks what is not known"),
        (lambda t: label_columns(t, ["a", "a"], Options()), "named twice"),
        (lambda t: label_columns(t, ["a", "q"], Options()), "'q'"),
        (lambda t: tag_column(t, "blank"), "has no tags"),
        (lambda t: tag_column(t, "q"), "'q'"),
        (lambda t: tag_column(t, "a", ""), "separator"),
        (lambda t: tag_column(Table({"t": [str(k) for k in range(1200)]}), "t"), "1,200 different"),
    ],
)
def test_what_is_refused(read, message):
    columns = {"a": ["x", "y"], "b": ["z", "x"], "c": ["x", "-1"], "blank": ["", ""]}
    with pytest.raises(DataError, match=message):
        read(Table(columns, path="t.csv"))
