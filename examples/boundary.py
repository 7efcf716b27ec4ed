"""Two clouds and four labels: where the boundary goes with and without the other rows."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from semisvm import NewtonSVC, TransductiveSVC
from semisvm.reporting import DecisionBoundaryDisplay2D

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 100)
X = rng.normal(size=(200, 2)) * (0.35, 1.0) + np.where(y == 0, -1.0, 1.0)[:, None] * (1.0, 0.0)
# labels that mislead: the highest two rows on the left, the lowest two on the right
height = np.where(y == 0, X[:, 1], -X[:, 1])
labels = np.full(len(y), -1)
for side in (0, 1):
    rows = np.flatnonzero(y == side)
    labels[rows[np.argsort(-height[rows])[:2]]] = side

figure = Figure(figsize=(8.4, 4.0), layout="constrained")
axes = figure.subplots(1, 2, sharex=True, sharey=True)
for ax, machine in zip(axes, (NewtonSVC(reg=0.01), TransductiveSVC(reg=0.01)), strict=True):
    accuracy = machine.fit(X, labels).score(X, y)
    name = type(machine).__name__
    print(f"{name:16} {100 * accuracy:.0f}% right")
    DecisionBoundaryDisplay2D.from_estimator(machine, X, labels, ax=ax)
    ax.set_title(f"{name}: {100 * accuracy:.0f}% right", loc="left")
figure.savefig(out / "boundary.png", dpi=110)
