"""Five people, kill -9 and a full disk at random moments; the benchmark in short."""

import sys

import pytest
from benchmarks.labelpeople import under_fire
from benchmarks.labelspeed import write_table


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no limit of the size of files")
def test_nothing_is_lost_doubled_or_given_to_another(tmp_path):
    table = tmp_path / "texts.csv"
    write_table(table, [f"row {k} of words {k % 7}" for k in range(400)])
    found = under_fire(table, 300, n_kills=2, n_full=1, seed=1)
    assert found["answers"] >= 300
    assert found["refused"] > 0
    for what in ("lost", "doubled", "attributed to another", "rows of three people"):
        assert found[what] == 0, found
    assert found["rows of two"] > 10
