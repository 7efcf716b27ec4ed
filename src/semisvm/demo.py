"""The main task on a small scale: few labels, many unlabelled rows, three methods.

Run as ``python -m semisvm.demo``: it prints tables for two and for ten classes, and draws
accuracy against the number of labels. They are views of the records that `run` and
`run_many` return.
"""

import argparse
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from semisvm.designs import Floats, Index
from semisvm.estimators import (
    AnnealedSVC,
    LaplacianRLSC,
    NewtonSVC,
    SemiSupervisedCommittee,
    TransductiveSVC,
)
from semisvm.io import write_bytes
from semisvm.label_steps import top_labels
from semisvm.losses.squared_hinge import squared_hinge
from semisvm.partial_labels import prior_counts

DIGITS = (1, 8)
LABEL_COUNTS = (4, 6, 8, 10, 14, 20, 28, 40, 56, 80)
FEWEST = min(LABEL_COUNTS)
TABLE_LABELS = 10
DRAWS = 20
MANY_LABELS = 40
MANY_DRAWS = 3
UNLABELED = -1
PICTURE = "learning_curve.png"

Shares = dict[int, float]

METHODS: dict[str, Callable[[Shares], Any]] = {
    "supervised": lambda shares: NewtonSVC(),
    "TSVM": lambda shares: TransductiveSVC(class_prior=shares),
    "DA": lambda shares: AnnealedSVC(class_prior=shares),
    "TSVM, shares guessed": lambda shares: TransductiveSVC(),
    "DA, shares guessed": lambda shares: AnnealedSVC(),
    "committee": lambda shares: SemiSupervisedCommittee(
        [("svm", NewtonSVC()), ("tsvm", TransductiveSVC()), ("graph", LaplacianRLSC())], cv=3
    ),
}
"""Name -> estimator, for given class shares."""

MAIN = ("supervised", "TSVM", "DA")
GUESSING = ("TSVM, shares guessed", "DA, shares guessed")
TOLD_NOTHING = "committee"
CLASS_NAMES = {"supervised": "NewtonSVC", "TSVM": "TransductiveSVC", "DA": "AnnealedSVC"}

# Okabe and Ito's colours, which stay apart for colour-blind readers; markers differ too
STYLES = {"supervised": ("#5a5a5a", "s"), "TSVM": ("#d55e00", "^"), "DA": ("#0072b2", "o")}


@dataclass(frozen=True)
class Record:
    """One fit.

    Attributes
    ----------
    method : str
        A key of `METHODS`.
    n_labels : int
    draw : int
        Seed of the order in which rows were labelled.
    error : float
        Share of the unlabelled rows that are predicted wrongly.
    seconds : float
    objective : float or None
        `transductive_objective` of the fitted model at the true shares; for two classes.
    """

    method: str
    n_labels: int
    draw: int
    error: float
    seconds: float
    objective: float | None = None


def load_task() -> tuple[Floats, NDArray[np.int64]]:
    """Return the rows of digits 1 and 8, scaled to length one, and the digits.

    Of the 45 pairs of digits this is the one that is hardest for the supervised SVM.
    """
    X, y = load_digits(return_X_y=True)
    chosen = np.isin(y, DIGITS)
    return normalize(X[chosen]), y[chosen]


def load_many() -> tuple[Floats, NDArray[np.int64]]:
    """Return the rows of all ten digits, scaled to length one, and the digits."""
    X, y = load_digits(return_X_y=True)
    return normalize(X), y


def class_shares(y: NDArray[np.int64]) -> Shares:
    """Compute the share of each digit among all rows."""
    return {digit: float(np.mean(y == digit)) for digit in np.unique(y).tolist()}


def labeling_order(y: NDArray[np.int64], seed: int, fewest: int = FEWEST) -> Index:
    """Draw a random order of the rows; the first ones, the fewest possible, hold every class."""
    rng = np.random.default_rng(seed)
    while True:
        order = rng.permutation(len(y))
        if len(np.unique(y[order[:fewest]])) == len(np.unique(y)):
            return order


def partly_labeled(y: NDArray[np.int64], order: Index, n_labels: int) -> Index:
    """Keep the labels of the first rows of an order."""
    partly = np.full(len(y), UNLABELED)
    partly[order[:n_labels]] = y[order[:n_labels]]
    return partly


