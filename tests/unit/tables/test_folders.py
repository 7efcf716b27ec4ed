"""Hidden folders that last as long as a block, and what killed processes leave of them."""

import subprocess
import sys

import pytest

from semisvm.tables import DataError
from semisvm.tables.folders import scratch_folder

KILLED = """
import os, signal, sys
from pathlib import Path
from semisvm.tables.folders import scratch_folder
with scratch_folder(Path(sys.argv[1])) as folder:
    (folder / "rows").write_text("half")
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_scratch_folder_ends_with_its_block(tmp_path):
    with scratch_folder(tmp_path) as folder:
        (folder / "rows").write_text("some")
        assert folder.parent == tmp_path
        assert folder.name.startswith(".")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(KeyError), scratch_folder(tmp_path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL is a signal of Unix")
def test_the_next_one_removes_what_a_killed_process_left(tmp_path):
    subprocess.run([sys.executable, "-c", KILLED, str(tmp_path)], check=False)
    [left] = tmp_path.iterdir()
    assert (left / "rows").read_text() == "half"
    with scratch_folder(tmp_path) as folder:
        assert list(tmp_path.iterdir()) == [folder]
        with scratch_folder(tmp_path) as second:
            # the first is in use
            assert sorted(tmp_path.iterdir()) == sorted([folder, second])


def test_a_place_that_is_not_there_is_named(tmp_path):
    named, place = pytest.raises(DataError, match="there is no folder"), tmp_path / "gone"
    with named as error, scratch_folder(place):
        pass
    assert str(place) in str(error.value)
