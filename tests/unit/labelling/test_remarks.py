"""Comments, and rows that belong to none of the classes."""

import csv

import pytest

from mail_sessions import KINDS, label, session
from semisvm.labelling import LabelingError
from semisvm.labelling.records import RANDOM


def test_comments_stay_until_they_are_changed():
    found = session()
    found.answer(3, "spam", comment=" odd ")
    assert found.remark(3) == {"comment": "odd", "none": False}
    found.answer(3, "ham")
    assert found.remark(3)["comment"] == "odd"
    found.answer(3, "ham", comment="odd indeed")
    assert found.remark(3)["comment"] == "odd indeed"
    found.undo()
    assert found.remark(3)["comment"] == "odd"
    found.answer(3, "ham", comment=" ")
    assert found.remark(3)["comment"] == ""
    found.skip(4, comment="what is this?")
    assert found.remark(4) == {"comment": "what is this?", "none": False}
    assert found.remark(5) == {"comment": "", "none": False}


def lines_of(found, path):
    found.export(path)
    with open(path, newline="") as stream:
        return list(csv.DictReader(stream))


def test_comments_are_exported(tmp_path):
    found = session()
    found.answer(0, "spam")
    assert list(lines_of(found, tmp_path / "a.csv")[0]) == ["body", "label"]
    found.answer(1, "ham", comment="short, but\nclear")
    lines = lines_of(found, tmp_path / "b.csv")
    assert [line["comment"] for line in lines[:3]] == ["", "short, but\nclear", ""]
    assert [line["label"] for line in lines[:3]] == ["spam", "ham", ""]


def test_remarks_are_kept(tmp_path):
    options = {"answers": tmp_path / "answers.csv"}
    with session(**options) as found:
        found.answer(0, "spam", comment="yes")
        found.skip(1, none=True)
    with session(**options) as found:
        assert found.remark(0) == {"comment": "yes", "none": False}
        assert found.remark(1) == {"comment": "", "none": True}
        assert found.status().n_none == 1


def test_none_of_these_is_no_answer_until_it_is_named():
    found = session()
    rows = [found.ask().row]
    found.skip(rows[0], none=True)
    rows.append(found.ask().row)
    found.skip(rows[1], none=True)
    skipped = found.ask().row
    found.skip(skipped)
    status = found.status()
    assert (status.n_answered, status.n_skipped, status.n_none) == (0, 3, 2)
    assert found.name_the_rest("news") == 2
    assert [found.view(row).answer for row in rows] == ["news", "news"]
    assert found.view(skipped).skipped
    assert [one.name for one in found.status().classes] == ["spam", "ham", "news"]
    assert found.status().n_none == 0
    with pytest.raises(LabelingError, match="No row was said"):
        found.name_the_rest("news")
    found.undo()
    assert found.remark(rows[1])["none"]


def test_random_rows_stay_random_when_they_are_named():
    found = session()
    label(found, 20)
    while (query := found.ask()).reason != RANDOM:
        found.answer(query.row, KINDS[query.row])
    found.skip(query.row, none=True)
    found.name_the_rest("ham")
    assert found.view(query.row).reason == RANDOM
    assert found.view(query.row).answer == "ham"


def test_comments_of_several_people_are_exported(tmp_path):
    with session() as found:
        found.answer(0, "spam", by="anna", comment="pills")
        found.answer(0, "ham", by="ben", comment="a recipe")
        found.settle(0, "spam", by="anna")
        assert lines_of(found, tmp_path / "out.csv")[0]["comment"] == "pills; a recipe"


def test_each_person_names_the_own_rest():
    with session() as found:
        for row in (0, 1, 2):
            found.skip(row, none=True, by="anna")
        found.skip(3, none=True)
        for row in (1, 2):
            found.answer(row, "ham", by="ben")
        found.settle(1, "ham", by="ben")
        assert (found.status(by="anna").n_none, found.status(by="ben").n_none) == (2, 0)
        with pytest.raises(LabelingError, match="No row was said"):
            found.name_the_rest("other", by="ben")
        assert found.name_the_rest("other", by="anna") == 2
        assert found.view(1, by="anna").answer is None  # settled, so its answers stay
        assert found.status(by="anna").n_none == 0


def test_nobody_in_particular_names_the_rest_of_all():
    with session() as found:
        found.skip(0, none=True, by="anna")
        assert found.name_the_rest("other") == 1
        assert found.status().n_disputed == 0
        assert found.disagreements("settled").total == 0
        assert found.view(0).answer == "other"
