"""From a CSV of texts with twenty labels to a model file, and labels for new texts."""

import sys
from pathlib import Path
from runpy import run_path

import numpy as np
from matplotlib.figure import Figure

import semisvm
from semisvm.reporting import ScoreHistogramDisplay
from semisvm.tables import read

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

# what functions of SciPy do, in their docstrings; twenty texts keep their label
table = run_path(str(Path(__file__).parent / "data" / "functions.py"))["functions"]()
table = table[table["part"] != "signal"].reset_index(drop=True)
truth = table["part"].to_numpy()
table["part"] = table["part"].where(table.index < 20)
table.to_csv(out / "functions.csv", index=False)

rows = read(out / "functions.csv", label="part")
for method in ("svm", "tsvm"):
    model = semisvm.train(rows, method)
    right = np.mean(model.predict(rows)[20:] == truth[20:])
    print(f"{method:5} {100 * right:.0f}% of the texts without label are right")

semisvm.save(model, out / "functions.semisvm")
again = semisvm.load(out / "functions.semisvm")
new = ["Test whether two samples have the same mean.", "Bessel function of order two."]
print("new texts:", again.predict({"text": new}).tolist())

figure = Figure(figsize=(6.4, 3.6), layout="constrained")
scores = again.decision_function(rows)[20:]
names = tuple(str(name) for name in again.classes_)
ScoreHistogramDisplay.from_scores(scores, class_names=names, ax=figure.subplots())
figure.savefig(out / "texts.png", dpi=110)
