"""Answers find their rows again, and other programs find the answers."""

import json
import random
import signal
import subprocess
import sys

import pytest

from semisvm.labelling import LabelingError, LabelingSession
from semisvm.labelling import journal as journal_module
from semisvm.labelling.pool import make_pool
from semisvm.labelling.saved_answers import SavedAnswers, unwritten
from semisvm.tables import DataError, join_answers, read

ROWS = [(f"k{i}", f"text number {i} about topic {i % 7}", i * 3 % 11) for i in range(30)]


def write_data(path, rows, label=None):
    head = "id,body,size" + (",kind" if label else "")
    lines = [
        ",".join(map(str, row)) + (f",{label.get(row[0], '')}" if label else "") for row in rows
    ]
    path.write_text("\n".join([head, *lines]) + "\n")


def opened(folder, **options):
    options = {"label": "kind", "classes": ["a", "b"], "background": False, **options}
    return LabelingSession.open(folder / "data.csv", **options)


def answered(folder, rows, **options):
    with opened(folder, **options) as found:
        for row in rows:
            found.answer(row, "a" if row % 2 else "b")


@pytest.fixture
def folder(tmp_path):
    write_data(tmp_path / "data.csv", ROWS)
    return tmp_path


def labels(found):
    return {found.view(row).fields[0].value: found.view(row).answer for row in range(30)}


def test_a_session_goes_on(folder):
    with opened(folder) as found:
        found.answer(3, "a")
        found.skip(4)
        found.add_class("c")
        found.answer(5, "c")
        found.answer(6, "b")
        found.undo()
    with opened(folder, classes=[]) as again:
        assert again.view(3).answer == "a"
        assert again.view(4).skipped
        assert again.view(5).answer == "c"
        assert again.view(6).answer is None
        assert [c.name for c in again.status().classes] == ["a", "b", "c"]
        assert again.status().notes == [] or "changed" not in str(again.status().notes)
        again.undo()
        assert again.view(5).answer is None


def test_sorted_data_keep_their_answers(folder):
    answered(folder, range(10))
    with opened(folder) as found:
        before = labels(found)
    write_data(folder / "data.csv", ROWS[::-1])
    with opened(folder) as again:
        assert labels(again) == before
        assert any(
            "has changed since" in note and "All answers" in note for note in again.status().notes
        )
    with opened(folder) as again:
        assert not any("has changed" in note for note in again.status().notes)


def test_edited_rows_lose_their_answers_by_content_and_keep_them_by_key(folder):
    edited = [(k, "corrected", s) if k == "k3" else (k, t, s) for k, t, s in ROWS]
    for key, kept in ((None, None), ("id", "a")):
        path = folder / f"{key}.csv"
        write_data(folder / "data.csv", ROWS)
        answered(folder, range(10), key=key, answers=path)
        write_data(folder / "data.csv", edited)
        with opened(folder, key=key, answers=path) as again:
            assert again.view(3).answer == kept
            assert again.view(4).answer == "b"
            notes = " ".join(again.status().notes)
            assert ("1 rows with answers are no longer there" in notes) == (key is None)


def test_a_key_can_be_named_later(folder):
    answered(folder, range(10))
    for _ in range(2):
        with opened(folder, key="id") as found:
            assert found.status().n_answered == 10
            assert not any("changed" in note for note in found.status().notes)
    edited = [(k, "corrected", s) if k == "k3" else (k, t, s) for k, t, s in ROWS]
    with opened(folder, key="id") as found:
        found.answer(20, "a")
    write_data(folder / "data.csv", [*edited[:3], *edited[4:]])
    with opened(folder, key="id") as found:
        assert found.status().n_answered == 10


def test_an_edit_that_is_taken_back_brings_the_answer_back(folder):
    answered(folder, range(10))
    write_data(folder / "data.csv", ROWS[5:])
    with opened(folder) as found:
        assert found.status().n_answered == 5
    write_data(folder / "data.csv", ROWS)
    with opened(folder) as found:
        assert found.status().n_answered == 10


