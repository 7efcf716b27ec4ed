"""Finding rows, changing answers, confirming many, and doubts."""

from playwright.sync_api import expect


def items(person, tab):
    return person.page.locator(f"#panel-{tab} .item")


def test_find_and_change_an_answer(person, session):
    for key in "1212":
        person.press_and_wait(key)
    person.press("/")
    expect(person.page.locator("#words")).to_be_focused()
    expect(items(person, "find")).to_have_count(4)
    person.page.keyboard.type("text 2")
    person.press("Enter")
    expect(items(person, "find")).to_have_count(1)
    person.page.get_by_label("Answer of row 3", exact=True).select_option("ham")
    person.until("#state", "Saved")
    person.until("#announcement", "Saved: row 3 is ham")
    assert session.marks[2] == ("answer", "ham")


def test_remove_an_answer(person, session):
    person.press_and_wait("1")
    person.tab("find")
    person.page.get_by_role("button", name="Remove the answer of row 1").click()
    expect(items(person, "find")).to_have_count(0)
    assert session.marks[0] is None
    person.until("#found", "No rows are found")


def test_open_a_row_and_come_back(person, session):
    person.press_and_wait("1")
    person.press_and_wait("1")
    person.tab("find")
    person.page.get_by_role("button", name="Open row 1").click()
    person.until("#row-name", "Row 1")
    person.until("#reason", "You answered spam")
    expect(person.page.get_by_role("button", name="spam")).to_have_attribute("aria-pressed", "true")
    person.press("Escape")
    person.until("#row-name", "Row 3")
    person.page.get_by_role("button", name="row 2").click()
    person.until("#row-name", "Row 2")
    person.press("2")
    person.until("#row-name", "Row 3")
    assert session.marks[1] == ("answer", "ham")


def test_remove_an_opened_answer(person, session):
    person.press_and_wait("1")
    person.page.get_by_role("button", name="row 1").click()
    person.page.get_by_role("button", name="Remove the answer").click()
    person.until("#reason", "has no answer")
    assert session.marks[0] is None


def test_pages_of_a_list(person, session):
    person.tab("find")
    person.page.select_option("#which", "all")
    person.until("#found [role=status]", "1 to 20 of 30 rows")
    person.page.get_by_role("button", name="Later").click()
    person.until("#found [role=status]", "21 to 30 of 30 rows")
    expect(person.page.get_by_role("button", name="Later")).to_be_disabled()
    person.page.get_by_role("button", name="Earlier").click()
    person.until("#found [role=status]", "1 to 20")


def test_confirm_many_at_once(person, session):
    person.tab("sure")
    expect(items(person, "sure")).to_have_count(20)
    for row in (1, 3):
        items(person, "sure").nth(row).get_by_role("checkbox").uncheck()
    person.page.get_by_role("button", name="Confirm 18 rows as spam").click()
    person.until("#n-labels", "^18$")
    expect(items(person, "sure")).to_have_count(12)
    confirmed = {row for row, mark in session.marks.items() if mark == ("answer", "spam")}
    assert confirmed == set(range(20)) - {1, 3}
    person.tab("label")
    person.press("u")
    person.until("#last", "Undone: 18 rows")
    assert not any(session.marks.values())


def test_the_list_shows_why_rows_are_sure(person, session, monkeypatch):
    found = session.sure()
    found.rows[0].probability = 0.9996
    monkeypatch.setattr(session, "sure", lambda *given, **more: found)
    person.tab("sure")
    expect(items(person, "sure").first).to_contain_text("model: spam over 99%")
    person.until("#sure .ground", "40 of 40 such guesses were right")


def test_tick_none_and_all(person):
    person.tab("sure")
    person.page.get_by_role("button", name="Tick none").click()
    expect(person.page.get_by_role("button", name="Confirm 0 rows as spam")).to_be_disabled()
    person.page.get_by_role("button", name="Tick all").click()
    expect(person.page.get_by_role("button", name="Confirm 20 rows as spam")).to_be_enabled()


def test_doubts(person, session):
    for key in "121":
        person.press_and_wait(key)
    person.tab("doubts")
    expect(items(person, "doubts")).to_have_count(1)
    expect(items(person, "doubts")).to_contain_text(
        "you: ham · guess without your answer: spam 90%"
    )
    person.page.get_by_role("button", name="Change row 2 to spam").click()
    expect(items(person, "doubts")).to_have_count(0)
    person.until("#doubts", "The models agree with 9 of 10")
    assert session.marks[1] == ("answer", "spam")


def test_without_a_model(person, session):
    session.guesses = False
    session.version += 1
    person.until("#model", "No model yet")
    person.tab("doubts")
    person.until("#doubts", "There is no model yet")
    person.tab("sure")
    person.until("#sure", "There is no model yet")
    expect(person.page.locator("#confirm")).to_have_count(0)
    person.tab("label")
    person.press("g")
    person.until("#guess", "There is no model yet")


def test_the_first_model_takes_a_while(person, session):
    """On a new computer its code is compiled, which must not look as if the page hangs."""
    session.guesses, session.fitting = False, True
    person.reload()
    person.until("#model", "^Learning now. The first time on a computer this takes up to a minute")
    session.guesses = True
    person.press_and_wait("1")
    person.until("#model", r"SVM from .*\. Learning now\.$")
