"""The web application of the labelling page.

Each handler is a call or two of the session: `ACTIONS` change something and are posted, `VIEWS`
change nothing. Calls run in threads, so that a slow disk does not hold up other requests.
"""

import json
import logging
import shutil
import tempfile
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from threading import Lock
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from semisvm.labelling.records import (
    FINISH,
    LABEL,
    SETTLE,
    ChangedError,
    LabelingError,
    Person,
    RefusedError,
    Values,
)
from semisvm.labelling.security import PERSON
from semisvm.labelling.session import LabelingSession
from semisvm.tables.annotation_tools import SUFFIXES
from semisvm.tables.errors import DataError
from semisvm.text import plain

Handler = Callable[[LabelingSession, Values], dict[str, Any]]
LONG_TEXT = 20_000
MAX_WHOLE = 2_000_000
PATH_TEXT = 200
MAX_LIST = 100


def clipped(view: dict[str, Any], most: int) -> dict[str, Any]:
    """Shorten the texts of a row; ``length`` is how long they are."""
    fields = []
    for field in view["fields"]:
        value, length = field["value"], PATH_TEXT if field["kind"] in ("image", "audio") else most
        if isinstance(value, str) and len(value) > length:
            field = {**field, "value": value[:length], "length": len(value)}
        fields.append(field)
    return {**view, "fields": fields}


def shown(
    session: LabelingSession, values: Values, row: int, most: int = LONG_TEXT
) -> dict[str, Any]:
    """Return a row as the page shows it."""
    more = {"weak": session.weak_labels(row), **session.remark(row, **values.by)}
    return {**clipped(session.view(row, **values.by).as_json(), most), **more}


def guessed(session: LabelingSession, row: int) -> dict[str, Any] | None:
    """Return the model's guess, if there is a model."""
    guess = session.guess(row)
    return None if guess is None else guess.as_json()


