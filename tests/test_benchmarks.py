"""Commands that the guide names beside its figures exist, and benchmarks can be started."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from benchmarks.__main__ import BENCHMARKS, ONLY, TOOLS, read_arguments
from benchmarks.trust import calibrated, covered, draw, judged
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from semisvm.reproduce import TABLES

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")])
# What an option takes -> an example.
EXAMPLES = {"N": "1000", "DIR": "folder", "REV": "HEAD", "FILE": "file"}
# Names of parameters, where they are not those of the options.
PARAMETERS = {"rows": "n_rows", "memory": "share"}
OWN = sorted({*BENCHMARKS, *TOOLS} - {*TABLES})


def named(program):
    """Yield page and arguments of every mention of a program between backticks."""
    for page in PAGES:
        text = " ".join(page.read_text(encoding="utf-8").split())
        for found in re.findall(rf"`{program}((?: [^` ]+)*)`", text):
            arguments = [EXAMPLES.get(word, word) for word in found.split()]
            if arguments and "NAME" not in arguments:
                yield page.name, arguments


def test_pages_name_benchmarks_that_exist():
    mentions = [m for m in named("python -m benchmarks") if m[1][0] != "fuzz"]
    assert len(mentions) > 30
    for _, arguments in mentions:
        read_arguments(arguments)


def test_pages_name_tables_that_exist():
    mentions = list(named("semisvm reproduce"))
    assert len(mentions) > 30
    wrong = [m for m in mentions if m[1][0] not in (*TABLES, "--list")]
    assert not wrong


@pytest.mark.parametrize("name", OWN)
def test_benchmarks_take_their_options(name):
    module = import_module(f"benchmarks.{name}")
    taken = inspect.signature(module.run).parameters
    assert module.REPEAT >= 0
    assert [*taken][1] == "repeat"
    for option, names in ONLY.items():
        if name in names:
            assert PARAMETERS.get(option, option) in taken


@pytest.mark.parametrize("measure", [calibrated, covered, judged])
def test_what_trust_measures(measure):
    X, y = load_breast_cancer(return_X_y=True)
    found = measure(draw(scale(X) / 5, y, 30, 0))
    assert all(np.isfinite(v) for v in found.values() if not isinstance(v, str))
