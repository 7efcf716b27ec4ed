"""The papers' tables of the guide, from the results that were saved in ``docs/results``.

A block of a page begins with ``<!-- table VIEW -->`` and ends with ``<!-- end of table -->``.
``python docs/paper_tables.py`` writes all blocks anew: a line with command and commit, and the
table; ``<!-- table figure NAME -->`` has only the line, below a figure. A test compares the pages
with the results, so that neither changes alone.
"""

import json
import re
from pathlib import Path

from paper_views import VIEWS, Result

DOCS = Path(__file__).parent
RESULTS = DOCS / "results"
BLOCK = re.compile(r"(<!-- table (.+?) -->\n).*?(<!-- end of table -->)", re.S)

FIGURE = "figure "


def load(name: str) -> Result:
    """Load a result that was saved."""
    return dict(json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8")))


def source(name: str, result: Result) -> str:
    """Return the command and the commit of a result."""
    repeat = next(iter(result["settings"].values()))
    commit = result["machine"]["commit"]
    return f"*`python -m papers {name} --repeat {repeat}`, commit {commit}.*"


def block(view: str) -> str:
    """Return the text of a block."""
    if view.startswith(FIGURE):
        name = view.removeprefix(FIGURE)
        return f"{source(name, load(name))}\n"
    name, show = VIEWS[view]
    result = load(name)
    return f"{source(name, result)}\n\n{show(result)}\n\n"


def renewed(page: str) -> str:
    """Return a page with all its blocks as the results have them."""
    return BLOCK.sub(lambda found: found[1] + block(found[2]) + found[3], page)


def main() -> None:
    """Write the blocks of all pages anew."""
    for path in sorted(DOCS.glob("*.md")):
        page = path.read_text(encoding="utf-8")
        if renewed(page) != page:
            path.write_text(renewed(page), encoding="utf-8")
            print(path.name)


if __name__ == "__main__":
    main()
