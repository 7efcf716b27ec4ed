"""The scripts of the gallery run, print, and draw their picture."""

import runpy
import sys
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")

ROOT = Path(__file__).resolve().parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
if not SCRIPTS:
    pytest.skip("the examples are not beside the tests", allow_module_level=True)


# matplotlib warns where a machine is slow
@pytest.mark.filterwarnings("ignore:Creating legend with loc")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_example(script, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [script.name, str(tmp_path / "new"), "1", "30"])
    runpy.run_path(str(script), run_name="__main__")
    assert capsys.readouterr().out.strip()
    assert (tmp_path / "new" / f"{script.stem}.png").stat().st_size > 5000


def test_gallery_shows_every_example():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    for script in SCRIPTS:
        assert f"../examples/{script.name}" in page
        assert f"../build/examples/{script.stem}.png" in page