def transductive_objective(model: Any, X: Floats, partly: Index, shares: Shares) -> float:
    """Compute the objective of `TransductiveSVC` at the weights of any fitted linear SVM.

    The unlabelled rows get their best labels under the class shares, so models that
    were fitted in different ways are compared on the same scale.
    """
    scores = model.decision_function(X)
    free = scores[partly == UNLABELED]
    n_positive = int(prior_counts(np.array([shares[c] for c in DIGITS]), len(free))[1])
    signs = np.where(top_labels(free, n_positive), 1.0, -1.0)
    given = partly != UNLABELED
    signed = np.where(partly[given] == DIGITS[1], scores[given], -scores[given])
    squared_norm = float(np.sum(model.coef_**2) + model.intercept_[0] ** 2)
    losses = squared_hinge(signed).mean() + squared_hinge(signs * free).mean()
    return 0.5 * (model.reg_ * squared_norm + float(losses))


def run(
    label_counts: Sequence[int] = LABEL_COUNTS,
    n_draws: int = DRAWS,
    methods: Sequence[str] = MAIN,
) -> list[Record]:
    """Fit every method to every draw of labels.

    Parameters
    ----------
    label_counts : sequence of int
        How many rows are labelled, `FEWEST` or more; within a draw, more labels include
        the fewer.
    n_draws : int
    methods : sequence of str
        Keys of `METHODS`.

    Returns
    -------
    records : list of Record
        One for each method, number of labels and draw.
    """
    if min(label_counts) < FEWEST:
        raise ValueError(f"label_counts must be {FEWEST} or more, got {min(label_counts)}.")
    X, y = load_task()
    shares = class_shares(y)
    for method in methods:
        # the first fit loads or compiles code, so it is not among the timed ones
        _fit_one(method, X, y, np.where(np.arange(len(y)) % 20, UNLABELED, y), shares, 0)
    records: list[Record] = []
    for draw in range(n_draws):
        order = labeling_order(y, draw)
        for n_labels in label_counts:
            partly = partly_labeled(y, order, n_labels)
            records += [_fit_one(method, X, y, partly, shares, draw) for method in methods]
    return records


def run_many(n_labels: int = MANY_LABELS, n_draws: int = MANY_DRAWS) -> list[Record]:
    """Fit the three methods, and a committee, to draws of labels of all ten digits.

    Parameters
    ----------
    n_labels : int
        Rows with labels; every digit has one.
    n_draws : int

    Returns
    -------
    records : list of Record
        One for each method and draw.
    """
    X, y = load_many()
    shares = class_shares(y)
    methods = (*MAIN, TOLD_NOTHING)
    for method in methods:
        # small and quick, for the code that the first fit loads or compiles
        METHODS[method](shares).fit(X[:100], partly_labeled(y[:100], np.arange(100), 50))
    draws = range(n_draws)
    orders = [labeling_order(y, draw, n_labels) for draw in draws]
    return [
        _fit_one(method, X, y, partly_labeled(y, orders[draw], n_labels), shares, draw)
        for draw in draws
        for method in methods
    ]


def _fit_one(
    method: str, X: Floats, y: NDArray[np.int64], partly: Index, shares: Shares, draw: int
) -> Record:
    model = METHODS[method](shares)
    start = perf_counter()
    model.fit(X, partly)
    seconds = perf_counter() - start
    free = partly == UNLABELED
    return Record(
        method=method,
        n_labels=int(np.count_nonzero(~free)),
        draw=draw,
        error=float(np.mean(model.predict(X[free]) != y[free])),
        seconds=seconds,
        objective=transductive_objective(model, X, partly, shares) if len(shares) == 2 else None,
    )


def _column(records: Sequence[Record], method: str, n_labels: int, name: str) -> Floats:
    return np.array(
        [getattr(r, name) for r in records if r.method == method and r.n_labels == n_labels]
    )


def table(records: Sequence[Record], n_labels: int = TABLE_LABELS) -> str:
    """Show the records of one number of labels as text."""
    _, y = load_task()
    shares = " and ".join(f"{share:.2f}" for share in class_shares(y).values())
    lines = [
        f"Task: digit {DIGITS[0]} against {DIGITS[1]} of scikit-learn's digits data, the pair",
        "that is hardest for the supervised SVM. Rows of 64 pixels, scaled to length one.",
        f"{n_labels} rows drawn at random have labels, {len(y) - n_labels} have none; "
        f"{len({r.draw for r in records})} draws. All parameters",
        f"are defaults, but TSVM and DA are told the class shares, {shares}.",
        "",
        f"{'':28}{'error %':>8}{'quartiles':>14}{'seconds':>10}{'objective':>11}",
    ]
    lines += [_line(records, m, n_labels, f"{m} ({CLASS_NAMES[m]})") for m in MAIN]
    lines += ["", "If the class shares are estimated from labels and rows instead:"]
    lines += [_line(records, m, n_labels, m.split(",")[0]) for m in GUESSING]
    lines += [
        "",
        "error: wrong predictions on the unlabelled rows, mean and quartiles over the draws;",
        "seconds: mean of one fit, one thread; objective: mean transductive objective at the",
        "true class shares, what TSVM and DA minimise.",
    ]
    return "\n".join(lines)


