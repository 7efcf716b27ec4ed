"""Several people at one page, each in a browser of their own."""

import random
from collections import Counter

import pytest

from browsing import Person as Visitor
from mail_sessions import KINDS, session
from semisvm.labelling.records import FINISH, Person
from semisvm.labelling.server import PageServer

SIZE = {"width": 1280, "height": 860}


@pytest.fixture
def together(browser):
    """A session, and a browser for each of its people."""
    with session(overlap=0.5, every=1000) as found:
        people = [Person("anna", FINISH), Person("ben"), Person("carl")]
        tokens = {person.name: found.people.invite(person) for person in people}
        with PageServer(found, people=found.people) as server:
            contexts = {name: browser.new_context(viewport=SIZE) for name in tokens}
            yield (
                found,
                {
                    name: Visitor(contexts[name], server.link(token))
                    for name, token in tokens.items()
                },
                server,
            )
            for context in contexts.values():
                context.close()


def test_answers_are_those_of_the_browser_they_came_from(together):
    found, visitors, _ = together
    said = {name: {} for name in visitors}
    rng = random.Random(0)
    for _ in range(45):
        name = rng.choice(list(visitors))
        row = int(visitors[name].key) - 1
        key = rng.choice("112") if name == "carl" else "12"[KINDS[row] == "ham"]
        visitors[name].press_and_wait(key)
        said[name][row] = ["spam", "ham"][int(key) - 1]
    kept = {name: {} for name in visitors}
    for row in found._store.marks:
        for name, mark in found._store.singles(row).items():
            kept[name][row] = mark.value
    assert kept == said
    both = Counter(row for rows in said.values() for row in rows)
    assert max(both.values()) == 2
    assert all(visitor.problems == [] for visitor in visitors.values())


def test_settling(together):
    found, visitors, _ = together
    found.answer(3, "spam", by="ben")
    found.answer(3, "ham", by="carl")
    anna, ben = visitors["anna"], visitors["ben"]
    assert anna.text("#person") == "anna"
    assert not ben.page.is_visible("#tab-disagreements")
    assert not ben.page.is_visible("#take-away")
    assert not ben.page.is_visible("#certify")
    assert anna.page.is_visible("#get-answers")
    ben.page.keyboard.press("ArrowLeft")  # from the tabs, nothing that is hidden is reached
    anna.until("#n-labels-of", "row.*, 1 disputed")
    anna.tab("disagreements")
    assert anna.page.inner_text("#disagreements .facts") == "Row 4 · ben: spam · carl: ham"
    anna.page.click("text=It is ham")
    anna.until("#disagreements .pager p", "agree on all rows")
    assert found._store.settled(3).value == "ham"
    anna.page.select_option("#which-disagreements", "settled")
    anna.until("#disagreements .facts + p", "Settled as ham by anna")
    assert anna.problems == []
    assert ben.problems == []


def test_a_revoked_link_closes_the_page(together):
    found, visitors, _ = together
    found.people.revoke("ben")
    visitors["ben"].until("#alert-text", "your link was ended")
    assert found.status().n_answered == 0


def test_the_last_row_is_somewhere_else(together):
    found, visitors, _ = together
    anna, ben = visitors["anna"], visitors["ben"]
    rest = {int(visitor.key) - 1 for name, visitor in visitors.items() if name != "ben"}
    for row in set(range(len(KINDS))) - rest:
        found.answer(row, KINDS[row], by="ben")
    ben.reload()
    ben.until("#row-name", "No row is left for you")
    ben.until("#reason", "The last 2 rows are being answered elsewhere")
    assert [one.inner_text() for one in ben.page.locator("#row button").all()] == [
        "Doubts",
        "Find rows and change answers",
    ]
    for row in rest:
        found.answer(row, KINDS[row], by="carl")
    ben.reload()
    ben.until("#row-name", "Row|All rows are done")
    assert anna.problems == []
    assert ben.problems == []


def test_what_was_settled_in_another_window_is_named(together):
    found, visitors, _ = together
    found.skip(3, none=True, by="ben")
    found.answer(3, "ham", by="carl")
    found.settle(3, "none of these", client="another", by="anna")
    anna = visitors["anna"]
    anna.press("u")
    anna.until("#last", "row 4 was settled as none of these")
    anna.page.click("#undo-other")
    anna.until("#last", "Undone: row 4 is as before")
    found.answer(3, "spam")  # by nobody in particular: overrules
    anna.tab("disagreements")
    anna.page.select_option("#which-disagreements", "settled")
    anna.until("#disagreements .facts + p", "^Settled as spam$")
    assert anna.problems == []
