"""The server of the labelling page."""

import socket
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from semisvm.labelling.records import Status
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

MAX_CONNECTIONS = 100
QUIET_SECONDS = 30.0
WATCH_SECONDS = 1.0
NOT_ALONE = (
    "Warning: other machines can reach {host}. Whoever has the address with the token can read "
    "all rows and change answers, and nothing on the way is encrypted. A tunnel is safer: "
    "ssh -L {port}:127.0.0.1:{port} ..."
)


class BoundedProtocol(H11Protocol):
    """HTTP on a connection that is closed if no whole request arrives in time.

    If there are too many connections, a new one takes the place of the one that has waited longest
    for a request; those that have had the cookie or the token go last.
    """

    quiet_seconds = QUIET_SECONDS
    let_in = False
    waiting_since = 0.0

    def connection_made(self, transport: Any) -> None:
        """Start a connection; if there are too many, close one that waits."""
        super().connection_made(transport)
        # head and body of an answer are two packets: the second must not wait for the browser
        transport.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._deadline: Any = None
        self._wait()
        if len(self.connections) > MAX_CONNECTIONS:
            self._make_room()

    def _make_room(self) -> None:
        others: Any = self.connections - {self}
        waiting = [other for other in others if other.is_waiting]
        closed = min(waiting, key=lambda one: (one.let_in, one.waiting_since), default=self)
        # it is lost a moment later: the next new connection must not choose it again
        self.connections.discard(closed)
        closed.transport.abort()

    @property
    def is_waiting(self) -> bool:
        """Whether no request is being answered."""
        return self.cycle is None or self.cycle.response_complete

    def _wait(self) -> None:
        self.waiting_since = self.loop.time()
        self._deadline = self.loop.call_later(self.quiet_seconds, self._close_if_waiting)

    def _close_if_waiting(self) -> None:
        if self.is_waiting:
            self.transport.abort()

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self.let_in |= LET_IN in self.cycle.scope.get("state", {})
        self._deadline.cancel()
        self._wait()
        super().on_response_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        """End a connection."""
        if self._deadline is not None:
            self._deadline.cancel()
        super().connection_lost(exc)


class PageServer:
    """A server of the page for one sitting; as a context it runs in a thread.

    Parameters
    ----------
    sitting : LabelingSession
    host : str, default="127.0.0.1"
        What to listen on. Other than the default: other machines get in, with the token.
    port : int, default=0
        0: one that is free.
    token : str, optional
        Default: a new one.
    places : Places, optional
        Names of files.
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
        sitting: LabelingSession,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        token: str | None = None,
        places: Places | None = None,
        quiet_seconds: float = QUIET_SECONDS,
        body_seconds: float = BODY_SECONDS,
    ) -> None:
        self.host = "127.0.0.1" if host == "localhost" else host
        self._socket = listen(self.host, port)
        self.port: int = self._socket.getsockname()[1]
        self._keys = Keys(self.port, token)
        doorkeeper = RequestGuard(Hosts(self.host), self._keys)
        app = Guard(application(sitting, places or Places()), doorkeeper, body_seconds)
        protocol = type("Protocol", (BoundedProtocol,), {"quiet_seconds": quiet_seconds})
        self._server = uvicorn.Server(settings(app, protocol, quiet_seconds))
        self._thread: Thread | None = None

    @property
    def address(self) -> str:
        """The address that opens the page."""
        return self._with(self._keys.token)

    def ticket(self) -> str:
        """Return an address that opens the page once."""
        return self._with(self._keys.ticket())

    def _with(self, token: str) -> str:
        anywhere = self.host in ("0.0.0.0", "::")
        host = socket.gethostname() if anywhere else self.host
        return f"http://{netloc(host, self.port)}/?token={token}"

    def run(self) -> None:
        """Serve requests until the process is stopped."""
        self._server.run(sockets=[self._socket])

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
        return socket.create_server((host, port), family=family)
    except OSError as error:
        why = str(error.strerror).partition(" (while")[0]
        raise OSError(
            f"{netloc(host, port)} cannot be used ({why}). Port 0 takes one that is free."
        ) from error


def settings(app: Any, protocol: type[H11Protocol], quiet_seconds: float) -> uvicorn.Config:
    """Return the settings of the server below the page."""
    return uvicorn.Config(
        app,
        http=protocol,
        loop="asyncio",
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
    )


def serve(
    sitting: LabelingSession,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    token: str | None = None,
    title: str = "",
    model: str | Path | None = None,
    report: str | Path | None = None,
    open_browser: bool = True,
    tell: Callable[[str], None] = print,
    watch: Callable[[Status], None] | None = None,
) -> None:
    """Show the page of a sitting until Ctrl-C.

    Parameters
    ----------
    sitting : LabelingSession
        Stays open.
    host, port, token
        Of `PageServer`.
    title : str
        What is labelled: the name of the file.
    model, report : str or Path, optional
        Where the page saves. Downloads are there in any case.
    open_browser : bool, default=True
    tell : callable, default=print
        Is given the address, and perhaps a warning.
    watch : callable, optional
        Is given the status of the sitting whenever it has changed.
    """
    places = Places(title, *(None if path is None else Path(path) for path in (model, report)))
    server = PageServer(sitting, host, port, token=token, places=places)
    if not is_loopback(server.host):
        tell(NOT_ALONE.format(host=server.host, port=server.port))
    tell(f"Open {server.address}")
    if open_browser:
        start_browser(server.ticket())
    over = Event()
    if watch is not None:
        Thread(target=report_changes, args=(sitting, watch, over), daemon=True).start()
    try:
        with suppress(KeyboardInterrupt):
            server.run()
    finally:
        over.set()
        server.close()


def start_browser(address: str) -> None:
    """Show an address in the browser of the desktop, if there is one."""
    try:
        browser = webbrowser.get()
    except webbrowser.Error:
        return
    # one of these runs in the terminal, which is not free
    if type(browser) is not webbrowser.GenericBrowser:
        Thread(target=browser.open, args=(address,), daemon=True).start()


def report_changes(sitting: LabelingSession, watch: Callable[[Status], None], over: Event) -> None:
    """Call a function with the status of a sitting after every change."""
    last = None
    while not over.wait(WATCH_SECONDS):
        status = sitting.status()
        if status.version != last:
            last = status.version
            watch(status)
