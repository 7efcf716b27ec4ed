"""Vectors of texts: what unlabelled rows add to tuned classifiers of scikit-learn, on new rows.

The vectors stand for those of an encoder: 200 latent directions of tf-idf, computed from all rows
without labels, of length one. They become features as columns of vectors do in `ColumnFeatures`:
centred, with an average squared length of one. At most 3,000 rows of a set are drawn; a third of
them are new rows, which are only scored. Of the others 8, 16 or 64 per class are labelled, but at
most half of the rows of a class.

LogisticRegression, SVC (linear and RBF kernel), kNN and LabelSpreading are tuned by
cross-validation on the labelled rows; the last one is given the unlabelled rows too. The methods of
semisvm have their defaults, and ``choose`` its 20 seconds. Figures are accuracies in %.
"""

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from papers.data import UNLABELED, load_coded
from papers.table import Report, verdict
from sklearn.decomposition import TruncatedSVD
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from semisvm import AnnealedSVC, LaplacianRLSC, TransductiveSVC, choose
from semisvm.model_selection import PartialLabelKFold
from semisvm.tables import ColumnFeatures

REPEAT = 2
SETS = ("20news_tfidf", "r8_tfidf", "webkb_tfidf", "ohscal")
COUNTS = ("ohscal",)
LABELS = (8, 16, 64)
WIDTH = 200
ROWS = 3_000
NEW = 1 / 3
MOST = 0.5
"""Share of the rows of a class that may be labelled."""
FOLDS = 5
STRENGTHS = np.logspace(-2, 4, 7).tolist()
BASE, CHOICE = "LogisticRegression", "choose"
GAIN, WORST, WORST_SINGLE = 2.0, -1.0, -3.0
"""Points above tuned LogisticRegression: of `choose` on the mean and at worst; of one method."""


def read(folder: Path, name: str) -> tuple[Any, Any]:
    """Return vectors of length one and classes."""
    X, y = load_coded(folder, name)
    if name in COUNTS:
        X = TfidfTransformer(sublinear_tf=True).fit_transform(X)
    return normalize(TruncatedSVD(WIDTH, random_state=0).fit_transform(X)), y


def draw(X: Any, y: Any, n_labels: int, seed: int) -> tuple[Any, Any, Any, Any]:
    """Return features and partial labels of the fit, and features and classes of new rows."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(len(y))[:ROWS]
    fitted, new = train_test_split(rows, test_size=NEW, stratify=y[rows], random_state=seed)
    partly = np.full(len(fitted), UNLABELED)
    for label in np.unique(y):
        own = rng.permutation(np.flatnonzero(y[fitted] == label))
        partly[own[: min(n_labels, int(MOST * len(own)))]] = label
    features = ColumnFeatures().fit({"vectors": X[fitted]})
    made = [features.transform({"vectors": X[some]}) for some in (fitted, new)]
    return made[0], partly, made[1], y[new]


def tuned(model: Any, grid: Any) -> Callable[[Any, Any], Any]:
    """Return a fit to the labelled rows only, by the best parameters in cross-validation."""

    def fit(X: Any, partly: Any) -> Any:
        known = partly != UNLABELED
        cv = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
        return GridSearchCV(model, grid, cv=cv).fit(X[known], partly[known])

    return fit


def spreading(X: Any, partly: Any) -> Any:
    """Fit LabelSpreading to all rows, by the best parameters on labels that are held out."""
    alphas = [0.2, 0.8]
    grid = [
        {"kernel": ["knn"], "n_neighbors": [7, 20], "alpha": alphas},
        {"kernel": ["rbf"], "gamma": [2.0, 10.0], "alpha": alphas},
    ]
    cv = PartialLabelKFold(FOLDS, shuffle=True, random_state=0)
    return GridSearchCV(LabelSpreading(max_iter=100), grid, cv=cv).fit(X, partly)


def chosen(X: Any, partly: Any) -> Any:
    """Choose a method, and fit it."""
    return choose(X, partly, random_state=0).make().fit(X, partly)


FITS: dict[str, Callable[[Any, Any], Any]] = {
    BASE: tuned(LogisticRegression(max_iter=2_000), {"C": STRENGTHS}),
    "SVC": tuned(SVC(), {"C": STRENGTHS, "kernel": ["linear", "rbf"]}),
    "kNN": tuned(
        KNeighborsClassifier(),
        {"n_neighbors": [1, 3, 5, 7, 15], "weights": ["uniform", "distance"]},
    ),
    "LabelSpreading": spreading,
    "TransductiveSVC": lambda X, partly: TransductiveSVC().fit(X, partly),
    "AnnealedSVC": lambda X, partly: AnnealedSVC().fit(X, partly),
    "LaplacianRLSC": lambda X, partly: LaplacianRLSC().fit(X, partly),
    CHOICE: chosen,
}
SINGLE = ("TransductiveSVC", "AnnealedSVC", "LaplacianRLSC")


def judge(X: Any, y: Any, n_labels: int, seed: int) -> dict[str, tuple[float, float]]:
    """Return the accuracies of all fits on new rows, and their seconds of processor time."""
    fitted, partly, new, truth = draw(X, y, n_labels, seed)
    found = {}
    for name, fit in FITS.items():
        start = process_time()
        with warnings.catch_warnings():
            # few labels, and iterations of rivals
            warnings.simplefilter("ignore", UserWarning)
            warnings.simplefilter("ignore", ConvergenceWarning)
            warnings.simplefilter("ignore", RuntimeWarning)
            right = np.mean(fit(fitted, partly).predict(new) == truth)
        found[name] = (100.0 * float(right), process_time() - start)
    return found


def run(folder: Path, repeat: int, sets: Sequence[str] | None = None) -> dict[str, Any]:
    """Print accuracies by set and number of labels, and what they are above the base."""
    report = Report("embeddings", width=WIDTH, rows=ROWS, draws=repeat)
    rows, seconds, gains = [], [], []
    for name in sets or SETS:
        X, y = read(folder, name)
        for n_labels in LABELS:
            found = [judge(X, y, n_labels, seed) for seed in range(repeat)]
            mean = {fit: float(np.mean([one[fit][0] for one in found])) for fit in FITS}
            rows.append({"set": name, "per class": n_labels, **mean})
            seconds.append([[one[fit][1] for fit in FITS] for one in found])
            gains.append([mean[fit] - mean[BASE] for fit in FITS])
            print(rows[-1], flush=True)
    report.table("accuracy on new rows", rows)
    times = np.concatenate(seconds).mean(axis=0)
    above = np.array(gains)
    bars = {CHOICE: WORST, **dict.fromkeys(SINGLE, WORST_SINGLE)}
    summary = []
    for k, fit in enumerate(FITS):
        mean_gain, worst = float(above[:, k].mean()), float(above[:, k].min())
        fine = worst >= bars.get(fit, -np.inf) and (fit != CHOICE or mean_gain >= GAIN)
        summary.append(
            {
                "method": fit,
                "mean": mean_gain,
                "worst": worst,
                "best": float(above[:, k].max()),
                "seconds": float(times[k]),
                "ok": verdict(fine) if fit in bars else "",
            }
        )
    report.table(f"points above tuned {BASE}", summary)
    return report.result()
