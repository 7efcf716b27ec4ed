"""Tables for people, JSON for machines; both from the same data.

The next command is suggested ready to paste, with the options of this one about the data.
"""

import json
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

import typer
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from semisvm.cli.messages import in_options
from semisvm.estimators.registry import OPTIONS as METHOD_OPTIONS
from semisvm.estimators.registry import get
from semisvm.text import measured_time, plain, shortened, visible, visible_json

MOST_SHOWN = 30
"""Entries of a dict or list in a table; ``--json`` has them all."""
MOST_LETTERS = 2_000
"""Of a cell of a table: laying out text takes far longer than printing it."""
FIGURES = "+-.0123456789"
"""Characters of numbers and intervals that come as text, to fix their digits."""

MOST_COLUMNS = 8
NOTE, NOTES = "note", "notes"
NAMES = {"found": "predicted", "prior": "shares used"}
"""What people read; JSON has the names of the model file."""
SOURCES = {
    "none": None,
    "labelled": "those of the labels",
    "estimate": "estimated",
    "given": "given",
}
"""Where class shares come from, by the keys of `semisvm.estimators.class_shares.PRIORS`."""


class _Terminal(Console):
    """A console that raises if the reader of the output has gone."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def print_json(facts: dict[str, Any]) -> None:
    """Print facts as JSON; notes name options, as those for people."""
    if NOTES in facts:
        facts = {**facts, NOTES: [in_options(note) for note in facts[NOTES]]}
    print(visible_json(json.dumps(plain(facts), indent=2, ensure_ascii=False)))


def print_line(text: str = "") -> None:
    """Print a line; control characters in it are shown, but blank lines before it are kept."""
    line = text.lstrip("\n")
    print("\n" * (len(text) - len(line)) + visible(line))


def print_facts(title: str, facts: dict[str, Any]) -> None:
    """Print names and values as a table of two columns."""
    print_line(title)
    table = RichTable(show_header=False, box=None)
    for name, value in facts.items():
        timed = name.endswith("_seconds") and isinstance(value, float)
        shown = measured_time(value) if timed else value
        table.add_row(_cell(NAMES.get(name, name.replace("_", " "))), _cell(shown))
    _Terminal(highlight=False).print(table)


def print_table(title: str, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Print a table; text of users is never taken for markup."""
    print_line(title)
    table = RichTable(box=None)
    for k, name in enumerate(header):
        words = any(isinstance(row[k], str) and row[k].strip(FIGURES + "to ") for row in rows)
        table.add_column(_cell(name), justify="left" if words else "right")
    for row in rows:
        table.add_row(*map(_cell, row))
    _Terminal(highlight=False).print(table)


def print_notes(word: str, notes: Sequence[str]) -> None:
    """Print sentences, each after a word for their kind."""
    for note in notes:
        print_line(f"{word}: {in_options(note) if word == NOTE else note}")


def print_choice(choice: dict[str, Any] | None) -> None:
    """Print why a method was chosen, if one was."""
    if choice is not None:
        cost = [choice["cost"]] if choice.get("cost") else []
        print_notes("why", [*choice["reasons"], *cost])


def _cell(value: Any) -> Text:
    return Text(shortened(visible(show(value)), MOST_LETTERS))


def columns_in_short(kinds: dict[str, str]) -> str:
    """Name columns with their kinds, or count the kinds where there are many columns."""
    if len(kinds) <= MOST_COLUMNS:
        return show(kinds)
    return ", ".join(f"{count} {kind}" for kind, count in Counter(kinds.values()).items())


def shares_in_short(facts: dict[str, Any]) -> dict[str, Any]:
    """Write class shares with where they come from; leave them out if the method uses none."""
    kept = dict(facts)
    source = SOURCES[kept.pop("prior_source")]
    if source is None:
        del kept["prior"]
        return kept
    return {**kept, "prior": f"{show(kept['prior'])} ({source})"}


def words_in_short(kept: dict[str, dict[str, Any]]) -> dict[str, str]:
    """Describe which words of text columns are features, those in most rows by name."""
    found = {}
    for column, vocabulary in kept.items():
        # n-grams of characters may begin or end with a space
        named = ", ".join(w if w == w.strip() else repr(w) for w in vocabulary["most_frequent"])
        more = ", ..." if vocabulary["words"] > len(vocabulary["most_frequent"]) else ""
        found[f"words of {column}"] = f"{vocabulary['words']:,} kept: {named}{more}"
    return found


def show(value: Any) -> str:
    """Write a value for people."""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, dict):
        shown = [f"{key}={show(item)}" for key, item in islice(value.items(), MOST_SHOWN)]
        rest = len(value) - len(shown)
        return ", ".join(shown) + (f" and {rest} more" if rest else "")
    if isinstance(value, (list, tuple)):
        rest = len(value) - MOST_SHOWN
        more = f" and {rest} more" if rest > 0 else ""
        return ", ".join(show(item) for item in value[:MOST_SHOWN]) + more
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


LEFT_OUT = ("as_json",)
"""Options about the output of this command."""


def fit_command(context: typer.Context, **options: Any) -> str:
    """Write the ``semisvm fit`` that follows the command that is running.

    Options that were given and that `fit` has too are repeated, quoted for the shell; not those
    that the method does not have.

    Parameters
    ----------
    context : Context
        Of the command that runs.
    **options
        Of `fit`, by the names of its parameters; they replace those that were given.
    """
    commands: Any = context.find_root().command
    target = {p.name: p for p in commands.commands["fit"].params}
    given = {
        p.name: context.params[p.name]
        for p in context.command.params
        if p.name in target
        and p.name not in (*LEFT_OUT, *options)
        and _was_given(context, str(p.name))
    }
    foreign = _foreign_options(options.get("algorithm"))
    words = ["semisvm", "fit"]
    for name, value in {**given, **options}.items():
        if not foreign & set(target[name].opts):
            words += _words(target[name], value)
    return shlex.join(words)


def _foreign_options(algorithm: str | None) -> set[str]:
    """Return the options of other methods, which `fit` would refuse with this one."""
    if algorithm is None:
        return set()
    return {*METHOD_OPTIONS.values()} - {*get(algorithm).options}


def _was_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _words(parameter: Any, value: Any) -> Iterator[str]:
    if parameter.param_type_name == "argument":
        yield str(value)
        return
    for entry in value if isinstance(value, (list, tuple)) else [value]:
        if isinstance(entry, bool):
            yield (parameter.opts if entry else parameter.secondary_opts)[0]
        elif entry is not None:
            # the long spelling explains itself
            yield from (max(parameter.opts, key=len), str(entry))