def test_a_new_column_does_not_lose_answers(folder):
    answered(folder, range(10))
    rows = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join(f"{row},{k % 3}" for k, row in enumerate(rows)))
    with opened(folder) as found:
        assert found.status().n_answered == 10
        found.answer(20, "a")
    with opened(folder) as found:
        assert found.status().n_answered == 11


def test_a_column_that_is_gone_is_an_error_and_the_journal_is_left_alone(folder):
    answered(folder, range(10))
    before = (folder / "data.answers.csv.journal").read_bytes()
    rows = (folder / "data.csv").read_text().splitlines()
    (folder / "data.csv").write_text("\n".join(row.rpartition(",")[0] for row in rows))
    with pytest.raises(DataError, match="'size'"):
        opened(folder)
    after = (folder / "data.answers.csv.journal").read_bytes()
    assert after.startswith(before)
    assert [json.loads(line)["kind"] for line in after[len(before) :].splitlines()] == ["open"]


def test_rows_of_equal_content_are_distinguished(tmp_path):
    write_data(tmp_path / "data.csv", [("x", "same words", 1)] * 3 + ROWS[:5])
    with opened(tmp_path) as found:
        found.answer(1, "a")
    with opened(tmp_path) as found:
        assert [found.view(row).answer for row in range(3)] == [None, "a", None]


def test_answers_are_read_by_other_commands(folder):
    answered(folder, range(10))
    data = read(folder / "data.csv")
    joined = join_answers(data, [folder / "data.answers.csv"], label="kind").data
    assert joined.labels.tolist()[:11] == ["b", "a"] * 5 + [None]
    write_data(folder / "data.csv", ROWS[::-1])
    joined = join_answers(
        read(folder / "data.csv"), [folder / "data.answers.csv"], label="kind"
    ).data
    assert joined.labels.tolist()[-11:] == [None, *["a", "b"] * 5]


def test_corrected_labels_are_read_by_other_commands(folder):
    write_data(folder / "data.csv", ROWS, {"k1": "a", "k2": "b", "k3": "a"})
    with opened(folder) as found:
        assert found.status().n_given == 3
        found.answer(1, "b")
        found.remove(2)
        found.answer(9, "a")
    data = read(folder / "data.csv", label="kind")
    joined = join_answers(data, [folder / "data.answers.csv"], label="kind")
    assert {row: v for row, v in enumerate(joined.data.labels.tolist()) if v} == {
        1: "b",
        3: "a",
        9: "a",
    }
    assert joined.notes == []
    with opened(folder) as found:
        assert (found.view(1).answer, found.view(2).answer, found.view(3).answer) == (
            "b",
            None,
            "a",
        )


def test_a_file_from_elsewhere_is_taken_and_an_own_one_is_not(folder):
    path = folder / "data.answers.csv"
    path.write_text("semisvm_row,kind\n1,a\n2,b\n3,\n")
    with opened(folder) as found:
        assert (found.view(0).answer, found.view(1).answer, found.view(2).answer) == (
            "a",
            "b",
            None,
        )
        assert any("2 answers were taken" in note for note in found.status().notes)
        found.save_answers()
        old = path.read_bytes()
        found.answer(0, "b")
    path.write_bytes(old)  # as after a kill between the journal and the file
    with opened(folder) as found:
        assert found.view(0).answer == "b"
    lines = path.read_text().splitlines()
    path.write_text("\n".join(line.replace(",b,", ",a,") for line in lines))
    with opened(folder) as found:
        assert (found.view(0).answer, found.view(1).answer) == ("a", "a")


def edit(path, change):
    head, *lines = path.read_text().splitlines()
    path.write_text("\n".join([head, *change(lines)]) + "\n")


