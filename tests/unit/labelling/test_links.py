"""Links of several people: who a request comes from, what it may do, TLS and a proxy."""

import http.client
import shutil
import ssl
import subprocess
from contextlib import closing

import pytest

from mail_sessions import session
from page_client import content, send
from semisvm.labelling.records import FINISH, LABEL, SETTLE, Person
from semisvm.labelling.server import PageServer, serve
from waiting import PATIENCE


@pytest.fixture
def found():
    with session() as made:
        yield made


@pytest.fixture
def server(found):
    people = [Person("anna", FINISH), Person("ben"), Person("carl", SETTLE)]
    tokens = {person.name: found.people.invite(person) for person in people}
    with PageServer(found, people=found.people) as running:
        running.tokens = tokens
        yield running


def cookie_of(server, name, **headers):
    answer = send(server, "GET", f"/?token={server.tokens[name]}", **headers)
    assert answer.status == 200
    return answer.getheader("Set-Cookie").partition(";")[0]


def ask(server, name, what, **values):
    origin = f"http://127.0.0.1:{server.port}"
    headers = {"Cookie": cookie_of(server, name), "Origin": origin}
    return send(server, "POST", f"/api/{what}", {"client": "same", **values}, **headers)


def look(server, name, what):
    return send(server, "GET", f"/api/{what}", Cookie=cookie_of(server, name))


def test_an_answer_is_that_of_the_link_whatever_the_request_says(server, found):
    # one client name, one request name: a machine that two people use
    for name, value in (("ben", "spam"), ("anna", "ham")):
        answer = ask(server, name, "answer", row=0, value=value, by="carl", id="1")
        assert answer.status == 200
    singles = {by: mark.value for by, mark in found._store.singles(0).items()}
    assert singles == {"ben": "spam", "anna": "ham"}
    view = content(look(server, "ben", "row?row=0"))["view"]
    assert view["answer"] == "spam"
    assert content(look(server, "carl", "row?row=0"))["view"]["answer"] is None


def test_the_next_row_is_of_the_person(server):
    rows = {content(ask(server, name, "next"))["query"]["row"] for name in server.tokens}
    assert len(rows) == 3


@pytest.mark.parametrize(("name", "allowed"), [("ben", LABEL), ("carl", SETTLE), ("anna", FINISH)])
def test_what_a_person_may_do_follows_from_the_link(server, found, name, allowed):
    found.answer(0, "spam", by="x")
    found.answer(0, "ham", by="y")
    statuses = {
        LABEL: [look(server, name, "search").status, ask(server, name, "skip", row=5).status],
        SETTLE: [
            look(server, name, "agreement").status,
            look(server, name, "disagreements").status,
            ask(server, name, "settle", row=0, value="ham").status,
        ],
        FINISH: [
            look(server, name, "download?what=answers").status,
            look(server, name, "certified?percent=2").status,
        ],
    }
    rights = (LABEL, SETTLE, FINISH)
    for right, seen in statuses.items():
        may = rights.index(right) <= rights.index(allowed)
        assert set(seen) == {200 if may else 403}, right
    assert (found._store.settled(0) is not None) == (allowed != LABEL)
    assert content(look(server, name, "about"))["person"] == {"name": name, "role": allowed}


def test_people_see_their_own_figures_and_those_who_settle_all(server, found):
    found.answer(0, "spam", by="ben")
    shown = {
        name: [one["name"] for one in content(look(server, name, "status"))["status"]["people"]]
        for name in server.tokens
    }
    assert shown == {
        "anna": ["anna", "ben", "carl"],
        "carl": ["anna", "ben", "carl"],
        "ben": ["ben"],
    }


def test_the_token_of_one_person_is_no_longer_valid(server, found):
    assert send(server, "GET", f"/?token={server._keys.token}").status == 401
    assert send(server, "GET", "/api/status", Cookie=server._keys.grant()).status == 401


def test_a_revoked_link_ends_at_once(server, found):
    cookie = cookie_of(server, "ben")
    assert send(server, "GET", "/api/status", Cookie=cookie).status == 200
    found.people.revoke("ben")
    assert send(server, "GET", "/api/status", Cookie=cookie).status == 401
    assert send(server, "GET", f"/?token={server.tokens['ben']}").status == 401
    assert cookie_of(server, "anna")


