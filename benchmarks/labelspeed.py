"""The labelling page under load: the next row of 100,000 texts, and 20 answers per second.

The server runs in a process of its own, as ``semisvm label`` does, and learns meanwhile. Times are
those of whole requests, beside a request that does nothing, in one run.
"""

import csv
import gzip
import http.client
import json
import re
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import perf_counter, sleep
from typing import Any, Self
from urllib.parse import urlencode

import numpy as np
from papers.data import MissingDataError
from papers.table import Report, verdict

from benchmarks import ROOT

REPEAT = 300
N_ROWS = 100_000
CLASSES = ("computers", "other")
CLIENTS = 4
RATE = 20.0
SECONDS = 60.0
NEXT_BAR, SEARCH_BAR = 0.050, 0.100
WARM_UP = 30
CHILD = """
import sys
from semisvm.labelling import LabelingSession
from semisvm.labelling.server import serve
with LabelingSession.open(sys.argv[1], label="kind", classes=sys.argv[2].split(",")) as session:
    serve(session, open_browser=False, echo=lambda text: print(text, flush=True))
"""


def paragraphs(folder: Path, n_rows: int) -> Iterator[tuple[str, str]]:
    """Yield paragraphs of newsgroups and their classes."""
    path = folder / "20news" / "20news.jsonl.gz"
    if not path.exists():
        raise MissingDataError(f"the folder {str(folder)!r} has no texts of '20news'")
    found = 0
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            post = json.loads(line)
            kind = CLASSES[0] if post["label"].startswith("comp.") else CLASSES[1]
            for text in post["text"].split("\n\n")[1:]:
                if len(text) > 20:
                    yield text, kind
                    found += 1
                    if found == n_rows:
                        return


