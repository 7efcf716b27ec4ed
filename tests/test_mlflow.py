"""The model of MLflow that the guide makes."""

import re
from pathlib import Path

import pytest

from semisvm import SemiSupervisedClassifier

ROOT = Path(__file__).resolve().parents[1]
mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed: it is large")


@pytest.mark.filterwarnings("ignore")  # those of mlflow
def test_the_model_of_the_guide_predicts(tmp_path, monkeypatch):
    pd = pytest.importorskip("pandas")
    page = (ROOT / "docs" / "files.md").read_text(encoding="utf-8")
    section = page.partition("## MLflow")[2].partition("\n## ")[0]
    serving, saving = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    monkeypatch.chdir(tmp_path)
    Path("serving.py").write_text(serving, encoding="utf-8")
    subjects = ["cheap pills", "lunch on monday", "cheap flights", "monday plans"] * 5
    kinds = ["spam", "ham", "spam", "ham", *[None] * 16]
    mail = pd.DataFrame({"subject": subjects})
    model = SemiSupervisedClassifier("tsvm").fit(mail, kinds)
    found = {"model": model}
    exec(saving, found)
    assert [*found["served"].predict(mail)] == [*model.predict(mail)]
    stored = [path.suffix for path in Path("mail").rglob("*") if path.is_file()]
    assert ".semisvm" in stored
    assert not {".pkl", ".pickle", ".joblib"}.intersection(stored)
