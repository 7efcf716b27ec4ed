"""A table of real short texts: what functions of SciPy do, and to which part of it they belong.

``python examples/data/functions.py FOLDER`` writes ``functions.csv`` and, with a quarter of the
rows, ``functions_new.csv``. The texts are the first two paragraphs of docstrings of the SciPy that
is installed, so nothing is downloaded; another version of SciPy has slightly other texts.
"""

import inspect
import sys
from importlib import import_module
from pathlib import Path

import pandas as pd

PARTS = ("signal", "special", "stats")
FEWEST_WORDS = 4


def description(thing, name):
    """Return the first two paragraphs of a docstring, without its signature."""
    paragraphs = [" ".join(text.split()) for text in (inspect.getdoc(thing) or "").split("\n\n")]
    shown = []
    for text in paragraphs:
        if " ---" in text:  # the underlined title of the next section
            break
        if text and not text.startswith((f"{name}(", "..")):
            shown.append(text)
    return " ".join(shown[:2])


def functions():
    """Return the table, in random order that is always the same; a text occurs once."""
    rows = {}
    for part in PARTS:
        module = import_module(f"scipy.{part}")
        for name in sorted(module.__all__):
            thing = getattr(module, name, None)
            text = description(thing, name) if callable(thing) else ""
            if len(text.split()) >= FEWEST_WORDS:
                rows.setdefault(text, part)
    table = pd.DataFrame({"text": list(rows), "part": list(rows.values())})
    return table.sample(frac=1, random_state=0, ignore_index=True)


if __name__ == "__main__":
    out = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    out.mkdir(parents=True, exist_ok=True)
    table = functions()
    n = 3 * len(table) // 4
    table[:n].to_csv(out / "functions.csv", index=False)
    table[n:].to_csv(out / "functions_new.csv", index=False)
    print(f"{n} functions in {out / 'functions.csv'}, {len(table) - n} in functions_new.csv")
