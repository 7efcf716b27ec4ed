"""States of the labelling page: each prepares a session in memory, and does what leads there."""

from fake_session import Facts

TEXT = (
    "the report of the meeting on monday says that the budget for the next year is not settled, and"
    " that a plan with fewer rooms would save a third of the cost"
)
WORDS = TEXT.split()


def prose(n_words, start=0):
    """Return a text of some words."""
    return " ".join(WORDS[(start + 7 * k) % len(WORDS)] for k in range(n_words)).capitalize()


def well_known(session, n_answered):
    """Have answers, and estimates that rest on them."""
    session.texts = [prose(20 + 9 * k % 70, k) for k in range(5000)]
    for row in range(n_answered):
        session.answer(row, session.names[row * row % len(session.names)])
    plain, share = session.status, 1 / len(session.names)

    def status():
        found = plain()
        found.accuracy = Facts(value=0.86, low=0.8, high=0.91, n=n_answered // 2)
        found.curve = [
            Facts(n_labels=n, accuracy=0.9 - 2 / n, low=0.86 - 4 / n, high=0.94 - 1 / n)
            for n in range(10, n_answered + 1, 5)
        ]
        found.model_labels = n_answered
        found.advice = "Go on: answers help. Random rows were guessed right 78% of the time up to "
        found.advice += "30 labels, 86% since."
        for one in found.classes:
            one.share, one.share_std = share, share / 8
        return found

    session.status = status
    session.because = [("budget", 1.5), ("fewer rooms", 0.9), ("monday", 0.4)]


def empty(session):
    session.names = []
    session.guesses = False


def first_ten(session):
    session.guesses = False
    session.texts = [prose(30 + k, k) for k in range(400)]
    for row in range(10):
        session.answer(row, session.names[row % 2])


def learning(session):
    well_known(session, 60)
    session.fitting = True


def class_without_labels(session):
    session.names = ["invoice", "complaint", "praise"]
    session.texts = [prose(30, k) for k in range(400)]
    for row in range(12):
        session.answer(row, session.names[row % 2])


def long_text(session):
    well_known(session, 60)
    session.texts[60] = "\n\n".join(prose(90, 3 * k) + "." for k in range(40))


def table(session):
    well_known(session, 60)
    session.texts[60] = "Broken on arrival"
    cells = [(f"measure_{k}", "number", f"{k * 3.7:.1f}") for k in range(24)]
    session.columns = [("city", "category", "Wien"), ("paid", "category", ""), *cells]


def twenty_classes(session):
    session.names = [f"{name} {k}" for k in range(4) for name in ("room", "food", "staff", "noise")]
    session.names += ["a class with a rather long name", "Reisekostenabrechnung", "x", "other"]
    well_known(session, 80)


def two_hundred_classes(session):
    session.names = [f"topic {k:03d} {WORDS[k % len(WORDS)]}" for k in range(200)]
    well_known(session, 300)


def finished(session):
    session.texts = [prose(12, k) for k in range(20)]
    for row in range(20):
        session.answer(row, session.names[row % 2])


def press_guess(person):
    person.press("g")
    person.until("#guess", "The model predicts")


def refuse(session, person):
    session.fails = OSError(28, "No space left on device")
    person.press("1")
    person.until("#state", "Not saved")


def disconnect(session, person):
    person.page.context.set_offline(True)
    person.press("1")
    person.until("#alert", "does not answer")


PREPARED = {
    "empty": empty,
    "first-ten": first_ten,
    "learning": learning,
    "class-without-labels": class_without_labels,
    "long-text": long_text,
    "find-in-row": long_text,
    "table": table,
    "20-classes": twenty_classes,
    "200-classes": two_hundred_classes,
    "finished": finished,
}
TROUBLES = {"error": refuse, "offline": disconnect}
STATES = (*PREPARED, *TROUBLES, "guess", "find", "sure", "doubts", "help")


def show(state, session, person):
    """Lead somebody who has the page open to a state."""
    PREPARED.get(state, lambda kept: well_known(kept, 60))(session)
    person.reload()
    if state in TROUBLES:
        TROUBLES[state](session, person)
    elif state in ("guess", "long-text"):
        press_guess(person)
    elif state == "find-in-row":
        person.press("f")
        person.page.keyboard.type("budget")
        person.until("#within-note", "1 of")
    elif state in ("find", "sure", "doubts"):
        person.tab(state)
        person.page.wait_for_selector(f"#panel-{state} .pager")
    elif state == "help":
        person.press("?")
