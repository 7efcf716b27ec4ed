"""Which requests the labelling page accepts: hosts, origins, keys and rates.

Every site that a browser shows can send requests to a server on the same machine. So a
request is served only if it names this server (a foreign name that was pointed at this
address is refused), comes from this page or from the address bar, and shows the token of the
printed address or the cookie that was given for it.
"""

import asyncio
import hmac
import ipaddress
import re
import socket
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from time import monotonic
from urllib.parse import parse_qs, urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from semisvm.labelling.people import People, cookie_of, new_token
from semisvm.labelling.records import OWNER, Person, RefusedError

HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "media-src blob:; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    ),
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
"""Of every response: nothing is run, shown or fetched that this server did not send."""

SAFE_METHODS = ("GET", "HEAD")
HOST = re.compile(r"(\[(?P<v6>[0-9a-f:.]+)\]|(?P<host>[\w.-]+))(:\d{1,5})?", re.ASCII)


def is_loopback(host: str) -> bool:
    """Return whether a host is this machine, and only this machine can reach it."""
    return host == "localhost" or (_in_digits(host) and ipaddress.ip_address(host).is_loopback)


def netloc(host: str, port: int) -> str:
    """Write host and port as in an address."""
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


@dataclass(frozen=True)
class Hosts:
    """The names by which this server may be called.

    Attributes
    ----------
    host : str
        What the server listens on.
    scheme : {"http", "https"}
    public : str, optional
        Address of a proxy in front, such as "https://label.example.org".
    """

    host: str
    scheme: str = "http"
    public: str | None = None

    def allows(self, header: str | None) -> bool:
        """Return whether a Host header names this server.

        A page of another site that has its own name pointed at this machine sends that name.
        An address in digits cannot be redirected, so on a server for other machines
        all of them are allowed. The port is no evidence: a tunnel may have any.
        """
        name = HOST.fullmatch(header or "")
        if name is None:
            return False
        host = name["v6"] or name["host"]
        if self.public is not None:  # others come by the proxy, which encrypts
            return is_loopback(host) or self.is_public(header)
        if host == self.host or is_loopback(host):
            return True
        return not is_loopback(self.host) and (_in_digits(host) or host == socket.gethostname())

    def is_public(self, header: str | None) -> bool:
        """Return whether a Host header names the proxy."""
        return self.public is not None and header == urlsplit(self.public).netloc

    def is_ours(self, origin: str, header: str) -> bool:
        """Return whether an Origin header is that of our page, at an allowed host."""
        direct = None if self.is_public(header) else f"{self.scheme}://{header}"
        return origin in (direct, self.public)

    def is_encrypted(self, header: str | None) -> bool:
        """Return whether the browser that names this host comes by HTTPS."""
        by_proxy = self.is_public(header) and str(self.public).startswith("https:")
        return self.scheme == "https" or by_proxy


