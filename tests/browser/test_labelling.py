"""Labelling by keyboard and by mouse, in a real browser."""

from playwright.sync_api import expect

from waiting import wait_until


def test_answers_by_keys(person, session):
    assert [person.press_and_wait(key) for key in "1221"] == ["1", "2", "3", "4"]
    assert [session.marks[row][1] for row in range(4)] == ["spam", "ham", "ham", "spam"]
    person.until("#n-labels", "^4$")
    person.until("#state", "Saved")
    person.until("#last", "row 4 is spam")


def test_answers_by_mouse(person, session):
    person.page.get_by_role("button", name="ham").click()
    person.until("#row-name", "Row 2")
    assert session.marks == {0: ("answer", "ham")}


def test_saved_is_shown_only_once_it_is(person, session):
    session.gate.clear()
    person.press("1")
    person.until("#state", "Saving")
    assert session.marks == {}
    # the next row is not there yet: a key has nothing to answer
    person.press("2")
    session.gate.set()
    person.until("#state", "Saved")
    person.until("#row-name", "Row 2")
    assert session.marks == {0: ("answer", "spam")}
    assert len(session.events) == 1


def test_skip_and_undo(person, session):
    person.press_and_wait("s")
    person.until("#n-labels-of", "1 skipped")
    person.press_and_wait("1")
    person.press("u")
    person.until("#row-name", "Row 2")
    person.until("#last", "Undone: row 2")
    person.press("u")
    person.until("#row-name", "Row 1$")
    assert not any(session.marks.values())
    person.press("u")
    person.until("#last", "nothing to undo")


def test_undo_after_a_reload(person, session):
    person.press_and_wait("1")
    person.press_and_wait("2")
    person.reload()
    person.press("u")
    person.until("#last", "Undone: row 2 is as before")
    person.reload()
    person.press("u")
    person.until("#row-name", "Row 1")
    assert not any(session.marks.values())


def test_undo_what_another_window_did(arrive, session):
    """The page does not claim that there is nothing, and undoes it only on request."""
    one = arrive()
    one.press_and_wait("1")
    other = arrive()
    other.press("u")
    other.until("#last", "Last change, in another window: row 1 is spam")
    assert session.marks[0] == ("answer", "spam")
    other.page.get_by_role("button", name="Undo it").click()
    other.until("#row-name", "Row 1")
    assert session.marks[0] is None
    other.press("u")
    other.until("#last", "There is nothing to undo")


def test_no_percentage_before_it_is_calibrated(person, session, monkeypatch):
    known = session.guess(0)
    known.calibrated = False
    monkeypatch.setattr(session, "guess", lambda row: known)
    person.press("g")
    person.until("#guess", r"The model predicts spam\s*word\s*other")
    known.seen_answer = True
    person.press("g")
    person.until("#guess", r"The model predicts spam\. It has learned from your answer\.")


def test_go_on_after_undo(person, session):
    person.press_and_wait("1")
    person.press_and_wait("1")
    person.press("u")
    person.until("#row-name", "Row 2")
    person.press_and_wait("2")
    person.until("#row-name", "Row 3")
    assert session.marks[1] == ("answer", "ham")


def test_a_new_class(person, session):
    person.press("n")
    # letters that are keys elsewhere are letters here
    person.page.keyboard.type("news 1")
    person.press("Enter")
    button = person.page.get_by_role("button", name="news 1")
    expect(button).to_have_attribute("aria-keyshortcuts", "3")
    assert session.names == ["spam", "ham", "news 1"]
    assert session.marks == {}
    person.press_and_wait("3")
    assert session.marks[0] == ("answer", "news 1")


def test_without_classes_names_are_entered_on_the_page(arrive, session):
    session.names = []
    person = arrive()
    person.until("#answers", "Name at least two classes")
    person.press("1")
    for name in ("good", "bad"):
        person.press("n")
        person.page.keyboard.type(name)
        person.press("Enter")
        expect(person.page.get_by_role("button", name=name)).to_be_enabled()
    person.press_and_wait("2")
    assert session.marks == {0: ("answer", "bad")}


def test_the_guess_is_hidden_until_a_key_shows_it(person, session):
    assert person.text("#guess") == ""
    person.press("g")
    person.until("#guess", r"The model predicts spam \(70%\)\s*word\s*other")
    person.press_and_wait("2")
    assert person.text("#guess") == ""
    person.press_and_wait("2")
    assert session.seen == [True, False]


def test_the_guess_after_the_answer(person, session):
    person.page.check("#after")
    person.press_and_wait("2")
    person.until("#last", r"row 1 is ham\s*The model predicts spam \(70%\)")
    person.press_and_wait("1")
    person.until("#last", r"The model agrees \(70%\)")
    # it was seen after the answers
    assert session.seen == [False, False]
    person.reload()
    expect(person.page.locator("#after")).to_be_checked()


def test_a_reload_goes_on(person, session):
    person.press_and_wait("1")
    person.press_and_wait("1")
    person.reload()
    assert person.key == "3"
    person.until("#n-labels", "^2$")
    person.press_and_wait("2")
    assert session.marks[2] == ("answer", "ham")


def test_two_browsers(arrive, session):
    one, other = arrive(), arrive()
    assert (one.key, other.key) == ("1", "2")
    other.press_and_wait("2")
    one.press_and_wait("1")
    assert {one.key, other.key} == {"3", "4"}
    # each hears of the other's answers
    for person in (one, other):
        person.until("#n-labels", "^2$")


