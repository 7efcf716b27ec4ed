"""Every state of the page: nothing that a screen reader or a keyboard cannot use, nothing too wide.

axe-core, which looks for such faults, is taken from npm once and kept in the cache of the user.
"""

import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
from playwright.sync_api import expect

from page_states import STATES, prose, show, two_hundred_classes, well_known

AXE = "axe-core-4.10.3"
CACHE = Path.home() / ".cache" / "semisvm-tests"
SERIOUS = ("serious", "critical")
LOOKS = (
    {"forced_colors": "active"},
    {"color_scheme": "dark"},
    {"color_scheme": "light", "contrast": "more"},
)
NARROW, WIDE = {"width": 400, "height": 850}, {"width": 2000, "height": 1100}


@pytest.fixture(scope="module")
def axe():
    place = CACHE / f"{AXE}.js"
    if not place.exists():
        fetch_axe(place)
    return place.read_text(encoding="utf-8")


def fetch_axe(place):
    npm = shutil.which("npm")
    if npm is None:
        pytest.skip("axe-core is not at hand, and there is no npm to get it with")
    place.parent.mkdir(parents=True, exist_ok=True)
    package = "@".join(AXE.rsplit("-", 1))
    command = [npm, "pack", package, "--silent", "--pack-destination", str(place.parent)]
    try:
        subprocess.run(command, check=True, capture_output=True, timeout=60)
    except (OSError, subprocess.SubprocessError):
        pytest.skip("axe-core is not at hand, and npm does not get it")
    packed = place.with_suffix(".tgz")
    with tarfile.open(packed) as archive:
        place.write_bytes(archive.extractfile("package/axe.min.js").read())
    packed.unlink()


def findings(page, axe):
    page.evaluate(axe)
    found = page.evaluate("() => axe.run()")["violations"]
    return [(one["id"], one["nodes"]) for one in found if one["impact"] in SERIOUS]


@pytest.mark.parametrize("state", STATES)
def test_a_state(arrive, session, axe, state):
    person = arrive(viewport=NARROW)
    show(state, session, person)
    for size in (NARROW, WIDE):
        person.page.set_viewport_size(size)
        assert person.page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    person.page.set_viewport_size({"width": 1200, "height": 850})
    assert findings(person.page, axe) == []
    person.page.context.set_offline(False)
    person.problems.clear()  # of what is meant to fail


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: " ".join(look.values()))
def test_a_look(arrive, session, axe, look):
    person = arrive(reduced_motion="reduce", **look)
    show("guess", session, person)
    assert findings(person.page, axe) == []


def test_one_of_many_classes_by_keyboard(person, session):
    two_hundred_classes(session)
    person.reload()
    buttons = person.page.locator("#answers button")
    expect(buttons).to_have_count(12)
    person.press("c")
    person.page.keyboard.type("c 17")
    expect(buttons).to_have_count(10)
    expect(buttons.first).to_have_text("Entertopic 170 budget")
    person.until("#seek-note", "10 of 200 classes")
    person.press_and_wait("Enter")
    assert session.marks[300] == ("answer", "topic 170 budget")
    # the field is empty again and has the focus; what was chosen has a button now
    expect(person.page.locator("#seek-class")).to_be_focused()
    expect(person.page.locator("#seek-class")).to_have_value("")
    expect(buttons.nth(9)).to_have_text("topic 170 budget")
    person.press("Enter")
    person.page.keyboard.type("zzz")
    person.until("#seek-note", "No class has these letters")
    person.press("Enter")
    person.press("Escape")
    person.press_and_wait("1")
    assert session.marks[301] == ("answer", "topic 000 the")


def test_the_beginning_of_a_name_comes_first(person, session):
    session.names = [*(f"other {k}" for k in range(20)), "about taxes", "taxes", "syntax"]
    person.reload()
    person.press("c")
    person.page.keyboard.type("TAX")
    found = person.page.locator("#answers button")
    expect(found).to_have_text(["Entertaxes", "about taxes", "syntax"])
    person.press("ArrowDown")
    person.press("Tab")
    person.press_and_wait("Enter")
    assert session.marks[0] == ("answer", "about taxes")


def test_naming_classes_comes_first(person, session):
    session.names = []
    person.reload()
    field = person.page.locator("#new-class")
    above = person.page.locator("#row").bounding_box()["y"]
    assert field.bounding_box()["y"] < above
    expect(person.page.locator("#skip")).to_be_hidden()
    for name in ("good", "bad"):
        field.fill(name)
        field.press("Enter")
        expect(person.page.get_by_role("button", name=name)).to_be_visible()
    expect(person.page.locator("#skip")).to_be_visible()


def test_a_class_without_labels_is_named(person, session):
    session.names = ["a", "b", "c"]
    for row in range(4):
        session.answer(row, "ab"[row % 2])
    person.reload()
    shares = person.page.locator(".shares li")
    expect(shares.filter(has_text="no label yet")).to_have_text(["cno label yet–"])


def test_the_end_leads_on(person, session):
    session.texts = [prose(5)]
    well_known(session, 0)
    session.texts = session.texts[:1]
    person.reload()
    person.press("1")
    person.until("#row", "What is left")
    person.page.get_by_role("button", name="Find rows and change answers").click()
    expect(person.page.locator("#panel-find")).to_be_visible()