def _in_digits(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


class Keys:
    """Tokens of addresses, tickets for one use, and the cookies that are given for either.

    Parameters
    ----------
    port : int
        Part of the name of the cookie: browsers send cookies to all ports of a host.
    token : str, optional
        That of the only person. Default: a new one, which cannot be guessed.
    people : People, optional
        If there are any, only their links open the page.
    """

    def __init__(self, port: int, token: str | None = None, people: People | None = None) -> None:
        self.token = new_token() if token is None else token
        self.cookie = f"semisvm_{port}"
        self._people = people
        self._tickets: dict[str, str] = {}
        # of the tickets that were used: they follow from no token of a person
        self._started: dict[str, str] = {}

    def ticket(self, name: str = "") -> str:
        """Make a token for one use by a person.

        The address that a browser is started with can be read in the list of processes.
        """
        made = new_token()
        self._tickets[made] = name
        return made

    def open(self, token: str) -> str | None:
        """Return the cookie for a token that opens the page; a ticket is used up."""
        for ticket in tuple(self._tickets):
            if hmac.compare_digest(ticket.encode(), token.encode()):
                name = self._tickets.pop(ticket)
                if self._people:
                    started = new_token()
                    self._started[started] = name
                    return started
                return cookie_of(self.token)
        cookie = cookie_of(token)
        return None if self._owner_of(cookie) is None else cookie

    def _owner_of(self, cookie: str) -> Person | None:
        if not self._people:
            is_right = hmac.compare_digest(cookie_of(self.token).encode(), cookie.encode())
            return OWNER if is_right else None
        for started, name in self._started.items():
            if hmac.compare_digest(started.encode(), cookie.encode()):
                return self._people.get(name)
        return self._people.of_cookie(cookie)

    def who(self, header: str | None) -> Person | None:
        """Return whose cookie a Cookie header holds; None if it is not one of this server.

        Browsers send the cookies of all programs on this host. Those may have any form, so only
        pairs with the name of ours are read.
        """
        for pair in (header or "").split(";"):
            name, _, value = pair.strip().partition("=")
            found = self._owner_of(value) if name == self.cookie else None
            if found is not None:
                return found
        return None

    def grant(self, cookie: str | None = None, encrypted: bool = False) -> str:
        """Return the Set-Cookie header for a cookie; by default that of the only person."""
        value = cookie_of(self.token) if cookie is None else cookie
        secure = "; Secure" if encrypted else ""
        return f"{self.cookie}={value}; Path=/; HttpOnly; SameSite=Strict{secure}"


@dataclass(frozen=True)
class Admission:
    """What a request is let in as.

    Attributes
    ----------
    person : Person or None
        Who it comes from; None while the cookie is due.
    cookie : str or None
        Due for the token of the address.
    """

    person: Person | None
    cookie: str | None = None


@dataclass
class Bucket:
    """A bound on requests per second, which short bursts may exceed.

    Attributes
    ----------
    rate : float
        Requests per second.
    burst : float
        Requests at once.
    clock : callable
        Seconds, never going back.
    """

    rate: float
    burst: float
    clock: Callable[[], float] = monotonic
    _left: float = field(init=False)
    _at: float = field(init=False)

    def __post_init__(self) -> None:
        self._left, self._at = self.burst, self.clock()

    def take(self) -> bool:
        """Count a request; False if there are too many."""
        now = self.clock()
        self._left = min(self.burst, self._left + self.rate * (now - self._at))
        self._at = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class RequestGuard:
    """Decides about requests from their method, path and headers.

    Parameters
    ----------
    hosts : Hosts
    keys : Keys
    clock : callable, optional
    """

    def __init__(self, hosts: Hosts, keys: Keys, clock: Callable[[], float] = monotonic) -> None:
        self.hosts = hosts
        self.keys = keys
        # requests without cookie or token have a bucket of their own: they cannot use up that of
        # a person at work, nor keep out a person who arrives with the token
        self._clock = clock
        self._authenticated: dict[str, Bucket] = {}
        self._unauthenticated = Bucket(rate=10.0, burst=40.0, clock=clock)

    def check(
        self, method: str, path: str, headers: Mapping[str, str], token: str | None
    ) -> Admission:
        """Let a request in or raise.

        Parameters
        ----------
        method, path : str
        headers : mapping
            Names in lower case.
        token : str or None
            Of the address.
        """
        if not self.hosts.allows(headers.get("host")):
            raise RefusedError(421, "This server has another name. Open the address it printed.")
        self._check_source(method, path, headers)
        person = self.keys.who(headers.get("cookie"))
        # the link of another person than the one who was here before takes their place
        may_open = token is not None and path == "/" and method == "GET"
        cookie = self.keys.open(str(token)) if may_open else None
        known = person is not None or cookie is not None
        bucket = self._bucket_of(person) if known else self._unauthenticated
        if not bucket.take():
            raise RefusedError(429, "Too many requests. Wait a moment.")
        if not known and not may_open:
            raise RefusedError(401, "This page needs the address with the token.")
        if not known:
            raise RefusedError(401, "The token of this address is not valid, or was used up.")
        return Admission(None, cookie) if cookie is not None else Admission(person)

    def _bucket_of(self, person: Person | None) -> Bucket:
        name = "" if person is None else person.name
        return self._authenticated.setdefault(name, Bucket(200.0, 400.0, self._clock))

    def _check_source(self, method: str, path: str, headers: Mapping[str, str]) -> None:
        origin = headers.get("origin")
        is_safe = origin is None and method in SAFE_METHODS
        if not is_safe and not (origin and self.hosts.is_ours(origin, headers["host"])):
            raise RefusedError(403, "The request comes from another site.")
        # a link to the page itself may be anywhere: it changes nothing
        site = headers.get("sec-fetch-site", "none")
        if site not in ("same-origin", "none") and path != "/":
            raise RefusedError(403, "The request comes from another site.")


MAX_BODY = 64 * 1024
BODY_SECONDS = 10.0
LET_IN = "let_in"
"""Set in the state of a request that had the cookie or the token."""
PERSON = "person"
"""In the state of a request: who it comes from."""
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
    requests : RequestGuard
    body_seconds : float, default=10
        How long the body of a request may take.
    """

    def __init__(
        self, app: ASGIApp, requests: RequestGuard, body_seconds: float = BODY_SECONDS
    ) -> None:
        self.app = app
        self.requests = requests
        self.body_seconds = body_seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or have the application answer it."""
        if scope["type"] != "http":
            return
        sending = with_headers(send)
        try:
            found = self._check(scope)
            scope.setdefault("state", {})[LET_IN] = True
            scope["state"][PERSON] = found.person
            if found.cookie is not None:
                hosts, keys = self.requests.hosts, self.requests.keys
                encrypted = hosts.is_encrypted(Headers(scope=scope).get("host"))
                cookie = {"Set-Cookie": keys.grant(found.cookie, encrypted)}
                await HTMLResponse(OPENED_PAGE, headers=cookie)(scope, receive, sending)
                return
            body = await self._body(scope, receive)
        except RefusedError as refusal:
            await refused(refusal, scope["path"])(scope, receive, sending)
            return
        await self.app(scope, replayed(body, receive), sending)

    def _check(self, scope: Scope) -> Admission:
        headers = Headers(scope=scope)
        token = parse_qs(scope["query_string"].decode("ascii", "replace")).get("token", [None])[0]
        return self.requests.check(scope["method"], scope["path"], headers, token)

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
    """Refuse: by a page to people, in JSON to the script."""
    # what was not read of a body must not be taken for the next request
    headers = {"Connection": "close"}
    if refusal.status == HTTPStatus.TOO_MANY_REQUESTS:
        headers["Retry-After"] = "1"
    if path == "/":
        page = CLOSED_PAGE.format(reason=refusal.reason)
        return HTMLResponse(page, refusal.status, headers)
    return JSONResponse({"error": refusal.reason}, refusal.status, headers)
