"""Did the unlabelled rows help? Two data sets, cross-validated on their labelled rows."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_wine
from sklearn.preprocessing import normalize, scale

from semisvm import NewtonSVC, TransductiveSVC, compare
from semisvm.model_selection import hide_labels
from semisvm.reporting import ComparisonDisplay

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

# counts of 1800 invented words in short texts: a third for all, and a third for each topic
rng = np.random.default_rng(0)
topic = rng.integers(0, 2, 800)
rates = np.repeat([[0.03, 0.02, 0.0], [0.03, 0.0, 0.02]], 600, axis=1)
wine, grapes = load_wine(return_X_y=True)
sets = {
    "wine": (normalize(scale(wine)), grapes),
    "invented texts": (normalize(rng.poisson(rates[topic]).astype(float)), topic),
}

figure = Figure(figsize=(7.6, 4.8), layout="constrained")
for part, (name, (X, y)) in zip(figure.subfigures(2, 1), sets.items(), strict=True):
    labels = hide_labels(y, rng.permutation(len(y))[60:])
    shares = np.bincount(y) / len(y)
    methods = {"supervised": NewtonSVC(), "TSVM": TransductiveSVC(class_prior=shares)}
    found = compare(methods, X, labels)
    verdict = found.did_it_help()
    print(f"{name}, 60 labels: {verdict.word}; recommended is {verdict.recommended}")
    part.suptitle(f"{name}: {verdict.word}")
    ComparisonDisplay.from_comparison(found, ax=part.subplots())
figure.savefig(out / "did_it_help.png", dpi=110)
