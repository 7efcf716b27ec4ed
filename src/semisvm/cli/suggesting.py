"""Commands to paste: the next one, with what this one was told about the data."""

import shlex
from collections.abc import Iterator
from typing import Any

import typer

LEFT_OUT = ("as_json",)
"""Says how this command prints."""


def fit_command(context: typer.Context, **options: Any) -> str:
    """Write the ``semisvm fit`` that follows the command that is running.

    Options that were given and that `fit` has too are repeated, quoted for the shell.

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
        if p.name in target and p.name not in LEFT_OUT and _was_given(context, str(p.name))
    }
    words = ["semisvm", "fit"]
    for name, value in {**given, **options}.items():
        words += _words(target[name], value)
    return shlex.join(words)


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
            # the long spelling says what it is
            yield from (max(parameter.opts, key=len), str(entry))
