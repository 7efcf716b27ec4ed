"""One pass over sparse data against scipy, with one thread and with two."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial, reduce
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from papers.data import Floats, Ints, Matrix, load
from papers.table import Report, verdict
from papers.timing import Task, Timings, interleaved

from semisvm.designs import Design, Workers, make_design

REPEAT = 15
SETS = ("20news_tfidf", "imdb_tfidf")
DTYPES = ("float64", "float32")
ACTIVE_SHARE = 0.3
PRODUCTS = ("curvature", "scores", "pull_back")
OURS, BASELINE = "renumbered x2", "scipy x2"
RATIO_BAR = 1.0
ALL = "all"


class Engine(Protocol):
    """Something that multiplies, and gives a product in the order of the data."""

    def curvature(self) -> NDArray[Any]:
        """X' C X p over the active rows."""
        ...

    def scores(self) -> NDArray[Any]:
        """X p over the active rows."""
        ...

    def pull_back(self) -> NDArray[Any]:
        """X' c over the active rows."""
        ...

    def plain(self, product: str) -> NDArray[Any]:
        """Compute a product in the order of the data's columns or of the active rows."""
        ...


class Scipy:
    """scipy over blocks of the active rows that were sliced beforehand, a thread each.

    Vectors have the type of the data: with float64 vectors scipy would convert float32
    data in every product.
    """

    def __init__(
        self, X: Matrix, active: Ints, p: Floats, c: Floats, pool: ThreadPoolExecutor | None
    ) -> None:
        work = np.cumsum(np.diff(X.indptr)[active])
        half = int(np.searchsorted(work, work[-1] / 2))
        parts = (active,) if pool is None else (active[:half], active[half:])
        self.blocks = [(X[part], c[part].astype(X.dtype)) for part in parts]
        self.p = p.astype(X.dtype)
        self.map: Callable[..., Iterator[NDArray[Any]]] = map if pool is None else pool.map

    def curvature(self) -> NDArray[Any]:
        """X' C X p in two passes."""
        return reduce(np.add, self.map(lambda b: b[0].T @ (b[1] * (b[0] @ self.p)), self.blocks))

    def scores(self) -> NDArray[Any]:
        """X p."""
        return np.concatenate(list(self.map(lambda b: b[0] @ self.p, self.blocks)))

    def pull_back(self) -> NDArray[Any]:
        """X' c."""
        return reduce(np.add, self.map(lambda b: b[0].T @ b[1], self.blocks))

    def plain(self, product: str) -> NDArray[Any]:
        """Compute a product: it is in the right order already."""
        return np.asarray(getattr(self, product)())


class Ours:
    """A design of this package; it sums in float64 whatever the type of the data."""

    def __init__(self, design: Design, active: Ints, p: Floats, c: Floats) -> None:
        self.design, self.c = design, c
        self.rows = design.rows(active)
        self.p = design.encode(p, 0.0)
        self.by_column, self.by_row = np.empty(design.n_weights), np.empty(design.n_rows)

    def curvature(self) -> NDArray[Any]:
        """X' C X p in one pass."""
        return self.design.curvature(self.p, self.c, self.rows, self.by_column)

    def scores(self) -> NDArray[Any]:
        """X p."""
        return self.design.scores(self.p, self.rows, self.by_row)

    def pull_back(self) -> NDArray[Any]:
        """X' c."""
        return self.design.pull_back(self.c, self.rows, self.by_column)

    def plain(self, product: str) -> NDArray[Any]:
        """Compute a product and put it in the order of the data."""
        result = getattr(self, product)()
        if product == "scores":
            return np.asarray(result[self.rows.index])
        return self.design.decode(result)[0]


@contextmanager
def designs(X: Matrix) -> Iterator[dict[str, Design]]:
    """Make our designs for one and two threads, without and with renumbered columns."""
    with ExitStack() as stack:
        workers = {k: stack.enter_context(Workers(k)) for k in (1, 2)}
        yield {
            f"{name} x{k}": make_design(X, 0.0, workers[k], renumber=name == "renumbered")
            for name in ("as it comes", "renumbered")
            for k in workers
        }


