"""What the labelling page asks of a sitting: each handler is a call or two.

`ACTIONS` change something and are posted, `VIEWS` change nothing.
"""

from collections.abc import Callable
from typing import Any

from semisvm.labelling.sitting import Sitting
from semisvm.labelling.values import Values

Handler = Callable[[Sitting, Values], dict[str, Any]]
LONG_TEXT = 20_000
MAX_WHOLE = 2_000_000
PATH_TEXT = 200
MAX_LIST = 100


def clipped(view: dict[str, Any], most: int) -> dict[str, Any]:
    """Shorten the texts of a row; ``length`` tells how long they are."""
    fields = []
    for field in view["fields"]:
        value, length = field["value"], PATH_TEXT if field["kind"] == "image" else most
        if isinstance(value, str) and len(value) > length:
            field = {**field, "value": value[:length], "length": len(value)}
        fields.append(field)
    return {**view, "fields": fields}


def shown(sitting: Sitting, row: int, most: int = LONG_TEXT) -> dict[str, Any]:
    """Return a row as the page shows it."""
    return clipped(sitting.view(row).as_json(), most)


def guessed(sitting: Sitting, row: int) -> dict[str, Any] | None:
    """Return the model's guess, if there is a model."""
    guess = sitting.guess(row)
    return None if guess is None else guess.as_json()


def following(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Return the next row of a browser, with what the page shows beside it."""
    query = sitting.ask(client=values.text("client"))
    row = None if query is None else shown(sitting, query.row)
    asked = None if query is None else query.as_json()
    return {"query": asked, "view": row, "status": sitting.status().as_json()}


def who(values: Values) -> dict[str, Any]:
    """Return who changes a row, and which version of it they saw."""
    return {"client": values.text("client"), "version": values.optional_integer("version")}


def answer(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Keep an answer. The guess is that of before the answer."""
    row, value = values.integer("row"), values.text("value")
    guess = guessed(sitting, row) if values.flag("want_guess") else None
    sitting.answer(row, value, seen_guess=values.flag("seen_guess"), **who(values))
    return {"saved": {"row": row, "value": value, "guess": guess}, **following(sitting, values)}


def skip(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Set a row aside."""
    row = values.integer("row")
    sitting.skip(row, **who(values))
    return {"saved": {"row": row, "value": None}, **following(sitting, values)}


def undo(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Take the last change of this browser back, and show its row again.

    If it made none, ``other`` is the last change of another window, which the page offers to undo
    by its number.
    """
    event = sitting.undo(values.text("client"), number=values.optional_integer("number"))
    told: dict[str, Any] = {"undone": None, "other": None, "view": None}
    if event is not None:
        told |= {"undone": event.as_json(), "view": only_row(sitting, event)}
    else:
        other = sitting.last_change()
        if other is not None:
            told |= {"other": other.as_json(), "view": only_row(sitting, other)}
    return {**told, "status": sitting.status().as_json()}


def only_row(sitting: Sitting, event: Any) -> dict[str, Any] | None:
    """Return the row of a change, if it is about one."""
    return shown(sitting, event.rows[0]) if len(event.rows) == 1 else None


def remove(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Remove an answer: the row is unlabelled again."""
    sitting.remove(values.integer("row"), **who(values))
    return {"status": sitting.status().as_json()}


def change(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Change an answer from a list, where no next row is wanted."""
    row, value = values.integer("row"), values.text("value")
    sitting.answer(row, value, seen_guess=True, **who(values))
    return {"status": sitting.status().as_json()}


def confirm(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Give many rows the class that the model guessed."""
    sitting.confirm(values.integers("rows"), values.text("value"), client=values.text("client"))
    return {"status": sitting.status().as_json()}


def add_class(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Add a class."""
    sitting.add_class(values.text("name"), client=values.text("client"))
    return {"status": sitting.status().as_json()}


def learn(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Ask for a fit in the background."""
    sitting.learn(auto=values.flag("auto"))
    return {"status": sitting.status().as_json()}


def status(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Return how far the sitting is."""
    return {"status": sitting.status().as_json()}


def one_row(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Return a row, in full if asked."""
    most = MAX_WHOLE if values.optional("whole") else LONG_TEXT
    return {"view": shown(sitting, values.integer("row"), most)}


def guess(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Return the model's guess of a row."""
    return {"guess": guessed(sitting, values.integer("row"))}


def search(sitting: Sitting, values: Values) -> dict[str, Any]:
    """Find rows by their words."""
    found = sitting.search(
        values.text("words", ""),
        which=values.text("which", "all"),
        start=values.integer("start", 0),
        count=min(values.integer("count", 20), MAX_LIST),
    )
    return listed(found)


def sure(sitting: Sitting, values: Values) -> dict[str, Any]:
    """List rows that the model is sure about."""
    start, count = values.integer("start", 0), min(values.integer("count", 20), MAX_LIST)
    return listed(sitting.sure(values.optional("value"), start=start, count=count))


def doubts(sitting: Sitting, values: Values) -> dict[str, Any]:
    """List answers that the model disagrees with."""
    start, count = values.integer("start", 0), min(values.integer("count", 20), MAX_LIST)
    return listed(sitting.doubts(start=start, count=count))


def listed(found: Any) -> dict[str, Any]:
    """Return a list of rows."""
    return dict(found.as_json())


ACTIONS: dict[str, Handler] = {
    "next": following,
    "answer": answer,
    "change": change,
    "skip": skip,
    "undo": undo,
    "remove": remove,
    "confirm": confirm,
    "classes": add_class,
    "learn": learn,
}
VIEWS: dict[str, Handler] = {
    "status": status,
    "row": one_row,
    "guess": guess,
    "search": search,
    "sure": sure,
    "doubts": doubts,
}
