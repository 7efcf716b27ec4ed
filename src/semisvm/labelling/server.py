"""The server of the labelling page."""

import asyncio
import socket
import webbrowser
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from semisvm.labelling.people import People
from semisvm.labelling.records import FINISH, LabelingError, Person, Status
from semisvm.labelling.security import (
    BODY_SECONDS,
    LET_IN,
    Guard,
    Hosts,
    Keys,
    RequestGuard,
    is_loopback,
    netloc,
)
from semisvm.labelling.session import LabelingSession
from semisvm.labelling.web import Places, application
from semisvm.text import series

MAX_CONNECTIONS = 100
QUIET_SECONDS = 30.0
HANDSHAKE_SECONDS = 10.0
WATCH_SECONDS = 1.0
NOT_ALONE = "Other machines can reach {host}: whoever has a link can read all rows, and answer."
UNENCRYPTED = (
    "{host} can be reached from other machines, and nothing on the way would be encrypted. Give a "
    "certificate and its key (--tls-cert, --tls-key), or the address of a proxy that encrypts "
    "(--behind-proxy https://...). For one person a tunnel will do: ssh -L PORT:127.0.0.1:PORT ..."
)


class Connection:
    """A connection of the server below, closed if no whole request arrives in time.

    It stands between the transport and the protocol of the server, to which all other calls go.
    If there are too many connections, a new one takes the place of the one that has waited longest
    for a request; those that have had the cookie or the token go last.

    Parameters
    ----------
    protocol : asyncio.Protocol
    others : dict
        Address -> connection, of all that are open.
    quiet_seconds : float
    """

    def __init__(
        self, protocol: Any, others: dict[Any, "Connection"], quiet_seconds: float
    ) -> None:
        self._protocol, self._others, self._quiet_seconds = protocol, others, quiet_seconds
        self._n_requests = 0
        self._let_in = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._protocol, name)

    def connection_made(self, transport: Any) -> None:
        """Start a connection; if there are too many, close one that waits."""
        self._transport = transport
        self._address = address_of(transport.get_extra_info("peername"))
        self._protocol.connection_made(transport)
        self._others[self._address] = self
        self._wait()
        if len(self._others) > MAX_CONNECTIONS:
            waiting = [c for c in self._others.values() if c is not self and not c._n_requests]
            min(waiting, key=lambda c: (c._let_in, c._since), default=self)._abort()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        self._forget()
        self._protocol.connection_lost(exc)

    def _forget(self) -> None:
        self._deadline.cancel()
        if self._others.get(self._address) is self:
            del self._others[self._address]

    def _abort(self) -> None:
        # it is lost a moment later: the next new connection must not choose it again
        self._forget()
        self._transport.abort()

    def _wait(self) -> None:
        loop = asyncio.get_running_loop()
        self._since = loop.time()
        self._deadline = loop.call_later(self._quiet_seconds, self._abort)

    @contextmanager
    def request(self, scope: Scope) -> Iterator[None]:
        """Answer a request, for which there is no time limit here."""
        self._n_requests += 1
        self._deadline.cancel()
        try:
            yield
        finally:
            self._n_requests -= 1
            self._let_in |= LET_IN in scope.get("state", ())
            if not self._n_requests and self._others.get(self._address) is self:
                self._wait()


def address_of(peer: Any) -> Any:
    """Return the address of the other side, as requests name it."""
    return None if peer is None else tuple(peer[:2])


class BoundedLoop(asyncio.SelectorEventLoop):
    """An event loop whose servers have bounded connections.

    Parameters
    ----------
    bounded : callable
        Returns the `Connection` of a protocol.
    """

    def __init__(self, bounded: Callable[[Any], Connection]) -> None:
        super().__init__()
        self._bounded = bounded

    async def create_server(self, make: Any, *args: Any, **options: Any) -> Any:  # type: ignore[override]
        """Start a server, with bounded connections."""
        if options.get("ssl"):
            options = {"ssl_handshake_timeout": HANDSHAKE_SECONDS, **options}
        return await super().create_server(lambda: self._bounded(make()), *args, **options)  # type: ignore[arg-type,return-value]


