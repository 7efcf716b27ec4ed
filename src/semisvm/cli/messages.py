"""Errors of the library as messages and exit codes of the command line.

Exit codes: 0 done, 2 the user's mistake with one clear message, 1 ours, 128 + n signal n.

The library names its parameters, as in ``unlabeled='none'`` or "the parameter reg". Users of the
command line set them by options, so messages name the options instead.
"""

import functools
import os
import re
import shlex
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import copy_context
from typing import Any, TextIO

import typer

from semisvm.cli.interrupts import print_stop_message, when_stopped
from semisvm.estimators.registry import OPTIONS as METHOD_OPTIONS
from semisvm.text import counted, visible

OPTIONS = {
    "abstain_below": "--abstain-below",
    "costs": "--cost",
    "coverage": "--coverage",
    "thresholds": "--threshold",
    **METHOD_OPTIONS,
    "categorical": "--categorical",
    "classes": "--only-positive",
    "column_weights": "--column-weight",
    "encoding": "--encoding",
    "format": "--format",
    "hash_columns": "--hash",
    "key": "--key",
    "label": "--label",
    "labels_file": "--labels",
    "max_columns": "--columns",
    "max_features": "--max-features",
    "min_df": "--min-df",
    "numeric": "--numeric",
    "repeats": "--repeats",
    "sheet": "--sheet",
    "stop_words": "--stop-words",
    "text": "--text",
    "unlabeled": "--unlabeled",
}
"""Parameters and the options that set them."""

SWITCHES = {
    "as_is=True": "--as-is",
    "bounded=False": "--methods all",
    "exportable=True": "--exportable",
    "na_is_class=True": "--na-is-class",
    "probabilities=True": "--probabilities",
    "quotes=False": "--no-quotes",
    "resume=True": "--resume",
    "zero_based=False": "--one-based",
    "zero_based=True": "--zero-based",
}
"""Values of parameters that have an option of their own."""

_NAMES = "|".join(OPTIONS)
_SWITCH = re.compile(rf"\b(?:{'|'.join(SWITCHES)})\b")
_VALUE = re.compile(rf"\b({_NAMES})=(?:'([^']*)'|(\d+)(?!\.?\w)|(?=[\s,.;:)]|$))")
_NAME = re.compile(rf"\bparameter ({_NAMES})\b")


def in_options(text: str) -> str:
    """Return a message with options in place of parameters.

    >>> in_options("If 0 is a class, use unlabeled='none'.")
    'If 0 is a class, use --unlabeled none.'
    """
    text = _SWITCH.sub(lambda found: SWITCHES[found[0]], text)
    text = _NAME.sub(lambda found: f"option {OPTIONS[found[1]]}", text)
    return _VALUE.sub(_with_value, text)


def _with_value(found: re.Match[str]) -> str:
    name, quoted, number = found.groups()
    value = number if quoted is None else shlex.quote(quoted)
    return OPTIONS[name] if value is None else f"{OPTIONS[name]} {value}"


OURS, MISTAKE, INTERRUPTED = 1, 2, 130
NUMBER = re.compile(r"\d[\d.,e+-]*")


class UserError(Exception):
    """A mistake of the user; its text is the message."""


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn what a command raises into a message and an exit code."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        when_stopped()
        try:
            with _short_warnings():
                # what a command sets for itself ends with it
                result = copy_context().run(command, *arguments, **options)
            sys.stdout.flush()  # what fails at the exit of Python is past telling
            return result
        except KeyboardInterrupt as stop:
            print_stop_message(getattr(stop, "__notes__", ()))
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # the reader of our output has gone: nothing is wrong
            _give_up_stdout()
            raise typer.Exit(0) from None
        except OSError as error:
            place = "standard output" if _give_up_stdout() else error.filename or "system"
            print_stderr(f"error: {place}: {str(error.strerror or error).rstrip('.')}.")
            raise typer.Exit(MISTAKE) from None
        except Exception as error:
            if not is_mistake(error):
                print_stderr(f"internal error in semisvm: {type(error).__name__}: {error}")
                raise
            print_stderr(f"error: {message_of(error)}")
            raise typer.Exit(MISTAKE) from None

    return run


def _give_up_stdout() -> bool:
    """Return whether our output is broken; the rest of it is then discarded."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        # or Python would try again at its exit, and fail for all to see
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def is_mistake(error: Exception) -> bool:
    """Return whether the user can correct it."""
    from semisvm.tables.errors import DataError, ModelFileError

    return isinstance(error, (UserError, DataError, ModelFileError))


def message_of(error: Exception) -> str:
    """Return the message of an error, with options in place of parameters of the library."""
    from semisvm.tables.errors import DataError

    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, DataError):
        # the name of the file stays as it is
        return error.with_place(in_options(error.message))
    return in_options(str(error))


@contextmanager
def as_usage_error() -> Iterator[None]:
    """Treat a ValueError in this block as the user's: estimators check their parameters."""
    try:
        yield
    except ValueError as error:
        raise UserError(_one_line(message_of(error))) from error


def _one_line(text: str) -> str:
    return " ".join(text.split()) if "\n" in text else text


@contextmanager
def remarks_in_summary(shown: bool) -> Iterator[None]:
    """Silence warnings about the data if a summary will show them."""
    from semisvm.tables.errors import DataWarning

    with warnings.catch_warnings():
        if shown:
            warnings.simplefilter("ignore", DataWarning)
        yield


def print_stderr(text: str) -> None:
    """Write a line to the error stream, which may be gone."""
    with suppress(OSError):
        typer.echo(visible(text), err=True)


@contextmanager
def _short_warnings() -> Iterator[None]:
    """Show warnings as one line each, once; of those that differ in numbers only, the first."""
    kinds: Counter[str] = Counter()
    texts: set[str] = set()

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        text = _one_line(in_options(str(message)))
        if text in texts:
            return
        texts.add(text)
        kind = NUMBER.sub("#", text)
        kinds[kind] += 1
        if kinds[kind] == 1:
            print_stderr(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.showwarning = show
        yield
    more = kinds.total() - len(kinds)
    if more:
        print_stderr(f"{counted(more, 'more warning')} differed from these in numbers only")
