"""The session that stands in for the real one in tests of the page has its interface."""

import inspect
from dataclasses import fields

import pytest

from fake_session import FakeSession
from semisvm.labelling import LabelingSession
from semisvm.labelling import records as real

CALLS = [name for name in vars(FakeSession) if not name.startswith("_")]


@pytest.mark.parametrize("name", CALLS)
def test_the_same_calls(name):
    ours = inspect.signature(getattr(FakeSession, name)).parameters
    theirs = inspect.signature(getattr(LabelingSession, name)).parameters
    # the real one may take more, with defaults
    assert [n for n in theirs if n in ours] == list(ours)
    for parameter in theirs.values():
        assert parameter.name in ours or parameter.default is not inspect.Parameter.empty


def test_the_same_facts():
    fake = FakeSession(["a text", "another"])
    fake.answer(0, "ham")
    pairs = [
        (fake.status(), real.Status),
        (fake.status().classes[0], real.ClassStatus),
        (fake.view(0), real.RowView),
        (fake.view(0).fields[0], real.Field),
        (fake.guess(0), real.Guess),
        (fake.ask("a"), real.Query),
        (fake.search("text"), real.Found),
        (fake.search("text").rows[0], real.FoundRow),
    ]
    for ours, theirs in pairs:
        assert list(ours.as_json()) == [field.name for field in fields(theirs)], theirs
