"""Options of commands: declared once, alone or in a group."""

import inspect
from dataclasses import dataclass
from typing import Annotated

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import typer
from typer.testing import CliRunner

from semisvm.cli.app import COMMANDS
from semisvm.cli.options import with_options


@dataclass(frozen=True)
class Inner:
    depth: Annotated[int, typer.Option("--depth", min=1)] = 3


@dataclass(frozen=True, kw_only=True)
class Outer:
    first: Annotated[str | None, typer.Option("--first")] = None
    inner: Inner
    last: Annotated[list[str] | None, typer.Option("--last")] = None


def program(command):
    app = typer.Typer()
    app.command()(with_options(command))
    return app


def test_a_command_gets_one_object_per_group():
    seen = {}

    def command(
        name: Annotated[str, typer.Argument()],
        *,
        before: Annotated[bool, typer.Option("--before")] = False,
        outer: Outer,
        after: Annotated[int, typer.Option("--after")] = 1,
    ) -> None:
        seen.update(name=name, before=before, outer=outer, after=after)

    line = ["x", "--last", "a", "--last", "b", "--depth", "7", "--before"]
    assert CliRunner().invoke(program(command), line).exit_code == 0
    outer = Outer(inner=Inner(7), last=["a", "b"])
    assert seen == {"name": "x", "before": True, "outer": outer, "after": 1}
    names = ["name", "before", "first", "depth", "last", "after"]
    assert list(inspect.signature(with_options(command)).parameters) == names


def test_options_of_groups_are_checked_as_others_are():
    def command(*, inner: Inner) -> None:
        raise AssertionError

    result = CliRunner().invoke(program(command), ["--depth", "0"])
    assert result.exit_code == 2
    assert "--depth" in result.stderr


def test_an_option_cannot_come_from_two_groups():
    def command(*, inner: Inner, outer: Outer) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'depth'"):
        with_options(command)


def test_each_option_is_declared_once():
    """Options of the same names and the same help are one object, which commands share."""
    declared = {}
    for command in COMMANDS:
        for parameter in inspect.signature(command).parameters.values():
            for about in getattr(parameter.annotation, "__metadata__", ()):
                key = (parameter.name, about.default, about.param_decls, about.help)
                declared.setdefault(key, {})[id(about)] = command.__name__
    again = {key[0]: list(users.values()) for key, users in declared.items() if len(users) > 1}
    assert again == {}
    assert len(declared) > 60
