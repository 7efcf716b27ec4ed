"""Folders of rows appear whole or not at all."""

import os
import signal
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

from semisvm import open_rows
from semisvm.tables import DataError, folders, read, read_chunks, write_rows
from semisvm.tables.rows_writing import rows_writer

posix = pytest.mark.skipif(os.name == "nt", reason="locks as POSIX has them")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_arrays_are_plain_npy_files(tmp_path):
    X = sparse.random(50, 5000, 0.01, format="csr", random_state=0)
    write_rows(tmp_path / "a.rows", X)
    found = {name: np.load(tmp_path / "a.rows" / f"{name}.npy") for name in ("indptr", "values")}
    order, indices = (np.load(tmp_path / "a.rows" / f"{n}.npy") for n in ("order", "indices"))
    again = sparse.csr_matrix((found["values"], order[indices], found["indptr"]), X.shape)
    assert (again != X).nnz == 0


def test_a_failure_leaves_nothing(tmp_path):
    def pieces():
        yield np.eye(3)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_rows(tmp_path / "a.rows", pieces())
    assert names(tmp_path) == []


def test_a_failure_leaves_older_rows_as_they_were(tmp_path):
    write_rows(tmp_path / "a.rows", np.eye(3))
    with pytest.raises(DataError, match=r"row 2, column 3: .*nan"):
        write_rows(tmp_path / "a.rows", np.array([[1.0, 2, 3], [4, 5, np.nan]]))
    assert names(tmp_path) == ["a.rows"]
    assert np.array_equal(open_rows(tmp_path / "a.rows")[:], np.eye(3))
    write_rows(tmp_path / "a.rows", 2 * np.eye(4))
    assert np.array_equal(open_rows(tmp_path / "a.rows")[:], 2 * np.eye(4))
    assert names(tmp_path) == ["a.rows"]


KILLED = """
import sys, time
import numpy as np
from semisvm.tables import write_rows

def pieces():
    yield np.eye(3)
    print("writing", flush=True)
    time.sleep(600)

write_rows(sys.argv[1], pieces())
"""


@posix
def test_what_a_kill_leaves_does_not_open_and_is_removed_by_the_next(tmp_path):
    target = tmp_path / "a.rows"
    writer = subprocess.Popen([sys.executable, "-c", KILLED, target], stdout=subprocess.PIPE)
    try:
        assert writer.stdout.readline() == b"writing\n"
        (part,) = names(tmp_path)
        with pytest.raises(ValueError, match="no such folder"):
            open_rows(target)
        with pytest.raises(ValueError, match=r"no header\.json"):
            open_rows(tmp_path / part)
        # another writer leaves a part alone that is being written
        write_rows(target, np.eye(2))
        assert names(tmp_path) == sorted([part, "a.rows"])
    finally:
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        writer.stdout.close()
    write_rows(target, np.eye(2))
    assert names(tmp_path) == ["a.rows"]


def test_only_rows_are_replaced(tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "thesis.txt").write_text("x")
    (tmp_path / "a.csv").write_text("x")
    for name, message in [("data", "does not hold rows"), ("a.csv", "this is a file")]:
        with pytest.raises(DataError, match=message):
            write_rows(tmp_path / name, np.eye(2))
    with pytest.raises(DataError, match="there is no folder"):
        write_rows(tmp_path / "none" / "a.rows", np.eye(2))
    assert names(tmp_path) == ["a.csv", "data"]
    assert names(tmp_path / "data") == ["thesis.txt"]
    (tmp_path / "empty").mkdir()
    write_rows(tmp_path / "empty", np.eye(2))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_values_that_are_not_finite_have_a_place(tmp_path, value):
    X = sparse.csr_matrix(np.eye(4))
    bad = sparse.csr_matrix(([1.0, value], ([0, 1], [0, 3])), shape=(3, 4))
    with pytest.raises(DataError, match=r"row 6, column 4: the value -?(nan|inf) is not a finite"):
        write_rows(tmp_path / "a.rows", [X, bad])


def test_values_too_large_for_single_precision(tmp_path):
    with pytest.raises(DataError, match=r"row 2, column 2: .*too large for single precision"):
        write_rows(tmp_path / "a.rows", np.diag([1.0, 1e60]), dtype="float32")


def test_pieces_and_labels_must_fit(tmp_path):
    for X, y, message in [
        ([np.eye(2), np.eye(3)], None, r"shape \(3, 3\), but the first has 2 columns"),
        (np.eye(2), [1], "1 labels for 2 rows"),
        (iter([]), None, "no rows to write"),
        (np.empty((0, 3)), None, "no rows to write"),
        (np.eye(2), np.array([b"a", None], dtype=object), "labels are numbers or text"),
    ]:
        with pytest.raises(DataError, match=message):
            write_rows(tmp_path / "a.rows", X, y)


def test_duplicates_are_summed(tmp_path):
    X = sparse.csr_matrix(([1.0, 2.0, 3.0], [1, 1, 0], [0, 3]), shape=(1, 2))
    write_rows(tmp_path / "a.rows", X)
    assert open_rows(tmp_path / "a.rows")[:].toarray().tolist() == [[3.0, 3.0]]


