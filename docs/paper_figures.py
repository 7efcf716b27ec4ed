"""Figures of the papers for the guide, from results that were saved: ``make docs`` draws them.

``python -m papers NAME --json > docs/results/NAME.json`` saves a result; it holds the settings and
the commit, which the guide names beside the figure. The tables are those of ``paper_tables.py``.
Results of benchmarks are in ``docs/results/guide``.
"""

import json
import sys
from pathlib import Path

import matplotlib
from papers.figures import draw_curves

RESULTS = Path(__file__).parent / "results"


def main(folder: Path) -> None:
    """Draw every result that was saved and has curves."""
    matplotlib.use("Agg")
    folder.mkdir(parents=True, exist_ok=True)
    for path in sorted(RESULTS.rglob("*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        if result["curves"]:
            draw_curves(result["curves"]).savefig(folder / f"{path.stem}.png", dpi=90)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
