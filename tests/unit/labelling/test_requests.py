"""What the labelling page is answered."""

import http.client
from base64 import b64decode
from contextlib import closing

from page_client import TOKEN, answer_row, content, cookie, origin, post, send
from semisvm.labelling import LabelingSession
from semisvm.labelling.server import PageServer
from semisvm.labelling.web import Places


def test_an_answer_is_saved_and_the_next_row_comes(server, session):
    first = content(post(server, "next", {"client": "a"}))
    assert first["view"]["fields"][0]["value"] == "text 0"
    second = content(answer_row(server))
    assert second["saved"] == {"row": 0, "value": "spam", "guess": None}
    assert second["query"]["row"] == 1
    assert second["status"]["n_answered"] == 1
    assert session.marks == {0: ("answer", "spam")}


def test_the_guess_comes_with_the_answer_if_wanted(server):
    body = {"client": "a", "row": 0, "value": "ham", "want_guess": True}
    assert content(post(server, "answer", body))["saved"]["guess"]["value"] == "spam"


def test_two_browsers_get_different_rows(server):
    rows = [content(post(server, "next", {"client": name}))["query"]["row"] for name in "aba"]
    assert rows == [0, 1, 0]


def test_an_answer_that_is_sent_twice_counts_once(server, session):
    body = {"client": "a", "row": 0, "value": "spam", "id": "one"}
    first, again = (content(post(server, "answer", body)) for _ in range(2))
    assert first == again
    assert len(session.events) == 1
    assert content(post(server, "undo", {"client": "a", "id": "two"}))["undone"]["rows"] == [0]
    content(post(server, "undo", {"client": "a", "id": "two"}))
    assert session.events == []


def test_what_failed_can_be_tried_again(server, session):
    body = {"client": "a", "row": 0, "value": "spam", "id": "three"}
    session.fails = OSError(28, "No space left on device")
    answer = post(server, "answer", body)
    assert answer.status == 507
    assert "No space left" in content(answer)["error"]
    session.fails = None
    assert post(server, "answer", body).status == 200
    assert len(session.events) == 1


def test_an_answer_to_a_row_that_changed_meanwhile(server, session):
    """Another window has found the row and answered it."""
    seen = content(post(server, "next", {"client": "a"}))["view"]["version"]
    session.answer(0, "ham")
    for name in ("answer", "change", "skip", "remove"):
        body = {"client": "a", "row": 0, "value": "spam", "version": seen}
        answer = post(server, name, body)
        assert answer.status == 409
        assert "Row 1 was answered meanwhile" in content(answer)["error"]
    assert session.marks == {0: ("answer", "ham")}
    bad = post(server, "answer", {"client": "a", "row": 0, "value": "spam", "version": "x"})
    assert (bad.status, content(bad)) == (400, {"error": "version must be a whole number."})


def test_errors_are_sentences(server, session):
    answer = answer_row(server, value="other")
    assert answer.status == 422
    assert content(answer) == {"error": "there is no class 'other'."}
    assert send(server, "GET", "/api/row?row=99", Cookie=cookie(server)).status == 422


def test_an_unexpected_error_shows_no_details_on_the_page(server, session, caplog):
    session.fails = RuntimeError("a secret")
    answer = answer_row(server)
    assert answer.status == 500
    assert b"secret" not in answer.content
    assert "a secret" in caplog.text


def test_lists(server, session):
    known = cookie(server)
    for row in range(5):
        session.answer(row, "ham")

    def get(path):
        return content(send(server, "GET", f"/api/{path}", Cookie=known))

    assert get("search?words=text&which=answered")["total"] == 5
    assert [row["row"] for row in get("search?words=&which=open&start=1&count=2")["rows"]] == [6, 7]
    assert len(get("sure?count=100000")["rows"]) == 25
    assert get("doubts")["total"] == 5


def test_texts_are_shortened_but_not_lost(server, session):
    known = cookie(server)
    session.texts[3] = "x" * 300_000 + "\ud800<script>"
    short = content(send(server, "GET", "/api/row?row=3", Cookie=known))["view"]["fields"][0]
    assert len(short["value"]) == 20_000
    assert short["length"] == 300_009
    whole = content(send(server, "GET", "/api/row?row=3&whole=yes", Cookie=known))
    assert whole["view"]["fields"][0]["value"] == session.texts[3]


def test_downloads(server, session):
    known = cookie(server)
    session.answer(0, "ham")
    answer = send(server, "GET", "/api/download?what=labelled", Cookie=known)
    assert answer.getheader("Content-Disposition").startswith("attachment")
    assert answer.content.startswith(b"text,kind\ntext 0,ham\n")
    assert send(server, "GET", "/api/download?what=passwd", Cookie=known).status == 404
    assert (
        send(server, "GET", "/api/download?what=..%2f..%2fetc%2fpasswd", Cookie=known).status == 404
    )


