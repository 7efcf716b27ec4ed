"""The next command, ready to paste, with the options of this one about the data."""

import shlex
from collections.abc import Iterator
from typing import Any

import typer

from semisvm.registry import get, methods

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
    own = {parameter.option for parameter in get(algorithm).parameters}
    every = {parameter.option for method in methods() for parameter in method.parameters}
    return {option for option in every - own if option is not None}


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