def write_table(path: Path, texts: list[str]) -> None:
    """Write texts without labels."""
    with open(path, "w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([["text"], *([text] for text in texts)])


class Client:
    """A browser, as far as the server can tell.

    Parameters
    ----------
    address : str
        With the token.
    name : str
    """

    def __init__(self, address: str, name: str) -> None:
        found = re.match(r"http://([^:/]+):(\d+)(/\S*)", address)
        assert found is not None
        self.connection = http.client.HTTPConnection(found[1], int(found[2]), timeout=60)
        self.name = name
        self.origin = f"http://{found[1]}:{found[2]}"
        self.cookie = ""
        try:
            answer = self._request("GET", found[3], None)
        except BaseException:
            self.close()
            raise
        self.cookie = str(answer.getheader("Set-Cookie")).partition(";")[0]

    def _request(self, method: str, path: str, body: str | None) -> http.client.HTTPResponse:
        headers = {"Cookie": self.cookie, "Origin": self.origin, "Content-Type": "application/json"}
        self.connection.request(method, path, body, headers)
        answer = self.connection.getresponse()
        self.content = answer.read()
        if answer.status != http.HTTPStatus.OK:
            raise RuntimeError(f"{path}: {answer.status} {self.content[:200]!r}")
        return answer

    def nothing(self) -> None:
        """Ask for what costs the server nothing."""
        self._request("GET", "/theme.js", None)

    def post(self, name: str, **values: Any) -> Any:
        """Send what the page would send."""
        self._request("POST", f"/api/{name}", json.dumps({"client": self.name, **values}))
        return json.loads(self.content)

    def view(self, row: int) -> Any:
        """Look at a row."""
        self._request("GET", f"/api/row?{urlencode({'row': row})}", None)
        return json.loads(self.content)

    def find(self, words: str) -> None:
        """Search for words, as the page does."""
        self._request("GET", f"/api/search?{urlencode({'words': words})}", None)

    def close(self) -> None:
        """Hang up."""
        self.connection.close()


class Expert:
    """Somebody who knows all labels and answers one row after the other.

    Attributes
    ----------
    given : list of (row, class)
        Answers that the server said were saved, in their order.
    """

    def __init__(self, client: Client, truth: list[str]) -> None:
        self.client = client
        self.truth = truth
        self.given: list[tuple[int, str]] = []
        self.row: int = client.post("next")["query"]["row"]

    def answer(self) -> None:
        """Answer the row, and get the next one."""
        row, value = self.row, self.truth[self.row]
        data = self.client.post("answer", row=row, value=value)
        self.given.append((row, value))
        self.row = data["query"]["row"]


@dataclass
class Server:
    """The process of the server, and its address."""

    process: subprocess.Popen[str]
    address: str

    @classmethod
    def start(cls, table: Path) -> Self:
        """Start a server on a table, and wait until it can be opened."""
        command = [sys.executable, "-c", CHILD, str(table), ",".join(CLASSES)]
        process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        address = re.search(r"http://\S+", process.stdout.readline())
        assert address is not None, "the server did not start"
        return cls(process, address.group())

    def kill(self) -> None:
        """End it at once, as a loss of power would."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.communicate()


def seconds_of(task: Callable[[], Any]) -> float:
    """Time one request."""
    start = perf_counter()
    task()
    return perf_counter() - start


def quantiles(what: str, seconds: list[float], bar: float | None = None) -> dict[str, Any]:
    """Summarise times, in milliseconds."""
    half, most, nearly = (1e3 * np.quantile(seconds, [0.5, 0.95, 0.99])).tolist()
    reached = None if bar is None else verdict(most <= 1e3 * bar)
    facts = {"requests": len(seconds), "median, ms": round(half, 2), "p95, ms": round(most, 2)}
    return {"request": what, **facts, "p99, ms": round(nearly, 2), "verdict": reached}


def wait_for_model(client: Client, expert: Expert) -> None:
    """Answer until there is a model, so that its guesses take part in what follows."""
    for _ in range(WARM_UP):
        expert.answer()
    while not client.post("learn", auto=False)["status"]["model_number"]:
        sleep(0.2)


def next_rows(address: str, truth: list[str], repeat: int) -> list[dict[str, Any]]:
    """Time answers, each of which brings the next row, in turns with requests for nothing."""
    with closing(Client(address, "one")) as client:
        expert = Expert(client, truth)
        wait_for_model(client, expert)
        times: dict[str, list[float]] = {"nothing": [], "next": []}
        for _ in range(repeat):
            times["nothing"].append(seconds_of(client.nothing))
            times["next"].append(seconds_of(expert.answer))
            sleep(0.02)
    return [
        quantiles("nothing", times["nothing"]),
        quantiles("an answer saved, and the next row", times["next"], NEXT_BAR),
    ]


def wanted_words(texts: list[str], repeat: int) -> list[str]:
    """Choose what to search for: a word of some row, in every other search with a common one."""
    rows = np.linspace(0, len(texts) - 1, repeat).astype(int).tolist()
    longest = [max(re.findall(r"\w+", texts[row]) or ["the"], key=len) for row in rows]
    return [word if k % 2 else f"{word} the" for k, word in enumerate(longest)]


def searches(address: str, texts: list[str], truth: list[str], repeat: int) -> list[dict[str, Any]]:
    """Time searches, in turns with requests for nothing, and with answers of another window."""
    times: dict[str, list[float]] = {"nothing": [], "search": [], "next": []}
    with closing(Client(address, "finder")) as finder, closing(Client(address, "two")) as client:
        expert = Expert(client, truth)
        finder.find("the")  # makes the texts ready
        with ThreadPoolExecutor(1) as pool:
            for words in wanted_words(texts, repeat):
                times["nothing"].append(seconds_of(client.nothing))
                search = pool.submit(seconds_of, partial(finder.find, words))
                times["next"].append(seconds_of(expert.answer))
                times["search"].append(search.result())
    return [
        quantiles("nothing", times["nothing"]),
        quantiles("a search for words", times["search"], SEARCH_BAR),
        quantiles("an answer saved, and the next row", times["next"], NEXT_BAR),
    ]


def press(expert: Expert, start: float, number: int) -> list[float]:
    """Answer at a given rate, whether the server keeps up or not."""
    seconds = []
    for k in range(number):
        due = start + k * CLIENTS / RATE
        sleep(max(0.0, due - perf_counter()))
        expert.answer()
        # from the moment it was due: waiting counts
        seconds.append(perf_counter() - due)
    return seconds


@contextmanager
def experts(address: str, truth: list[str]) -> Iterator[list[Expert]]:
    """Have several people at one session."""
    clients = [Client(address, f"load {k}") for k in range(CLIENTS)]
    yield [Expert(client, truth) for client in clients]
    for client in clients:
        client.close()


def journal(table: Path) -> dict[str, list[tuple[int, str]]]:
    """Read which answers are on the disk, by client."""
    found: dict[str, list[tuple[int, str]]] = {}
    path = table.with_suffix(".answers.csv.journal")
    for line in path.read_text(encoding="utf-8").splitlines():
        event = json.loads(line)
        if event["kind"] == "answer":
            kept = (event["numbers"][0] - 1, event["value"])
            found.setdefault(event["facts"]["client"], []).append(kept)
    return found


def load(server: Server, table: Path, truth: list[str], seconds: float) -> list[dict[str, Any]]:
    """Answer at a rate, kill the server after the last answer, and read the disk."""
    number = round(seconds * RATE / CLIENTS)
    with experts(server.address, truth) as people, ThreadPoolExecutor(CLIENTS) as pool:
        start = perf_counter()
        work = [
            pool.submit(press, expert, start + k / RATE, number) for k, expert in enumerate(people)
        ]
        times = [one for future in work for one in future.result()]
        spent = perf_counter() - start
        server.kill()
    kept = journal(table)
    lost = sum(len(set(one.given) - set(kept.get(one.client.name, []))) for one in people)
    in_order = all(kept.get(one.client.name, [])[: len(one.given)] == one.given for one in people)
    facts = {
        "answers": sum(len(one.given) for one in people),
        "per second": round(number * CLIENTS / spent, 1),
        "lost": lost,
        "order": "kept" if in_order else "changed",
        "verdict": verdict(lost == 0 and in_order and number * CLIENTS / spent > 0.95 * RATE),
    }
    return [{**quantiles("an answer, from when it was due", times), **facts}]


def run(
    folder: Path, repeat: int, n_rows: int = N_ROWS, seconds: float = SECONDS, **more: Any
) -> dict[str, Any]:
    """Print times of requests, and what a minute of load leaves on the disk."""
    report = Report("labelspeed", rows=n_rows, repeat=repeat, clients=CLIENTS, rate=RATE)
    texts, truth = (list(column) for column in zip(*paragraphs(folder, n_rows), strict=True))
    with tempfile.TemporaryDirectory() as place:
        table = Path(place) / "texts.csv"
        write_table(table, texts)
        server = Server.start(table)
        try:
            report.table("one browser", next_rows(server.address, truth, repeat))
            found = searches(server.address, texts, truth, repeat)
            report.table("two windows, one of which searches", found)
            found = load(server, table, truth, seconds)
            report.table("answers at a rate, then kill -9", found)
        finally:
            server.kill()
    return report.result()