def disagreement(engines: dict[str, Engine], product: str) -> float:
    """Return the largest relative difference from the first engine's result."""
    first, *others = [engine.plain(product) for engine in engines.values()]
    return float(max(np.linalg.norm(x - first) / np.linalg.norm(first) for x in others))


def row(share: str, product: str, engines: dict[str, Engine], timings: Timings) -> dict[str, Any]:
    """Put the milliseconds of all engines side by side; the bar counts for all rows."""
    ratio = timings.ratio(OURS, BASELINE)
    own = [name for name, engine in engines.items() if isinstance(engine, Ours)]
    return {
        "product": product,
        "rows": share,
        **{name: round(1e3 * timings.median(name), 2) for name in engines},
        f"{OURS} / {BASELINE}": ratio,
        "<= 1": verdict(ratio.median <= RATIO_BAR) if share == ALL else None,
        "disagreement": f"{disagreement(engines, product):.0e}",
        "first calls +ms": round(1e3 * sum(timings.first_extra(name) for name in own), 1),
    }


def compare(
    X: Matrix, active: Ints, own: dict[str, Design], pool: ThreadPoolExecutor, repeat: int
) -> Iterator[tuple[str, dict[str, Engine], Timings]]:
    """Time every product on the active rows with every engine."""
    rng = np.random.default_rng(0)
    p, c = rng.standard_normal(X.shape[1]), rng.random(X.shape[0])
    engines: dict[str, Engine] = {
        "scipy": Scipy(X, active, p, c, None),
        BASELINE: Scipy(X, active, p, c, pool),
        **{name: Ours(design, active, p, c) for name, design in own.items()},
    }
    for product in PRODUCTS:
        tasks = {name: getattr(engine, product) for name, engine in engines.items()}
        yield product, engines, interleaved(tasks, repeat)


def one_time_tasks(X: Matrix, active: Ints, workers: Workers) -> dict[str, Task]:
    """Return what is done once: a design, without and with renumbering, and scipy's slice."""
    return {
        "as it comes": partial(make_design, X, 0.0, workers, renumber=False),
        "renumbered": partial(make_design, X, 0.0, workers, renumber=True),
        "slice": lambda: X[active],
    }


def one_time_row(
    X: Matrix, active: Ints, product_seconds: dict[str, float], repeat: int
) -> dict[str, Any]:
    """Compare what is done once with one curvature product over all rows."""
    with Workers(2) as workers:
        timings = interleaved(one_time_tasks(X, active, workers), repeat)
    cost = timings.difference("renumbered", "as it comes").median
    gain = product_seconds["as it comes x2"] - product_seconds[OURS]
    return {
        "renumbering ms": round(1e3 * cost, 2),
        "in products": round(cost / product_seconds[OURS], 1),
        "paid back after": round(cost / gain, 1) if gain > 0 else None,
        "scipy's slice of 30% ms": round(1e3 * timings.median("slice"), 2),
        "in scipy's products": round(timings.median("slice") / product_seconds[BASELINE], 1),
    }


def measure(
    X: Matrix, pool: ThreadPoolExecutor, repeat: int
) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the rows of one matrix: its products, and what is done once."""
    n = X.shape[0]
    some = np.sort(np.random.default_rng(1).choice(n, int(ACTIVE_SHARE * n), replace=False))
    products: list[dict[str, Any]] = []
    seconds: dict[str, float] = {}
    with designs(X) as own:
        for share, active in {ALL: np.arange(n), f"{ACTIVE_SHARE:.0%}": some}.items():
            for product, engines, timings in compare(X, active, own, pool, repeat):
                products.append(row(share, product, engines, timings))
                if product == "curvature" and share == ALL:
                    seconds = {name: timings.median(name) for name in engines}
    return products, one_time_row(X, some, seconds, repeat)


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the products of both sets, and what renumbering costs once."""
    report = Report("kernels", rounds=repeat, active=ACTIVE_SHARE, x2="two threads")
    once = []
    with ThreadPoolExecutor(2) as pool:
        for name in SETS:
            X, _ = load(folder, name)
            for dtype in DTYPES:
                products, one_time = measure(X.astype(dtype), pool, repeat)
                report.table(f"{name}, {dtype}: milliseconds of one product", products)
                once.append({"set": name, "data": dtype, **one_time})
    report.table("once, in curvature products over all rows with two threads", once)
    return report.result()
