"""The examples of the README, of the guide and of the docstrings are true."""

import doctest
import sys
from importlib import import_module
from pathlib import Path
from runpy import run_path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PAGES = (
    "README.md",
    "docs/extending.md",
    "docs/files.md",
    "docs/checkpoints.md",
    "docs/scale.md",
    "docs/choosing.md",
    "docs/choosing_rows.md",
    "docs/faq.md",
    "docs/graphs.md",
    "docs/kernels.md",
    "docs/label_means.md",
    "docs/labelling.md",
    "docs/linear.md",
    "docs/many_classes.md",
    "docs/many_labels.md",
    "docs/parameters.md",
    "docs/pictures.md",
    "docs/programs.md",
    "docs/speed.md",
    "docs/trust.md",
    "docs/which_method.md",
)

MODULES = (
    "semisvm.persistence.checkpoints",
    "semisvm.maps.kmedian",
    "semisvm.tables.features",
    "semisvm.reporting.boundary",
    "semisvm.reporting.displays",
    "semisvm.reporting.method_displays",
    "semisvm.estimators.annealed",
    "semisvm.estimators.concave",
    "semisvm.estimators.cluster_kernel",
    "semisvm.estimators.maxent",
    "semisvm.estimators.one_norm",
    "semisvm.estimators.gradient",
    "semisvm.estimators.laplacian",
    "semisvm.estimators.means",
    "semisvm.estimators.multi_label",
    "semisvm.estimators.newton",
    "semisvm.estimators.semi_boost",
    "semisvm.estimators.transductive",
    "semisvm.label_steps.entropic",
    "semisvm.label_steps.switching",
    "semisvm.label_steps.transportation",
    "semisvm.model_selection.audit",
    "semisvm.model_selection.calibration",
    "semisvm.model_selection.method_comparison",
    "semisvm.estimators.class_shares",
    "semisvm.model_selection.metrics",
    "semisvm.model_selection.search",
    "semisvm.model_selection.splits",
    "semisvm.model_selection.method_choice",
    "semisvm.model_selection.selection",
    "semisvm.labelling.session",
    "semisvm.model_selection.conformal",
)


@pytest.mark.parametrize("page", PAGES)
def test_examples(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = ROOT / page
    if not path.exists():
        pytest.skip(f"{page} is not beside the tests")
    pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    if page == "docs/scale.md":
        import_module("dask_clusters")  # workers start as copies of one process
    if page == "README.md":
        monkeypatch.setattr(sys, "argv", ["functions.py", "."])
        run_path(str(ROOT / "examples" / "data" / "functions.py"), run_name="__main__")
    failed, attempted = doctest.testfile(
        str(path), module_relative=False, optionflags=FLAGS, encoding="utf-8"
    )
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("module", MODULES)
def test_docstrings(module: str) -> None:
    failed, attempted = doctest.testmod(import_module(module))
    assert attempted > 0
    assert failed == 0
