"""Which tests are slow."""

from pathlib import Path

TESTS = Path(__file__).resolve().parent

SLOW = (
    *("browser", "cli", "common", "fuzz", "papers", "reference", "unit/distributed"),
    *(
        "test_benchmarks.py",
        "test_docs.py",
        "test_examples.py",
        "test_readme.py",
        "test_sklearn.py",
        "test_typing.py",
    ),
    *("properties/test_classes.py", "properties/test_invariance.py"),
    *("properties/test_parameters_act.py", "properties/test_weights.py"),
    *("unit/designs/test_fits.py", "unit/designs/test_memory.py"),
    "unit/label_steps/test_interrupting.py",
    *("unit/estimators/test_committee.py", "unit/estimators/test_laplacian.py"),
    *("unit/estimators/test_evidence.py", "unit/estimators/test_many_classes.py"),
    *("unit/estimators/test_positive.py", "unit/model_selection/test_evidence.py"),
    *("unit/labelling/test_journal.py", "unit/labelling/test_session.py"),
    "unit/labelling/test_saved_answers.py",
    *("unit/model_selection/test_audit.py", "unit/model_selection/test_column_choice.py"),
    *("unit/model_selection/test_conformal.py", "unit/model_selection/test_priors.py"),
    *("unit/persistence/test_exporting.py", "unit/persistence/test_hostile_files.py"),
    *("unit/persistence/test_onnx_columns.py", "unit/persistence/test_resuming.py"),
    *("unit/reporting/test_report.py", "unit/tables/test_encoders.py"),
    *("unit/tables/test_informative.py", "unit/tables/test_rows_writing.py"),
    *("unit/test_compiling.py", "unit/test_imports.py", "unit/test_processes.py"),
)
"""Folders and files that `make quick` leaves out.

They test parts together, start processes, or take more than five seconds of a processor.
"""


def is_slow(path: Path) -> bool:
    """Return whether the tests of a file are among them."""
    parts = [path, *path.parents]
    return any(TESTS / name in parts for name in SLOW)
