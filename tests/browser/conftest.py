"""A browser, and a page on a session in memory."""

import pytest

from browsing import MISSING, Person, chromium, launched
from fake_session import FakeSession
from semisvm.labelling.server import PageServer

SIZE = {"width": 1280, "height": 860}
TEXTS = [f"text {k}: " + "some words " * (5 * k % 60) for k in range(30)]


@pytest.fixture(scope="package")
def browser():
    """One for all tests here; it ends with them, since no other loop can run beside its own."""
    if chromium() is None:
        pytest.skip(MISSING)
    with launched() as running:
        yield running


@pytest.fixture(scope="package")
def one_server():
    kept = FakeSession(TEXTS)
    with PageServer(kept) as running:
        yield running, kept


@pytest.fixture
def session(one_server):
    _, kept = one_server
    vars(kept).clear()
    FakeSession.__init__(kept, TEXTS)
    return kept


@pytest.fixture
def server(one_server, session):
    running, _ = one_server
    return running


@pytest.fixture
def arrive(browser, server):
    """Open the page in a browser context of its own."""
    people = []

    def make(address=None, **options):
        context = browser.new_context(**{"viewport": SIZE, **options})
        people.append(Person(context, address or server.address))
        return people[-1]

    yield make
    for person in people:
        person.page.context.close()
        assert person.problems == []


@pytest.fixture(scope="package")
def resident(browser, one_server):
    running, _ = one_server
    return Person(browser.new_context(viewport=SIZE), running.address)


@pytest.fixture
def person(resident, server):
    """Somebody who has not been here before, in a browser that saves the time to start one."""
    resident.page.evaluate("() => { localStorage.clear(); sessionStorage.clear(); }")
    resident.page.set_viewport_size(SIZE)
    resident.open(server.address.partition("?")[0])
    resident.problems.clear()
    yield resident
    assert resident.problems == []
