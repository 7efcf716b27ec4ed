"""Links of names in backticks: public names need no module, foreign ones become plain.

Docstrings write `TransductiveSVC` wherever they are. What scikit-learn's docstrings name
is in its own documentation, which a build without network cannot reach.
"""

import re
from typing import Any

from sphinx.application import Sphinx

ROLE = re.compile(r":ref:`([^<`]+?)\s*(?:<[^>]*>)?`|(?<!`)`([^`]+)`(?!`)")


def resolve_anywhere(app: Sphinx, env: Any, node: Any, contnode: Any) -> Any:
    """Look a short name up in all modules."""
    target = node.get("reftarget", "")
    if node.get("refdomain") != "py" or "." in target:
        return None
    domain = env.get_domain("py")
    found = domain.find_obj(env, None, None, target, "obj", searchmode=1)
    # an object is also known by the module that defines it
    names = [name for name, entry in found if not entry.aliased]
    if len(names) != 1:
        return None
    return domain.resolve_xref(env, node["refdoc"], app.builder, "obj", names[0], node, contnode)


def plain_foreign(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: Any) -> None:
    """Take the links out of docstrings that are inherited from scikit-learn."""
    if (getattr(obj, "__module__", None) or "").startswith("sklearn."):
        lines[:] = [ROLE.sub(lambda m: f"``{m[1] or m[2]}``", line) for line in lines]


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect the two."""
    app.connect("missing-reference", resolve_anywhere)
    app.connect("autodoc-process-docstring", plain_foreign)
    return {"version": "1", "parallel_read_safe": True}
