"""Kernel machines: times and memory.

Annealing against scikit-learn's `SVC` that is given all labels and regularised alike, the
factor of the kernel matrix against its eigenvectors, and a large set with few features.
Gaussian kernel; width: the average distance of two rows. Run it alone.
"""

import resource
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED, Floats, Ints, MissingDataError
from papers.published import Problem, load_splits
from papers.table import Report, verdict
from papers.timing import interleaved, peak_bytes, seconds_of
from scipy.linalg import eigh
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.maps import fit_map

REPEAT = 5
SPEED_BAR = 3.0
MEMORY_BAR = 12.0
MINUTES_BAR = 10.0
TOL = 1e-4
REG = 1e-3
MNIST_ROWS, MNIST_LABELED, COMPONENTS = 20_000, 500, 1_000
WHOLE_ROWS = 10_000
GIB = 2.0**30


def of_rows(X: Floats) -> dict[str, Any]:
    """Return the kernel that the machines share."""
    kernel, _ = fit_map(X, "rbf", gamma="mean_distance", n_components=1)
    return {"kernel": "rbf", "gamma": float(kernel.kernel.parameters["gamma"])}


def annealed(problem: Problem, split: int, **kernel: Any) -> Any:
    """Fit the annealed machine to one split."""
    model = AnnealedSVC(REG, class_prior=problem.prior(split), n_jobs=2, **kernel)
    return model.fit(problem.X, problem.labels(split))


def digits(problem: Problem, repeat: int, kernel: dict[str, Any]) -> dict[str, Any]:
    """Compare annealing with scikit-learn's machine and the factorisation."""
    X, y = problem.X, problem.y
    timings = interleaved(
        {
            "annealing": partial(annealed, problem, 0, **kernel),
            "SVC": lambda: SVC(C=1.0 / (REG * len(y)), **kernel).fit(X, y),
            "factor": lambda: fit_map(X, "rbf", gamma=kernel["gamma"], tol=TOL),
        },
        repeat,
    )
    each = timings.seconds
    allowed = [SPEED_BAR * s + f for s, f in zip(each["SVC"], each["factor"], strict=True)]
    share = float(np.median([a / b for a, b in zip(each["annealing"], allowed, strict=True)]))
    return {
        "rows": len(y),
        **{f"{name}, s": timings.median(name) for name in each},
        "annealing / (3 SVC + factor)": share,
        "<= 1": verdict(share <= 1.0),
    }


def factors(X: Floats, repeat: int, kernel: dict[str, Any]) -> dict[str, Any]:
    """Compare the pivoted factor, kernel evaluations and all, with kernel and `eigh`."""
    gamma = kernel["gamma"]
    timings = interleaved(
        {
            "factor": lambda: fit_map(X, "rbf", gamma=gamma, tol=TOL),
            "eigh": lambda: eigh(rbf_kernel(X, gamma=gamma)),
        },
        repeat,
    )
    ratio = timings.ratio("factor", "eigh")
    return {
        "rows": len(X),
        "factor, s": timings.median("factor"),
        "kernel and eigh, s": timings.median("eigh"),
        "ratio": ratio,
        "< 1": verdict(ratio.median < 1.0),
    }


def images(folder: Path) -> tuple[Floats, Ints, Ints]:
    """Draw rows of mnist, and hide most labels."""
    try:
        X, y = np.load(folder / "mnist" / "X.npy"), np.load(folder / "mnist" / "y.npy")
    except FileNotFoundError as error:
        raise MissingDataError("the data folder has no set 'mnist'") from error
    rng = np.random.default_rng(0)
    rows = rng.choice(len(y), MNIST_ROWS, replace=False)
    labels = np.full(MNIST_ROWS, UNLABELED)
    known = rng.choice(MNIST_ROWS, MNIST_LABELED, replace=False)
    truth = y[rows].astype(np.intp)
    labels[known] = truth[known]
    return X[rows].astype(np.float64) / 255.0, truth, labels


def whole(X: Floats) -> dict[str, Any]:
    """Factorise the kernel matrix of images at the default tolerance, with one thread."""
    with threadpool_limits(1):
        timings = interleaved(
            {"factor": lambda: fit_map(X, "rbf", gamma="mean_distance", tol=TOL)[0]}, 1
        )
    found = timings.on_processor()
    return {
        "rows": len(X),
        "features": found.results["factor"].rank,
        "processor, s": found.median("factor"),
    }


def large(X: Floats, y: Ints, labels: Ints, kind: type) -> dict[str, Any]:
    """Fit many rows with few features."""
    free = labels == UNLABELED
    prior = np.bincount(y[free], minlength=10) / free.sum()
    model = kind(
        kernel="rbf", gamma="mean_distance", n_components=COMPONENTS, class_prior=prior, n_jobs=2
    )
    seconds, _ = seconds_of(lambda: model.fit(X, labels))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / GIB
    return {
        "method": kind.__name__,
        "rows": len(y),
        "labelled": MNIST_LABELED,
        "error %": 100.0 * float(np.mean(model.transduction_[free] != y[free])),
        "seconds": seconds,
        "minutes <= 10": verdict(seconds <= 60.0 * MINUTES_BAR),
        "GiB of the process": peak,
        "<= 12": verdict(peak <= MEMORY_BAR),
    }


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print the three comparisons."""
    report = Report("kernelfits", rounds=repeat)
    problem = load_splits(folder, "digit1", "lab_10")
    kernel = of_rows(problem.X)
    report.table("digit1", [digits(problem, repeat, kernel)])
    report.table("the factor of the kernel matrix", [factors(problem.X, repeat, kernel)])
    fit = partial(annealed, problem, 0, **kernel)
    matrix = len(problem.y) ** 2 * 8
    report.table("memory of the fit", [{"peak / (8 n^2 bytes)": peak_bytes(fit) / matrix}])
    X, y, labels = images(folder)
    report.table("mnist, as many features as the tolerance needs", [whole(X[:WHOLE_ROWS])])
    kinds = (TransductiveSVC, AnnealedSVC)
    report.table("mnist", [large(X, y, labels, kind) for kind in kinds])
    return report.result()
