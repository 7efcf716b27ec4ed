"""The web application of the labelling page.

Calls of the sitting run in threads, so that a slow disk holds up nobody else.
"""

import json
import logging
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
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

from semisvm.io import DataError
from semisvm.jsonable import plain
from semisvm.labelling.errors import ChangedError, SittingError
from semisvm.labelling.handlers import ACTIONS, VIEWS
from semisvm.labelling.once import Once
from semisvm.labelling.security import RefusedError
from semisvm.labelling.sitting import Sitting
from semisvm.labelling.values import Values

Handler = Callable[[Sitting, Values], dict[str, Any] | Response]
LOG = logging.getLogger(__name__)
SCRIPTS = ("api", "app", "common", "dom", "files", "label", "lists", "progress", "row", "theme")
PAGE = {
    "/": ("index.html", "text/html"),
    "/style.css": ("style.css", "text/css"),
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
    """

    title: str = ""
    model: Path | None = None
    report: Path | None = None

    def downloads(self) -> dict[str, str]:
        """Return the names of the files that can be downloaded."""
        stem = Path(self.title).stem or "rows"
        return {
            "labelled": f"{stem}.labelled.csv",
            "model": f"{stem}.semisvm",
            "report": f"{stem}.report.html",
        }

    def about(self, sitting: Sitting, values: Values) -> dict[str, Any]:
        """Tell the page what it shows (a handler)."""
        saves = None if self.model is None else self.model.name
        return {"title": self.title, "downloads": self.downloads(), "saves": saves}

    def save(self, sitting: Sitting, values: Values) -> dict[str, Any]:
        """Save the model and the report (a handler)."""
        if self.model is None:
            raise SittingError("No file was named for the model when the page was started.")
        sitting.save(self.model)
        if self.report is not None:
            sitting.report(self.report)
        return {"files": [str(path) for path in (self.model, self.report) if path is not None]}

    def download(self, sitting: Sitting, values: Values) -> Response:
        """Return a file that the sitting writes for this request (a handler)."""
        what = values.text("what")
        if what not in self.downloads():
            raise RefusedError(404, "There is no such file.")
        write: dict[str, Callable[[Path], None]] = {
            "labelled": sitting.export,
            "model": sitting.save,
            "report": sitting.report,
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


class Answers:
    """Runs handlers in threads, and turns what goes wrong into a sentence.

    Parameters
    ----------
    sitting : Sitting
    places : Places
    """

    def __init__(self, sitting: Sitting, places: Places) -> None:
        self.sitting = sitting
        self.places = places
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
        except ChangedError as error:
            return as_json({"error": str(error)}, 409)
        except (SittingError, DataError) as error:
            return as_json({"error": str(error)}, 422)
        except OSError as error:
            return as_json({"error": f"The disk refused: {error.strerror or error}."}, 507)
        except Exception:
            LOG.exception("a request failed")
            return as_json({"error": "The server failed. The terminal says where."}, 500)


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


def picture(sitting: Sitting, values: Values) -> Response:
    """Return an image of a row (a handler)."""
    found = sitting.picture(values.integer("row"), values.text("name"))
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


def application(sitting: Sitting, places: Places) -> Starlette:
    """Return the application of a sitting, which must stand behind a `Guard`."""
    answers = Answers(sitting, places)
    actions: dict[str, Handler] = {**ACTIONS, "save": places.save}
    views: dict[str, Handler] = {
        **VIEWS,
        "about": places.about,
        "download": places.download,
        "picture": picture,
    }
    routes = [Route(path, static(*file)) for path, file in PAGE.items()]
    for name, handler in actions.items():
        routes.append(Route(f"/api/{name}", partial(answers.action, handler), methods=["POST"]))
    for name, handler in views.items():
        routes.append(Route(f"/api/{name}", partial(answers.view, handler)))
    return Starlette(routes=routes)
