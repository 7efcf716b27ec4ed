"""How many labels are enough? Accuracy on new texts against the number of labels.

``python examples/labels_needed.py FOLDER DRAWS MOST``, with MOST labels and fewer. The texts are
those of ``data/functions.py``: which part of SciPy does a function belong to? The rival is
LogisticRegression on tf-idf, with regularisation, class weights and n-grams tuned by
cross-validation on the same labels.
"""

import sys
from pathlib import Path
from runpy import run_path

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

from semisvm import SemiSupervisedClassifier
from semisvm.reporting import LearningCurveDisplay

out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
out.mkdir(parents=True, exist_ok=True)
draws = int(sys.argv[2]) if len(sys.argv) > 2 else 3
most = int(sys.argv[3]) if len(sys.argv) > 3 else 240

table = run_path(str(Path(__file__).parent / "data" / "functions.py"))["functions"]()
n_new = len(table) // 4


def supervised(texts, parts):
    """Tune and fit LogisticRegression."""
    rival = make_pipeline(TfidfVectorizer(sublinear_tf=True), LogisticRegression(max_iter=1000))
    grid = {
        "tfidfvectorizer__ngram_range": [(1, 1), (1, 2)],
        "logisticregression__C": [1000.0, 100.0, 10.0, 1.0, 0.1],
        "logisticregression__class_weight": ["balanced", None],
    }
    return GridSearchCV(rival, grid, cv=3).fit(texts, parts)


counts = [count for count in (15, 30, 60, 120, 240) if count <= most]
rival, ours, everything = np.empty((len(counts), draws)), np.empty((len(counts), draws)), []
for draw in range(draws):
    mixed = table.sample(frac=1, random_state=draw, ignore_index=True)
    new, rest = mixed[:n_new], mixed[n_new:]
    first = rest.groupby("part").head(3)  # three labels of every part, then random ones
    rows = pd.concat([first, rest.drop(first.index)], ignore_index=True)
    for k, count in enumerate(counts):
        model = supervised(rows["text"][:count], rows["part"][:count])
        rival[k, draw] = model.score(new["text"], new["part"])
        known = rows["part"].where(rows.index < count)
        model = SemiSupervisedClassifier().fit(rows["text"], known)
        ours[k, draw] = model.score(new["text"], new["part"])
    everything.append(supervised(rows["text"], rows["part"]).score(new["text"], new["part"]))

print(f"{'labels':>6}{'LogisticRegression':>20}{'semisvm':>10}   mean of {draws} draws")
for k, count in enumerate(counts):
    print(f"{count:6}{rival[k].mean():20.3f}{ours[k].mean():10.3f}")
print(f"LogisticRegression with all {len(rows)} labels: {np.mean(everything):.3f}")

figure = Figure(figsize=(7.2, 3.8), layout="constrained")
curve = LearningCurveDisplay(
    counts,
    {"LogisticRegression, tuned": rival, "SemiSupervisedClassifier": ours},
    x_name=f"labelled texts, of {len(rows):,}",
    levels={f"LogisticRegression, all {len(rows):,} labels": float(np.mean(everything))},
)
curve.plot(ax=figure.subplots())
curve.ax_.set_ylabel(f"accuracy on {n_new} new texts")
figure.savefig(out / "labels_needed.png", dpi=110)
