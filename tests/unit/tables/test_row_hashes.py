"""Rows are known by what stands in them."""

import numpy as np
from scipy import sparse

from semisvm.tables import MatrixData, Table
from semisvm.tables.row_hashes import counted, row_hashes

TABLE = Table({"a": ["x", "y", "x", None], "b": [1, 2.5, 1, 3]})


def test_a_hash_depends_on_every_cell_and_on_nothing_else():
    found = row_hashes(TABLE)
    assert found[0] == found[2]
    assert len(set(found)) == 3
    other = Table({"b": ["1", "2.5", "1", "3"], "a": ["x", "y", "x", ""]})
    assert row_hashes(other) == found
    assert row_hashes(Table({"a": ["x1"], "b": [""]})) != row_hashes(Table({"a": ["x"], "b": [1]}))
    assert row_hashes(Table({"c": ["x"], "b": [1]})) != found[:1]
    assert row_hashes(TABLE, ["a"])[0] == row_hashes(Table({"a": ["x"]}))[0]


def test_rows_of_matrices():
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
    for matrix in (X, sparse.csr_matrix(X)):
        found = row_hashes(MatrixData(matrix))
        assert found[0] == found[2] != found[1]


def test_equal_rows_are_counted():
    assert counted(["a", "b", "a", "a"]) == ["a", "b", "a#2", "a#3"]
