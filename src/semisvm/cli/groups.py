"""Options that several commands share, declared once: a group is a dataclass.

A command takes a group as one parameter::

    @dataclass(frozen=True)
    class Cluster:
        cluster: Annotated[str | None, typer.Option("--cluster", help="...")] = None
        workers: Annotated[int | None, typer.Option("--workers", help="...")] = None

    def convert(data: Data, *, cluster: Cluster, quiet: Quiet = False) -> None: ...

In the place of the group, the command line has one option per field, in their order. A group may
hold another one. Typer knows nothing of this: it sees a signature with options only.
"""

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import MISSING, fields, is_dataclass
from typing import Any, TypeVar, get_type_hints

T = TypeVar("T")


def with_options(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command the options of its groups; it is called with one object per group."""
    taken = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def run(**given: Any) -> T:
        return command(**{p.name: _value(p.name, p.annotation, given) for p in taken})

    options = [option for parameter in taken for option in _options(parameter)]
    # two options of the same name are an error here
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run


def _options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """Yield a parameter, or in the place of a group those of its fields."""
    if not is_dataclass(parameter.annotation):
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    for part in _parts(parameter.annotation):
        yield from _options(part)


def _value(name: str, kind: Any, given: Mapping[str, Any]) -> Any:
    if not is_dataclass(kind):
        return given[name]
    make: Any = kind
    return make(**{part.name: _value(part.name, part.annotation, given) for part in _parts(kind)})


def _parts(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            part.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if part.default is MISSING else part.default,
            annotation=hints[part.name],
        )
        for part in fields(group)
    ]
