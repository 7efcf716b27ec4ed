"""HTML in which text cannot become markup by accident.

`tag` escapes whatever is not `Markup`, so text of users is escaped unless somebody takes
pains to avoid it.
"""

import html
import re
from typing import Any

VOID = {"meta", "br", "hr"}
# not allowed in HTML, half of a character, or a mark that shows a text as another one
UNFIT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(content: Any) -> Markup:
    """Return content as HTML: text is escaped, markup stays, lists are joined, None is empty."""
    if isinstance(content, Markup):
        return content
    if content is None:
        return Markup("")
    if isinstance(content, (list, tuple)):
        return Markup("".join(escape(item) for item in content))
    return Markup(html.escape(UNFIT.sub("\ufffd", str(content)), quote=True))


def tag(name: str, /, *content: Any, **attributes: Any) -> Markup:
    """Make an element.

    Parameters
    ----------
    name : str
    *content
        Text, markup, or lists of them.
    **attributes
        ``class_`` is "class", ``stroke_width`` "stroke-width"; those that are None are
        left out.
    """
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None
    )
    if name in VOID:
        return Markup(f"<{name}{given}>")
    return Markup(f"<{name}{given}>{escape(content)}</{name}>")


def table(header: list[Any], rows: list[list[Any]], numeric: set[int], **attributes: Any) -> Markup:
    """Make a table.

    Parameters
    ----------
    header : list
    rows : list of lists
        The first cell of a row is its name.
    numeric : set of int
        Columns that are aligned at the right.
    **attributes
        Of the table.
    """

    def side(k: int) -> str | None:
        return "number" if k in numeric else None

    head = tag(
        "tr", [tag("th", cell, scope="col", class_=side(k)) for k, cell in enumerate(header)]
    )
    body = [
        tag(
            "tr",
            tag("th", row[0], scope="row"),
            [tag("td", cell, class_=side(k)) for k, cell in enumerate(row[1:], 1)],
        )
        for row in rows
    ]
    inner = tag("table", tag("thead", head), tag("tbody", body), **attributes)
    # wide tables scroll by themselves, not with the page
    return tag("div", inner, class_="scroll")
