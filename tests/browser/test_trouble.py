"""The page when something goes wrong: a full disk, a lost connection, a restart, hostile texts."""

import pytest
from playwright.sync_api import expect

from fake_session import FakeSession
from semisvm.labelling.server import PageServer
from waiting import PATIENCE

FAILED_LOADS = ("net::ERR_", "the server responded with a status of")


@pytest.fixture
def unlucky(person):
    """The browser reports failed requests as errors; here they are meant."""
    yield person
    kept = [text for text in person.problems if not any(mark in text for mark in FAILED_LOADS)]
    person.problems[:] = kept


def test_a_full_disk(unlucky, session):
    session.fails = OSError(28, "No space left on device")
    unlucky.press("1")
    unlucky.until("#state", "Not saved")
    unlucky.until("#alert", "Not saved: .*No space left on device")
    assert unlucky.key == "1"
    unlucky.until("#n-labels", "^0$")
    unlucky.page.get_by_role("button", name="Close the message").click()
    expect(unlucky.page.locator("#alert")).to_be_hidden()
    unlucky.press("1")
    unlucky.until("#alert", "No space left")
    session.fails = None
    unlucky.press_and_wait("1")
    unlucky.until("#state", "Saved")
    expect(unlucky.page.locator("#alert")).to_be_hidden()
    assert session.marks == {0: ("answer", "spam")}


def test_no_connection(unlucky, session):
    unlucky.page.context.set_offline(True)
    unlucky.press("1")
    unlucky.until("#state", "No connection|Not saved")
    unlucky.until("#alert", "does not answer")
    expect(unlucky.page.get_by_role("button", name="spam")).to_be_disabled()
    unlucky.press("2")
    assert session.events == []
    unlucky.page.context.set_offline(False)
    expect(unlucky.page.get_by_role("button", name="spam")).to_be_enabled()
    expect(unlucky.page.locator("#alert")).to_be_hidden()
    assert unlucky.key == "1"
    unlucky.press_and_wait("1")
    assert session.marks == {0: ("answer", "spam")}


def lose_reply(route):
    """Have the server do what is requested, and break the connection before its reply."""
    # the server may close the idle connection of the request before: then it is sent again
    route.fetch(max_retries=5, timeout=1000 * PATIENCE)
    route.abort()


def test_an_answer_is_kept_if_the_reply_is_lost(unlucky, session):
    unlucky.page.route("**/api/answer", lose_reply, times=1)
    unlucky.press("1")
    # once the connection is back, the page sees that the row has an answer
    unlucky.until("#row-name", "Row 2")
    unlucky.until("#last", "row 1 is spam")
    assert len(session.events) == 1
    unlucky.press_and_wait("2")
    assert [session.marks[row][1] for row in range(2)] == ["spam", "ham"]


def test_an_undo_is_not_done_twice_if_the_reply_is_lost(unlucky, session):
    for _ in range(3):
        unlucky.press_and_wait("1")
    unlucky.page.route("**/api/undo", lose_reply, times=1)
    unlucky.press("u")
    unlucky.until("#state", "Connected")
    assert len(session.events) == 2
    unlucky.press("u")
    unlucky.until("#last", "Undone: row 3")
    assert len(session.events) == 2


def test_a_server_that_was_started_anew(arrive, session):
    with PageServer(session) as first:
        person = arrive(first.address)
        person.press_and_wait("1")
    with PageServer(session, port=first.port) as second:
        person.until("#alert", "started anew.*address that the terminal shows")
        person.until("#state", "Closed")
        person.problems.clear()
        person.open(second.address)
        assert person.key == "2"
        person.until("#n-labels", "^1$")


HOSTILE = (
    '<img src=x onerror="alert(1)"><script>alert(2)</script>',
    "</p><svg onload=alert(3)>",
    "javascript:alert(4) \u202egnp.exe",
    "'\"><b>&lt;&amp;&#x41;",
    "\ud800 half a character \x00\x1b[31m",
)


def test_texts_stay_texts(arrive, server, session):
    FakeSession.__init__(session, HOSTILE, classes=("<b>spam</b>", "<img src=x onerror=alert(5)>"))
    session.columns = [("<i>name</i>", "category", "<script>alert(6)</script>")]
    person = arrive()
    for text in HOSTILE[:2]:
        assert person.text(".prose") == text
        expect(person.page.locator(".cells dt")).to_have_text("<i>name</i>")
        person.press("g")
        person.until("#guess", "<b>spam</b>")
        person.press_and_wait("2")
    # marks that show a text as another one are shown as unknown characters
    assert person.text(".prose") == "javascript:alert(4) \ufffdgnp.exe"
    for tab in ("find", "sure", "doubts"):
        person.tab(tab)
        expect(person.page.locator(f"#panel-{tab} .item").first).to_be_visible()
    assert person.page.locator("main :is(b, i, svg, script, img)").count() == 0


def test_nothing_comes_from_elsewhere(person, server):
    person.requested.clear()
    person.reload()
    for tab in ("find", "sure", "doubts"):
        person.tab(tab)
    ours = server.address.partition("?")[0]
    assert person.requested
    assert [url for url in person.requested if not url.startswith(ours)] == []


def test_no_cookie_for_scripts(person):
    assert person.page.evaluate("document.cookie") == ""
    assert "token" not in person.page.url
