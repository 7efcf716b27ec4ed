"""What a checkpoint costs, and whether a fit that goes on from one ends with the same model."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import PartlyLabeled, hide, load, stratified_rows
from papers.table import Report, verdict
from papers.timing import interleaved

from semisvm import AnnealedSVC, Checkpoint, TransductiveSVC

REPEAT = 3
METHODS = {"TSVM": TransductiveSVC, "DA": AnnealedSVC}
# name of the set, rows, labels
SETS = {"imdb_tfidf": (50_000, 100), "r8_tfidf": (7_674, 200)}


def problem(folder: Path, name: str) -> PartlyLabeled:
    """Draw rows and labels."""
    size, n_labels = SETS[name]
    X, y = load(folder, name)
    if name == "imdb_tfidf":
        X, y = X[y < 2], y[y < 2]
    rows = np.arange(len(y)) if size >= len(y) else stratified_rows(y, size, 0)[0]
    labeled, _ = stratified_rows(y[rows], n_labels, 0)
    return hide(X[rows], y[rows], labeled)


def resumed(make: Any, data: PartlyLabeled, path: Path, n_rows: int) -> Any:
    """Stop a fit after half of the rows of its trace, and go on."""
    seen: list[Any] = []

    def stop(row: Any) -> bool:
        seen.append(row)
        return len(seen) == n_rows // 2

    make(callback=Checkpoint(path, callback=stop)).fit(data.X, data.labels)
    return make(callback=Checkpoint(path, resume=True)).fit(data.X, data.labels)


def row(name: str, method: str, data: PartlyLabeled, repeat: int) -> dict[str, Any]:
    """Time fits with and without a checkpoint in turns."""
    make = METHODS[method]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "fit.checkpoint"
        tasks = {
            "without": lambda: make().fit(data.X, data.labels),
            "with": lambda: make(callback=Checkpoint(path)).fit(data.X, data.labels),
        }
        timings = interleaved(tasks, repeat)
        whole, size = timings.results["with"], path.stat().st_size
        late = resumed(make, data, path, len(whole.trace_))
    same = np.array_equal(late.coef_, whole.coef_) and late.objective_ == whole.objective_
    return {
        "set": name,
        "method": method,
        "one fit, s": round(timings.median("without"), 2),
        "with / without": str(timings.ratio("with", "without")),
        "rounds": whole.n_iter_,
        "file, MB": round(size / 1e6, 1),
        "resumed is the same": verdict(same),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the costs of checkpoints."""
    report = Report("checkpoints", repeat=repeat, threads=1)
    problems = {name: problem(folder, name) for name in SETS}
    rows = [row(name, method, problems[name], repeat) for name in SETS for method in METHODS]
    report.table("fits with a checkpoint against fits without", rows)
    return report.result()
