"""What mypy sees of the package, in the code of its users."""

import subprocess
import sys

import pytest

pytest.importorskip("mypy", reason="types are checked by mypy")

USE = """\
from semisvm import SemiSupervisedClassifier, TransductiveSVC, choose
from semisvm.model_selection import CalibratedPartialClassifier

TransductiveSVC(losss="hinge")
TransductiveSVC(loss=3)
TransductiveSVC(0.1, 1.0, "hinge")
SemiSupervisedClassifier(methd="svm")
CalibratedPartialClassifier(TransductiveSVC(), cvv=3)
reveal_type(TransductiveSVC(0.1, loss="hinge", kernel="rbf").fit([[0.0]], [1]))
reveal_type(choose([[0.0]], [1]).make(unlabeled=-9))
"""
SEEN = [
    'Unexpected keyword argument "losss" for "TransductiveSVC"',
    'Argument "loss" to "TransductiveSVC" has incompatible type "int"',
    'Too many positional arguments for "TransductiveSVC"',
    'Unexpected keyword argument "methd" for "SemiSupervisedClassifier"',
    'Unexpected keyword argument "cvv" for "CalibratedPartialClassifier"',
    'Revealed type is "semisvm.estimators.transductive.TransductiveSVC"',
    'Revealed type is "semisvm.estimators.scoring.ScoringClassifier"',
]

# of what the package imports, nothing is looked at that its users' types do not need
CONFIG = """\
[mypy]
ignore_missing_imports = True
[mypy-scipy.*,optype.*,numba.*,distributed.*,dask.*,tornado.*,matplotlib.*,onnx.*]
follow_imports = skip
follow_imports_for_stubs = True
"""


def test_mypy_finds_wrong_parameters(tmp_path):
    path = tmp_path / "use.py"
    path.write_text(USE)
    (tmp_path / "mypy.ini").write_text(CONFIG)
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    found = [line for line in done.stdout.splitlines() if "defined" not in line]
    for line, expected in enumerate(SEEN, 4):
        assert any(f"use.py:{line}: " in text and expected in text for text in found), done.stdout
    assert "Found 5 errors in 1 file" in done.stdout
