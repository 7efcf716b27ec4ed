"""Exit codes: 0 done, 2 the user's mistake with one clear message, 1 ours, 128 + n signal n."""

import functools
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO

import typer

from semisvm.cli.spelling import in_options
from semisvm.cli.stopping import leave, say_last_words
from semisvm.visible import visible
from semisvm.wording import counted

OURS, MISTAKE, INTERRUPTED = 1, 2, 130
NUMBER = re.compile(r"\d[\d.,e+-]*")


class UserError(Exception):
    """A mistake of the user; its text is the message."""


def guarded(command: Callable[..., Any]) -> Callable[..., Any]:
    """Turn what a command raises into a message and an exit code."""

    @functools.wraps(command)
    def run(*arguments: Any, **options: Any) -> Any:
        leave()
        try:
            with _short_warnings():
                result = command(*arguments, **options)
            sys.stdout.flush()  # what fails at the exit of Python is past telling
            return result
        except KeyboardInterrupt as stop:
            say_last_words(getattr(stop, "__notes__", ()))
            raise typer.Exit(INTERRUPTED) from None
        except BrokenPipeError:
            # the reader of our output has gone: nothing is wrong
            _give_up_stdout()
            raise typer.Exit(0) from None
        except OSError as error:
            place = "standard output" if _give_up_stdout() else error.filename or "the system says"
            say(f"error: {place}: {str(error.strerror or error).rstrip('.')}.")
            raise typer.Exit(MISTAKE) from None
        except Exception as error:
            if not is_mistake(error):
                say(f"internal error in semisvm: {type(error).__name__}: {error}")
                raise
            say(f"error: {message_of(error)}")
            raise typer.Exit(MISTAKE) from None

    return run


def _give_up_stdout() -> bool:
    """Tell whether our output is broken; the rest of it is then discarded."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        # or Python would try again at its exit, and fail for all to see
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return True
    return False


def is_mistake(error: Exception) -> bool:
    """Tell whether the user can correct it."""
    from semisvm.io.errors import DataError
    from semisvm.model_files.errors import ModelFileError

    return isinstance(error, (UserError, DataError, ModelFileError))


def message_of(error: Exception) -> str:
    """Return what an error says, with options in place of parameters of the library."""
    from semisvm.io.errors import DataError

    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, DataError):
        # the name of the file stays as it is
        return error.with_place(in_options(error.message))
    return in_options(str(error))


@contextmanager
def parameters_are_the_users() -> Iterator[None]:
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
    from semisvm.io.errors import DataWarning

    with warnings.catch_warnings():
        if shown:
            warnings.simplefilter("ignore", DataWarning)
        yield


def say(text: str) -> None:
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
            say(f"warning: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.filterwarnings("ignore", category=DeprecationWarning)
        warnings.filterwarnings("ignore", category=FutureWarning)
        warnings.showwarning = show
        yield
    more = kinds.total() - len(kinds)
    if more:
        say(f"{counted(more, 'more warning')} differed from these in numbers only")
