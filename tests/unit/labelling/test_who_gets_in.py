"""Who gets in, and what they get."""

import re

import pytest

from page_client import TOKEN, answer_row, cookie, origin, send
from semisvm.labelling.server import PageServer

# --- the token and the cookie


def test_without_token_there_is_nothing(server, session):
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
    assert session.events == []


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


@pytest.mark.parametrize(
    "other",
    [
        'prefs={"theme":"dark"}',
        "prefs=[1, 2]",
        "a",
        "=",
        "name with blanks=1",
        'open="quote',
        "a=b=c",
        "caf\xe9=1",
        "semisvm_=x",
    ],
)
def test_cookies_of_other_programs_do_not_lock_out(server, other):
    own = cookie(server)
    for header in (f"{other}; {own}", f"{own}; {other}", f"{other};{own};{other}"):
        assert send(server, "GET", "/api/status", Cookie=header).status == 200
    assert send(server, "GET", "/api/status", Cookie=other).status == 401


def test_a_stale_cookie_of_the_same_name_does_not_lock_out(server):
    own = cookie(server)
    stale = f"{own.partition('=')[0]}=old"
    assert send(server, "GET", "/api/status", Cookie=f"{stale}; {own}").status == 200


def test_tokens_cannot_be_guessed(session):
    with PageServer(session) as one, PageServer(session) as other:
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
def test_posts_of_other_sites_are_refused(server, session, source):
    """Other local servers too: a cookie is sent to all ports of a host."""
    assert answer_row(server, Origin=source).status == 403
    assert session.events == []


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


def test_a_form_cannot_post(server, session):
    """Forms of other sites can send these kinds of content without asking."""
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
        assert answer_row(server, Content_Type=kind).status == 415
    assert session.events == []


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE"])
def test_changes_are_only_posted(server, session, method):
    answer = send(server, method, "/api/answer", Cookie=cookie(server), Origin=origin(server))
    assert answer.status == 405
    assert session.events == []


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
