"""Table 4 of Li, Kwok and Zhou (ICML 2009): seconds of a fit, all methods in one run.

Sets of the book: one published split with 10 labels, C = 100. Small sets and pairs of newsgroups:
one draw of Tables 2 and 3, C = 1, settings as there. Linear kernel, true class prior. Methods take
turns, and the median of the rounds counts, in seconds of the processor, on which others on the
machine have no influence. The yardstick is scikit-learn's SVC on all labels, whose kernel and C are
the same. Where classes overlap it takes minutes with C = 100, so its steps are limited, and what
is printed is a lower bound. The paper's heart, isolet, ethn and sat were not at hand.
"""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from papers import halves
from papers.book import TRUE
from papers.compared import ENTRIES, C, Entry, Setting
from papers.data import PartlyLabeled
from papers.plans import Found, Part, Plan
from papers.ssl_book import SETS, load_book, present
from papers.table import verdict
from papers.timing import interleaved

REPEAT = 5
SVC_STEPS = 200_000
YARDSTICK = "SVC, all labels"
JUDGED = "meanS3VM-iter"
IN_PAPER = ("TSVM", "Laplacian SVM", "meanS3VM-iter", "meanS3VM-mkl")
PUBLISHED = {
    # seconds of 2009, in the order of IN_PAPER
    "g241c": (552.19, 7.08, 1.77, 2.17),
    "g241d": (596.23, 5.88, 0.53, 0.94),
    "digit1": (1222.90, 6.54, 0.50, 0.83),
    "usps_ssl": (560.05, 7.48, 0.58, 1.25),
    "bci": (73.88, 0.19, 0.27, 2.45),
    "text_ssl": (6181.12, 17.27, 0.55, 14.12),
    "house_votes": (3.19, 0.09, 0.09, 0.77),
    "vehicle": (34.46, 0.20, 0.11, 0.65),
    "wdbc": (123.02, 0.29, 0.50, 0.56),
    "australian": (44.37, 0.40, 0.26, 0.80),
    "optdigits": (114.93, 1.53, 0.39, 0.94),
    "(1, 2)": (2176.65, 13.46, 0.81, 3.33),
    "(1, 3)": (2151.67, 13.48, 0.75, 3.09),
}
HALVED = tuple(name for name in PUBLISHED if name not in SETS)


@dataclass(frozen=True)
class Timed:
    """A set whose fits are timed, and with which methods and setting."""

    name: str
    title: str
    problem: PartlyLabeled
    setting: Setting
    entries: Sequence[Entry]

    def fits(self) -> dict[str, Callable[[], Any]]:
        """List what is timed."""
        calls: dict[str, Callable[[], Any]] = {
            entry.name: partial(entry.fitted, self.problem, self.setting) for entry in self.entries
        }
        machine = SVC(C=self.setting.C, kernel="linear", max_iter=SVC_STEPS)
        calls[YARDSTICK] = lambda: machine.fit(self.problem.X, self.problem.y)
        return calls

    def seconds(self, rounds: int) -> dict[str, float]:
        """Return the medians of rounds in turns, after one for compilation and caches."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            timings = interleaved(self.fits(), rounds).on_processor()
        return {name: timings.median(name) for name in timings.seconds}


def timed(folder: Path, name: str) -> Timed:
    """Return a set of the table, with its methods and their setting."""
    if name in SETS:
        book = load_book(folder, name)
        problem = book.problem(10, 0)
        setting = Setting("linear", 0.5 / book.width**2, 10, problem.prior)
        title = f"{SETS[name]}, {book.X.shape[0]} rows, 10 labels"
        return Timed(name, title, problem, setting, ENTRIES)
    problem, _ = halves.halved(folder, name, 0)
    setting = halves.setting_of(problem, TRUE)
    title = f"{name}, {len(problem.y)} rows, {setting.n_labeled} labels"
    return Timed(name, title, problem, setting, halves.compared())


def measure(folder: Path, name: str, rounds: int) -> dict[str, float]:
    """Return the seconds of all methods on a set."""
    return timed(folder, name).seconds(rounds)


def there(folder: Path) -> list[str]:
    """List the sets of the table that a folder has."""
    small = [name for name in HALVED if (folder / halves.place(name)).is_dir()]
    return [*present(folder), *small]


def published(name: str, method: str) -> float | None:
    """Return the seconds that the paper prints, or None."""
    return PUBLISHED[name][IN_PAPER.index(method)] if method in IN_PAPER else None


def rows_of(name: str, rounds: int, found: Found) -> list[dict[str, Any]]:
    """Put the seconds of every method beside those of the paper."""
    times, rows = found[name, rounds], []
    for method, value in times.items():
        # with C = 1 the yardstick takes milliseconds: nothing is to be won
        judged = method == JUDGED and name in SETS
        rows.append(
            {
                "method": method,
                "seconds": round(value, 4),
                "share of SVC on all labels": round(value / times[YARDSTICK], 3),
                "share of TSVM": round(value / times["TSVM"], 3),
                "paper (2009)": published(name, method),
                "below 1": verdict(value < times[YARDSTICK]) if judged else None,
            }
        )
    return rows


def side_by_side(names: Sequence[str], rounds: int, found: Found) -> list[dict[str, Any]]:
    """Show the lines of Table 4: seconds, and those of 2009 in brackets."""
    lines = []
    for name in names:
        times = found[name, rounds]
        cells = {m: f"{times[m]:.3g} ({published(name, m):g})" for m in IN_PAPER if m in times}
        lines.append({"set": SETS.get(name, name), **cells})
    return lines


def plan(folder: Path, repeat: int) -> Plan:
    """Plan a table for each set, and all of them side by side as in the paper."""
    names = there(folder)
    parts = [
        Part(
            timed(folder, name).title,
            measure,
            [(name, repeat)],
            partial(rows_of, name, repeat),
            timed=True,
        )
        for name in names
    ]
    together = partial(side_by_side, names, repeat)
    calls = [(name, repeat) for name in names]
    title = "Table 4: seconds (those of 2009)"
    parts.append(Part(title, measure, calls, together, timed=True))
    return Plan({"rounds": repeat, "C": f"{C:g} and {halves.C:g}"}, parts)
