"""Where the labelling page is served, and what is printed when it starts."""

import ast
import re
import socket
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from page_client import TOKEN, send
from semisvm.labelling import LabelingError
from semisvm.labelling import server as server_module
from semisvm.labelling.server import PageServer, listen, serve
from waiting import wait_until


def test_only_this_machine_by_default(session):
    with PageServer(session) as running:
        assert running.host == "127.0.0.1"
        assert running.address.startswith(f"http://127.0.0.1:{running.port}/?token=")


def test_other_hosts_are_warned_about_and_want_the_token(session):
    with PageServer(session, "0.0.0.0", token=TOKEN) as running:
        assert f"{socket.gethostname()}:{running.port}" in running.address
        assert send(running, "GET", "/api/status").status == 401
        assert send(running, "GET", "/", Host="evil.example").status == 421
        for host in (f"192.168.0.7:{running.port}", socket.gethostname()):
            assert send(running, "GET", f"/?token={TOKEN}", Host=host).status == 200


@pytest.fixture
def served(session, monkeypatch):
    """Call `serve` with a server that does something else; return what it printed and opened."""

    def run(meanwhile=lambda opened: None, **options):
        shown, opened = [], []

        def get():
            opened.append(None)
            return SimpleNamespace(open=lambda address: opened.__setitem__(0, address))

        monkeypatch.setattr("webbrowser.get", get)
        monkeypatch.setattr(PageServer, "run", lambda server: meanwhile(opened))
        serve(session, echo=shown.append, **options)
        return shown, opened

    return run


def test_serve_prints_the_address_and_opens_a_browser(served):
    shown, opened = served(lambda opened: wait_until(lambda: opened[0]), token=TOKEN)
    assert len(shown) == 1
    assert re.fullmatch(rf"Open http://127\.0\.0\.1:\d+/\?token={TOKEN}", shown[0])
    # the list of processes shows a token that is soon used up
    assert len(opened) == 1
    assert TOKEN not in opened[0]


def test_serve_without_a_browser(served):
    _, opened = served(open_browser=False)
    assert opened == []


def test_serve_refuses_other_machines_without_encryption(served):
    with pytest.raises(LabelingError, match="nothing on the way would be encrypted"):
        served(host="0.0.0.0", open_browser=False)
    with pytest.raises(LabelingError, match="nothing on the way would be encrypted"):
        served(host="0.0.0.0", public="http://label.example.org", open_browser=False)
    shown, _ = served(host="0.0.0.0", public="https://label.example.org/", open_browser=False)
    assert (
        shown[0]
        == "Other machines can reach 0.0.0.0: whoever has a link can read all rows, and answer."
    )
    assert shown[1].startswith("Open https://label.example.org/?token=")


def test_serve_reports_changes_once(served, session, monkeypatch):
    monkeypatch.setattr("semisvm.labelling.server.WATCH_SECONDS", 0.01)
    seen = []

    def label(_):
        wait_until(lambda: seen == [0])
        session.answer(0, "spam")
        wait_until(lambda: seen[1:])
        time.sleep(0.1)

    served(label, open_browser=False, watch=lambda status: seen.append(status.n_answered))
    assert seen == [0, 1]


def test_a_port_that_is_taken(server):
    message = rf"127\.0\.0\.1:{server.port} cannot be used \(.* in use\)\. Port 0 takes"
    with pytest.raises(OSError, match=message):
        listen("127.0.0.1", server.port)


def test_a_host_that_is_not_there():
    with pytest.raises(OSError, match=r"nowhere\.invalid:0 cannot be used"):
        listen("nowhere.invalid", 0)


def test_nothing_of_uvicorn_is_used_but_its_public_names():
    tree = ast.parse(Path(server_module.__file__).read_text())
    named = [node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    named += [
        name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names
    ]
    assert {name for name in named if name.startswith("uvicorn")} == {"uvicorn"}


def test_responses_do_not_wait_for_more_to_send():
    """Sockets of connections inherit it: head and body of a response are two packets."""
    with listen("127.0.0.1", 0) as port, socket.create_connection(port.getsockname()):
        accepted, _ = port.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
