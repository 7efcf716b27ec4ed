"""Answers from and for other tools, and a session as one file."""

import csv
import json
import zipfile

import pytest

from mail_sessions import KINDS, TEXTS, session
from semisvm.labelling import LabelingError, LabelingSession
from semisvm.labelling.exchange import is_packed, unpack
from semisvm.labelling.records import Person
from semisvm.tables import DataError
from semisvm.tables.annotation_tools import SUFFIXES


def answered():
    found = session(texts=TEXTS[:10])
    found.answer(0, "spam", by="anna")
    found.answer(1, "ham", by="ben")
    found.answer(2, "spam", by="anna")
    found.answer(2, "ham", by="ben")
    found.settle(2, "ham", by="anna")
    found.answer(3, "ham", by="anna")
    found.answer(3, "spam", by="ben")
    return found


def singles(found):
    store = found._store
    kept = {row: {by: mark.value for by, mark in store.singles(row).items()} for row in store.marks}
    return kept, {row: store.settled(row).value for row in kept if store.settled(row)}


def test_who_said_what_goes_by_csv_to_another_session(tmp_path):
    path = tmp_path / "single.csv"
    with answered() as found, session(texts=TEXTS[:10]) as other:
        found.export_single_answers(path)
        imported = other.import_answers(path)
        assert (imported.n_taken, imported.n_same, imported.n_differ) == (7, 0, 0)
        assert singles(other) == singles(found)
        assert other._store.disputed == {3}
        again = other.import_answers(path)
        assert (again.n_taken, again.n_same, again.n_differ) == (0, 7, 0)


def test_what_was_answered_here_stays(tmp_path):
    path = tmp_path / "single.csv"
    with answered() as found, session(texts=TEXTS[:10]) as other:
        found.export_single_answers(path)
        other.answer(0, "ham", by="anna")
        imported = other.import_answers(path)
        assert (imported.n_taken, imported.n_same, imported.n_differ) == (6, 0, 1)
        assert other.view(0, by="anna").answer == "ham"


@pytest.mark.parametrize(("tool", "suffix"), SUFFIXES.items())
def test_tools_give_back_what_they_got(tmp_path, tool, suffix):
    path = tmp_path / f"tasks{suffix}"
    with answered() as found, session(texts=TEXTS[:10]) as other:
        found.export_tasks(path, tool)
        other.import_answers(path, by="tool")
        if tool == "label-studio":
            assert singles(other) == singles(found)
            made = json.loads(path.read_text())[0]["annotations"][0]
            assert made["created_at"].startswith("20")
        elif tool == "argilla":  # people are numbers there, and nothing is settled
            said = {row: sorted(own.values()) for row, own in singles(found)[0].items()}
            assert {row: sorted(own.values()) for row, own in singles(other)[0].items()} == said
        else:
            assert other._store.answers() == found._store.answers()
    with pytest.raises(LabelingError, match="one of label-studio, prodigy, doccano, argilla"):
        other.export_tasks(path, "another")


def test_rows_of_other_data_are_refused(tmp_path):
    with answered() as found, session(texts=TEXTS[10:20]) as other:
        found.export_tasks(tmp_path / "t.json", "label-studio")
        with pytest.raises(DataError, match="no row with this content"):
            other.import_answers(tmp_path / "t.json")
        assert other.status().n_answered == 0


@pytest.fixture
def packed(tmp_path):
    data = tmp_path / "here" / "mail.csv"
    data.parent.mkdir()
    with open(data, "w", newline="") as stream:
        csv.writer(stream).writerows([["body"], *[[text] for text in TEXTS]])
    file = tmp_path / "mail.session"
    with LabelingSession.open(
        data, label="kind", classes=["spam", "ham"], background=False
    ) as found:
        found.people.invite(Person("anna"))
        for _ in range(8):
            query = found.ask("browser", by="anna")
            found.answer(query.row, KINDS[query.row], by="anna")
        found.pack(file, {"text": ["body"]})
        before = singles(found)
    return file, before


def test_a_session_goes_on_elsewhere(packed, tmp_path):
    file, before = packed
    assert is_packed(file)
    assert not is_packed(tmp_path / "here" / "mail.csv")
    data, options = unpack(file, tmp_path / "there")
    assert options == {"label": "kind", "key": None, "text": ["body"]}
    with LabelingSession.open(data, background=False, **options) as found:
        assert singles(found) == before
        assert [person.name for person in found.people] == ["anna"]
        assert [note for note in found.status().notes if "changed" in note] == []
        query = found.ask("browser", by="anna")
        found.answer(query.row, "spam", by="anna")
    with pytest.raises(DataError, match="would be written over"):
        unpack(file, tmp_path / "there")


@pytest.mark.parametrize(
    "name", ["../evil.csv", "/evil.csv", "a/b.csv", "..", "a\\b.csv", "c:b.csv"]
)
def test_a_packed_session_stays_in_its_folder(packed, tmp_path, name):
    bad = tmp_path / "bad.session"
    about = {"format": "semisvm-session", "version": 1, "data": name, "options": {}}
    with zipfile.ZipFile(bad, "w") as made:
        made.writestr("session.json", json.dumps(about))
        made.writestr(f"data/{name}", "body\n")
        made.writestr("answers.journal", "")
    with pytest.raises(DataError):
        unpack(bad, tmp_path / "there")
    assert not (tmp_path / "evil.csv").exists()


@pytest.mark.parametrize("content", [b"", b"PK", b"text"])
def test_what_is_no_session_is_refused(tmp_path, content):
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(DataError, match="not a packed labelling session"):
        unpack(tmp_path / "x")


def test_a_session_in_memory_cannot_be_packed(tmp_path):
    with session() as found, pytest.raises(LabelingError, match="in files"):
        found.pack(tmp_path / "x")


def test_none_of_these_goes_by_csv_to_another_session(tmp_path):
    path = tmp_path / "single.csv"
    with session(texts=TEXTS[:10]) as found, session(texts=TEXTS[:10]) as other:
        found.skip(0, none=True, by="anna", comment="neither")
        found.answer(0, "ham", by="ben", comment="perhaps")
        found.skip(1, none=True, by="anna")
        found.answer(1, "ham", by="ben")
        found.settle(1, "none of these", by="anna")
        found.skip(2, by="ben")
        found.export_single_answers(path)
        with path.open() as lines:
            rows = list(csv.DictReader(lines))
        kinds = ["none of these", "answer", "none of these", "answer", "settled", "skipped"]
        assert [row["semisvm_what"] for row in rows] == kinds
        assert [row["semisvm_comment"] for row in rows[:2]] == ["neither", "perhaps"]
        assert other.import_answers(path).n_taken == 5
        assert [row.row for row in other.disagreements().rows] == [0]
        assert other.disagreements("settled").rows[0].settled == "none of these"
        assert other.import_answers(path).n_same == 5


def test_an_import_does_not_replace_none_of_these(tmp_path):
    path = tmp_path / "single.csv"
    with session(texts=TEXTS[:10]) as found, session(texts=TEXTS[:10]) as other:
        found.answer(0, "spam", by="anna")
        found.export_single_answers(path)
        other.skip(0, none=True, by="anna")
        imported = other.import_answers(path)
        assert (imported.n_taken, imported.n_differ) == (0, 1)
        assert other.remark(0, by="anna")["none"]
