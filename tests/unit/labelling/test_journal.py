"""Answers are never lost: whatever ends a process, what was accepted is there again."""

import errno
import json
import os
import signal
import subprocess
import sys
import zlib

import pytest

from semisvm.labelling import LabelingError
from semisvm.labelling import journal as journal_module
from semisvm.labelling.journal import Journal
from semisvm.tables import DataError


def events(found):
    return [line["value"] for line in found.lines if line["kind"] == "answer"]


def reopened(path):
    found = Journal(path)
    found.close()
    return found


def write(path, values):
    found = Journal(path)
    for value in values:
        found.append({"kind": "answer", "value": value})
    found.close()


def test_lines_come_back_in_order(tmp_path):
    path = tmp_path / "j"
    write(path, "abc")
    write(path, "de")
    found = reopened(path)
    assert events(found) == list("abcde")
    numbers = [line["seq"] for line in found.lines]
    assert numbers == list(range(1, len(numbers) + 1))
    assert found.notes == []


def test_the_order_is_that_of_numbers_whatever_the_clock(tmp_path, monkeypatch):
    path = tmp_path / "j"
    times = iter(["2030-01-01", "2020-01-01", "2025-01-01", "1970-01-01", "2026-01-01"])
    monkeypatch.setattr(journal_module, "_now", lambda: next(times))
    write(path, "abc")
    assert events(reopened(path)) == list("abc")


@pytest.mark.parametrize("cut", [2, 10, 39])
def test_a_line_that_was_cut_off_is_dropped_with_a_note(tmp_path, cut):
    path = tmp_path / "j"
    write(path, "abc")
    content = path.read_bytes()[:-cut]
    path.write_bytes(content)
    found = reopened(path)
    assert events(found) == list("ab")
    assert "cut off" in found.notes[0]
    assert not found.damaged
    assert (tmp_path / "j.damaged").read_bytes() == content
    write(path, "d")
    assert events(reopened(path)) == list("abd")
    assert reopened(path).notes == []


def test_a_whole_line_without_its_end_is_kept(tmp_path):
    path = tmp_path / "j"
    write(path, "abc")
    path.write_bytes(path.read_bytes()[:-1])
    write(path, "d")
    found = reopened(path)
    assert events(found) == list("abcd")
    assert found.notes == []


def damaged_by(path, content, whole):
    """Open a journal with such content; check that damage is reported once and kept aside."""
    path.write_bytes(content)
    found = reopened(path)
    assert found.damaged
    assert "is damaged" in found.notes[0]
    aside = path.with_name("j.damaged")
    assert aside.read_bytes() == content
    aside.unlink()
    assert set(events(found)) <= set(whole)
    again = reopened(path)
    assert again.notes == []
    assert events(again) == events(found)
    return events(found)


def test_damage_is_noticed_and_costs_only_what_is_damaged(tmp_path):
    path = tmp_path / "j"
    write(path, "abcdef")
    content = path.read_bytes()
    lines = content.splitlines(keepends=True)
    zeros = b"".join(lines[:4]) + bytes(len(b"".join(lines[4:])))
    for damaged, kept in [
        (content + bytes(100), "abcdef"),
        (zeros, "abc"),
        (b"".join(lines[:2] + lines[3:]), "acdef"),
        (b"".join([*lines[:2], lines[2][:10] + b"\n", *lines[3:]]), "acdef"),
        (b"".join([lines[0], lines[2], lines[1], *lines[3:]]), "abcdef"),
        (b"".join([*lines, lines[3]]), "abcdef"),
        (b"".join(lines[1:]), "abcdef"),
        (content.replace(b"\n", b""), "abcdef"),
        (content.replace(b'"value":"c"', b'"value":"e"'), "abdef"),
        (content + b"[" * 100_000 + b"\n", "abcdef"),
    ]:
        assert damaged_by(path, damaged, "abcdef") == list(kept)


def test_every_flipped_bit_is_noticed(tmp_path):
    """Its line is lost, and no other; no bit makes another answer of one.

    In the second line all bits are flipped, elsewhere one of each byte.
    """
    path = tmp_path / "j"
    write(path, "abc")
    content = path.read_bytes()
    ends = [k for k, byte in enumerate(content) if byte == 10]
    for place in range(len(content)):
        number = sum(end < place for end in ends)
        whole = [value for k, value in enumerate("abc", 1) if k != number]
        for bit in range(8) if number == 2 else (place % 8,):
            flipped = bytearray(content)
            flipped[place] ^= 1 << bit
            found = damaged_by(path, bytes(flipped), "abc")
            assert found == list("abc") if place in ends else found == whole, (place, bit)


