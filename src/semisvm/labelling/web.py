"""The labelling page's answers to requests: each is a call of the sitting.

`ACTIONS` change something and are posted, `VIEWS` change nothing. They run in threads, so that
a slow disk holds up nobody else.
"""

import json
import logging
import shutil
import tempfile
from collections.abc import Callable
from functools import cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from semisvm.jsonable import plain
from semisvm.labelling.errors import SittingError
from semisvm.labelling.once import Once
from semisvm.labelling.security import RefusedError
from semisvm.labelling.values import Values

Handler = Callable[[Any, Values], dict[str, Any]]
LOG = logging.getLogger(__name__)
SCRIPTS = ("api", "app", "common", "dom", "label", "lists", "progress", "row", "theme")
PAGE = {
    "/": ("index.html", "text/html"),
    "/style.css": ("style.css", "text/css"),
    "/icon.svg": ("icon.svg", "image/svg+xml"),
    **{f"/{name}.js": (f"{name}.js", "text/javascript") for name in SCRIPTS},
}
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


def shown(sitting: Any, row: int, most: int = LONG_TEXT) -> dict[str, Any]:
    """Return a row as the page shows it."""
    return clipped(sitting.view(row).as_json(), most)


def guessed(sitting: Any, row: int) -> dict[str, Any] | None:
    """Return the model's guess, if there is a model."""
    guess = sitting.guess(row)
    return None if guess is None else guess.as_json()


def following(sitting: Any, values: Values) -> dict[str, Any]:
    """Return the next row of a browser, with what the page shows beside it."""
    query = sitting.ask(client=values.text("client"))
    row = None if query is None else shown(sitting, query.row)
    asked = None if query is None else query.as_json()
    return {"query": asked, "view": row, "status": sitting.status().as_json()}


def answer(sitting: Any, values: Values) -> dict[str, Any]:
    """Keep an answer. The guess is that of before the answer."""
    row, value = values.integer("row"), values.text("value")
    guess = guessed(sitting, row) if values.flag("want_guess") else None
    sitting.answer(row, value, seen_guess=values.flag("seen_guess"))
    return {"saved": {"row": row, "value": value, "guess": guess}, **following(sitting, values)}


def skip(sitting: Any, values: Values) -> dict[str, Any]:
    """Set a row aside."""
    row = values.integer("row")
    sitting.skip(row)
    return {"saved": {"row": row, "value": None}, **following(sitting, values)}


def undo(sitting: Any, values: Values) -> dict[str, Any]:
    """Take the last change back, and show its row again."""
    event = sitting.undo()
    if event is None:
        return {"undone": None, "view": None, "status": sitting.status().as_json()}
    view = shown(sitting, event.rows[0]) if len(event.rows) == 1 else None
    return {"undone": event.as_json(), "view": view, "status": sitting.status().as_json()}


def remove(sitting: Any, values: Values) -> dict[str, Any]:
    """Remove an answer: the row is unlabelled again."""
    sitting.remove(values.integer("row"))
    return {"status": sitting.status().as_json()}


def change(sitting: Any, values: Values) -> dict[str, Any]:
    """Change an answer from a list, where no next row is wanted."""
    sitting.answer(values.integer("row"), values.text("value"), seen_guess=True)
    return {"status": sitting.status().as_json()}


def confirm(sitting: Any, values: Values) -> dict[str, Any]:
    """Give many rows the class that the model guessed."""
    sitting.confirm(values.integers("rows"), values.text("value"))
    return {"status": sitting.status().as_json()}


def add_class(sitting: Any, values: Values) -> dict[str, Any]:
    """Add a class."""
    sitting.add_class(values.text("name"))
    return {"status": sitting.status().as_json()}


def learn(sitting: Any, values: Values) -> dict[str, Any]:
    """Ask for a fit in the background."""
    sitting.learn(auto=values.flag("auto"))
    return {"status": sitting.status().as_json()}


def status(sitting: Any, values: Values) -> dict[str, Any]:
    """Return how far the sitting is."""
    return {"status": sitting.status().as_json()}


def one_row(sitting: Any, values: Values) -> dict[str, Any]:
    """Return a row, in full if asked."""
    most = MAX_WHOLE if values.optional("whole") else LONG_TEXT
    return {"view": shown(sitting, values.integer("row"), most)}


def guess(sitting: Any, values: Values) -> dict[str, Any]:
    """Return the model's guess of a row."""
    return {"guess": guessed(sitting, values.integer("row"))}


