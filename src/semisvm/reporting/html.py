"""HTML in which text cannot become markup by accident, small elements, and the style of pages.

`tag` escapes whatever is not `Markup`, so text of users is escaped by default. The style also
serves a part of a page of another program, such as a notebook. Notebooks show these elements for
every estimator, with the required packages only, so there is no template engine: the report would
have another way to make the same elements.
"""

import html
import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
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


HEADLINES = {
    "helped": "✓ Yes, they helped",
    "no evidence": "Not known yet",
    "hurt": "✗ No, they hurt",
}


def show(value: Any) -> str:
    """Write a value for people."""
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} = {show(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(show(item) for item in value)
    return str(value)


def percent(share: float | None) -> str:
    """Write a share."""
    return "–" if share is None else f"{100 * share:.1f}%"


def paragraph(*content: Any, kind: str | None = None) -> Markup:
    """Make a paragraph."""
    return tag("p", *content, class_=kind)


def card(value: str, name: str) -> Markup:
    """Make a card of a number and what it is."""
    return tag("div", tag("b", value), tag("span", name), class_="card")


def verdict_box(verdict: Mapping[str, Any]) -> Markup:
    """Show a verdict: a headline, and its sentences."""
    word = verdict["word"]
    sentences = [verdict["sentence"], *([verdict["chance"]] if verdict["chance"] else [])]
    head = paragraph(tag("strong", f"{HEADLINES[word]}."))
    kind = f"verdict {word.replace(' ', '-')}"
    return tag("div", head, [paragraph(text) for text in sentences], class_=kind)


VIEW, DIAGRAM = "semisvm-view", "semisvm-diagram"
"""Classes of the elements that hold a part of a notebook, and a diagram of scikit-learn."""
RULE = re.compile(r"([^{}]+)\{")
VARIABLES = re.compile(r":root \{(.*?)\}", re.DOTALL)
BOTH = "color-scheme: light dark;"
# notebooks have a theme of their own, which need not be that of the system
LIGHT = ('body[data-jp-theme-light="true"]', "body.vscode-light", 'html[theme="light"]')
DARK = ('body[data-jp-theme-light="false"]', "body.vscode-dark", 'html[theme="dark"]')


@cache
def style() -> str:
    """Return the style of a page of its own."""
    return files("semisvm.reporting").joinpath("style.css").read_text(encoding="utf-8")


@cache
def view_style() -> str:
    """Return the style of a part of a notebook: it concerns nothing else there."""
    light, dark = (found.replace(BOTH, "") for found in VARIABLES.findall(style())[:2])
    return "\n".join(
        [
            RULE.sub(_within, style()),
            f".{VIEW} {{ margin: 0; padding: .6rem .9rem; max-width: 46rem; font-size: 14px; }}",
            f".{VIEW} svg {{ max-width: 40rem; }}",
            f"{_themes(LIGHT)} {{ color-scheme: light; {light} }}",
            f"{_themes(DARK)} {{ color-scheme: dark; {dark} }}",
        ]
    )


# scikit-learn has dark lines on a dark page, but boxes that stay light
DARK_BOXES = {
    "text": "#e8e8e8",
    "text-muted": "#b0b0b0",
    "line": "#8a8a8a",
    "text-on-default-background": "#e8e8e8",
    "background": "#111",
    "border-box": "#9a9a9a",
    "icon": "#9a9a9a",
    "unfitted-level-0": "#33261a",
    "unfitted-level-1": "#433122",
    "unfitted-level-2": "#57402b",
    "unfitted-level-3": "#e08a4a",
    "fitted-level-0": "#17293a",
    "fitted-level-1": "#1f3850",
    "fitted-level-2": "#2a4a69",
    "fitted-level-3": "#7fa8f0",
}
DARK_TABLES = {
    " table tr:nth-child(odd)": "background-color: #17191c;",
    " table tr:nth-child(even)": "background-color: #202327;",
    " table tr:hover": "background-color: #33383e;",
    " table tr:hover td": "background-color: #33383e;",
    " .default td": "color: #e8e8e8;",
    " .estimator-table th": "color: #e8e8e8;",
    " td i": "color: #e8e8e8;",
    " .copy-paste-icon": "filter: invert(1);",
}
"""Tables of parameters and features, which are white in all themes."""


@cache
def diagram_style() -> str:
    """Return the style that makes a diagram of scikit-learn dark on a dark page.

    Its own script finds out what the page is; without scripts, the theme of a notebook decides.
    """
    colours = " ".join(f"--sklearn-color-{name}: {value};" for name, value in DARK_BOXES.items())
    inside = f".{DIAGRAM} .sk-global"
    dark = f":is({inside}.dark, {', '.join(f'{theme} {inside}' for theme in DARK)})"
    rules = {"": colours, **DARK_TABLES}
    return "\n".join(f"{dark}{part} {{ {rule} }}" for part, rule in rules.items())


def _themes(themes: tuple[str, ...]) -> str:
    return ", ".join(f"{theme} .{VIEW}" for theme in themes)


def _within(found: re.Match[str]) -> str:
    """Let the selectors of a rule hold only within the view."""
    text = found.group(1)
    names = text.strip()
    if names.startswith("@"):
        return found.group(0)
    space = text[: len(text) - len(text.lstrip())]
    listed = ", ".join(_one(name.strip()) for name in names.split(","))
    return f"{space}{listed} {{"


def _one(name: str) -> str:
    return f".{VIEW}" if name in (":root", "body") else f".{VIEW} {name}"