def test_a_duplicated_tab_has_rows_of_its_own(arrive, session):
    one = arrive()
    one.press_and_wait("1")
    other = one.duplicate()
    assert (one.key, other.key) == ("2", "3")
    other.press_and_wait("2")
    one.press_and_wait("1")
    assert [session.marks[row][1] for row in range(3)] == ["spam", "spam", "ham"]
    # each goes on with its row, and undoes its own answer
    shown = one.key, other.key
    assert len(set(shown)) == 2
    for person in (one, other):
        person.reload()
    assert (one.key, other.key) == shown
    other.press("u")
    other.until("#row-name", "Row 3$")
    assert session.marks[1] == ("answer", "spam")
    assert other.problems == []


def test_a_row_that_was_answered_in_another_tab(arrive, session):
    one = arrive()
    other = one.duplicate()
    other.press("/")
    other.page.select_option("#which", "open")
    other.page.get_by_label("Answer of row 1", exact=True).select_option("ham")
    other.until("#announcement", "Saved: row 1 is ham")
    one.press("1")
    one.until("#alert", "Not saved: Row 1 was answered meanwhile")
    one.until("#reason", "You answered ham. Another answer replaces it.")
    assert session.marks[0] == ("answer", "ham")
    one.press("1")
    one.until("#last", "row 1 is spam")
    expect(one.page.locator("#alert")).to_be_hidden()
    assert session.marks[0] == ("answer", "spam")
    one.problems.clear()  # the browser reports the refusal


def test_long_texts_fold(person, session):
    session.texts[0] = "word " * 6000 + "end"
    person.reload()
    assert len(person.text("#row")) < 2000
    person.until(".fold", "Show all 30,003 characters")
    person.press("e")
    person.until(".fold", "Fold")
    assert person.text(".prose").endswith("end")
    person.press("e")
    person.until(".fold", "Show all")


def test_tables_and_pictures(person, session):
    png = (
        "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5E"
        "rkJggg=="
    )
    session.columns = [
        ("price", "number", "12.5"),
        ("city", "category", ""),
        ("photo", "image", png),
    ]
    person.reload()
    cells = person.page.locator(".cells")
    expect(cells.locator("dt")).to_have_text(["price", "city"])
    expect(cells.locator("dd")).to_have_text(["12.5", "empty"])
    image = person.page.get_by_role("img", name="photo of this row")
    person.page.wait_for_function("document.querySelector('#row img').naturalWidth === 1")
    expect(image).to_be_visible()
    # many pictures can only be confirmed at once if they can be seen
    person.tab("sure")
    expect(person.page.get_by_role("img", name="photo of row 1", exact=True)).to_be_visible()


def test_the_end(person, session):
    for row in range(29):
        session.answer(row, "spam")
    person.reload()
    assert person.key == "30"
    person.press("1")
    person.until("#row-name", "All rows are done")
    for name in ("spam", "ham"):
        expect(person.page.get_by_role("button", name=name)).to_be_disabled()
    person.press("1")
    person.press("u")
    person.until("#row-name", "Row 30")


def test_keys_can_be_switched_off(person, session):
    person.press("?")
    person.page.uncheck("#keys")
    person.press("Escape")
    expect(person.page.locator("#help-box")).to_be_hidden()
    person.press("1")
    person.press("s")
    person.page.wait_for_timeout(200)
    assert session.events == []


def test_the_model_on_demand(person, session):
    person.page.click("#learn")
    person.until("#state", "Saved")
    person.page.click("#learn-auto")
    wait_until(lambda: session.learned[1:])
    assert session.learned == [False, True]


def test_downloads(person, session, tmp_path):
    person.press_and_wait("2")
    with person.page.expect_download() as waiting:
        person.page.get_by_role("button", name="Labelled file").click()
    assert waiting.value.suggested_filename == "rows.labelled.csv"
    waiting.value.save_as(tmp_path / "got.csv")
    assert (tmp_path / "got.csv").read_text().splitlines()[1].endswith(",ham")


def test_certified_labels(person, session, tmp_path):
    person.page.select_option("#bound", "5")
    certify = person.page.get_by_role("button", name="Certify", exact=True)
    certify.click()
    person.until("#certified", "No row is certified at 5% yet")
    expect(person.page.locator("#get-certified")).to_be_hidden()
    session.certified = {3: "spam", 4: "ham"}
    certify.click()
    person.until("#certified", "4,120 of 5,000 rows are certified at 5%")
    person.page.select_option("#bound", "1")
    with person.page.expect_download() as waiting:
        person.page.get_by_role("button", name="Labels of 2 certified rows").click()
    assert waiting.value.suggested_filename == "rows.certified.csv"
    waiting.value.save_as(tmp_path / "got.csv")
    assert (tmp_path / "got.csv").read_text().splitlines()[1:] == ["4,spam,0.05", "5,ham,0.05"]


def test_weak_labels_are_shown_or_hidden(person, session):
    expect(person.page.locator("#weak-on")).to_be_hidden()
    session.weak = {row: {"llm": "ham", "rule": "spam"} for row in range(3)}
    person.reload()
    person.until("#sources", "llm: right on 7 of 9 random rows")
    assert person.text("#weak-labels") == ""
    person.press("g")
    person.until("#weak-labels", "llm: ham *rule: spam")
    person.press_and_wait("1")
    assert person.text("#weak-labels") == ""
    person.press_and_wait("1")
    person.page.check("#weak")
    person.until("#weak-labels", "llm: ham")
    person.press_and_wait("1")
    # with them an answer is no test of the model, without them it is one
    person.press_and_wait("1")
    assert session.seen == [True, False, True, False]
