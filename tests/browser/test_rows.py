"""How rows are shown: long texts, tables with many columns, pictures and recordings."""

import io
import wave
from base64 import b64encode

from playwright.sync_api import expect


def marked(person, kind):
    return person.page.locator(f"#row mark.{kind}").all_inner_texts()


def test_the_words_of_the_model_are_marked(person, session):
    session.texts[0] = "Word by word: words, a sword (WORD). An other, thing; some-other thing"
    session.because = [("word", 1.5), ("other thing", 0.5), ("price", 0.2)]
    session.columns = [("price", "number", "2")]
    person.reload()
    assert marked(person, "word") == []
    person.press("g")
    person.until("#guess", "Mark these words")
    assert marked(person, "word") == ["Word", "word", "WORD", "other, thing", "other thing"]
    person.page.uncheck("#mark")
    assert marked(person, "word") == []
    person.press_and_wait("1")
    session.texts[1] = "a word again"
    person.reload()
    person.press("g")
    person.until("#guess", "Mark these words")
    assert marked(person, "word") == []  # that is kept
    person.page.check("#mark")
    assert marked(person, "word") == ["word"]


def test_words_of_their_column(person, session):
    session.texts[0] = "pills here"
    session.columns = [("subject", "text", "cheap pills")]
    session.because = [("subject__pills", 1.0), ("text__here", 0.5), ("text__cheap", 0.5)]
    person.reload()
    person.press("g")
    person.until("#guess", "Mark these words")
    assert marked(person, "word") == ["here", "pills"]


def test_find_in_a_long_text(person, session):
    session.texts[0] = "hay " * 3000 + "A needle, <b>needles</b> " + "hay " * 3000 + "needle"
    person.reload()
    person.press("f")
    person.page.keyboard.type("Needle")
    person.until("#within-note", "^1 of 3$")
    assert marked(person, "hit") == ["needle", "needle", "needle"]
    here = person.page.locator("mark.here")
    for number in (2, 3, 1):
        person.press("Enter")
        person.until("#within-note", f"^{number} of 3$")
        expect(here).to_be_in_viewport()
    person.press("Shift+Enter")
    person.until("#within-note", "^3 of 3$")
    person.page.fill("#within", "straw")
    person.until("#within-note", "Not in this row")
    assert marked(person, "hit") == []
    # keys answer again, and nothing was answered meanwhile
    person.press("Escape")
    assert session.events == []
    person.press_and_wait("1")
    expect(person.page.locator("#within")).to_have_count(0)


def test_what_is_beyond_the_first_part_of_a_text_is_found(person, session):
    session.texts[0] = "word " * 6000 + "needle"
    person.reload()
    person.press("f")
    person.page.keyboard.type("needle")
    person.until("#within-note", "^1 of 1$")


def shown(person):
    return person.page.locator("#row dt").all_inner_texts()


def test_chosen_columns_come_first(person, session):
    names = [f"column {k}" for k in range(1, 31)]
    session.columns = [(name, "number", "1") for name in names]
    person.reload()
    assert shown(person) == names[:12]
    person.press("e")
    assert shown(person) == names
    person.press("e")
    assert shown(person) == names[:12]
    person.page.get_by_role("button", name="Choose columns").click()
    for name in ("column 20", "column 3"):
        person.page.get_by_role("checkbox", name=name, exact=True).check()
    person.page.get_by_role("button", name="Done").click()
    expect(person.page.get_by_role("button", name="Choose columns")).to_be_focused()
    assert shown(person) == ["column 3", "column 20"]
    person.page.get_by_role("button", name="Show all 30 columns").click()
    assert shown(person) == [
        "column 3",
        "column 20",
        *(n for n in names if n[7:] not in ["3", "20"]),
    ]
    person.page.get_by_role("button", name="Fold").click()
    person.press_and_wait("1")
    assert shown(person) == ["column 3", "column 20"]
    person.reload()
    assert shown(person) == ["column 3", "column 20"]


PNG = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg"
    "=="
)


def test_a_picture_is_enlarged_by_keyboard(person, session):
    session.columns = [("photo", "image", PNG)]
    person.reload()
    person.page.wait_for_function("document.querySelector('#row img').naturalWidth === 1")
    person.press("z")
    large = person.page.get_by_role("dialog", name="Picture").get_by_role("img")
    expect(large).to_be_visible()
    person.until("#zoom-size", "^100%$")
    for key, size in (("+", 2), ("+", 4), ("-", 2), ("1", 1)):
        person.press(key)
        person.until("#zoom-size", f"^{size}00%$")
        assert large.bounding_box()["width"] == size
    assert session.events == []
    person.press("Escape")
    expect(large).to_be_hidden()
    person.press_and_wait("1")
    assert session.marks[0] == ("answer", "spam")


def recording(seconds=2.0, rate=8000):
    content = io.BytesIO()
    with wave.open(content, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(rate)
        sound.writeframes(bytes([128]) * int(seconds * rate))
    return b64encode(content.getvalue()).decode()


def test_a_recording_is_played_by_keyboard(person, session):
    session.columns = [("call", "audio", recording()), ("other", "audio", b64encode(b"x").decode())]
    person.reload()
    person.page.wait_for_function("document.querySelector('#row audio').duration === 2")
    expect(person.page.locator("#row")).to_contain_text("This recording cannot be played")
    paused = "document.querySelector('#row audio').paused"
    assert person.page.evaluate(paused)
    person.press("p")
    person.page.wait_for_function(f"!{paused}")
    # any place of it can be gone to
    person.page.evaluate("document.querySelector('#row audio').currentTime = 1.5")
    person.page.wait_for_function("document.querySelector('#row audio').currentTime >= 1.5")
    person.press("p")
    person.page.wait_for_function(paused)