class PageServer:
    """A server of the page for one session; as a context it runs in a thread.

    Parameters
    ----------
    session : LabelingSession
    host : str, default="127.0.0.1"
        What to listen on. Other than the default: other machines get in, with the token.
    port : int, default=0
        0: one that is free.
    token : str, optional
        Default: a new one.
    places : Places, optional
        Names of files.
    people : People, optional
        Those whose links open the page; without any it is the token.
    tls : (path, path), optional
        A certificate and its key, in PEM.
    public : str, optional
        Address of a proxy in front, such as "https://label.example.org".
    quiet_seconds, body_seconds : float
        How long a connection may be without a whole request, and the body of a request may
        take.

    Attributes
    ----------
    port : int
    address : str
        With the token.
    """

    def __init__(
        self,
        session: LabelingSession,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str | None = None,
        places: Places | None = None,
        people: People | None = None,
        tls: tuple[Path, Path] | None = None,
        public: str | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self.host = "127.0.0.1" if host == "localhost" else host
        self._socket = listen(self.host, port)
        self.port: int = self._socket.getsockname()[1]
        self._keys = Keys(self.port, token, people)
        self._public = None if public is None else public.rstrip("/")
        self._scheme = "http" if tls is None else "https"
        hosts = Hosts(self.host, self._scheme, self._public)
        requests = RequestGuard(hosts, self._keys)
        self._app = Guard(application(session, places or Places()), requests, body_seconds)
        self._connections: dict[Any, Connection] = {}
        self._bounded = partial(Connection, others=self._connections, quiet_seconds=quiet_seconds)
        self._server = uvicorn.Server(settings(self._answer, quiet_seconds, tls))
        self._thread: Thread | None = None

    @property
    def address(self) -> str:
        """The address that opens the page for the only person."""
        return self.link(self._keys.token)

    def ticket(self, name: str = "") -> str:
        """Return an address on this machine that opens the page once, for a person."""
        return self.link(self._keys.ticket(name), here=True)

    def link(self, token: str, here: bool = False) -> str:
        """Return the address with a token; of a page behind a proxy, that of the proxy."""
        if self._public is not None and not here:
            return f"{self._public}/?token={token}"
        anywhere = self.host in ("0.0.0.0", "::")
        host = socket.gethostname() if anywhere else self.host
        return f"{self._scheme}://{netloc(host, self.port)}/?token={token}"

    def run(self) -> None:
        """Serve requests until the process is stopped."""
        with asyncio.Runner(loop_factory=lambda: BoundedLoop(self._bounded)) as runner:
            runner.run(self._server.serve(sockets=[self._socket]))

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        connection = self._connections.get(address_of(scope.get("client")))
        with nullcontext() if connection is None else connection.request(scope):
            await self._app(scope, receive, send)

    def __enter__(self) -> Self:
        self._thread = Thread(target=self.run, name="labelling page", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join()
        self.close()

    def close(self) -> None:
        """Give the port back."""
        self._socket.close()


def listen(host: str, port: int) -> socket.socket:
    """Open a port, or raise with the reason why it cannot be opened."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        opened = socket.create_server((host, port), family=family)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]
        raise OSError(
            f"{netloc(host, port)} cannot be used ({why}). Port 0 takes one that is free."
        ) from error
    # head and body of an answer are two packets: the second must not wait for the browser
    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return opened


def settings(
    app: ASGIApp, quiet_seconds: float, tls: tuple[Path, Path] | None = None
) -> uvicorn.Config:
    """Return the settings of the server below the page."""
    return uvicorn.Config(
        app,
        interface="asgi3",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=max(1, round(quiet_seconds)),
        timeout_graceful_shutdown=5,
        h11_max_incomplete_event_size=16 * 1024,
        ssl_certfile=None if tls is None else tls[0],
        ssl_keyfile=None if tls is None else tls[1],
    )


def serve(
    session: LabelingSession,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    token: str | None = None,
    title: str = "",
    model: str | Path | None = None,
    report: str | Path | None = None,
    people: Sequence[Person] = (),
    tls: tuple[Path, Path] | None = None,
    public: str | None = None,
    options: Mapping[str, Any] | None = None,
    open_browser: bool = True,
    echo: Callable[[str], None] = print,
    watch: Callable[[Status], None] | None = None,
) -> None:
    """Show the page of a session until Ctrl-C.

    Parameters
    ----------
    session : LabelingSession
        Stays open.
    host, port, token
        Of `PageServer`. A host that other machines can reach needs ``tls`` or ``public``.
    title : str
        What is labelled: the name of the file.
    model, report : str or Path, optional
        Where the page saves. Downloads are there in any case.
    people : sequence of Person
        Who is to have a link. A new one is made, and shown, for those who have none.
    tls, public
        Of `PageServer`.
    options : mapping, optional
        How the session was opened, to be packed with it.
    open_browser : bool, default=True
        For the first person who may finish, if there are several.
    echo : callable, default=print
        Is given the addresses, and perhaps a warning.
    watch : callable, optional
        Is given the status of the session whenever it has changed.
    """
    saved, page = (None if path is None else Path(path) for path in (model, report))
    places = Places(title, saved, page, options)
    is_encrypted = tls is not None or (public or "").startswith("https:")
    if not is_loopback(host) and not is_encrypted:
        raise LabelingError(UNENCRYPTED.format(host=host))
    server = PageServer(
        session,
        host,
        port,
        token=token,
        places=places,
        people=session.people,
        tls=tls,
        public=public,
    )
    if not is_loopback(server.host):
        echo(NOT_ALONE.format(host=server.host))
    try:
        first = _show_links(session, server, people, echo)
        if open_browser:
            start_browser(server.ticket(first))
        over = Event()
        if watch is not None:
            Thread(target=report_changes, args=(session, watch, over), daemon=True).start()
        try:
            with suppress(KeyboardInterrupt):
                server.run()
        finally:
            over.set()
    finally:
        server.close()


def _show_links(
    session: LabelingSession,
    server: PageServer,
    people: Sequence[Person],
    echo: Callable[[str], None],
) -> str:
    """Print the links that are new; return for whom the browser on this machine is opened."""
    new = [person for person in people if session.people.get(person.name) is None]
    links = [(person.name, server.link(session.people.invite(person))) for person in new]
    if not len(session.people):
        echo(f"Open {server.address}")
        return ""
    session.keep_port(server.port)
    for name, link in links:
        echo(f"{name}: {link}")
    if links:
        echo("A link is shown this once. It stays valid, at this port, until it is revoked.")
    names = {name for name, _ in links}
    others = [person.name for person in session.people if person.name not in names]
    if others:
        echo(f"{series(others)}: with the link from before")
    able = [person.name for person in session.people if person.may(FINISH)]
    return able[0] if able else next(iter(session.people)).name


def start_browser(address: str) -> None:
    """Show an address in the browser of the desktop, if there is one."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    # one of these runs in the terminal, which is not free
    if type(browser) is not webbrowser.GenericBrowser:
        Thread(target=browser.open, args=(address,), daemon=True).start()


def report_changes(session: LabelingSession, watch: Callable[[Status], None], over: Event) -> None:
    """Call a function with the status of a session after every change."""
    last = None
    while not over.wait(WATCH_SECONDS):
        status = session.status()
        if status.version != last:
            last = status.version
            watch(status)