def test_files_of_the_package_are_not_served(server):
    known = cookie(server)
    for path in (
        "/server.py",
        "/../server.py",
        "/page/app.js",
        "/%2e%2e/server.py",
        "//etc/passwd",
    ):
        assert send(server, "GET", path, Cookie=known).status == 404


def test_a_slow_answer_delays_no_other_request(server, session):
    session.gate.clear()
    known = cookie(server)
    with closing(http.client.HTTPConnection("127.0.0.1", server.port)) as slow:
        headers = {"Cookie": known, "Origin": origin(server), "Content-Type": "application/json"}
        slow.request("POST", "/api/answer", '{"client": "a", "row": 0, "value": "spam"}', headers)
        for _ in range(5):
            assert send(server, "GET", "/api/row?row=1", Cookie=known).status == 200
        assert session.marks == {}
        session.gate.set()
        assert slow.getresponse().status == 200
    assert session.marks == {0: ("answer", "spam")}


def test_the_model_and_the_report_are_saved_at_the_paths_given(session, tmp_path):
    places = Places("mail.csv", tmp_path / "mail.semisvm", tmp_path / "mail.html")
    with PageServer(session, token=TOKEN, places=places) as server:
        about = content(send(server, "GET", "/api/about", Cookie=cookie(server)))
        assert (about["title"], about["saves"]) == ("mail.csv", "mail.semisvm")
        assert about["downloads"]["labelled"] == "mail.labelled.csv"
        # a place that the page names is not looked at
        elsewhere = {"client": "a", "model": str(tmp_path / "evil")}
        saved = content(post(server, "save", elsewhere))
        assert saved["files"] == [str(tmp_path / "mail.semisvm"), str(tmp_path / "mail.html")]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["mail.html", "mail.semisvm"]


def test_nothing_is_saved_without_a_place(server):
    answer = post(server, "save", {"client": "a"})
    assert answer.status == 422
    assert "No file was named" in content(answer)["error"]


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJg"
    "gg=="
)


def test_pictures_of_a_real_session():
    columns = {"photo": [PNG] * 4, "size": [1.0, 2.0, 3.0, 4.0]}
    with (
        LabelingSession(columns, classes=["a", "b"], background=False) as session,
        PageServer(session, token=TOKEN) as server,
    ):
        known = cookie(server)
        view = content(send(server, "GET", "/api/row?row=2", Cookie=known))["view"]
        assert [field["kind"] for field in view["fields"]] == ["image", "number"]
        answer = send(server, "GET", "/api/picture?row=2&name=photo", Cookie=known)
        assert answer.getheader("Content-Type") == "image/png"
        assert answer.content == b64decode(PNG)
        for wrong in ("row=2&name=size", "row=9&name=photo", "row=2"):
            refused = send(server, "GET", f"/api/picture?{wrong}", Cookie=known)
            assert refused.status in (400, 422)
            assert content(refused)["error"]


def test_a_real_session_from_the_first_row_to_the_files():
    texts = [f"{'cheap pills for you' if k % 2 else 'the lunch plan'} {k}" for k in range(40)]
    with (
        LabelingSession({"text": texts}, classes=["spam", "ham"], background=False) as session,
        PageServer(session, token=TOKEN) as server,
    ):
        row = content(post(server, "next", {"client": "a"}))["query"]["row"]
        for _ in range(8):
            value = "spam" if "cheap" in texts[row] else "ham"
            row = content(answer_row(server, row, value))["query"]["row"]
        refused = content(post(server, "skip", {"client": "a", "row": -1}))
        assert refused["error"]
        for what, start in (("labelled", b"text,"), ("model", b"PK"), ("report", b"<!DOCTYPE")):
            answer = send(server, "GET", f"/api/download?what={what}", Cookie=cookie(server))
            assert answer.status == 200
            assert answer.content.startswith(start)
        guess = content(send(server, "GET", f"/api/guess?row={row}", Cookie=cookie(server)))
        assert guess["guess"]["value"] == ("spam" if "cheap" in texts[row] else "ham")


def test_bounds_of_certificates(server, session):
    session.certified = {3: "spam"}

    def get(percent):
        return send(server, "GET", f"/api/certified?percent={percent}", Cookie=cookie(server))

    found = content(get(5))["certified"]
    assert found == {"sentences": ["4,120 of 5,000 rows are certified at 5%."], "labels": 1}
    for percent in (0, 100):
        assert content(get(percent)) == {"error": "percent must be 1 to 99."}