def test_every_cut_keeps_what_is_before_it(tmp_path):
    path = tmp_path / "j"
    write(path, "abc")
    content = path.read_bytes()
    for cut in range(len(content)):
        for tail in (b"", bytes(40)):
            path.write_bytes(content[:cut] + tail)
            found = reopened(path)
            n_whole = max(0, sum(content[:cut].count(end) for end in (b'"}\n',)) - 1)
            n_whole += content[:cut].endswith(b'"}') and not tail and n_whole > 0
            assert events(found) == list("abc")[: len(events(found))]
            assert len(events(found)) >= n_whole
            at_end = content[cut - 1 : cut + 1] in (b"}\n",) or content[:cut].endswith(b"\n")
            assert bool(found.notes) == (bool(tail) or not (at_end or cut == 0)), cut
            for aside in tmp_path.glob("j.damaged*"):
                assert aside.read_bytes() == content[:cut] + tail
                aside.unlink()


NEWER = b'{"seq":1,"kind":"open","format":"semisvm-journal","version":99'


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"text,label\na,b\n", "not a journal of a labelling session, and it is left as it is"),
        (b"one line of notes", "not a journal"),
        (b'{"name": "settings of another program"}', "not a journal"),
        (b'{"seq": 1, "kind": "open"}\n', "not a journal"),
        (b'{"seq":1,"kind":"open","format":"semisvm-journal","version":1}\n', "not a journal"),
        (b"[" * 100_000, "not a journal"),
        (
            NEWER + b',"crc":"%08x"}\n' % zlib.crc32(NEWER),
            "newer version",
        ),
    ],
)
def test_other_files_are_refused_and_left_alone(tmp_path, content, message):
    path = tmp_path / "j"
    path.write_bytes(content)
    with pytest.raises(DataError, match=message):
        Journal(path)
    assert path.read_bytes() == content
    assert list(tmp_path.iterdir()) == [path]


def test_a_journal_that_was_deleted_comes_back_with_the_next_answer(tmp_path):
    path = tmp_path / "j"
    found = Journal(path)
    found.append({"kind": "answer", "value": "a"})
    path.unlink()
    found.append({"kind": "answer", "value": "b"})
    with pytest.raises(DataError, match="has this journal open"):
        Journal(path)
    found.append({"kind": "answer", "value": "c"})
    found.close()
    assert events(reopened(path)) == list("abc")
    assert list(tmp_path.iterdir()) == [path]


def test_a_journal_whose_place_was_taken_takes_no_answer(tmp_path):
    path = tmp_path / "j"
    first = Journal(path)
    first.append({"kind": "answer", "value": "a"})
    path.unlink()
    second = Journal(path)
    with pytest.raises(LabelingError, match=r"taken the place.*saved before is in .*j\.damaged"):
        first.append({"kind": "answer", "value": "b"})
    second.append({"kind": "answer", "value": "c"})
    with pytest.raises(LabelingError, match="start again"):
        first.append({"kind": "answer", "value": "d"})
    first.close()
    second.close()
    assert events(reopened(path)) == ["c"]
    assert events(reopened(tmp_path / "j.damaged")) == ["a"]


def test_a_link_is_the_file(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "j")
    first = Journal(tmp_path / "j")
    with pytest.raises(DataError, match="has this journal open"):
        Journal(tmp_path / "link")
    first.close()


def test_a_second_opening_is_refused_with_the_process(tmp_path):
    path = tmp_path / "j"
    first = Journal(path)
    with pytest.raises(DataError, match=rf"process {os.getpid()} .* has this journal open since"):
        Journal(path)
    first.append({"kind": "answer", "value": "a"})
    first.close()
    assert events(reopened(path)) == ["a"]