def many_table(records: Sequence[Record]) -> str:
    """Show the records of ten classes as text."""
    n_labels, n_rows = records[0].n_labels, len(load_many()[1])
    lines = [
        f"All ten digits, {n_labels} labels, {n_rows - n_labels} rows without, "
        f"{len({r.draw for r in records})} draws; class shares given:",
        "",
        f"{'':28}{'error %':>8}{'quartiles':>14}{'seconds':>10}",
    ]
    lines += [_line(records, m, n_labels, f"{m} ({CLASS_NAMES[m]})") for m in MAIN]
    lines += ["", "Told neither the class shares nor the method, weighed by held-out labels:"]
    lines += [_line(records, TOLD_NOTHING, n_labels, "svm, tsvm and a graph method")]
    return "\n".join(lines)


def _line(records: Sequence[Record], method: str, n_labels: int, name: str) -> str:
    error = 100.0 * _column(records, method, n_labels, "error")
    low, high = np.percentile(error, [25, 75])
    seconds = _column(records, method, n_labels, "seconds").mean()
    line = f"{name:28}{error.mean():8.1f}{f'{low:.1f} - {high:.1f}':>14}{seconds:10.4f}"
    objective = _column(records, method, n_labels, "objective")
    return line if objective[0] is None else f"{line}{objective.mean():11.4f}"


def draw_curve(records: Sequence[Record], path: Path) -> None:
    """Draw accuracy against the number of labels: mean, and quartiles over the draws.

    Raises
    ------
    ImportError
        If matplotlib is missing.
    """
    from matplotlib.figure import Figure

    counts = sorted({r.n_labels for r in records})
    figure = Figure(figsize=(7.2, 4.3), layout="constrained")
    axes = figure.add_subplot()
    for method in MAIN:
        accuracy = [100.0 - 100.0 * _column(records, method, n, "error") for n in counts]
        color, marker = STYLES[method]
        low, high = np.percentile(accuracy, [25, 75], axis=1)
        axes.fill_between(counts, low, high, color=color, alpha=0.13, linewidth=0)
        label = f"{method} ({CLASS_NAMES[method]})"
        mean = np.mean(accuracy, axis=1)
        axes.plot(counts, mean, color=color, marker=marker, markersize=5, linewidth=2, label=label)
    axes.set_xscale("log")
    axes.set_xticks(counts, [str(n) for n in counts])
    axes.minorticks_off()
    axes.set_xlabel("labelled rows", fontsize=11)
    axes.set_ylabel("accuracy on the unlabelled rows, %", fontsize=11)
    pair, n_draws = f"Digit {DIGITS[0]} against {DIGITS[1]}", len({r.draw for r in records})
    title = f"{pair}, class shares given: mean and middle half of {n_draws} draws of labels"
    axes.set_title(title, fontsize=11, loc="left")
    axes.tick_params(labelsize=10)
    axes.grid(axis="y", color="#dddddd", linewidth=0.7)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="lower right", frameon=False, fontsize=11, reverse=True)
    with write_bytes(path) as stream:
        figure.savefig(stream, format=path.suffix.removeprefix("."), dpi=150)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo from the command line."""
    parser = argparse.ArgumentParser(prog="python -m semisvm.demo", description=main.__doc__)
    parser.add_argument("--out", type=Path, default=Path("out"), help="folder for the figure")
    parser.add_argument("--draws", type=int, default=DRAWS, help="number of random draws of labels")
    options = parser.parse_args(arguments)
    if options.draws < 1:
        parser.error("--draws must be at least 1")
    options.out.mkdir(parents=True, exist_ok=True)
    records = run(n_draws=options.draws)
    records += run((TABLE_LABELS,), options.draws, GUESSING)
    print(table(records))
    print("", many_table(run_many(n_draws=min(options.draws, MANY_DRAWS))), sep="\n")
    try:
        draw_curve(records, options.out / PICTURE)
    except ImportError:
        print("No figure: matplotlib is missing; install it with: pip install 'semisvm[plots]'")
    else:
        print(f"\nFigure: {options.out / PICTURE}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
