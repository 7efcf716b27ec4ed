"""Five people at one session: kill -9 and a full disk at random moments, and times of answers.

First, answers at 100,000 rows are timed, in turns with a request that does nothing. Then people
answer short rows while the server is killed again and again, and in some spells can write no more
than a few lines (a limit of the size of files stands for the disk: the last line is cut as there).
A client that gets no reply does what the page does: it looks at the row, and sends its answer again
under the same name if it is not there. Browsers end at random moments too. In the end the journal
must hold each answer that was confirmed once, under its person, and none that nobody gave.
"""

import contextlib
import http.client
import json
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic, perf_counter, sleep
from typing import Any

from papers.table import Report, verdict

from benchmarks import ROOT
from benchmarks.labelspeed import CLASSES, N_ROWS, Client, paragraphs, quantiles, write_table

REPEAT = 400
PEOPLE = ("anna", "ben", "carl", "dora", "emil")
N_ANSWERS, N_KILLS, N_FULL = 10_000, 12, 4
ROOM = 2000
"""Bytes that the disk has left in a spell in which it is full."""
BAR = 0.050
PAUSE = 0.25
"""Seconds between answers of a person where they are timed: 20 per second of five people."""
GIVE_UP = 300.0
OVERLAP = 0.2
BROWSER_ENDS = 0.005
"""Chance that a browser ends after an answer."""
CHILD = """
import sys
from semisvm.labelling import LabelingSession
from semisvm.labelling.people import read_people
from semisvm.labelling.server import serve
path, classes, people, port, room, learns = sys.argv[1:]
if int(room):
    import resource
    resource.setrlimit(resource.RLIMIT_FSIZE, (int(room), resource.RLIM_INFINITY))
options = {"classes": classes.split(","), "background": learns == "yes", "overlap": 0.2}
with LabelingSession.open(path, label="kind", **options) as session:
    say = lambda text: print(text, flush=True)
    people = read_people(people)
    serve(session, port=int(port), people=people, open_browser=False, echo=say)
"""


