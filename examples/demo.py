"""The main task on a small scale: few labels, many unlabelled rows, on digits of scikit-learn.

``python examples/demo.py FOLDER DRAWS`` prints tables for two and for ten classes, and draws
accuracy against the number of labels; means are over that many draws of labels, by default 20.
"""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from semisvm import AnnealedSVC, LaplacianRLSC, NewtonSVC, SemiSupervisedCommittee, TransductiveSVC
from semisvm.reporting import LearningCurveDisplay

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)
draws = int(sys.argv[2]) if len(sys.argv) > 2 else 20


def machines(y):
    """Return the supervised SVM and two semi-supervised ones that are given the class shares."""
    digits, counts = np.unique(y, return_counts=True)
    shares = dict(zip(digits.tolist(), counts / len(y), strict=True))
    return {
        "supervised (NewtonSVC)": NewtonSVC(),
        "TSVM (TransductiveSVC)": TransductiveSVC(class_prior=shares),
        "DA (AnnealedSVC)": AnnealedSVC(class_prior=shares),
    }


def table(curve, n_labels):
    """Print errors with a number of labels: mean and quartiles over the draws."""
    place = list(curve.label_counts).index(n_labels)
    print(f"{'':34}{'error %':>8}{'quartiles':>14}")
    for name, scores in curve.scores.items():
        errors = 100 * (1 - scores[place])
        low, high = np.percentile(errors, [25, 75])
        print(f"{name:34}{errors.mean():8.1f}{f'{low:.1f} - {high:.1f}':>14}")
    print()


X, y = load_digits(return_X_y=True)
X = normalize(X)

# Of the 45 pairs of digits this one is the hardest for the supervised SVM.
pair = np.isin(y, (1, 8))
figure = Figure(figsize=(7.2, 4.3), layout="constrained")
curve = LearningCurveDisplay.from_estimators(
    machines(y[pair]),
    X[pair],
    y[pair],
    label_counts=[4, 6, 10, 20, 40, 80],
    n_draws=draws,
    random_state=0,
    ax=figure.subplots(),
)
curve.ax_.set_title("Digit 1 against 8, class shares given: mean and middle half of the draws")
figure.savefig(out / "demo.png", dpi=150)
print(f"Digits 1 and 8: 10 rows have labels, {pair.sum() - 10} have none; class shares given")
table(curve, 10)

estimated = {
    "TSVM": TransductiveSVC(),
    "DA": AnnealedSVC(),
}
print("The same, with class shares that are estimated from labels and rows")
table(
    LearningCurveDisplay.from_estimators(
        estimated, X[pair], y[pair], label_counts=[10], n_draws=draws, random_state=0
    ),
    10,
)

committee = SemiSupervisedCommittee(
    [("svm", NewtonSVC()), ("tsvm", TransductiveSVC()), ("graph", LaplacianRLSC())], cv=3
)
print(f"All ten digits: 40 rows have labels, {len(y) - 40} have none; the committee of svm, tsvm")
print("and a graph method is given no class shares, and weighs its members by held-out labels")
table(
    LearningCurveDisplay.from_estimators(
        {**machines(y), "committee": committee},
        *(X, y),
        label_counts=[40],
        n_draws=min(draws, 3),
        random_state=0,
    ),
    40,
)
print("Errors are wrong predictions on the rows whose labels were hidden.")
print(f"Figure: {out / 'demo.png'}")
