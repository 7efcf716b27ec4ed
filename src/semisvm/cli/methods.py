"""``semisvm methods``: the methods to choose from."""

from typing import Any

from semisvm.cli import options as shared
from semisvm.method import Method
from semisvm.registry import methods as all_methods


def methods(as_json: shared.Json = False) -> None:
    """List the methods for --algorithm."""
    from semisvm.cli.output import print_json, print_table

    if as_json:
        print_json({"methods": [_facts(method) for method in all_methods()]})
        return
    rows = [[method.name, ", ".join(method.aliases), method.summary] for method in all_methods()]
    print_table("Methods", ["name", "also", "what it does"], rows)


def _facts(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "aliases": method.aliases,
        "estimator": method.estimator_name,
        "summary": method.summary,
        "parameters": {p.name: method.default(p.name) for p in method.parameters},
        "options": [p.option for p in method.parameters if p.option],
        "probabilities": method.suits.probabilities,
    }
