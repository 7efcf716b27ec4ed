"""Reading files: tables against pandas, svmlight against scikit-learn; the command's help."""

import csv
import subprocess
import sys
import tempfile
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from papers.data import MissingDataError, load
from papers.table import Report, verdict
from papers.timing import Spread, Timings, interleaved

from semisvm.tables import read, write_bytes, write_text
from semisvm.tables.svmlight import write_svmlight

REPEAT = 5
TEXTS = 50_000
TEXT_SET, MATRIX_SET = "20news", "20news_tfidf"
MATRIX_BAR = 0.5
HELP_BAR = 0.5


def write_table(folder: Path, path: Path) -> None:
    """Write 50,000 texts as CSV, one in a thousand with its label."""
    source = folder / TEXT_SET / f"{TEXT_SET}.jsonl.gz"
    if not source.exists():
        raise MissingDataError(f"the data folder has no set {TEXT_SET!r}")
    texts: Any = read(source, label="label")
    rows = islice(cycle(zip(texts.text("text"), texts.labels, strict=True)), TEXTS)
    with write_text(path) as stream:
        table = csv.writer(stream)
        table.writerow(["id", "text", "label"])
        for i, (text, label) in enumerate(rows):
            table.writerow([i, text, "" if i % 1000 else label])


def write_matrix(folder: Path, path: Path) -> None:
    """Write tf-idf rows as svmlight."""
    X, y = load(folder, MATRIX_SET)
    with write_bytes(path) as stream:
        write_svmlight(stream, X, (y + 1).tolist())


def read_by_pandas(path: Path) -> Any:
    """Read a CSV file as a data frame."""
    import pandas as pd

    return pd.read_csv(path)


def read_by_sklearn(path: Path) -> Any:
    """Read an svmlight file by scikit-learn."""
    from sklearn.datasets import load_svmlight_file

    return load_svmlight_file(str(path))


def row(what: str, path: Path, timings: Timings, bar: float | None = None) -> dict[str, Any]:
    """Put our time beside that of a peer; the csv module is known to be slower, so has no bar."""
    ratio = timings.ratio("ours", "peer")
    return {
        "file": what,
        "MB": path.stat().st_size / 1e6,
        "seconds": Spread.of(timings.seconds["ours"]),
        "peer": Spread.of(timings.seconds["peer"]),
        "ours / peer": ratio,
        "bar": bar,
        "verdict": None if bar is None else verdict(ratio.median <= bar),
    }


def help_row(repeat: int) -> dict[str, Any]:
    """Time ``semisvm --help`` in processes of their own."""
    command = [sys.executable, "-m", "semisvm", "--help"]
    task = partial(subprocess.run, command, check=True, capture_output=True)
    seconds = Spread.of(interleaved({"help": task}, repeat).seconds["help"])
    reached = verdict(seconds.median <= HELP_BAR)
    return {"command": "semisvm --help", "seconds": seconds, "bar": HELP_BAR, "verdict": reached}


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print how long files take to read."""
    report = Report("reading", rounds=repeat, texts=TEXTS)
    with tempfile.TemporaryDirectory() as place:
        table, matrix = Path(place) / "texts.csv", Path(place) / "rows.svm"
        write_table(folder, table)
        write_matrix(folder, matrix)
        tables = interleaved(
            {"ours": partial(read, table, label="label"), "peer": partial(read_by_pandas, table)},
            repeat,
        )
        matrices = interleaved(
            {"ours": partial(read, matrix), "peer": partial(read_by_sklearn, matrix)}, repeat
        )
        rows = [
            row("CSV (peer: pandas)", table, tables),
            row("svmlight (peer: scikit-learn)", matrix, matrices, MATRIX_BAR),
        ]
    report.table("files", rows)
    report.table("command line", [help_row(repeat)])
    return report.result()