def test_deleted_lines_and_blank_labels_are_taken(folder):
    path = folder / "data.answers.csv"
    answered(folder, range(6))
    edit(path, lambda lines: [lines[0].replace(",b,", ",,"), lines[1].replace(",a,", ",b,")])
    with opened(folder) as found:
        assert [found.view(row).answer for row in range(7)] == [None, "b", *[None] * 5]
        notes = " ".join(found.status().notes)
        assert "1 answers were taken" in notes
        assert "5 answers were removed" in notes
    with opened(folder) as found:
        assert found.status().n_answered == 1
        assert not any("answers were" in note for note in found.status().notes)


def test_edits_of_corrected_labels_are_taken(folder):
    path = folder / "data.answers.csv"
    write_data(folder / "data.csv", ROWS, {"k1": "a", "k2": "b", "k3": "a"})
    with opened(folder) as found:
        found.answer(1, "b")
        found.remove(2)
        found.answer(9, "a")
    # the correction is taken back, the removal stays, and an answer goes
    edit(path, lambda lines: [line for line in lines if line.startswith("3,")])
    with opened(folder) as found:
        assert [found.view(row).answer for row in (1, 2, 3, 9)] == ["a", None, "a", None]


@pytest.mark.parametrize("recorded", [True, False])
def test_an_edited_file_does_not_revert_newer_answers(folder, recorded):
    """A session was killed before its last answers came to the file, which was edited then."""
    path, journal = folder / "data.answers.csv", folder / "data.answers.csv.journal"
    with opened(folder) as found:
        found._exports.end()
        for row in range(5):
            found.answer(row, "a")
        before = journal.read_bytes()
        found.save_answers()
        if not recorded:  # killed between the file and its line in the journal
            journal.write_bytes(before)
            found._store._journal._end = len(before)
            found._store._journal._next -= 1
        found.answer(0, "b")
        found.remove(1)
        found.answer(6, "a")
        kept = journal.read_bytes()
        old = path.read_text()
    journal.write_bytes(kept)
    lines = [line.replace("4,a,", "4,c,") for line in old.splitlines()]
    path.write_text("\n".join(line for line in lines if not line.startswith("3,")) + "\n")
    with opened(folder) as found:
        answers = [found.view(row).answer for row in range(7)]
    # row 3 of the file, the third one, was deleted; the file had a line for it at the time
    deleted = None if recorded else "a"
    assert answers == ["b", None, deleted, "c", "a", None, "a"]


def test_what_a_damaged_journal_has_lost_comes_back_from_the_file(folder):
    journal = folder / "data.answers.csv.journal"
    answered(folder, range(6))
    lines = journal.read_bytes().splitlines(keepends=True)
    third = next(k for k, line in enumerate(lines) if b'"numbers":[3]' in line)
    journal.write_bytes(b"".join([*lines[:third], b"{}\n", *lines[third + 2 :]]))
    with opened(folder) as found:
        assert found.status().n_answered == 6
        notes = " ".join(found.status().notes)
        assert "is damaged" in notes
        assert "2 answers were taken" in notes
    assert (folder / "data.answers.csv.journal.damaged").exists()
    with opened(folder) as found:
        assert found.status().n_answered == 6
        assert not any("damaged" in note for note in found.status().notes)


def test_a_link_to_the_answers_is_the_same_session(folder):
    link = folder / "link.csv"
    link.symlink_to(folder / "data.answers.csv")
    answered(folder, range(3), answers=link)
    assert not (folder / "link.csv.journal").exists()
    with opened(folder) as found:
        assert found.status().n_answered == 3
        with pytest.raises(DataError, match="has this journal open"):
            opened(folder, answers=link)
        found._exports.end()
        found.answer(7, "a")
        assert unwritten(link) == 1
    assert link.is_symlink()


def test_a_session_whose_journal_was_replaced_leaves_the_answers_alone(folder):
    path = folder / "data.answers.csv"
    first = opened(folder)
    first._exports.end()
    first.answer(0, "a")
    (folder / "data.answers.csv.journal").unlink()
    with opened(folder) as second:
        second.answer(1, "b")
    text = path.read_text()
    with pytest.raises(LabelingError, match="another file has taken the place"):
        first.save_answers()
    first.close()
    assert path.read_text() == text


