"""A report as one HTML file."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from semisvm._version import __version__
from semisvm.io.writing import write_text
from semisvm.pages.html import Markup, tag
from semisvm.pages.style import style
from semisvm.report.data import report_data
from semisvm.report.sections import SECTIONS

# Nothing may be fetched or run, whatever is in the page.
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"


def render(data: Mapping[str, Any]) -> str:
    """Turn the data of a report into HTML.

    Parameters
    ----------
    data : mapping
        As of `report_data`, also after a round trip through JSON.

    Returns
    -------
    page : str
        Without scripts, and without anything from elsewhere; text of users is escaped.
    """
    sections = [made for made in (build(data) for build in SECTIONS) if made is not None]
    date = f"{data['created']} · " if data["created"] else ""
    header = tag("header", tag("h1", data["title"]), tag("p", f"{date}semisvm {__version__}"))
    body = tag("body", header, tag("main", sections))
    return f"<!DOCTYPE html>\n{tag('html', _head(data), body, lang='en')}\n"


def _head(data: Mapping[str, Any]) -> Markup:
    return tag(
        "head",
        tag("meta", charset="utf-8"),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", data["title"]),
        tag("style", Markup(style())),
    )


def write_report(
    model: Any, path: str | Path | BinaryIO, comparison: Any = None, **options: Any
) -> dict[str, Any]:
    """Write the report of a model to a file, which appears whole or not at all.

    Parameters
    ----------
    model : Model or fitted linear estimator of this package
    path : str, Path or binary stream
    comparison : Comparison or its ``to_dict()``, optional
    **options
        Of `report_data`.

    Returns
    -------
    data : dict
        What the report says.
    """
    data = report_data(model, comparison, **options)
    page = render(data)
    with write_text(path) as stream:
        stream.write(page)
    return data