def test_a_full_disk_is_an_error_of_the_place(tmp_path, monkeypatch):
    with rows_writer(tmp_path / "a.rows") as writer:
        writer.add(np.eye(2))
        writer.finish()
    original = os.fsync

    def full(handle):
        original(handle)
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match="the disk is full"):
        write_rows(tmp_path / "b.rows", np.eye(2))
    assert names(tmp_path) == ["a.rows"]


def test_reading_a_folder(tmp_path):
    X = sparse.random(30, 8, 0.4, format="csr", random_state=0)
    y = np.array(["a", "b", None] * 10, dtype=object)
    write_rows(tmp_path / "a.rows", X, y)
    data = read(tmp_path / "a.rows")
    assert data.labels.tolist() == y.tolist()
    assert (data.X[:] != X).nnz == 0
    assert (data.in_memory().X != X).nnz == 0
    pieces = list(read_chunks(tmp_path / "a.rows", n_features=8))
    assert (sparse.vstack([piece.X for piece in pieces]) != X).nnz == 0
    with pytest.raises(DataError, match="have 8 columns, but the model expects 7"):
        next(read_chunks(tmp_path / "a.rows", n_features=7))
    with pytest.raises(DataError, match="leave out the label"):
        read(tmp_path / "a.rows", label="kind")
    with pytest.raises(DataError, match=r"no header\.json"):
        read(tmp_path)


@pytest.mark.parametrize("name", ["model.semisvm", ".hidden", "raw.npy", "labels.npy/x", "sub/x"])
def test_rows_beside_something_else_are_not_replaced(tmp_path, name):
    rows = tmp_path / "a.rows"
    write_rows(rows, np.eye(3))
    (rows / name).parent.mkdir(exist_ok=True)
    (rows / name).write_text("months of work")
    with pytest.raises(DataError, match=f"holds '{name.split('/')[0]}' besides rows"):
        write_rows(rows, np.eye(2))
    assert (rows / name).read_text() == "months of work"
    assert open_rows(rows).shape == (3, 3)
    assert names(tmp_path) == ["a.rows"]


def test_what_comes_into_the_folder_during_a_conversion_is_kept(tmp_path):
    rows = tmp_path / "a.rows"
    write_rows(rows, np.eye(3))

    def pieces():
        yield np.eye(2)
        (rows / "model.semisvm").write_text("x")

    with pytest.raises(DataError, match=r"'model\.semisvm' besides rows"):
        write_rows(rows, pieces())
    assert (rows / "model.semisvm").read_text() == "x"
    assert open_rows(rows).shape == (3, 3)


KILLED_AT_EACH_LINE = """
import os, signal, sys
import numpy as np
from semisvm.tables import folders, write_rows

target, way = sys.argv[1:]
if way == "renames":
    folders._exchanged = lambda part, target: False

def write(k):
    left = [k]
    def trace(frame, event, argument):
        if frame.f_code.co_filename != folders.__file__:
            return None
        if event == "line":
            left[0] -= 1
            if left[0] == 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace
    sys.settrace(trace)
    write_rows(target, np.full((3, 3), float(k)))
    os._exit(0)

k = 1
for line in sys.stdin:
    child = os.fork()
    if child == 0:
        write(k)
    killed = os.waitpid(child, 0)[1] != 0
    print("killed" if killed else "done", flush=True)
    k += 1
"""


@posix
@pytest.mark.parametrize("way", ["exchange", "renames"])
def test_a_kill_at_any_line_leaves_a_whole_folder(tmp_path, way):
    for name in "xy":
        (tmp_path / name).mkdir()
    if way == "exchange" and not folders._exchanged(tmp_path / "x", tmp_path / "y"):
        pytest.skip("this system cannot exchange two folders in one step")
    for name in "xy":
        (tmp_path / name).rmdir()
    target = tmp_path / "a.rows"
    write_rows(target, np.zeros((3, 3)))
    arguments = [sys.executable, "-W", "ignore", "-c", KILLED_AT_EACH_LINE, target, way]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    k, value, gone, states = 0, 0, 0, set()
    with subprocess.Popen(arguments, **pipes) as process:
        while True:
            k += 1
            print(file=process.stdin, flush=True)
            done = process.stdout.readline() == "done\n"
            gone += not target.exists()
            # the next conversion fails; it must not lose what the killed one has left
            with pytest.raises(DataError, match="not a finite number"):
                write_rows(target, np.full((3, 3), np.nan))
            X = open_rows(target)
            X.verify()
            [value_now] = np.unique(X[:])
            assert value_now in (value, k)
            states.add(bool(value_now == k))
            value = value_now
            assert names(tmp_path) == ["a.rows"]
            if done:
                break
    assert k > 30
    assert states == {False, True}
    # only two renames have a moment without the folder
    assert (gone > 0) == (way == "renames")


def test_one_of_several_left_folders_gets_the_name_back(tmp_path):
    target = tmp_path / "a.rows"
    for k, name in enumerate(["aaaaaaaa", "bbbbbbbb", "cccccccc"]):
        left = tmp_path / f".a.rows.semisvm-{name}.part"
        write_rows(left, np.full((2, 2), float(k)))
        os.utime(left / "header.json", (100 + k, 100 + k))
    (left / "header.json").unlink()
    with pytest.raises(DataError, match="no rows to write"):
        write_rows(target, np.empty((0, 3)))
    assert open_rows(target)[:].max() == 1.0
    assert names(tmp_path) == ["a.rows"]