def test_a_link_outlives_the_server(found):
    token = found.people.invite(Person("anna"))
    for _ in range(2):
        with PageServer(found, people=found.people) as running:
            running.tokens = {"anna": token}
            cookie = cookie_of(running, "anna")
            assert send(running, "GET", "/api/status", Cookie=cookie).status == 200


def test_the_browser_that_is_opened_is_that_of_a_person(server):
    ticket = server.ticket("anna").partition("token=")[2]
    given = send(server, "GET", f"/?token={ticket}")
    cookie = given.getheader("Set-Cookie").partition(";")[0]
    about = content(send(server, "GET", "/api/about", Cookie=cookie))
    assert about["person"]["name"] == "anna"
    assert send(server, "GET", f"/?token={ticket}").status == 401


def test_the_link_of_somebody_else_takes_the_place_of_the_cookie(server):
    cookie = cookie_of(server, "ben")
    found = send(server, "GET", f"/?token={server.tokens['anna']}", Cookie=cookie)
    assert found.getheader("Set-Cookie").partition(";")[0] == cookie_of(server, "anna")


def test_links_are_shown_once(found, monkeypatch):
    monkeypatch.setattr(PageServer, "run", lambda server: None)
    printed = []
    people = [Person("anna", FINISH), Person("ben")]
    serve(found, people=people, open_browser=False, echo=printed.append)
    assert [line.partition(":")[0] for line in printed[:2]] == ["anna", "ben"]
    assert "shown this once" in printed[2]
    again = []
    serve(found, people=[*people, Person("carl")], open_browser=False, echo=again.append)
    assert again[0].startswith("carl: http://")
    assert again[2] == "anna and ben: with the link from before"
    assert not any("token" in line for line in again[1:])


# --- other machines


PUBLIC = "https://label.example.org"


def test_behind_a_proxy(found):
    token = found.people.invite(Person("anna"))
    with PageServer(found, people=found.people, public=f"{PUBLIC}/") as running:
        running.tokens = {"anna": token}
        assert running.link("T") == f"{PUBLIC}/?token=T"
        through = {"Host": "label.example.org"}
        given = send(running, "GET", f"/?token={token}", **through).getheader("Set-Cookie")
        assert given.endswith("; Secure")
        # a browser on this machine comes without the proxy, and without TLS
        here = send(running, "GET", f"/?token={token}").getheader("Set-Cookie")
        assert "Secure" not in here
        cookie = {"Cookie": given.partition(";")[0]}
        for origin, host, status in (
            (PUBLIC, "label.example.org", 200),
            (PUBLIC, f"127.0.0.1:{running.port}", 200),  # the proxy sends its own Host header
            ("http://label.example.org", "label.example.org", 403),
            ("https://evil.example", "label.example.org", 403),
            (PUBLIC, "evil.example", 421),
            (PUBLIC, "192.168.0.7:8765", 421),  # past the proxy nothing would be encrypted
        ):
            headers = {"Host": host, "Origin": origin, **cookie}
            answer = send(running, "POST", "/api/next", {"client": "c"}, **headers)
            assert answer.status == status, (origin, host)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl, which makes the certificate")
    folder = tmp_path_factory.mktemp("tls")
    paths = folder / "cert.pem", folder / "key.pem"
    words = f"req -x509 -newkey rsa:2048 -nodes -days 2 -out {paths[0]} -keyout {paths[1]}"
    more = ["-subj", "/CN=localhost", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words.split(), *more], check=True, capture_output=True)
    return paths


def test_with_a_certificate(found, certificate):
    token = found.people.invite(Person("anna"))
    trusted = ssl.create_default_context(cafile=str(certificate[0]))
    with PageServer(found, people=found.people, tls=certificate) as running:
        assert running.link(token) == f"https://127.0.0.1:{running.port}/?token={token}"
        place = ("127.0.0.1", running.port)
        with closing(
            http.client.HTTPSConnection(*place, timeout=PATIENCE, context=trusted)
        ) as connection:
            connection.request("GET", f"/?token={token}")
            answer = connection.getresponse()
            answer.read()
            given = answer.getheader("Set-Cookie")
            assert given.endswith("; Secure")
            for origin, status in (
                (f"https://127.0.0.1:{running.port}", 200),
                ("http://127.0.0.1", 403),
            ):
                headers = {"Cookie": given.partition(";")[0], "Origin": origin}
                headers["Content-Type"] = "application/json"
                connection.request("POST", "/api/next", '{"client": "c"}', headers)
                answer = connection.getresponse()
                answer.read()
                assert answer.status == status
