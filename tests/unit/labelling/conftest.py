"""A page on a session in memory."""

import pytest

from fake_session import FakeSession
from page_client import TOKEN
from semisvm.labelling.server import PageServer
from waiting import PATIENCE

TEXTS = [f"text {k}" for k in range(30)]


@pytest.fixture(scope="module")
def one_server():
    kept = FakeSession(TEXTS)
    with PageServer(kept, token=TOKEN, quiet_seconds=PATIENCE, body_seconds=PATIENCE) as running:
        yield running, kept


@pytest.fixture
def session(one_server):
    _, kept = one_server
    FakeSession.__init__(kept, TEXTS)
    return kept


@pytest.fixture
def server(one_server, session):
    running, _ = one_server
    return running
