"""How much anybody may send to the labelling page, how fast, and how long it may take."""

import http.client
import json
import socket
import time
from contextlib import ExitStack, closing, suppress
from functools import partial

import pytest

from fake_session import FakeSession
from page_client import TOKEN, content, cookie, post, send
from semisvm.labelling import server as server_module
from semisvm.labelling.security import MAX_BODY, Hosts, Keys, RefusedError, RequestGuard
from semisvm.labelling.server import MAX_CONNECTIONS, PageServer
from waiting import PATIENCE, wait_until


def connected(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)


def breaks(raw, piece, every):
    """Send pieces until the other side closes the connection."""
    for _ in range(1000):
        try:
            raw.sendall(piece)
        except OSError:
            return True
        time.sleep(every)
    return False


def begun(server, *more):
    """Open a connection on which the head of a post was sent."""
    head = [
        "POST /api/answer HTTP/1.1",
        "Host: localhost",
        "Origin: http://localhost",
        f"Cookie: {cookie(server)}",
        "Content-Type: application/json",
        *more,
    ]
    raw = connected(server)
    raw.sendall("\r\n".join([*head, "", ""]).encode())
    return closing(raw)


def test_large_bodies_are_refused(server, session):
    body = json.dumps({"client": "a", "row": 0, "value": "x" * MAX_BODY}).encode()
    assert post(server, "answer", body).status == 413
    assert session.events == []


