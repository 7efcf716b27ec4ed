"""Files to be written: their places, full disks, links, and what killed processes leave."""

import errno
import io
import os
import signal
import stat
import subprocess
import sys

import numpy as np
import pytest

import semisvm
from problems import hide, two_blobs
from semisvm.tables import DataError, write_bytes, write_text
from semisvm.tables import writing as places
from semisvm.tables.errors import ModelFileError
from semisvm.tables.writing import check_place, settle

posix = pytest.mark.skipif(os.name == "nt", reason="files as POSIX has them")
FULL = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def put(path, content=b"new"):
    with write_bytes(path) as stream:
        stream.write(content)


def refused(path, match):
    """Both the check and the writing refuse a path, and leave nothing."""
    before = sorted(path.parent.iterdir()) if path.parent.is_dir() else []
    with pytest.raises(DataError, match=match):
        check_place(path)
    with pytest.raises(DataError, match=match):
        put(path)
    assert (sorted(path.parent.iterdir()) if path.parent.is_dir() else []) == before


def test_a_place_that_will_do_is_left_as_it_was(tmp_path):
    path = tmp_path / "out.csv"
    check_place(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    check_place(path)
    assert path.read_text() == "old"
    check_place(tmp_path / ("x" * 250))


def test_places_that_will_not_do(tmp_path):
    (tmp_path / "file").write_text("")
    refused(tmp_path / "no" / "out.csv", "there is no folder")
    refused(tmp_path / "file" / "out.csv", "there is no folder")
    refused(tmp_path, "this is a folder")
    refused(tmp_path / ("x" * 300), "cannot be written")


@posix
def test_only_regular_files_are_written(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "this is a pipe")
    assert stat.S_ISFIFO(os.stat(tmp_path / "pipe").st_mode)
    for name in ("/dev/null", "/dev/stderr", "/dev/fd/2", "/proc/self/fd/2"):
        with pytest.raises(DataError, match="this is a"):
            check_place(name)
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)


@posix
def test_a_device_is_not_replaced(tmp_path):
    device = tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except OSError:
        pytest.skip("devices cannot be made here")
    refused(device, "this is a device")
    assert stat.S_ISCHR(os.stat(device).st_mode)


@posix
def test_links_are_followed_and_kept(tmp_path):
    (tmp_path / "folder").mkdir()
    there, link = tmp_path / "folder" / "there", tmp_path / "link"
    link.symlink_to(there)
    put(link, b"first")  # it dangles
    put(link, b"second")
    assert link.is_symlink()
    assert there.read_bytes() == b"second"
    assert not there.is_symlink()
    assert list((tmp_path / "folder").iterdir()) == [there]
    round_and_round = tmp_path / "round"
    round_and_round.symlink_to(round_and_round)
    refused(round_and_round, "back to itself")
    assert settle(link) == there.resolve()


def test_read_only_files_are_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "out"
    path.write_text("old")
    path.chmod(0o444)
    # the tests may be run by root, who may write everything
    monkeypatch.setattr(os, "access", lambda name, mode: False)
    refused(path, "read-only")
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.ENOSPC, "the disk is full"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
        (errno.EIO, "cannot be written"),
    ],
)
@pytest.mark.parametrize("place", ["fsync", "write", "mkstemp"])
def test_errors_of_the_system_are_explained(tmp_path, monkeypatch, code, message, place):
    path = tmp_path / "out"
    path.write_text("old")

    def fail(*arguments):
        raise OSError(code, os.strerror(code))

    if place == "write":
        # the raw stream that parts are written through fails below `explained`
        monkeypatch.setattr(places, "_Part", _failing_part(fail))
    elif place == "fsync":
        monkeypatch.setattr(os, "fsync", fail)
    else:
        monkeypatch.setattr(places.tempfile, "mkstemp", fail)
    refused(path, message)
    assert path.read_text() == "old"


def _failing_part(fail):
    class Raw(io.FileIO):
        write = fail

    class Part(places._Part, Raw):
        pass

    return Part


def test_a_failing_rename(tmp_path, monkeypatch):
    def fail(*arguments):
        raise FULL

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(DataError, match="the disk is full"):
        put(tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_mounted_is_filled(tmp_path):
    """As single files are in containers; they cannot be replaced."""
    path, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    path.write_text("old")
    elsewhere.write_text("mounted")
    try:
        mount = ["mount", "--bind", str(elsewhere), str(path)]
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount here")
    if done.returncode != 0:
        pytest.skip("files cannot be mounted here")
    try:
        put(path)
        assert elsewhere.read_text() == "new"
    finally:
        subprocess.run(["umount", str(path)], check=True)
    assert sorted(tmp_path.iterdir()) == [elsewhere, path]


def test_folders_need_not_be_readable(tmp_path, monkeypatch):
    def fail(folder):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "listdir", fail)
    put(tmp_path / "out")
    assert (tmp_path / "out").read_bytes() == b"new"


