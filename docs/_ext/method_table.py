"""The directive ``{method-table}``: the methods of the registry as a table.

A method that is added to the registry is in the guide without another word.
"""

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from semisvm.estimators.registry import Method, methods

HEADER = ("`--algorithm`", "estimator", "what it does", "unlabelled rows", "prior", "probabilities")


def cells(method: Method) -> tuple[str, ...]:
    """Give the cells of a method, as Markdown."""
    names = ", ".join(f"`{name}`" for name in (method.name, *method.aliases))
    fixed = ", ".join(f"{name}={value!r}" for name, value in method.fixed.items())
    estimator = f"`{method.estimator_name}({fixed})`" if fixed else f"`{method.estimator_name}`"
    suits = method.suits
    flags = (suits.needs_unlabeled, suits.uses_prior, suits.probabilities)
    return (names, estimator, method.summary, *("yes" if flag else "no" for flag in flags))


def markdown() -> str:
    """Give the table as Markdown."""
    rows = (HEADER, ("---",) * len(HEADER), *map(cells, methods()))
    return "\n".join("| " + " | ".join(row) + " |" for row in rows)


class MethodTable(SphinxDirective):
    """Put the table where the directive stands."""

    def run(self) -> list[nodes.Node]:
        """Parse the Markdown of the table in place."""
        return self.parse_text_to_nodes(markdown())


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the directive."""
    app.add_directive("method-table", MethodTable)
    return {"version": "1", "parallel_read_safe": True}