@dataclass
class PeopleServer:
    """The process of the server; its links stay valid when it is started again.

    Attributes
    ----------
    table : Path
    learns : bool
        Whether models are fitted meanwhile.
    """

    table: Path
    learns: bool = False
    port: int = 0
    links: dict[str, str] = field(default_factory=dict)
    process: subprocess.Popen[str] | None = None

    def start(self, full: bool = False) -> None:
        """Start it, perhaps with hardly any room on the disk; return when it answers."""
        journal = self.journal
        room = journal.stat().st_size + ROOM if full and journal.exists() else 0
        given = [",".join(CLASSES), ",".join(PEOPLE), str(self.port), str(room)]
        command = [sys.executable, "-c", CHILD, str(self.table), *given]
        command.append("yes" if self.learns else "no")
        self.process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, text=True, stderr=subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        for line in self.process.stdout:
            found = re.match(r"(\w+): (http://\S+)", line)
            if found is not None:
                self.links[found[1]] = found[2]
                self.port = int(re.findall(r":(\d+)/", found[2])[0])
            if "with the link from before" in line or len(self.links) == len(PEOPLE):
                break
        deadline = monotonic() + GIVE_UP
        while monotonic() < deadline:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.port)):
                return
            sleep(0.05)
        raise RuntimeError("the server does not start")

    @property
    def journal(self) -> Path:
        """The journal of the session."""
        return self.table.with_suffix(".answers.csv.journal")

    def kill(self) -> None:
        """End it at once, as a loss of power would."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.communicate()


class Worker:
    """A person whose browser and server fail.

    Attributes
    ----------
    confirmed : dict
        Row -> class, of answers that the server said were saved, or has when it is asked.
    sent : set of (row, class)
        All that was sent.
    """

    def __init__(self, server: PeopleServer, name: str, seed: int) -> None:
        self.server, self.name = server, name
        self.rng = random.Random(seed)
        self.confirmed: dict[int, str] = {}
        self.sent: set[tuple[int, str]] = set()
        self.refused = 0
        self.seconds: list[float] = []
        self._number = 0
        self._client: Client | None = None

    def value_of(self, row: int) -> str:
        """Return what this person answers: another sequence than those of the others."""
        return CLASSES[random.Random(f"{self.name} {row}").random() < 0.5]

    def _open(self) -> Client:
        if self._client is None:
            self._number += 1
            self._client = Client(self.server.links[self.name], f"{self.name} {self._number}")
        return self._client

    def _tried(self, task: Callable[[Client], Any]) -> Any:
        """Do something until the server answers; return None if it refuses."""
        deadline = monotonic() + GIVE_UP
        while monotonic() < deadline:
            try:
                return task(self._open())
            except RuntimeError as error:
                if ": 422 " in str(error):  # not saved: the disk is full
                    self.refused += 1
                    return None
                if ": 429 " in str(error):  # quicker than a person may be
                    sleep(0.1)
                    continue
                if ": 409 " in str(error):  # changed: the answer had arrived after all
                    return None
                raise
            except (OSError, http.client.HTTPException):
                self.close()
                sleep(0.05)
        raise RuntimeError("the server does not come back")

    def answer(self, row: int, version: int) -> bool:
        """Answer a row, as the page does; return whether it is saved."""
        value, request = self.value_of(row), f"{self.rng.random()}"
        self.sent.add((row, value))
        about = {"row": row, "value": value, "version": version, "id": request}
        start = perf_counter()
        saved = self._tried(lambda client: client.post("answer", **about)) is not None
        self.seconds.append(perf_counter() - start)
        if not saved:
            view = self._tried(lambda client: client.view(row))
            saved = view["view"]["answer"] == value
        if saved:
            self.confirmed[row] = value
        return saved

    def work(self, is_over: Callable[[], bool], pause: float = 0.0) -> None:
        """Answer rows until it is over, or none is left, with pauses of this length on average."""
        while not is_over():
            sleep(2.0 * pause * self.rng.random())
            found = self._tried(lambda client: client.post("next"))
            if found is None or found["query"] is None:
                break
            view = found["view"]
            if not self.answer(view["row"], view["version"]):
                sleep(0.2)
            if self.rng.random() < BROWSER_ENDS:
                self.close()
        self.close()

    def close(self) -> None:
        """End the browser; the next one is another."""
        if self._client is not None:
            self._client.close()
            self._client = None


def kept(journal: Path) -> Counter[tuple[str, int, str]]:
    """Count (person, row, class) in a journal."""
    found: Counter[tuple[str, int, str]] = Counter()
    for line in journal.read_text(encoding="utf-8").splitlines():
        with contextlib.suppress(ValueError):  # the last line may be cut
            event = json.loads(line)
            if event["kind"] == "answer":
                found[event["by"], event["numbers"][0] - 1, event["value"]] += 1
    return found


def judge(workers: list[Worker], journal: Path) -> dict[str, Any]:
    """Compare what people were told with what is on the disk."""
    found = kept(journal)
    told = {(one.name, *pair) for one in workers for pair in one.confirmed.items()}
    sent = {(one.name, *pair) for one in workers for pair in one.sent}
    by_row = Counter((by, row) for by, row, _ in found.elements())
    shared = Counter(row for _, row in by_row)
    facts = {
        "answers": len(told),
        "refused": sum(one.refused for one in workers),
        "lost": len(told - set(found)),
        "doubled": sum(count > 1 for count in by_row.values()),
        "attributed to another": len(set(found) - sent),
        "rows of three people": sum(count > 2 for count in shared.values()),
        "rows of two": sum(count == 2 for count in shared.values()),
    }
    bad = ("lost", "doubled", "attributed to another", "rows of three people")
    return {**facts, "verdict": verdict(not any(facts[name] for name in bad))}


def under_fire(table: Path, n_answers: int, n_kills: int, n_full: int, seed: int) -> dict[str, Any]:
    """Have five people answer while the server is killed, and the disk is full at times."""
    rng = random.Random(seed)
    server = PeopleServer(table)
    server.start()
    workers = [Worker(server, name, seed + k) for k, name in enumerate(PEOPLE)]
    over = threading.Event()

    def is_over() -> bool:
        return over.is_set() or sum(len(one.confirmed) for one in workers) >= n_answers

    try:
        with ThreadPoolExecutor(len(workers)) as pool:
            work = [pool.submit(one.work, is_over) for one in workers]
            full = set(rng.sample(range(n_kills), n_full))
            for k in range(n_kills):
                wanted = n_answers * (k + rng.random()) / n_kills
                stuck = monotonic() + (3.0 if k - 1 in full else GIVE_UP)
                while (
                    sum(len(one.confirmed) for one in workers) < wanted
                    and monotonic() < stuck
                    and not all(future.done() for future in work)
                ):
                    sleep(0.01)
                server.kill()
                server.start(full=k in full)
            if n_kills - 1 in full:
                server.kill()
                server.start()
            try:
                for future in work:
                    future.result()
            finally:
                over.set()
    finally:
        server.kill()
    return {"kills": n_kills, "full": n_full, **judge(workers, server.journal)}


def times(table: Path, repeat: int) -> list[dict[str, Any]]:
    """Time answers of five people at once, beside requests for nothing."""
    server = PeopleServer(table, learns=True)
    server.start()
    workers = [Worker(server, name, k) for k, name in enumerate(PEOPLE)]
    nothing: list[float] = []
    try:
        with ThreadPoolExecutor(len(workers) + 1) as pool:
            share = repeat // len(workers)
            work = [
                pool.submit(one.work, lambda one=one: len(one.confirmed) >= share, PAUSE)  # type: ignore[misc]
                for one in workers
            ]
            client = Client(server.links[PEOPLE[0]], "idle")
            while not all(future.done() for future in work):
                start = perf_counter()
                client.nothing()
                nothing.append(perf_counter() - start)
                sleep(0.02)
            for future in work:
                future.result()
            client.close()
    finally:
        server.kill()
    seconds = [one for worker in workers for one in worker.seconds]
    return [
        quantiles("nothing", nothing),
        quantiles("an answer of one of five, and the next row", seconds, BAR),
    ]


def run(folder: Path, repeat: int, n_rows: int = N_ROWS, **more: Any) -> dict[str, Any]:
    """Print times of answers, and what kills and a full disk leave behind."""
    report = Report("labelpeople", rows=n_rows, repeat=repeat, people=len(PEOPLE))
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "texts.csv"
        write_table(table, [text for text, _ in paragraphs(folder, n_rows)])
        report.table("five people at once, with a model that learns", times(table, repeat))
        short = Path(place) / "short.csv"
        write_table(short, [f"row {k} of words {k % 7}" for k in range(N_ANSWERS)])
        found = under_fire(short, N_ANSWERS, N_KILLS, N_FULL, 0)
        report.table("kill -9 and a full disk at random moments", [found])
    return report.result()
