"""Labels of one class alone: machines of this package beside Elkan-Noto and non-negative PU.

Sets of two classes (of more: the first half of the classes against the rest), rows of length one,
50 labels of the positive class drawn at random. Unlabelled rows are drawn so that the positive
class has a share of .1, .3 or .5 among them. Accuracy and F1 of the positive class are on the
unlabelled rows; all methods are given the true share first, then none but what they estimate.

Elkan and Noto (KDD 2008): a logistic regression of labelled against unlabelled rows, whose
probabilities are divided by their mean over held-out labelled rows. nnPU (Kiryo et al., NeurIPS
2017): a linear model by L-BFGS on the non-negative risk with the logistic loss. It needs the share,
and gets the one that TSVM estimates where it is not given.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from papers.data import UNLABELED, Floats, Ints, Matrix, load_coded
from papers.table import Report
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score
from sklearn.model_selection import cross_val_predict
from sklearn.preprocessing import normalize, scale

from semisvm import AnnealedSVC, TransductiveSVC

REPEAT = 2
SETS = ("text_ssl", "text1_pcmac", "la1", "usps_ssl", "digit1", "wdbc")
TABLES = ("wdbc",)
PRIORS = (0.1, 0.3, 0.5)
N_LABELS, MOST_UNLABELED = 50, 1000


@dataclass(frozen=True)
class Case:
    """Rows, the labels that are given (1 or unlabelled), and the truth."""

    X: Matrix
    labels: Ints
    y: Ints

    @property
    def share(self) -> float:
        """The share of the positive class among the unlabelled rows."""
        return float(self.y[self.labels == UNLABELED].mean())


def case(folder: Path, name: str, prior: float, seed: int) -> Case:
    """Draw labelled and unlabelled rows."""
    X, y = load_coded(folder, name)
    rng = np.random.default_rng([seed, round(100 * prior)])
    y = (y >= (y.max() + 1) // 2).astype(np.intp)
    X = normalize(scale(X) if name in TABLES else X)
    positive, negative = (rng.permutation(np.flatnonzero(y == k)) for k in (1, 0))
    left = len(positive) - N_LABELS
    u = int(min(MOST_UNLABELED, left / prior, len(negative) / (1.0 - prior)))
    n = round(prior * u)
    rows = np.concatenate([positive[: N_LABELS + n], negative[: u - n]])
    labels = np.full(len(rows), UNLABELED)
    labels[:N_LABELS] = 1
    order = rng.permutation(len(rows))
    return Case(X[rows[order]], labels[order], y[rows[order]])


def top(scores: Floats, share: float) -> Ints:
    """Label the largest scores positive."""
    return (scores >= np.quantile(scores, 1.0 - share)).astype(np.intp)


def ours(kind: Any, known: Case, share: float | None) -> tuple[Ints, float]:
    """Fit a machine; return the labels of the unlabelled rows, and the share it used."""
    prior = None if share is None else [1.0 - share, share]
    model = kind(classes=[0, 1], class_prior=prior).fit(known.X, known.labels)
    return model.transduction_[known.labels == UNLABELED], float(model.class_prior_[1])


def elkan_noto(known: Case, share: float | None) -> tuple[Ints, float]:
    """Divide the probabilities of being labelled by their mean over held-out labelled rows."""
    side = (known.labels == 1).astype(int)
    machine = LogisticRegression(C=10.0, max_iter=1000)
    p = cross_val_predict(machine, known.X, side, cv=5, method="predict_proba")[:, 1]
    free, c = side == 0, p[side == 1].mean()
    # of an unlabelled row: the odds of being labelled, times those of a positive one not to be
    weight = np.clip((1.0 - c) / c * p / (1.0 - p), 0.0, 1.0)[free]
    found = float(weight.mean())
    return (weight > 0.5).astype(int) if share is None else top(weight, share), found


def non_negative(known: Case, share: float) -> Ints:
    """Minimise the non-negative PU risk of a linear model with the logistic loss."""
    positive, free = known.X[known.labels == 1], known.X[known.labels != 1]
    d = known.X.shape[1]

    def risk(w: Floats) -> tuple[float, Floats]:
        f, g = positive @ w[:d] + w[d], free @ w[:d] + w[d]
        as_negative = np.logaddexp(0.0, g).mean() - share * np.logaddexp(0.0, f).mean()
        value = share * np.logaddexp(0.0, -f).mean() + max(as_negative, 0.0)
        on_f = -share * expit(-f) / len(f)
        on_g = np.zeros(len(g))
        if as_negative > 0.0:
            on_f = on_f - share * expit(f) / len(f)
            on_g = expit(g) / len(g)
        slope = np.append(positive.T @ on_f + free.T @ on_g, on_f.sum() + on_g.sum())
        return value + 0.5e-3 * w[:d] @ w[:d], slope + 1e-3 * np.append(w[:d], 0.0)

    w = minimize(risk, np.zeros(d + 1), jac=True, method="L-BFGS-B").x
    return (free @ w[:d] + w[d] > 0.0).astype(int)


def measured(known: Case, share: float | None) -> dict[str, tuple[Ints, float]]:
    """Return labels and shares of every method, by name."""
    found = {"TSVM": ours(TransductiveSVC, known, share), "DA": ours(AnnealedSVC, known, share)}
    found["Elkan-Noto"] = elkan_noto(known, share)
    used = found["TSVM"][1] if share is None else share
    found["nnPU"] = non_negative(known, used), used
    return found


def row(folder: Path, name: str, prior: float, repeat: int, given: bool) -> dict[str, Any]:
    """Average over draws."""
    scores: dict[str, list[tuple[float, float, float]]] = {}
    for seed in range(repeat):
        known = case(folder, name, prior, seed)
        y = known.y[known.labels == UNLABELED]
        for method, (labels, share) in measured(known, known.share if given else None).items():
            right = 100.0 * float(np.mean(labels == y))
            f1 = 100.0 * float(f1_score(y, labels, zero_division=0.0))
            scores.setdefault(method, []).append((right, f1, share))
    means = {method: np.mean(found, axis=0).tolist() for method, found in scores.items()}
    listed: dict[str, Any] = {"set": name, "share": prior}
    listed |= {f"{method} %": round(found[0], 1) for method, found in means.items()}
    listed |= {f"{method} F1": round(found[1], 1) for method, found in means.items()}
    if not given:
        listed |= {f"share by {m}": round(means[m][2], 3) for m in ("TSVM", "Elkan-Noto")}
    return listed


def run(folder: Path, repeat: int) -> dict[str, Any]:
    """Print accuracies and F1."""
    report = Report("positive", draws=repeat, labels=N_LABELS)
    for title, given in (("share given", True), ("share estimated", False)):
        rows = [row(folder, name, prior, repeat, given) for name in SETS for prior in PRIORS]
        report.table(title, rows)
    return report.result()