def test_no_damage_to_a_journal_is_a_traceback(folder):
    journal = folder / "data.answers.csv.journal"
    with opened(folder) as found:
        found.answer(0, "a")
        found.skip(1)
        found.add_class("c")
        found.confirm([2, 3], "c")
        found.undo()
    content = journal.read_bytes()
    with opened(folder) as found:
        assert found.status().n_answered == 1
        assert not any("damaged" in note for note in found.status().notes)
    rng = random.Random(0)
    pool, classes = make_pool(read(folder / "data.csv"), "kind", None, None, None), ["a", "b"]
    for _ in range(300):
        damaged = bytearray(content)
        n_flips = rng.choice([1, 1, 1, 5])
        for _ in range(n_flips):
            damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
        journal.write_bytes(damaged)
        try:
            store = SavedAnswers(pool, classes, folder / "data.answers.csv")
            store.close()
            noticed = any("is damaged" in note for note in store.notes)
            assert noticed or damaged == content
            # what one lost line had comes back from the file of answers
            assert n_flips > 1 or store.answers() == {0: "a"}
        except DataError:
            assert journal.read_bytes().startswith(damaged) or list(folder.glob("*.damaged"))
        for aside in folder.glob("*.damaged*"):
            assert aside.read_bytes() == damaged
            aside.unlink()


def test_another_file_in_the_place_is_not_overwritten(folder):
    path = folder / "data.answers.csv"
    path.write_text("some,table\n1,2\n")
    with pytest.raises(DataError):
        opened(folder)
    assert path.read_text() == "some,table\n1,2\n"


def test_a_full_disk_takes_no_answer(folder, monkeypatch):
    with opened(folder) as found:
        found.answer(0, "a")
        with monkeypatch.context() as patch:

            def full(*arguments):
                raise OSError(28, "No space left on device")

            patch.setattr(journal_module.os, "write", full)
            with pytest.raises(LabelingError, match="not saved"):
                found.answer(1, "b")
            assert found.view(1).answer is None
            assert found.status().n_answered == 1
        found.answer(1, "b")
    with opened(folder) as found:
        assert found.status().n_answered == 2


def test_answers_that_are_in_the_journal_only_are_counted(folder):
    path = folder / "data.answers.csv"
    assert unwritten(path) == 0
    with opened(folder) as found:
        found.answer(0, "a")
        found.save_answers()
        assert unwritten(path) == 0
        found._exports.end()
        found.answer(1, "b")
        found.skip(2)
        assert unwritten(path) == 2
    assert unwritten(path) == 0


LABEL = """
import sys
from semisvm.labelling import LabelingSession
found = LabelingSession.open(sys.argv[1], label="kind", classes=["a", "b"], background=False)
for row in range(30):
    found.answer(row, "a" if row % 2 else "b")
    print(row, flush=True)
"""


def test_kill_in_the_middle_of_a_session(folder):
    worker = subprocess.Popen(
        [sys.executable, "-c", LABEL, str(folder / "data.csv")], stdout=subprocess.PIPE, text=True
    )
    with worker:
        printed = [int(worker.stdout.readline()) for _ in range(7)]
        worker.send_signal(signal.SIGKILL)
        printed += [int(line) for line in worker.stdout.read().split("\n") if line]
    with opened(folder) as found:
        kept = [row for row in range(30) if found.view(row).answer]
        assert kept in (printed, [*printed, len(printed)])
        assert all(found.view(row).answer == ("a" if row % 2 else "b") for row in kept)


def test_the_labelled_file(folder):
    with opened(folder) as found:
        found.answer(0, "a")
        found.skip(1)
        found.export(folder / "labelled.csv")
        found.export(folder / "labelled.jsonl")
    for name in ("labelled.csv", "labelled.jsonl"):
        data = read(folder / name, label="kind")
        assert data.labels.tolist() == ["a"] + [None] * 29
        assert data.text("body") == [body for _, body, _ in ROWS]
