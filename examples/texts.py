"""From a CSV of texts with twelve labels to a model file, and labels for new texts."""

import sys
from pathlib import Path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import semisvm
from semisvm.reporting import ScoreHistogramDisplay
from semisvm.tables import read

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)

# two intents of messages to a bank that are easily confused; twelve messages keep their label
bank = pd.read_csv(Path(__file__).parent / "data" / "bank.csv")
bank = bank[bank["intent"].isin(["cancel transfer", "request refund"])].reset_index(drop=True)
truth = bank["intent"].to_numpy()
bank.assign(intent=bank["intent"].where(bank.index < 12)).to_csv(out / "bank.csv", index=False)

rows = read(out / "bank.csv", label="intent")
for method in ("svm", "tsvm"):
    model = semisvm.train(rows, method)
    right = np.mean(model.predict(rows)[12:] == truth[12:])
    print(f"{method:5} {100 * right:.0f}% of the messages without label are right")

semisvm.save(model, out / "bank.semisvm")
again = semisvm.load(out / "bank.semisvm")
new = ["I sent money to the wrong person, stop it!", "The shoes do not fit. Money back?"]
print("new messages:", again.predict({"text": new}).tolist())

figure = Figure(figsize=(6.4, 3.6), layout="constrained")
scores = again.decision_function(rows)[12:]
names = tuple(str(name) for name in again.classes_)
ScoreHistogramDisplay.from_scores(scores, class_names=names, ax=figure.subplots())
figure.savefig(out / "texts.png", dpi=110)
