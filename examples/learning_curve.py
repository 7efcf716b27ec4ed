"""What a label is worth: accuracy against the number of labels on two digits."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.displays import LearningCurveDisplay

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

X, y = load_digits(return_X_y=True)
pair = np.isin(y, (1, 8))
X, y = normalize(X[pair]), y[pair]
half = {1: 0.5, 8: 0.5}
methods = {
    "supervised": NewtonSVC(),
    "TSVM": TransductiveSVC(class_prior=half),
    "annealing": AnnealedSVC(class_prior=half),
}

figure = Figure(figsize=(6.4, 4.0), layout="constrained")
curve = LearningCurveDisplay.from_estimators(
    methods, X, y, label_counts=[4, 10, 20, 60], n_draws=4, random_state=0, ax=figure.subplots()
)
figure.savefig(out / "learning_curve.png", dpi=110)

print("labels     ", *(f"{count:5d}" for count in curve.label_counts))
for name, scores in curve.scores.items():
    print(f"{name:11}", *(f"{score:5.2f}" for score in scores.mean(axis=1)))