def test_large_bodies_are_refused_before_they_come(server):
    with begun(server, f"Content-Length: {MAX_BODY + 1}") as raw:
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_large_bodies_without_a_declared_length(server):
    with begun(server, "Transfer-Encoding: chunked") as raw:
        piece = b"400\r\n" + b"x" * 1024 + b"\r\n"
        raw.sendall(piece * (1 + MAX_BODY // 1024))
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_a_head_without_end_is_refused(server):
    with closing(connected(server)) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 30_000)
        assert raw.recv(100).startswith(b"HTTP/1.1 400")


def test_values_are_bounded(server, session):
    wrong = [
        ("answer", {"client": "a", "row": -1, "value": "spam"}),
        ("answer", {"client": "a", "row": 1.5, "value": "spam"}),
        ("answer", {"client": "a", "row": True, "value": "spam"}),
        ("answer", {"client": "a", "row": 10**30, "value": "spam"}),
        ("answer", {"client": "a", "row": 0, "value": ["spam"]}),
        ("answer", {"client": "a", "row": 0}),
        ("answer", {"client": "a", "row": 0, "value": "spam", "seen_guess": "yes"}),
        ("classes", {"client": "a", "name": "x" * 1001}),
        ("confirm", {"client": "a", "rows": [0] * 1001, "value": "spam"}),
        ("confirm", {"client": "a", "rows": [], "value": "spam"}),
        ("confirm", {"client": "a", "rows": "01", "value": "spam"}),
        ("next", {"client": 5}),
        ("next", []),
        ("next", b"{"),
        ("next", b"\xff"),
        ("next", b"[" * 30_000),
    ]
    for name, body in wrong:
        answer = post(server, name, body)
        assert (name, answer.status) == (name, 400)
        assert content(answer)["error"]
    assert session.events == []


@pytest.fixture(scope="module")
def hasty():
    """A server that soon closes a connection on which no whole request comes."""
    with PageServer(FakeSession(["text"]), token=TOKEN, quiet_seconds=1.0) as running:
        yield running


def is_closed(raw):
    """Wait for the other side to close a connection without a reply."""
    try:
        return raw.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("start", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_connection_without_a_request_is_closed(hasty, start):
    with closing(connected(hasty)) as raw:
        raw.sendall(start)
        assert is_closed(raw)


def answered(server):
    """Return a connection on which a request was answered before it was closed."""
    head = f"GET /theme.js HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie(server)}\r\n\r\n"
    while True:
        raw = connected(server)
        try:
            raw.sendall(head.encode())
            answer = http.client.HTTPResponse(raw)
            answer.begin()
            assert answer.read()
        except ConnectionError:  # this process has slept meanwhile
            raw.close()
        else:
            return raw


def test_a_connection_is_closed_after_its_last_request(hasty):
    with closing(answered(hasty)) as raw:
        with suppress(ConnectionError):
            raw.sendall(b"GET / HTTP/1.1\r\n")
        assert is_closed(raw)


def test_a_head_that_trickles_is_closed(hasty):
    with closing(connected(hasty)) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert breaks(raw, b"X-A: b\r\n", every=0.1)


def test_a_body_that_trickles_is_refused(session):
    with (
        PageServer(session, token=TOKEN, quiet_seconds=PATIENCE, body_seconds=0.5) as server,
        begun(server, "Content-Length: 90") as raw,
    ):
        raw.sendall(b'{"client"')
        assert raw.recv(100).startswith(b"HTTP/1.1 408")


def closed(raw):
    """Tell whether the other side has closed a connection by now."""
    raw.setblocking(False)
    try:
        return raw.recv(1) == b""
    except BlockingIOError:
        return False
    except ConnectionResetError:
        return True


def test_the_number_of_connections_is_bounded(session):
    with (
        PageServer(session, token=TOKEN, quiet_seconds=PATIENCE) as server,
        ExitStack() as stack,
    ):
        raws = [
            stack.enter_context(closing(connected(server))) for _ in range(MAX_CONNECTIONS + 20)
        ]
        wait_until(lambda: sum(map(closed, raws)) >= 20)
        assert sum(map(closed, raws)) == 20
        # one that goes makes room
        next(raw for raw in raws if not closed(raw)).close()

        def status():
            with suppress(ConnectionError):
                return send(server, "GET", "/").status

        assert wait_until(status) == 401


def test_idle_connections_do_not_block_new_ones(session):
    with (
        PageServer(session, token=TOKEN, quiet_seconds=PATIENCE) as server,
        ExitStack() as stack,
    ):
        kept = stack.enter_context(closing(answered(server)))  # one of the person at work
        for _ in range(MAX_CONNECTIONS + 50):
            stack.enter_context(closing(connected(server)))
        assert send(server, "GET", f"/?token={TOKEN}").status == 200
        assert send(server, "GET", "/api/status", Cookie=cookie(server)).status == 200
        assert not closed(kept)


def test_too_many_requests_are_refused(session, monkeypatch):
    monkeypatch.setattr(server_module, "RequestGuard", partial(RequestGuard, clock=lambda: 0.0))
    with PageServer(session, token=TOKEN) as server:
        answers = (send(server, "GET", "/?token=guess") for _ in range(1000))
        refused = next(answer for answer in answers if answer.status != 401)
        assert refused.status == 429
        assert refused.getheader("Retry-After") == "1"


def test_a_flood_does_not_keep_the_token_out(session, monkeypatch):
    monkeypatch.setattr(server_module, "RequestGuard", partial(RequestGuard, clock=lambda: 0.0))
    with PageServer(session, token=TOKEN) as server:
        ticket = server.ticket().partition("token=")[2]
        flood = (send(server, "GET", "/?token=guess").status for _ in range(1000))
        assert 429 in flood
        assert send(server, "GET", f"/?token={TOKEN}").status == 200
        assert send(server, "GET", f"/?token={ticket}").status == 200
        assert send(server, "GET", "/?token=guess").status == 429


def test_requests_without_a_key_cannot_use_up_the_rate():
    keys, now = Keys(80, TOKEN), [0.0]
    keeper = RequestGuard(Hosts("127.0.0.1"), keys, clock=lambda: now[0])
    without_key = {"host": "localhost"}
    known = {**without_key, "cookie": keys.grant().partition(";")[0]}

    def number_let_in(headers):
        statuses = []
        for _ in range(1000):
            try:
                keeper.check("GET", "/api/status", headers, None)
                statuses.append(200)
            except RefusedError as refusal:
                statuses.append(refusal.status)
        return sum(status != 429 for status in statuses)

    assert number_let_in(without_key) == 40
    assert number_let_in(known) == 400
    now[0] += 1.0
    assert number_let_in(without_key) == 10
    assert number_let_in(known) == 200
