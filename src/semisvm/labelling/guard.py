"""What every request passes before the labelling page answers it."""

import asyncio
from http import HTTPStatus
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semisvm.labelling.security import HEADERS, Doorkeeper, RefusedError

MAX_BODY = 64 * 1024
BODY_SECONDS = 10.0
LET_IN = "let_in"
"""Set in the state of a request that had the cookie or the token."""
CLOSED_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>semisvm: closed</title>
<meta name="viewport" content="width=device-width, initial-scale=1"></head>
<body><h1>This page is closed</h1><p>{reason}</p>
<p>Copy the whole address that <code>semisvm label</code> printed in the terminal.</p>
</body></html>
"""
# The cookie is for requests of this page only. One that was set by a redirect would not be
# sent after a click on a link of another site; after this page it is.
OPENED_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>semisvm</title>
<link rel="icon" href="/icon.svg"><meta http-equiv="refresh" content="0; url=/"></head>
<body><p><a href="/">Start labelling</a></p></body></html>
"""


class Guard:
    """Middleware: lets requests in or not, reads their bodies within bounds, adds headers.

    Parameters
    ----------
    app : ASGI application
        What answers those that are let in.
    doorkeeper : Doorkeeper
    body_seconds : float, default=10
        How long the body of a request may take.
    """

    def __init__(
        self, app: ASGIApp, doorkeeper: Doorkeeper, body_seconds: float = BODY_SECONDS
    ) -> None:
        self.app = app
        self.doorkeeper = doorkeeper
        self.body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have the application answer it."""
        if scope["type"] != "http":
            return
        sending = with_headers(send)
        try:
            opened = self._check(scope)
            scope.setdefault("state", {})[LET_IN] = True
            if opened:
                cookie = {"Set-Cookie": self.doorkeeper.keys.grant()}
                await HTMLResponse(OPENED_PAGE, headers=cookie)(scope, receive, sending)
                return
            body = await self._body(scope, receive)
        except RefusedError as refusal:
            await refused(refusal, scope["path"])(scope, receive, sending)
            return
        await self.app(scope, replayed(body, receive), sending)

    def _check(self, scope: Scope) -> bool:
        headers = Headers(scope=scope)
        token = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [None])[0]
        return self.doorkeeper.check(scope["method"], scope["path"], headers, token)

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        length = Headers(scope=scope).get("content-length", "0")
        if not length.isdigit() or int(length) > MAX_BODY:
            raise RefusedError(413, f"A request has at most {MAX_BODY} bytes.")
        try:
            async with asyncio.timeout(self.body_seconds):
                return await read_body(receive)
        except TimeoutError:
            raise RefusedError(408, "The request took too long to arrive.") from None


async def read_body(receive: Receive) -> bytes:
    """Read a body, which may come in pieces of unknown number, up to the bound."""
    body = b""
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RefusedError(400, "The request ended early.")
        body += message.get("body", b"")
        if len(body) > MAX_BODY:
            raise RefusedError(413, f"A request has at most {MAX_BODY} bytes.")
        if not message.get("more_body", False):
            return body


def replayed(body: bytes, receive: Receive) -> Receive:
    """Return a channel that gives a body that was read already, and then what comes."""
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def give() -> Message:
        return first.pop() if first else await receive()

    return give


def with_headers(send: Send) -> Send:
    """Return a channel that adds the headers of every answer."""

    async def add(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in HEADERS.items():
                headers[name] = value
        await send(message)

    return add


def refused(refusal: RefusedError, path: str) -> Response:
    """Say no: in a page to people, in JSON to the script."""
    # what was not read of a body must not be taken for the next request
    headers = {"Connection": "close"}
    if refusal.status == HTTPStatus.TOO_MANY_REQUESTS:
        headers["Retry-After"] = "1"
    if path == "/":
        page = CLOSED_PAGE.format(reason=refusal.reason)
        return HTMLResponse(page, refusal.status, headers)
    return JSONResponse({"error": refusal.reason}, refusal.status, headers)
