"""No labels at first: an expert labels what the clusters pick, or rows drawn at random."""

import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from semisvm import ClusteredSVC, RobustLPC

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

rng = np.random.default_rng(0)
y = np.repeat([0, 1], 40)  # what the expert knows
X = rng.standard_normal((80, 2)) * (0.7, 0.9)
X[y == 1] += (2.4, 2.8)


def told(rows):
    """Return what the expert said."""
    return np.where(np.isin(np.arange(len(y)), rows), y, -1)


clustered = ClusteredSVC(n_labels=0.1, n_clusters=2, random_state=0)
rows = clustered.select(X)
clustered.fit(X, told(rows))

# random rows are sometimes lucky: the median of 99 draws
draws = [np.random.default_rng(k).choice(len(y), len(rows), replace=False) for k in range(200)]
draws = [drawn for drawn in draws if len(set(y[drawn])) == 2][:99]
models = [RobustLPC().fit(X, told(drawn)) for drawn in draws]
middle = np.argsort([model.score(X, y) for model in models], kind="stable")[49]

figure = Figure(figsize=(9.6, 4.4), layout="constrained")
panels = (
    ("CVS3VM, labels near the centres", clustered, rows),
    ("RLP, labels at random", models[middle], draws[middle]),
)
for ax, (title, model, labelled) in zip(figure.subplots(1, 2, sharey=True), panels, strict=True):
    for label, marker in ((0, "o"), (1, "D")):
        ax.scatter(*X[y == label].T, marker=marker, s=22, facecolors="none", edgecolors="0.55")
        known = labelled[y[labelled] == label]
        ax.scatter(*X[known].T, marker=marker, s=44, color=f"C{label}")
    (a, b), c = model.coef_[0], model.intercept_[0]
    ax.axline((-c * a / (a * a + b * b), -c * b / (a * a + b * b)), slope=-a / b, color="k")
    accuracy = model.score(X, y)
    ax.set(xlim=(-3, 5), ylim=(-3, 6))
    ax.set_title(f"{title}: {100 * accuracy:.0f}% right", loc="left")
    print(f"{title}: {100 * accuracy:.0f}% right")
figure.savefig(out / "clusters.png", dpi=110)
