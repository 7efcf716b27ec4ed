"""Did the unlabelled rows help? Two data sets, cross-validated on their labelled rows."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import normalize, scale

from semisvm import LaplacianRLSC, NewtonSVC, compare
from semisvm.model_selection import hide_labels
from semisvm.reporting import ComparisonDisplay

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

wine, grapes = load_wine(return_X_y=True)
images, digits = load_digits(return_X_y=True)
sets = {"wine": (normalize(scale(wine)), grapes, 60), "digits": (normalize(images), digits, 200)}

rng = np.random.default_rng(0)
figure = Figure(figsize=(7.6, 4.8), layout="constrained")
for part, (name, (X, y, n_labels)) in zip(figure.subfigures(2, 1), sets.items(), strict=True):
    labels = hide_labels(y, rng.permutation(len(y))[n_labels:])
    found = compare({"supervised": NewtonSVC(), "graph": LaplacianRLSC()}, X, labels)
    verdict = found.did_it_help()
    print(f"{name}, {n_labels} labels: {verdict.word}; recommended is {verdict.recommended}")
    part.suptitle(f"{name}: {verdict.word}")
    ComparisonDisplay.from_comparison(found, ax=part.subplots())
figure.savefig(out / "did_it_help.png", dpi=110)
