"""Did the unlabelled rows help? Two data sets, cross-validated on their labelled rows."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import normalize, scale

from semisvm import NewtonSVC, TransductiveSVC, compare
from semisvm.displays import ComparisonDisplay
from semisvm.model_selection import hide_labels

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

wine, digits = load_wine(return_X_y=True), load_digits(return_X_y=True)
pair = np.isin(digits[1], (1, 8))
sets = {
    "wine": (normalize(scale(wine[0])), wine[1], 30),
    "1 or 8": (normalize(digits[0][pair]), digits[1][pair], 30),
}
for name, (X, y, n_labels) in sets.items():
    order = np.random.default_rng(0).permutation(len(y))
    labels = hide_labels(y, order[n_labels:])
    methods = {"supervised": NewtonSVC(), "TSVM": TransductiveSVC(class_prior="estimate")}
    found = compare(methods, X, labels, cv=3)
    verdict = found.did_it_help()
    print(f"{name}, {n_labels} labels: {verdict.word}; recommended is {verdict.recommended}")

figure = Figure(figsize=(7.6, 2.6), layout="constrained")
ComparisonDisplay.from_comparison(found, ax=figure.subplots())
figure.savefig(out / "did_it_help.png", dpi=110)
