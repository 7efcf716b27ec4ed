"""From a CSV of texts with twelve labels to a model file, and labels for new texts."""

import csv
import sys
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

import semisvm
from semisvm.reporting import ScoreHistogramDisplay
from semisvm.tables import read

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

# invented words: 200 that all texts share, and 200 that belong to each kind of text
rng = np.random.default_rng(0)
FIRST = {"spam": 200, "ham": 400}


def invent(kind: str) -> str:
    """Make a text of 30 words, about nine of them of its kind."""
    own = np.where(rng.random(30) < 0.3, FIRST[kind], 0)
    return " ".join(f"w{number}" for number in own + rng.integers(0, 200, 30))


kinds = np.where(rng.random(800) < 0.4, "spam", "ham").tolist()
with open(out / "mail.csv", "w", newline="", encoding="utf-8") as stream:
    table = csv.writer(stream)
    table.writerow(["text", "kind"])
    table.writerows([invent(kind), kind if k < 12 else ""] for k, kind in enumerate(kinds))

mail = read(out / "mail.csv", label="kind")
prior = {"spam": 0.4, "ham": 0.6}
for method, parameters in (("svm", {}), ("tsvm", {"class_prior": prior})):
    model = semisvm.train(mail, method, **parameters)
    right = np.mean(model.predict(mail)[12:] == np.array(kinds[12:]))
    print(f"{method:5} {100 * right:.0f}% of the texts without label are right")

semisvm.save(model, out / "mail.semisvm")
again = semisvm.load(out / "mail.semisvm")
print("new texts:", again.predict({"text": [invent("spam"), invent("ham")]}).tolist())

figure = Figure(figsize=(6.4, 3.6), layout="constrained")
scores = again.decision_function(mail)[12:]
ScoreHistogramDisplay.from_scores(scores, class_names=("ham", "spam"), ax=figure.subplots())
figure.savefig(out / "texts.png", dpi=110)
