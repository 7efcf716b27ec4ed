"""Import paths of packages that were merged."""

import subprocess
import sys
from importlib import import_module

import pytest

from semisvm._lazy import MOVED

# What was public at an old path, one name each.
NAMES = {
    "semisvm.active": "MarginSelection",
    "semisvm.checkpoints": "Checkpoint",
    "semisvm.clusters": "KMedian",
    "semisvm.columns": "ColumnFeatures",
    "semisvm.displays": "TraceDisplay",
    "semisvm.exporting": "to_onnx",
    "semisvm.io": "read",
    "semisvm.loop": "follow",
    "semisvm.model_files": "load",
    "semisvm.ondisk": "open_rows",
    "semisvm.programs": "solve_linear",
    "semisvm.registry": "find",
    "semisvm.report": "report_data",
}


@pytest.mark.parametrize("old", MOVED)
def test_old_paths_have_the_names_of_the_new_ones_and_warn(old, monkeypatch):
    monkeypatch.delitem(sys.modules, old, raising=False)
    with pytest.warns(DeprecationWarning, match=rf"{old} has moved: import from {MOVED[old]}\."):
        module = import_module(old)
    assert getattr(module, NAMES[old]) is getattr(import_module(MOVED[old]), NAMES[old])
    with pytest.raises(AttributeError):
        module.no_such_name  # noqa: B018
    monkeypatch.delitem(sys.modules, old)


def test_the_warning_is_shown_where_the_import_is():
    code = "from semisvm.io import read"
    command = [sys.executable, "-W", "always", "-c", code]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stderr
    assert shown.startswith("<string>:1: DeprecationWarning: semisvm.io has moved")


def test_other_modules_are_missing_as_before():
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        import_module("semisvm.no_such_module")


@pytest.mark.parametrize(
    ("old", "new"), [("Sitting", "LabelingSession"), ("SittingError", "LabelingError")]
)
def test_old_names_of_the_labelling_session(old, new):
    labelling = import_module("semisvm.labelling")
    with pytest.warns(DeprecationWarning, match=f"{old} is {new} now"):
        assert getattr(labelling, old) is getattr(labelling, new)