HOLD = """
import sys
from semisvm.labelling.journal import Journal
found = Journal(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path):
    path = tmp_path / "j"
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with holder:
        assert holder.stdout.readline() == "open\n"
        with pytest.raises(DataError, match=f"process {holder.pid} "):
            Journal(path)
        holder.send_signal(signal.SIGKILL)
        holder.wait()
        reopened(path)


WRITE = """
import sys
from semisvm.labelling.journal import Journal
found = Journal(sys.argv[1])
for k in range(100_000):
    found.append({"kind": "answer", "value": k})
    print(k, flush=True)
"""


@pytest.mark.parametrize("after", [1, 7, 50])
def test_kill_at_any_moment_loses_nothing_that_was_accepted(tmp_path, after):
    path = tmp_path / "j"
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITE, str(path)], stdout=subprocess.PIPE, text=True
    )
    with writer:
        printed = [int(writer.stdout.readline()) for _ in range(after)]
        writer.send_signal(signal.SIGKILL)
        printed += [int(line) for line in writer.stdout.read().split("\n") if line]
    kept = events(reopened(path))
    # it may have been killed between the disk and the word
    assert kept in (printed, [*printed, len(printed)])


class Disk:
    """A disk that fails from some call on."""

    def __init__(self, monkeypatch, name, part=None, code=errno.ENOSPC):
        self._real, self.fails, self._part, self._code = getattr(os, name), True, part, code
        monkeypatch.setattr(journal_module.os, name, self)

    def __call__(self, file, *content):
        if not self.fails:
            return self._real(file, *content)
        if self._part is not None and content:
            written = self._real(file, content[0][: self._part])
            self._part = None
            return written
        raise OSError(self._code, os.strerror(self._code))


@pytest.mark.parametrize("part", [None, 5])
def test_a_full_disk_takes_no_answer_and_loses_none(tmp_path, monkeypatch, part):
    path = tmp_path / "j"
    found = Journal(path)
    found.append({"kind": "answer", "value": "a"})
    before = path.read_bytes()
    with monkeypatch.context() as patch:
        Disk(patch, "write", part)
        with pytest.raises(LabelingError, match=r"not saved: .* disk is full.* earlier answers"):
            found.append({"kind": "answer", "value": "b"})
    assert path.read_bytes() == before
    found.append({"kind": "answer", "value": "c"})
    found.close()
    assert events(reopened(path)) == list("ac")


def test_an_answer_that_is_not_synchronised_is_not_accepted(tmp_path, monkeypatch):
    path = tmp_path / "j"
    found = Journal(path)
    found.append({"kind": "answer", "value": "a"})
    real, failed = os.fsync, []

    def once(file):
        if not failed:
            failed.append(file)
            raise OSError(errno.EIO, "Input/output error")
        real(file)

    with monkeypatch.context() as patch:
        patch.setattr(journal_module.os, "fsync", once)
        with pytest.raises(LabelingError, match="not saved"):
            found.append({"kind": "answer", "value": "b"})
    found.append({"kind": "answer", "value": "c"})
    found.close()
    assert events(reopened(path)) == list("ac")


def test_a_disk_that_cannot_even_take_back_ends_the_journal(tmp_path, monkeypatch):
    found = Journal(tmp_path / "j")
    with monkeypatch.context() as patch:
        Disk(patch, "fsync", code=errno.EIO)
        with pytest.raises(LabelingError, match="not saved"):
            found.append({"kind": "answer", "value": "a"})
    with pytest.raises(LabelingError, match="start again"):
        found.append({"kind": "answer", "value": "b"})
    found.close()


def test_no_line_is_accepted_before_it_is_on_the_disk(tmp_path, monkeypatch):
    path = tmp_path / "j"
    found = Journal(path)
    seen = []
    real = os.fsync

    def look(file):
        real(file)
        seen.append(json.loads(path.read_bytes().splitlines()[-1])["value"])

    monkeypatch.setattr(journal_module.os, "fsync", look)
    for value in "abc":
        found.append({"kind": "answer", "value": value})
        assert seen[-1] == value
    found.close()


def test_closed(tmp_path):
    found = Journal(tmp_path / "j")
    found.close()
    found.close()
    with pytest.raises(LabelingError, match="closed"):
        found.append({"kind": "answer"})


def test_a_place_that_is_not_there(tmp_path):
    with pytest.raises(DataError, match="no folder"):
        Journal(tmp_path / "missing" / "j")