def status_for(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Return how far the session is; how reliable others are is for those who settle."""
    found = session.status(**values.by).as_json()
    if not values.person.may(SETTLE):
        own = values.person.name
        found["people"] = [one for one in found["people"] if one["name"] == own]
    return found


def following(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Return the next row of a browser, with what the page shows beside it."""
    query = session.ask(client=values.text("client"), **values.by)
    row = None if query is None else shown(session, values, query.row)
    wanted = None if query is None else query.as_json()
    return {"query": wanted, "view": row, "status": status_for(session, values)}


def who(values: Values) -> dict[str, Any]:
    """Return who changes a row, and which version of it they saw."""
    version = values.optional_integer("version")
    return {"client": values.text("client"), "version": version, **values.by}


def remarked(values: Values) -> dict[str, Any]:
    """Return the comment that comes with an answer; none keeps the one that is there."""
    return {"comment": None if values.optional("comment") is None else values.text("comment")}


def answer(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Keep an answer. The guess is that of before the answer."""
    row, value = values.integer("row"), values.text("value")
    guess = guessed(session, row) if values.flag("want_guess") else None
    about = {**who(values), **remarked(values)}
    session.answer(row, value, seen_guess=values.flag("seen_guess"), **about)
    return {"saved": {"row": row, "value": value, "guess": guess}, **following(session, values)}


def skip(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Set a row aside."""
    row = values.integer("row")
    session.skip(row, none=values.flag("none"), **who(values), **remarked(values))
    return {"saved": {"row": row, "value": None}, **following(session, values)}


def undo(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Take the last change of this browser back, and show its row again.

    If it made none, ``other`` is the last change of another window, which the page offers to undo
    by its number.
    """
    number, request = values.optional_integer("number"), values.optional("id")
    event = session.undo(values.text("client"), number=number, request=request, **values.by)
    found: dict[str, Any] = {"undone": None, "other": None, "view": None}
    if event is not None:
        found |= {"undone": event.as_json(), "view": only_row(session, values, event)}
    else:
        other = session.last_change(**values.by)
        if other is not None:
            found |= {"other": other.as_json(), "view": only_row(session, values, other)}
    return {**found, "status": status_for(session, values)}


def only_row(session: LabelingSession, values: Values, event: Any) -> dict[str, Any] | None:
    """Return the row of a change, if it is about one."""
    return shown(session, values, event.rows[0]) if len(event.rows) == 1 else None


def remove(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Remove an answer: the row is unlabelled again."""
    session.remove(values.integer("row"), **who(values))
    return {"status": status_for(session, values)}


def change(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Change an answer from a list, where no next row is wanted."""
    row, value = values.integer("row"), values.text("value")
    session.answer(row, value, seen_guess=True, **who(values))
    return {"status": status_for(session, values)}


def confirm(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Give many rows the class that the model guessed."""
    about = {"client": values.text("client"), **values.by}
    session.confirm(values.integers("rows"), values.text("value"), **about)
    return {"status": status_for(session, values)}


def settle(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Decide about a row on which people differ."""
    session.settle(values.integer("row"), values.text("value"), **who(values))
    return {"status": status_for(session, values)}


def add_class(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Add a class."""
    session.add_class(values.text("name"), client=values.text("client"), **values.by)
    return {"status": status_for(session, values)}


def name_the_rest(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Make a class of the rows that belong to none."""
    named = session.name_the_rest(values.text("name"), client=values.text("client"), **values.by)
    return {"named": named, "status": status_for(session, values)}


def learn(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Ask for a fit in the background."""
    session.learn(auto=values.flag("auto"))
    return {"status": status_for(session, values)}


def status(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Return how far the session is. A browser that asks for it keeps its row."""
    session.renew(values.optional("client"), **values.by)
    return {"status": status_for(session, values)}


def one_row(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Return a row, in full if wanted."""
    most = MAX_WHOLE if values.optional("whole") else LONG_TEXT
    return {"view": shown(session, values, values.integer("row"), most)}


def guess(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Return the model's guess of a row."""
    return {"guess": guessed(session, values.integer("row"))}


def search(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Find rows by their words."""
    found = session.search(
        values.text("words", ""),
        which=values.text("which", "all"),
        start=values.integer("start", 0),
        count=min(values.integer("count", 20), MAX_LIST),
        **values.by,
    )
    return listed(found)


def sure(session: LabelingSession, values: Values) -> dict[str, Any]:
    """List rows that the model is sure about."""
    start, count = values.integer("start", 0), min(values.integer("count", 20), MAX_LIST)
    return listed(session.sure(values.optional("value"), start=start, count=count))


def doubts(session: LabelingSession, values: Values) -> dict[str, Any]:
    """List answers that the model disagrees with."""
    start, count = values.integer("start", 0), min(values.integer("count", 20), MAX_LIST)
    return listed(session.doubts(start=start, count=count, **values.by))


def disagreements(session: LabelingSession, values: Values) -> dict[str, Any]:
    """List rows on which people differ."""
    start, count = values.integer("start", 0), min(values.integer("count", 20), MAX_LIST)
    return listed(session.disagreements(values.text("which", "open"), start, count))


def agreement(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Return how far people agree."""
    return session.agreement().as_json()


def bound(values: Values) -> float:
    """Return the share of errors that a request allows, from per cent."""
    percent = values.integer("percent", 2)
    if not 0 < percent < 100:
        raise RefusedError(400, "percent must be 1 to 99.")
    return percent / 100


def certified(session: LabelingSession, values: Values) -> dict[str, Any]:
    """Count the rows that may take the label of the model; the page needs no list of them."""
    found = session.certify(bound(values)).as_json()
    return {"certified": {**found, "labels": len(found["labels"])}}


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
    "settle": settle,
    "classes": add_class,
    "name-the-rest": name_the_rest,
    "learn": learn,
}
VIEWS: dict[str, Handler] = {
    "status": status,
    "row": one_row,
    "guess": guess,
    "search": search,
    "sure": sure,
    "doubts": doubts,
    "disagreements": disagreements,
    "agreement": agreement,
    "certified": certified,
}
RIGHTS = {
    "settle": SETTLE,
    "disagreements": SETTLE,
    "agreement": SETTLE,
    "certified": FINISH,
    "save": FINISH,
    "download": FINISH,
}
"""What takes more than the right to label."""


WebHandler = Callable[[LabelingSession, Values], dict[str, Any] | Response]
LOG = logging.getLogger(__name__)
SCRIPTS = (
    *("api", "app", "cells", "classes", "common", "disagreements", "dom", "files", "label"),
    *("lists", "people", "progress", "row", "texts", "theme"),
)
PAGE = {
    "/": ("index.html", "text/html"),
    **{f"/{name}.css": (f"{name}.css", "text/css") for name in ("style", "people")},
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in SCRIPTS},
}


@dataclass(frozen=True)
class Places:
    """Names of files: the page chooses none.

    Attributes
    ----------
    title : str
        What is labelled; names of downloads begin with it.
    model, report : Path, optional
        Where to save.
    options : mapping, optional
        How the session was opened, to be packed with it.
    """

    title: str = ""
    model: Path | None = None
    report: Path | None = None
    options: Mapping[str, Any] | None = None

    def downloads(self) -> dict[str, str]:
        """Return the names of the files that can be downloaded."""
        stem = Path(self.title).stem or "rows"
        return {
            "labelled": f"{stem}.labelled.csv",
            "model": f"{stem}.semisvm",
            "report": f"{stem}.report.html",
            "answers": f"{stem}.single_answers.csv",
            "session": f"{stem}.session",
            **{tool: f"{stem}.{tool}{suffix}" for tool, suffix in SUFFIXES.items()},
            "certified": f"{stem}.certified.csv",
        }

    def about(self, session: LabelingSession, values: Values) -> dict[str, Any]:
        """Return what the page shows (a handler)."""
        saves = None if self.model is None else self.model.name
        found = {"title": self.title, "downloads": self.downloads(), "saves": saves}
        person = values.person
        return {**found, "person": None if not person.name else person.as_json()}

    def save(self, session: LabelingSession, values: Values) -> dict[str, Any]:
        """Save the model and the report (a handler)."""
        if self.model is None:
            raise LabelingError("No file was named for the model when the page was started.")
        session.save(self.model)
        if self.report is not None:
            session.report(self.report)
        return {"files": [str(path) for path in (self.model, self.report) if path is not None]}

    def download(self, session: LabelingSession, values: Values) -> Response:
        """Return a file that the session writes for this request (a handler)."""
        what = values.text("what")
        if what not in self.downloads():
            raise RefusedError(404, "There is no such file.")
        write: dict[str, Callable[[Path], None]] = {
            "labelled": session.export,
            "model": session.save,
            "report": session.report,
            "answers": session.export_single_answers,
            "session": partial(session.pack, options=self.options),
            **{tool: partial(session.export_tasks, tool=tool) for tool in SUFFIXES},
            "certified": partial(session.export_certified, error=bound(values)),
        }
        folder, name = Path(tempfile.mkdtemp(prefix="semisvm-")), self.downloads()[what]
        try:
            write[what](folder / name)
        except BaseException:
            shutil.rmtree(folder)
            raise
        tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
        return FileResponse(folder / name, filename=name, background=tidy)


def as_json(content: Any, status_code: int = 200) -> Response:
    """Return an answer for the script. ASCII: texts of users may hold halves of characters."""
    text = json.dumps(plain(content), allow_nan=False)
    return Response(text, status_code, media_type="application/json")


class Once:
    """Results of the last requests, by the name that the page gave them.

    A page that gets no reply after an answer cannot determine whether it was kept, and sends it
    again under the same name.

    Parameters
    ----------
    most : int, default=64
        How many results are remembered.
    """

    def __init__(self, most: int = 64) -> None:
        self._most = most
        self._results: OrderedDict[str, Future[Any]] = OrderedDict()
        self._lock = Lock()

    def run(self, name: str | None, work: Callable[[], Any]) -> Any:
        """Return the result of work, which is not done again under a name that was used.

        Parameters
        ----------
        name : str or None
            None: the work is always done.
        work : callable
            Work that fails is forgotten, and may be tried again.
        """
        if name is None:
            return work()
        with self._lock:
            future, mine = self._results.get(name), Future[Any]()
            if future is None:
                self._results[name] = mine
                while len(self._results) > self._most:
                    self._results.popitem(last=False)
        return self._done(name, mine, work) if future is None else future.result()

    def _done(self, name: str, future: Future[Any], work: Callable[[], Any]) -> Any:
        try:
            result = work()
        except BaseException as error:
            with self._lock:
                self._results.pop(name, None)
            future.set_exception(error)
            raise
        future.set_result(result)
        return result


class Answers:
    """Runs handlers in threads, and turns what goes wrong into a sentence.

    Parameters
    ----------
    session : LabelingSession
    places : Places
    """

    def __init__(self, session: LabelingSession, places: Places) -> None:
        self.session = session
        self.places = places
        self._once = Once()

    async def action(self, handler: WebHandler, right: str, request: Request) -> Response:
        """Answer a request that changes something."""
        try:
            person = allowed(request, right)
            values = Values(await posted(request), person)
            name = values.optional("id")
        except RefusedError as error:
            return as_json({"error": error.reason}, error.status)
        name = None if name is None else f"{name} {person.name}"
        work = partial(self._once.run, name, partial(handler, self.session, values))
        return await self.answered(work)

    async def view(self, handler: WebHandler, right: str, request: Request) -> Response:
        """Answer a request that changes nothing."""
        try:
            values = Values(request.query_params, allowed(request, right))
        except RefusedError as error:
            return as_json({"error": error.reason}, error.status)
        return await self.answered(partial(handler, self.session, values))

    async def answered(self, work: Callable[[], Any]) -> Response:
        """Return the result of work, a response or something for JSON."""
        try:
            result = await run_in_threadpool(work)
            return result if isinstance(result, Response) else as_json(result)
        except RefusedError as error:
            return as_json({"error": error.reason}, error.status)
        except ChangedError as error:
            return as_json({"error": str(error)}, 409)
        except (LabelingError, DataError) as error:
            return as_json({"error": str(error)}, 422)
        except OSError as error:
            return as_json({"error": f"The disk refused: {error.strerror or error}."}, 507)
        except Exception:
            LOG.exception("a request failed")
            return as_json({"error": "The server failed. The terminal has the details."}, 500)


def allowed(request: Request, right: str) -> Person:
    """Return whose request it is, or refuse it."""
    person: Person | None = getattr(request.state, PERSON, None)
    if person is None:
        raise RefusedError(401, "It is not known whose request this is.")
    if not person.may(right):
        raise RefusedError(
            403, f"This takes the role {right!r}, and your link has {person.role!r}."
        )
    return person


async def posted(request: Request) -> dict[str, Any]:
    """Read the JSON object of a request."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise RefusedError(415, "A request must be JSON.")
    try:
        found = json.loads(await request.body())
    except (ValueError, RecursionError):
        raise RefusedError(400, "The request is no JSON.") from None
    if not isinstance(found, dict):
        raise RefusedError(400, "The request must be an object.")
    return found


def picture(session: LabelingSession, values: Values) -> Response:
    """Return an image of a row (a handler)."""
    found = session.picture(values.integer("row"), values.text("name"))
    return Response(found.content, media_type=found.media_type)


@cache
def page_file(name: str) -> bytes:
    """Return a file of the page."""
    return (files("semisvm.labelling") / "page" / name).read_bytes()


def static(name: str, kind: str) -> Callable[[Request], Response]:
    """Return what answers with a file of the page."""

    def give(request: Request) -> Response:
        return Response(page_file(name), media_type=kind)

    return give


def application(session: LabelingSession, places: Places) -> Starlette:
    """Return the application of a session, which must stand behind a `Guard`."""
    answers = Answers(session, places)
    actions: dict[str, WebHandler] = {**ACTIONS, "save": places.save}
    views: dict[str, WebHandler] = {
        **VIEWS,
        "about": places.about,
        "download": places.download,
        "picture": picture,
    }
    routes = [Route(path, static(*file)) for path, file in PAGE.items()]
    for name, handler in actions.items():
        act = partial(answers.action, handler, RIGHTS.get(name, LABEL))
        routes.append(Route(f"/api/{name}", act, methods=["POST"]))
    for name, handler in views.items():
        routes.append(
            Route(f"/api/{name}", partial(answers.view, handler, RIGHTS.get(name, LABEL)))
        )
    return Starlette(routes=routes)
