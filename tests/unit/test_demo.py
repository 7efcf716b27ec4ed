"""The demo: its records, their two views, and the command."""

import builtins
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from semisvm import NewtonSVC, TransductiveSVC, demo

COUNTS = (6, 12)


@pytest.fixture(scope="module")
def records() -> list[demo.Record]:
    return demo.run(COUNTS, n_draws=2)


def test_one_record_for_each_method_count_and_draw(records: list[demo.Record]) -> None:
    found = {(r.method, r.n_labels, r.draw) for r in records}
    assert found == {(m, n, d) for m in demo.MAIN for n in COUNTS for d in (0, 1)}
    assert len(records) == len(found)


def test_records_are_plausible_and_repeat(records: list[demo.Record]) -> None:
    assert all(0.0 <= r.error <= 0.6 and r.seconds > 0.0 for r in records)
    again = demo.run(COUNTS, n_draws=2)
    assert [(r.error, r.objective) for r in again] == [(r.error, r.objective) for r in records]


def test_transductive_methods_reach_a_lower_objective(records: list[demo.Record]) -> None:
    mean = {m: np.mean([r.objective for r in records if r.method == m]) for m in demo.MAIN}
    assert mean["TSVM"] < mean["supervised"]
    assert mean["DA"] < mean["supervised"]


def test_objective_is_the_one_of_the_estimator() -> None:
    X, y = demo.load_task()
    shares = demo.class_shares(y)
    order = demo.labeling_order(y, seed=3)
    partly = np.full(len(y), demo.UNLABELED)
    partly[order[:10]] = y[order[:10]]
    model = TransductiveSVC(class_prior=shares).fit(X, partly)
    found = demo.transductive_objective(model, X, partly, shares)
    assert found == pytest.approx(model.objective_, rel=1e-9)
    supervised = NewtonSVC().fit(X, partly)
    assert demo.transductive_objective(supervised, X, partly, shares) > found


def test_too_few_labels_are_refused() -> None:
    with pytest.raises(ValueError, match="4 or more"):
        demo.run((2,), n_draws=1)


def test_an_order_shows_both_classes_early() -> None:
    _, y = demo.load_task()
    for seed in range(5):
        order = demo.labeling_order(y, seed)
        assert sorted(order) == list(range(len(y)))
        assert set(y[order[: demo.FEWEST]]) == set(demo.DIGITS)


def test_many_classes() -> None:
    records = demo.run_many(n_draws=1)
    assert [r.method for r in records] == [*demo.MAIN, demo.TOLD_NOTHING]
    error = {r.method: r.error for r in records}
    assert error["TSVM"] < error["supervised"]
    assert error["DA"] < error["supervised"]
    shown = demo.many_table(records)
    assert "40 labels" in shown
    assert "AnnealedSVC" in shown


def test_command(tmp_path: Path) -> None:
    out = tmp_path / "new" / "folder"
    command = [sys.executable, "-m", "semisvm.demo", "--out", str(out), "--draws", "1"]
    shown = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    for name in ("NewtonSVC", "TransductiveSVC", "AnnealedSVC", "ten digits"):
        assert name in shown
    assert (out / demo.PICTURE).read_bytes().startswith(b"\x89PNG")


def test_command_without_matplotlib(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real_import = builtins.__import__

    def no_matplotlib(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real_import(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", no_matplotlib)
    assert demo.main(["--out", str(tmp_path), "--draws", "1"]) == 0
    shown = capsys.readouterr().out
    assert "TransductiveSVC" in shown
    assert "semisvm[plots]" in shown
    assert not (tmp_path / demo.PICTURE).exists()


def test_command_refuses_no_draws(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        demo.main(["--draws", "0"])
    assert "--draws" in capsys.readouterr().err
