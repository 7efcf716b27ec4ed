"""How annealing goes: temperature, objective, and a gap that opens between the classes."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from semisvm import AnnealedSVC
from semisvm.reporting import ScoreHistogramDisplay, TraceDisplay

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

X, y = load_digits(return_X_y=True)
pair = np.isin(y, (1, 8))
X, y = normalize(X[pair]), y[pair]
labels = np.where(np.arange(len(y)) % 30 == 0, y, -1)
model = AnnealedSVC(class_prior={1: 0.5, 8: 0.5}).fit(X, labels)

free = labels == -1
annealing = model.trace_["phase"] == "annealing"
temperatures = np.unique(model.trace_["value"][annealing])
print(f"{np.sum(~free)} labels, {np.sum(free)} rows without")
print(f"{len(temperatures)} temperatures from {temperatures[-1]:.3g} to {temperatures[0]:.3g}")
print(f"{model.n_iter_} rounds, accuracy {model.score(X[free], y[free]):.2f}")

figure = Figure(figsize=(9.6, 4.4), layout="constrained")
left, right = figure.subplots(1, 2)
TraceDisplay.from_estimator(model, ax=left)
ScoreHistogramDisplay.from_estimator(model, X, labels, ax=right)
figure.savefig(out / "annealing.png", dpi=110)
