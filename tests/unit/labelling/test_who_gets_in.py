"""Who gets in, and how much of it."""

import http.client
import json
import re
import socket
import time
from contextlib import ExitStack, closing
from types import SimpleNamespace

import pytest

from page_client import TOKEN, answer_row, content, cookie, origin, post, send
from semisvm.labelling.guard import MAX_BODY
from semisvm.labelling.security import Doorkeeper, Hosts, Keys, RefusedError
from semisvm.labelling.server import MAX_CONNECTIONS, PageServer, listen, serve

# --- the token and the cookie


def test_without_token_there_is_nothing(server, sitting):
    for path in (
        "/",
        "/app.js",
        "/style.css",
        "/api/status",
        "/api/download?what=labelled",
        "/nothing",
    ):
        answer = send(server, "GET", path)
        assert answer.status == 401
        assert b"text 0" not in answer.content
        assert answer.getheader("Set-Cookie") is None
    refused = send(
        server, "POST", "/api/answer", {"row": 0, "value": "spam"}, Origin=origin(server)
    )
    assert refused.status == 401
    assert sitting.events == []


@pytest.mark.parametrize("token", ["", "x", "the-toke", "the-token2", "%00", "%ff", "the-token%20"])
def test_a_wrong_token_does_not_open(server, token):
    answer = send(server, "GET", f"/?token={token}")
    assert answer.status == 401
    assert answer.getheader("Set-Cookie") is None


def test_the_token_is_only_for_the_first_page(server):
    assert send(server, "GET", f"/api/status?token={TOKEN}").status == 401


def test_the_cookie_is_for_this_page_only(server):
    given = send(server, "GET", f"/?token={TOKEN}").getheader("Set-Cookie")
    parts = [part.strip() for part in given.split(";")]
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(parts)
    assert TOKEN not in given
    # browsers send cookies to all ports of a host: two servers must not overwrite each other's
    assert parts[0].startswith(f"semisvm_{server.port}=")


def test_a_cookie_that_is_made_up_does_not_open(server):
    name = cookie(server).partition("=")[0]
    for value in ("", "x", TOKEN, '"', "a" * 64, "é".encode().decode("latin-1")):
        assert send(server, "GET", "/api/status", Cookie=f"{name}={value}").status == 401


def test_tokens_cannot_be_guessed(sitting):
    with PageServer(sitting) as one, PageServer(sitting) as other:
        tokens = {server.address.partition("token=")[2] for server in (one, other)}
    assert len(tokens) == 2
    assert all(len(token) >= 43 for token in tokens)


def test_the_address_of_the_started_browser_works_once(server):
    ticket = server.ticket().partition("token=")[2]
    answer = send(server, "GET", f"/?token={ticket}")
    assert answer.getheader("Set-Cookie").partition(";")[0] == cookie(server)
    assert send(server, "GET", f"/?token={ticket}").status == 401


def test_who_is_in_stays_in(server):
    """A kept address with a ticket that was used up does not shut out its owner."""
    answer = send(server, "GET", "/?token=old", Cookie=cookie(server))
    assert answer.status == 200
    assert b"/app.js" in answer.content


# --- hosts and origins


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "10.0.0.1", "", "[::2]", "a b"],
)
def test_a_name_that_was_pointed_here_is_refused(server, host):
    for path in ("/", f"/?token={TOKEN}", "/api/status"):
        answer = send(server, "GET", path, Host=host, Cookie=cookie(server))
        assert answer.status in (400, 421)
        assert answer.getheader("Set-Cookie") is None


def test_names_of_this_machine_are_allowed(server):
    for host in (f"localhost:{server.port}", "127.0.0.1", f"[::1]:{server.port}", "localhost:9999"):
        assert send(server, "GET", "/api/status", Host=host, Cookie=cookie(server)).status == 200


@pytest.mark.parametrize(
    "source", [None, "null", "http://evil.example", "http://127.0.0.1:1", "https://127.0.0.1", ""]
)
def test_posts_of_other_sites_are_refused(server, sitting, source):
    """Other local servers too: a cookie is sent to all ports of a host."""
    assert answer_row(server, Origin=source).status == 403
    assert sitting.events == []


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_other_sites_cannot_load_anything(server, site):
    for path in ("/api/status", "/api/picture?row=0&name=text", "/app.js"):
        answer = send(server, "GET", path, Cookie=cookie(server), Sec_Fetch_Site=site)
        assert answer.status == 403
    # a link to the page changes nothing
    assert send(server, "GET", f"/?token={TOKEN}", Sec_Fetch_Site=site).status == 200


def test_reading_with_a_foreign_origin_is_refused(server):
    answer = send(server, "GET", "/api/status", Cookie=cookie(server), Origin="http://evil.example")
    assert answer.status == 403
    assert answer.getheader("Access-Control-Allow-Origin") is None