def search(sitting: Any, values: Values) -> dict[str, Any]:
    """Find rows by their words."""
    found = sitting.search(
        values.text("words", ""),
        which=values.text("which", "all"),
        start=values.integer("start", 0),
        count=min(values.integer("count", 20), MAX_LIST),
    )
    return listed(found)


def sure(sitting: Any, values: Values) -> dict[str, Any]:
    """List rows that the model is sure about."""
    start, count = values.integer("start", 0), min(values.integer("count", 20), MAX_LIST)
    return listed(sitting.sure(values.optional("value"), start=start, count=count))


def doubts(sitting: Any, values: Values) -> dict[str, Any]:
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


DOWNLOADS: dict[str, tuple[Callable[[Any, Path], Any], str]] = {
    "labelled": (lambda sitting, path: sitting.export(path), "labelled.csv"),
    "model": (lambda sitting, path: sitting.save(path), "model.semisvm"),
    "report": (lambda sitting, path: sitting.report(path), "report.html"),
}


def as_json(content: Any, status_code: int = 200) -> Response:
    """Return an answer for the script. ASCII: texts of users may hold halves of characters."""
    text = json.dumps(plain(content), allow_nan=False)
    return Response(text, status_code, media_type="application/json")


class Answers:
    """Runs handlers in threads, and turns what goes wrong into a sentence.

    Parameters
    ----------
    sitting : Sitting
    """

    def __init__(self, sitting: Any) -> None:
        self.sitting = sitting
        self._once = Once()

    async def action(self, handler: Handler, request: Request) -> Response:
        """Answer a request that changes something."""
        try:
            values = Values(await posted(request))
            name = values.optional("id")
        except RefusedError as error:
            return as_json({"error": error.reason}, error.status)
        work = partial(self._once.run, name, partial(handler, self.sitting, values))
        return await self.answered(work)

    async def view(self, handler: Handler, request: Request) -> Response:
        """Answer a request that changes nothing."""
        values = Values(request.query_params)
        return await self.answered(partial(handler, self.sitting, values))

    async def answered(self, work: Callable[[], Any]) -> Response:
        """Return the result of work, a response or something for JSON."""
        try:
            result = await run_in_threadpool(work)
            return result if isinstance(result, Response) else as_json(result)
        except RefusedError as error:
            return as_json({"error": error.reason}, error.status)
        except SittingError as error:
            return as_json({"error": str(error)}, 422)
        except OSError as error:
            return as_json({"error": f"The disk refused: {error.strerror or error}."}, 507)
        except Exception:
            LOG.exception("a request failed")
            return as_json({"error": "The server failed. The terminal says where."}, 500)

    async def picture(self, request: Request) -> Response:
        """Answer with an image of a row."""
        values = Values(request.query_params)
        return await self.answered(partial(picture, self.sitting, values))

    async def download(self, request: Request) -> Response:
        """Answer with a file that is made for it."""
        return await self.answered(partial(download, self.sitting, request.path_params["what"]))


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


def picture(sitting: Any, values: Values) -> Response:
    """Return an image of a row."""
    found = sitting.picture(values.integer("row"), values.text("name"))
    return Response(found.content, media_type=found.media_type)


def download(sitting: Any, what: str) -> Response:
    """Return a file that the sitting writes for this request."""
    if what not in DOWNLOADS:
        raise RefusedError(404, "There is no such file.")
    write, name = DOWNLOADS[what]
    folder = Path(tempfile.mkdtemp(prefix="semisvm-"))
    try:
        write(sitting, folder / name)
    except BaseException:
        shutil.rmtree(folder)
        raise
    tidy = BackgroundTask(shutil.rmtree, folder, ignore_errors=True)
    return FileResponse(folder / name, filename=name, background=tidy)


@cache
def page_file(name: str) -> bytes:
    """Return a file of the page."""
    return (files("semisvm.labelling") / "page" / name).read_bytes()


def static(name: str, kind: str) -> Callable[[Request], Response]:
    """Return what answers with a file of the page."""

    def give(request: Request) -> Response:
        return Response(page_file(name), media_type=kind)

    return give


def application(sitting: Any) -> Starlette:
    """Return the application of a sitting, which must stand behind a `Guard`."""
    answers = Answers(sitting)
    routes = [Route(path, static(*file)) for path, file in PAGE.items()]
    for name, handler in ACTIONS.items():
        routes.append(Route(f"/api/{name}", partial(answers.action, handler), methods=["POST"]))
    for name, handler in VIEWS.items():
        routes.append(Route(f"/api/{name}", partial(answers.view, handler)))
    routes.append(Route("/api/picture", answers.picture))
    routes.append(Route("/api/download/{what}", answers.download))
    return Starlette(routes=routes)
