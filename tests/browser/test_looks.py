"""Layout, colours, and what a keyboard or a screen reader needs."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

TABS = ("label", "find", "sure", "doubts")
SIZES = ((360, 640), (768, 1024), (1280, 720), (3840, 1080))

PROBES = (Path(__file__).parent / "probes.js").read_text(encoding="utf-8")


def probe(person, name, *arguments):
    return person.page.evaluate(f"(given) => ({PROBES}).{name}(...given)", list(arguments))


def visit(person, tab):
    """Show a tab with what is loaded for it."""
    person.tab(tab)
    if tab != "label":
        person.page.wait_for_selector(f"#panel-{tab} .pager")


def fill(person, session):
    """Have something in every list."""
    for row in range(6):
        session.answer(row, "ham")
    person.reload()


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_every_size(person, session, width, height):
    session.texts[6] = "averylongwordwithoutanyspaces" * 30
    session.names = ["a class with a rather long name", "Donaudampfschifffahrtsgesellschaft", "c"]
    for row in range(6):
        session.answer(row, "c")
    person.page.set_viewport_size({"width": width, "height": height})
    person.reload()
    person.press("g")
    for tab in TABS:
        visit(person, tab)
        scroll = person.page.evaluate("document.documentElement.scrollWidth")
        assert scroll <= width, tab
        assert probe(person, "smallTargets") == []
        box = person.page.locator(f"#tab-{tab}").bounding_box()
        assert box["x"] + box["width"] <= width
    person.tab("label")
    # row and answers are on the first screen
    box = person.page.locator("#answers").bounding_box()
    assert box["y"] + 40 < height


@pytest.mark.parametrize("size", [(1280, 860), (360, 640)])
def test_nothing_jumps(person, session, size):
    """Long or short rows, guesses, and answers: what can be clicked stays where it is."""
    person.page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    session.texts[:4] = ["short", "long " * 3000, "", "line\n" * 200]
    person.page.check("#after")
    person.reload()
    places = probe(person, "places")
    for _ in range(4):
        person.press("g")
        person.until("#guess", "The model predicts")
        assert probe(person, "places") == places
        person.press_and_wait("2")
        person.until("#state", "Saved")
        assert probe(person, "places") == places


@pytest.mark.parametrize("size", [(1280, 850), (1440, 900), (400, 850)])
def test_all_columns_of_a_table_are_seen(person, session, size):
    """No part of a row is hidden in a box within the page."""
    session.columns = [(f"measure_{k}", "number", f"{k}.5") for k in range(1, 15)]
    person.page.set_viewport_size(dict(zip(("width", "height"), size, strict=True)))
    person.reload()
    assert probe(person, "clipped") == []
    if size[0] > 1000:
        assert probe(person, "span", "#row")[1] < size[1]


def test_a_short_row_is_near_the_answers(person, session):
    session.texts[0] = "two lines\nof text"
    person.reload()
    (_, answers), (row, _) = probe(person, "span", "#answers"), probe(person, "span", ".prose")
    assert 0 < row - answers < 200
    session.texts[0] = "long " * 3000
    person.reload()
    assert probe(person, "span", "#answers")[1] == answers


@pytest.mark.parametrize("n_classes", [2, 4, 12])
def test_files_can_be_saved_without_scrolling(person, session, n_classes):
    session.names = [f"class {k}" for k in range(n_classes)]
    person.page.set_viewport_size({"width": 1280, "height": 850})
    for row in range(6):
        session.answer(row, "class 1")
    person.reload()
    person.page.evaluate("() => { document.getElementById('save').hidden = false; }")
    assert probe(person, "span", "#get-report")[1] < 850
    if n_classes <= 4:
        assert "shares" not in probe(person, "clipped", "aside")


def test_rows_of_a_list_are_low(person, session):
    for row in range(12):
        session.texts[row] = "some words " * 100
    fill(person, session)
    for tab in ("find", "sure", "doubts"):
        visit(person, tab)
        top, bottom = probe(person, "span", f"#panel-{tab} .item")
        assert bottom - top < 90, tab


def test_the_model_in_words(person, session):
    fill(person, session)
    person.until("#model", r"^Transductive SVM from 0 of 6 labels\.$")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_contrast(person, session, scheme):
    person.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
    fill(person, session)
    person.press("g")
    person.until("#guess", "The model predicts")
    for tab in TABS:
        visit(person, tab)
        assert probe(person, "faintTexts")["faint"] == []
    person.press("?")
    texts = probe(person, "faintTexts")
    assert texts["faint"] == []
    assert texts["seen"] > 30
    person.page.emulate_media(color_scheme=None, reduced_motion=None)


def test_the_theme(person):
    person.page.emulate_media(color_scheme="dark")
    ground = "getComputedStyle(document.body).backgroundColor"
    dark = person.page.evaluate(ground)
    button = person.page.locator("#theme")
    expect(button).to_have_text("Theme: auto")
    button.click()
    expect(button).to_have_text("Theme: light")
    light = person.page.evaluate(ground)
    assert (dark, light) == ("rgb(22, 25, 29)", "rgb(255, 255, 255)")
    person.reload()
    assert person.page.evaluate(ground) == light
    button.click()
    expect(button).to_have_text("Theme: dark")
    person.page.emulate_media(color_scheme="light")
    assert person.page.evaluate(ground) == dark
    person.page.emulate_media(color_scheme=None)


def test_every_control_has_a_name(person, session):
    fill(person, session)
    for tab in TABS:
        visit(person, tab)
        assert probe(person, "unnamed") == []
    person.press("?")
    assert probe(person, "unnamed") == []


def test_the_order_of_the_focus(person):
    """From top to bottom, with an outline that can be seen."""
    seen = []
    for _ in range(17):
        person.press("Tab")
        name, visible = probe(person, "focus")
        assert visible, name
        seen.append(name)
    order = [
        *("Skip to the row", "tab-label", "theme", "help", "1spam", "2ham", "skip", "none", "undo"),
        *("ask-guess", "remark", "new-class", "Add", "after", "learn", "learn-auto"),
        "get-labelled",
    ]
    assert seen == order


def test_by_keyboard_alone(person, session):
    person.press_and_wait("1")
    for _ in range(2):
        person.press("Tab")
    expect(person.page.locator("#tab-label")).to_be_focused()
    person.press("ArrowRight")
    expect(person.page.locator("#tab-find")).to_be_focused()
    expect(person.page.locator("#panel-find")).to_be_visible()
    person.press("ArrowRight")
    expect(person.page.locator("#panel-sure")).to_be_visible()
    person.press("Escape")
    expect(person.page.locator("#panel-label")).to_be_visible()
    # the button that was pressed keeps the focus for the next row
    person.page.locator("#answers button").nth(1).focus()
    person.press_and_wait("Enter")
    expect(person.page.locator("#answers button").nth(1)).to_be_focused()
    assert session.marks[1] == ("answer", "ham")


def test_help(person):
    person.page.locator("#skip").focus()
    person.press("?")
    box = person.page.get_by_role("dialog", name="Keys")
    expect(box).to_be_visible()
    expect(person.page.locator("#help-close")).to_be_focused()
    person.press("s")
    person.press("Escape")
    expect(box).to_be_hidden()
    expect(person.page.locator("#skip")).to_be_focused()
    assert person.key == "1"


def test_changes_are_announced(person):
    person.press_and_wait("1")
    announced = person.page.locator("#announcement")
    expect(announced).to_have_text("Saved: row 1 is spam.")
    expect(announced).to_have_attribute("aria-live", "polite")
    expect(person.page.locator("#alert")).to_have_attribute("role", "alert")
    expect(person.page.get_by_role("region", name="Row 2")).to_be_visible()


def test_no_motion_where_none_is_wanted(person):
    person.page.emulate_media(reduced_motion="reduce")
    moving = "getComputedStyle(document.getElementById('skip')).transitionDuration"
    assert person.page.evaluate(moving) == "0s"
    person.page.emulate_media(reduced_motion=None)
