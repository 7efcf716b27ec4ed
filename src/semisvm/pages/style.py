"""The style of pages, also for a part of a page that belongs to somebody else."""

import re
from functools import cache
from importlib.resources import files

VIEW = "semisvm-view"
"""Class of the element that holds a part of a notebook."""
RULE = re.compile(r"([^{}]+)\{")
VARIABLES = re.compile(r":root \{(.*?)\}", re.DOTALL)
BOTH = "color-scheme: light dark;"
# notebooks have a theme of their own, which need not be that of the system
LIGHT = ('body[data-jp-theme-light="true"]', "body.vscode-light", 'html[theme="light"]')
DARK = ('body[data-jp-theme-light="false"]', "body.vscode-dark", 'html[theme="dark"]')


@cache
def style() -> str:
    """Return the style of a page of its own."""
    return files("semisvm.pages").joinpath("style.css").read_text(encoding="utf-8")


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
