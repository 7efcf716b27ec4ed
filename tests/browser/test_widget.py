"""The widget of a notebook: its script in a browser and its session in Python, without Jupyter."""

import json

import pytest

pytest.importorskip("anywidget")

from fake_session import FakeSession
from mail_sessions import KINDS, TEXTS, session
from semisvm.labelling import LabelingSession
from semisvm.labelling.widget import LabelingWidget

PAGE = """<!DOCTYPE html><html lang="en"><head><title>notebook</title></head>
<body><div id="cell"></div></body></html>"""
START = """async (script) => {
  const listeners = new Set();
  const model = {
    on: (name, listener) => listeners.add(listener),
    off: (name, listener) => listeners.delete(listener),
    send: async (content) => {
      const reply = JSON.parse(await window.toPython(JSON.stringify(content)));
      for (const listener of listeners) listener(reply);
    },
  };
  const address = URL.createObjectURL(new Blob([script], { type: "text/javascript" }));
  const widget = (await import(address)).default;
  window.end = widget.render({ model, el: document.getElementById("cell") });
  window.listeners = listeners;
}"""


@pytest.fixture
def shown(browser):
    pages, problems = [], []

    def show(found, by=None):
        widget = LabelingWidget(found, by)
        page = browser.new_context().new_page()
        page.on("console", lambda m: m.type == "error" and problems.append(m.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.set_content(PAGE)

        def to_python(text):
            content = json.loads(text)
            return json.dumps({"id": content["id"], **widget.reply(content)})

        page.expose_function("toPython", to_python)
        page.evaluate(START, widget._esm)
        page.wait_for_selector(".semisvm-head strong")
        page.focus(".semisvm-widget")
        pages.append(page)
        return page

    yield show
    for page in pages:
        page.context.close()
    assert problems == []


def row_of(page):
    return int(page.inner_text(".semisvm-head strong").removeprefix("Row ")) - 1


def press(page, key):
    before = row_of(page)
    page.keyboard.press(key)
    page.wait_for_function(
        "row => document.querySelector('.semisvm-head strong').textContent !== row",
        arg=f"Row {before + 1} ",
    )
    return before


def test_a_session_in_a_notebook(shown):
    with session() as found:
        page = shown(found, by="anna")
        rows = [press(page, "12"[KINDS[row_of(page)] == "ham"]) for _ in range(6)]
        store = found._store
        assert {row: store.singles(row)["anna"].value for row in rows} == {
            row: KINDS[row] for row in rows
        }
        press(page, "s")
        assert found.status().n_skipped == 1
        press(page, "u")
        assert found.status().n_skipped == 0
        found.fit()
        page.keyboard.press("g")
        page.wait_for_selector("text=The model predicts")
        last = press(page, "1")
        assert store.marks[last].facts["seen_guess"]
        assert "7 of 120 rows labelled" in page.inner_text(".semisvm-state")
        page.evaluate("window.end()")
        assert page.evaluate("window.listeners.size") == 0


def test_texts_stay_texts_and_classes_can_be_added(shown):
    found = FakeSession(["<img src=x onerror=alert(1)>", "b"], classes=("<b>x</b>",))
    page = shown(found)
    assert page.inner_text(".semisvm-row p") == "text <img src=x onerror=alert(1)>"
    page.fill("input", "new")
    page.keyboard.press("Enter")
    page.wait_for_selector("button >> text=new")
    press(page, "2")
    assert found.marks[0] == ("answer", "new")


def test_what_the_session_refuses_is_said(shown):
    with session() as found:
        page = shown(found)
        row = row_of(page)
        found.answer(row, "spam")
        page.keyboard.press("2")
        page.wait_for_selector("text=in another window")
        assert found.view(row).answer == "spam"


def test_only_requests_of_the_page_are_answered():
    with session() as found:
        widget = found.widget()
        assert "no request 'close'" in widget.reply({"name": "close"})["error"]
        assert "row must be" in widget.reply({"name": "row", "values": {"row": "x"}})["error"]
        sent = []
        widget.send = sent.append
        widget._received(widget, {"id": 7, "name": "status"}, [])
        assert sent[0]["id"] == 7
        assert sent[0]["result"]["status"]["n_rows"] == 120


def test_none_of_these_and_weak_labels(shown):
    data = {"body": TEXTS, "llm": KINDS}
    with LabelingSession(data, weak=["llm"], background=False) as found:
        page = shown(found, by="anna")
        page.keyboard.press("u")
        page.wait_for_function("document.querySelector('.semisvm-guess').textContent !== ''")
        assert page.inner_text(".semisvm-guess") == "There is nothing to undo here."
        row = press(page, "0")
        assert found.remark(row, by="anna")["none"]
        kind = KINDS[row_of(page)]
        page.keyboard.press("g")
        page.wait_for_function("document.querySelector('.semisvm-guess').textContent !== ''")
        assert page.inner_text(".semisvm-guess") == f"llm: {kind}. There is no model yet."