def test_a_form_cannot_post(server, sitting):
    """Forms of other sites can send these kinds of content without asking."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert answer_row(server, Content_Type=kind).status == 415
    assert sitting.events == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_changes_are_only_posted(server, sitting, method):
    answer = send(server, method, "/api/answer", Cookie=cookie(server), Origin=origin(server))
    assert answer.status == 405
    assert sitting.events == []


# --- what the page may do


def test_headers_of_every_answer(server):
    known = cookie(server)
    paths = [
        "/",
        "/app.js",
        "/api/status",
        "/api/row?row=99",
        "/nothing",
        "/api/download?what=labelled",
    ]
    answers = [send(server, "GET", path, Cookie=known) for path in paths]
    for answer in [*answers, send(server, "GET", "/"), send(server, "GET", "/", Host="x.example")]:
        policy = answer.getheader("Content-Security-Policy")
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.getheader("X-Content-Type-Options") == "nosniff"
        assert answer.getheader("X-Frame-Options") == "DENY"
        assert answer.getheader("Referrer-Policy") == "no-referrer"
        assert answer.getheader("Cache-Control") == "no-store"
        assert answer.getheader("Cross-Origin-Resource-Policy") == "same-origin"
        assert answer.getheader("Server") is None


def test_the_page_has_no_script_or_style_within(server):
    page = send(server, "GET", "/", Cookie=cookie(server)).content.decode()
    assert re.findall(r"<script(?![^>]* src=)", page) == []
    assert "<style" not in page
    assert re.findall(r"\s(?:on\w+|style)=", page) == []
    # nothing from elsewhere
    assert re.findall(r"(?:src|href)=\"(?!/|#)", page) == []


def test_scripts_make_no_markup_of_texts(server):
    known = cookie(server)
    page = send(server, "GET", "/", Cookie=known).content.decode()
    names = set(re.findall(r'src="(/\w+\.js)"', page))
    seen = set()
    while names - seen:
        name = (names - seen).pop()
        seen.add(name)
        answer = send(server, "GET", name, Cookie=known)
        assert answer.status == 200
        script = answer.content.decode()
        names |= {f"/{found}" for found in re.findall(r'from "\./(\w+\.js)"', script)}
        for way in (
            "innerHTML",
            "outerHTML",
            "insertAdjacent",
            "document.write",
            "eval(",
            "Function(",
        ):
            assert way not in script, (name, way)
        assert "http:" not in script.replace("http://www.w3.org/2000/svg", "")
    assert len(seen) > 5


# --- bounds


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
    raw = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    raw.sendall("\r\n".join([*head, "", ""]).encode())
    return closing(raw)


def test_large_bodies_are_refused(server, sitting):
    body = json.dumps({"client": "a", "row": 0, "value": "x" * MAX_BODY}).encode()
    assert post(server, "answer", body).status == 413
    assert sitting.events == []


def test_large_bodies_are_refused_before_they_come(server):
    with begun(server, f"Content-Length: {MAX_BODY + 1}") as raw:
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_large_bodies_of_a_length_that_is_not_told(server):
    with begun(server, "Transfer-Encoding: chunked") as raw:
        piece = b"400\r\n" + b"x" * 1024 + b"\r\n"
        raw.sendall(piece * (1 + MAX_BODY // 1024))
        assert raw.recv(100).startswith(b"HTTP/1.1 413")


def test_a_head_without_end_is_refused(server):
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=5)) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 30_000)
        assert raw.recv(100).startswith(b"HTTP/1.1 400")


def test_values_are_bounded(server, sitting):
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
    assert sitting.events == []


def is_closed(raw, seconds):
    """Wait for the other side to close a connection on which it said nothing."""
    raw.settimeout(seconds)
    try:
        return raw.recv(100) == b""
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("start", [b"", b"GET / HTTP/1.1\r\nHost: local"])
def test_a_connection_without_a_request_is_closed(server, start):
    with closing(socket.create_connection(("127.0.0.1", server.port))) as raw:
        raw.sendall(start)
        assert is_closed(raw, seconds=10.0)


def test_a_connection_is_closed_after_its_last_request(server):
    with closing(socket.create_connection(("127.0.0.1", server.port))) as raw:
        head = f"GET /theme.js HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie(server)}\r\n\r\n"
        raw.sendall(head.encode())
        answer = http.client.HTTPResponse(raw)
        answer.begin()
        assert answer.read()
        raw.sendall(b"GET / HTTP/1.1\r\n")
        assert is_closed(raw, seconds=10.0)


def test_a_head_that_trickles_is_closed(server):
    with closing(socket.create_connection(("127.0.0.1", server.port), timeout=10)) as raw:
        raw.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        assert breaks(raw, b"X-A: b\r\n", every=0.1)


def test_a_body_that_trickles_is_refused(server):
    with begun(server, "Content-Length: 90") as raw:
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


def test_the_number_of_connections_is_bounded(sitting):
    with PageServer(sitting, token=TOKEN) as server, ExitStack() as stack:
        place = ("127.0.0.1", server.port)
        raws = [
            stack.enter_context(closing(socket.create_connection(place)))
            for _ in range(MAX_CONNECTIONS + 20)
        ]
        end = time.monotonic() + 20.0
        while sum(map(closed, raws)) < 20 and time.monotonic() < end:
            time.sleep(0.01)
        assert sum(map(closed, raws)) == 20
        # one that goes makes room
        next(raw for raw in raws if not closed(raw)).close()
        time.sleep(0.2)
        assert send(server, "GET", "/").status == 401


def test_too_many_requests_are_refused(sitting):
    with PageServer(sitting, token=TOKEN) as server:
        answers = (send(server, "GET", "/?token=guess") for _ in range(1000))
        refused = next(answer for answer in answers if answer.status != 401)
        assert refused.status == 429
        assert refused.getheader("Retry-After") == "1"


def test_strangers_cannot_use_up_the_rate():
    keys, now = Keys(80, TOKEN), [0.0]
    keeper = Doorkeeper(Hosts("127.0.0.1"), keys, clock=lambda: now[0])
    stranger = {"host": "localhost"}
    known = {**stranger, "cookie": keys.grant().partition(";")[0]}

    def number_let_in(headers):
        statuses = []
        for _ in range(1000):
            try:
                keeper.check("GET", "/api/status", headers, None)
                statuses.append(200)
            except RefusedError as refusal:
                statuses.append(refusal.status)
        return sum(status != 429 for status in statuses)

    assert number_let_in(stranger) == 40
    assert number_let_in(known) == 400
    now[0] += 1.0
    assert number_let_in(stranger) == 10
    assert number_let_in(known) == 200


# --- starting


def test_only_this_machine_by_default(sitting):
    with PageServer(sitting) as running:
        assert running.host == "127.0.0.1"
        assert running.address.startswith(f"http://127.0.0.1:{running.port}/?token=")


def test_other_hosts_are_warned_about_and_want_the_token(sitting):
    with PageServer(sitting, "0.0.0.0", token=TOKEN) as running:
        assert f"{socket.gethostname()}:{running.port}" in running.address
        assert send(running, "GET", "/api/status").status == 401
        assert send(running, "GET", "/", Host="evil.example").status == 421
        for host in (f"192.168.0.7:{running.port}", socket.gethostname()):
            assert send(running, "GET", f"/?token={TOKEN}", Host=host).status == 200


@pytest.fixture
def served(sitting, monkeypatch):
    """Call `serve` with a server that ends at once; return what it told and opened."""

    def run(**options):
        told, opened = [], []
        browser = SimpleNamespace(open=opened.append)
        monkeypatch.setattr("webbrowser.get", lambda: browser)
        monkeypatch.setattr(PageServer, "run", lambda server: time.sleep(0.2))
        serve(sitting, tell=told.append, **options)
        return told, opened

    return run


def test_serve_tells_the_address_and_opens_a_browser(served):
    told, opened = served(token=TOKEN)
    assert len(told) == 1
    assert re.fullmatch(rf"Open http://127\.0\.0\.1:\d+/\?token={TOKEN}", told[0])
    # the list of processes shows a token that is soon used up
    assert len(opened) == 1
    assert TOKEN not in opened[0]


def test_serve_without_a_browser(served):
    _, opened = served(open_browser=False)
    assert opened == []


def test_serve_warns_if_others_get_in(served):
    told, _ = served(host="0.0.0.0", open_browser=False)
    assert told[0].startswith("Warning: other machines can reach 0.0.0.0")
    assert "token=" in told[1]


def test_serve_reports_changes(served, sitting, monkeypatch):
    monkeypatch.setattr("semisvm.labelling.server.WATCH_SECONDS", 0.01)
    seen = []
    served(open_browser=False, watch=lambda status: seen.append(status.n_answered))
    assert seen == [0]


def test_a_port_that_is_taken(server):
    said = rf"127\.0\.0\.1:{server.port} cannot be used \(.* in use\)\. Port 0 takes"
    with pytest.raises(OSError, match=said):
        listen("127.0.0.1", server.port)


def test_a_host_that_is_not_there():
    with pytest.raises(OSError, match=r"nowhere\.invalid:0 cannot be used"):
        listen("nowhere.invalid", 0)
