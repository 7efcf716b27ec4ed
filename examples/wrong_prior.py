"""What a wrong class prior costs: accuracy against the share that the method is told."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import normalize, scale

from semisvm import NewtonSVC, TransductiveSVC

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

X, y = load_breast_cancer(return_X_y=True)
X = normalize(scale(X))
known = np.random.default_rng(0).choice(len(y), 12, replace=False)
labels = np.full(len(y), -1)
labels[known] = y[known]
free = labels == -1
truth = y[free].mean()

shares = truth + np.linspace(-0.3, 0.3, 7)
supervised = NewtonSVC().fit(X, labels).score(X[free], y[free])
accuracy = [
    TransductiveSVC(class_prior=[1 - share, share]).fit(X, labels).score(X[free], y[free])
    for share in shares
]
print(f"supervised {supervised:.2f}")
for share, score in zip(shares, accuracy, strict=True):
    print(f"share off by {share - truth:+.1f}: {score:.2f}")

figure = Figure(figsize=(6.4, 3.6), layout="constrained")
ax = figure.subplots()
ax.plot(100 * shares, 100 * np.array(accuracy), "^-", color="#d55e00", label="TSVM")
ax.axhline(100 * supervised, color="#5a5a5a", label="supervised")
ax.axvline(100 * truth, color="#999999", linestyle=":", label="true share")
ax.set_xlabel("share of the second class that is given, %")
ax.set_ylabel("accuracy on unlabelled rows, %")
ax.legend(frameon=False)
figure.savefig(out / "wrong_prior.png", dpi=110)