@pytest.fixture
def small_disk(tmp_path):
    """A file system with room for 128 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=128k", "tmpfs", str(folder)]
    try:
        done = subprocess.run(mount, capture_output=True, check=False)
    except OSError:
        pytest.skip("there is no mount here")
    if done.returncode != 0:
        pytest.skip("file systems cannot be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_write_fails_on_full_disk(small_disk):
    path = small_disk / "out"
    path.write_text("old")
    check_place(path)
    with pytest.raises(DataError, match="out: the disk is full"):
        put(path, bytes(1 << 20))
    with pytest.raises(DataError, match="the disk is full"), write_text(path) as stream:
        stream.writelines("some text\n" for _ in range(1 << 16))
    X = np.random.default_rng(0).normal(size=(60, 40_000))  # its weights do not shrink
    model = semisvm.NewtonSVC(0.1).fit(X, hide(np.arange(60) % 2, 10))
    with pytest.raises(DataError, match="the disk is full"):
        semisvm.save(model, path)
    assert path.read_text() == "old"
    assert list(small_disk.iterdir()) == [path]
    (small_disk / "more").write_bytes(bytes(100 << 10))
    with pytest.raises(DataError, match="the disk is full"):
        check_place(path)
    assert path.read_text() == "old"


def test_write_fails_on_readonly_disk(small_disk):
    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    if subprocess.run(remount, capture_output=True, check=False).returncode != 0:
        pytest.skip("file systems cannot be mounted read-only here")
    refused(small_disk / "out", "read-only")


WRITER = """
import sys, time
from semisvm.tables import write_bytes
with write_bytes(sys.argv[1]) as stream:
    stream.write(b"half")
    stream.flush()
    print("begun", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def writer(tmp_path):
    """A process in the middle of writing a file."""
    command = [sys.executable, "-c", WRITER, str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert process.stdout.readline() == b"begun\n"
    yield process
    process.kill()
    process.communicate()


@posix
def test_parts_of_killed_processes_are_removed(tmp_path, writer):
    path = tmp_path / "out"
    (alive,) = tmp_path.iterdir()
    assert alive.name.startswith(".out.semisvm-")
    put(path)
    assert sorted(tmp_path.iterdir()) == sorted([alive, path])  # it is being written
    other = tmp_path / ".other.semisvm-abcdefgh.part"
    other.write_text("of another file")
    writer.send_signal(signal.SIGKILL)
    writer.wait()
    assert alive.exists()
    put(path, b"newer")
    assert sorted(tmp_path.iterdir()) == sorted([other, path])
    assert path.read_bytes() == b"newer"


@posix
def test_parts_of_files_and_folders_of_one_name_are_let_alone_by_each_other(tmp_path):
    file, folder = (tmp_path / f".out.semisvm-abcdefg{k}.part" for k in range(2))
    file.write_text("of a file")
    folder.mkdir()
    assert sorted(places.left_parts(tmp_path / "out")) == sorted([file, folder])
    for part, is_folder in ((file, True), (folder, False)):
        with pytest.raises(OSError), places.unused(part, is_folder=is_folder):
            pass
    put(tmp_path / "out")
    assert sorted(tmp_path.iterdir()) == sorted([folder, tmp_path / "out"])


@posix
def test_a_part_that_is_taken_for_an_old_one_is_made_anew(tmp_path, monkeypatch):
    """Another process looks for old parts between making a part and locking it."""
    taken = []

    def meddle(handle, name, lock=places.claim):
        if not taken:
            taken.append(name)
            os.unlink(name)
        return lock(handle, name)

    monkeypatch.setattr(places, "claim", meddle)
    put(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_streams_get_whole_files_only(tmp_path):
    stream = io.BytesIO()
    with pytest.raises(TypeError), write_bytes(stream) as part:
        part.writelines([b"half", "no bytes"])
    assert stream.getvalue() == b""
    X, y = two_blobs(60)
    model = semisvm.NewtonSVC(0.1).fit(X, hide(y, 10))
    semisvm.save(model, stream)
    semisvm.save(model, tmp_path / "file")
    assert stream.getvalue() == (tmp_path / "file").read_bytes()


def test_half_of_a_character_is_refused_by_name(tmp_path):
    path = tmp_path / "out"
    with pytest.raises(DataError, match=r"out: the text holds '\\ud800'"), write_text(path) as text:
        text.write("label\ud800\n")
    assert list(tmp_path.iterdir()) == []


def test_a_model_with_half_of_a_character_is_refused_before_the_file_is_touched(tmp_path):
    X, y = two_blobs(60)
    model = semisvm.Model.of(semisvm.NewtonSVC(0.1).fit(X, y))
    model.summary["labels"] = {"a\ud800": 10}
    with pytest.raises(ModelFileError, match=r"'a\\ud800' holds half of a character"):
        semisvm.save(model, tmp_path / "m")
    assert list(tmp_path.iterdir()) == []
