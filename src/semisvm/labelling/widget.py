"""A labelling session in a notebook: the same store and policy as the page, without a server.

The script in the browser sends what the page would post, and gets what the page would get.
"""

from base64 import b64encode
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from semisvm.labelling.records import OWNER, LabelingError, Person, RefusedError, Values
from semisvm.labelling.web import ACTIONS, VIEWS
from semisvm.tables.errors import DataError
from semisvm.text import plain

if TYPE_CHECKING:
    from semisvm.labelling.session import LabelingSession

try:
    import anywidget
except ImportError as error:
    raise ImportError(
        "the widget needs the package anywidget. Install it with: pip install 'semisvm[notebook]'"
    ) from error

PAGE = files("semisvm.labelling") / "page"


class LabelingWidget(anywidget.AnyWidget):
    """Shows a session in a notebook.

    Parameters
    ----------
    session : LabelingSession
    by : str, optional
        Name of the person who labels, of several.
    """

    _esm = (PAGE / "widget.js").read_text(encoding="utf-8")
    _css = (PAGE / "widget.css").read_text(encoding="utf-8")

    def __init__(self, session: "LabelingSession", by: str | None = None) -> None:
        super().__init__()
        self._session = session
        self._person = OWNER if by is None else Person(by)
        self.on_msg(self._received)

    def _received(self, widget: Any, content: dict[str, Any], buffers: Any) -> None:
        self.send({"id": content.get("id"), **self.reply(content)})

    def reply(self, content: dict[str, Any]) -> dict[str, Any]:
        """Do what the script asks for: ``name`` of the page's request, and its ``values``."""
        name, values = str(content.get("name")), dict(content.get("values") or {})
        try:
            if name == "picture":
                return self._picture(Values(values))
            handler = {**ACTIONS, **VIEWS}.get(name)
            if handler is None:
                raise RefusedError(404, f"There is no request {name!r}.")
            given = {"client": "notebook", **values}
            return {"result": plain(handler(self._session, Values(given, self._person)))}
        except RefusedError as error:
            return {"error": error.reason}
        except (LabelingError, DataError) as error:
            return {"error": str(error)}

    def _picture(self, values: Values) -> dict[str, Any]:
        found = self._session.picture(values.integer("row"), values.text("name"))
        content = b64encode(found.content).decode("ascii")
        return {"result": f"data:{found.media_type};base64,{content}"}
