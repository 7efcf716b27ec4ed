"""Progress names the fit that runs, and is quiet where no terminal shows it."""

import re
import time

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from problems import hide, two_blobs
from semisvm.cli import progress
from semisvm.cli.progress import Counted, Shown, Traced, counting
from semisvm.estimators import registry
from semisvm.model_selection.comparison_result import Step
from waiting import wait_until

STEPS = [
    Step(name, fold + 1, 3, 3 * k + fold, 6) for k, name in enumerate("ab") for fold in range(3)
]


def test_the_fit_that_runs_is_named():
    counted = Counted()
    assert counted.text() == "starting"
    counted.update(STEPS[0])
    assert counted.text() == "a, fold 1 of 3 (fit 1 of 6)"
    counted.update(Step("da reg=0.1", 2, 3, 1, 6))
    assert counted.text() == "da reg=0.1, fold 2 of 3 (fit 2 of 6)"
    assert counted.share() == pytest.approx(1 / 6)


def test_the_time_left_goes_by_costs_and_by_times(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(progress, "perf_counter", lambda: clock[0])
    counted = Counted({"a": 1.0, "b": 10.0})
    for step, seconds in zip(STEPS[:4], (50.0, 2.0, 2.0, 0.0), strict=True):
        counted.update(step)
        clock[0] += seconds
    # a took 2 s a fit, twice its cost: so b will take 20 s, three times
    assert counted.text().endswith("(fit 4 of 6), about 60 s left")
    clock[0] += 5.0
    assert counted.text().endswith("about 55 s left")


def test_plain_lines_are_few_and_name_what_runs(monkeypatch, capsys):
    monkeypatch.setattr(progress, "TICK", 0.01)
    monkeypatch.setattr(progress, "PAUSE", 0.05)
    monkeypatch.setattr(progress, "STILL", 1e6)
    lines = []

    def new_lines():
        found = capsys.readouterr().err.splitlines()
        lines.extend(found)
        return found

    with counting(True) as callback:
        for step in (STEPS[0], STEPS[3]):
            callback(step)
            wait_until(new_lines)
            time.sleep(0.2)  # in which the same is not printed again
    new_lines()
    assert [re.match(r"\w, fold 1 of 3 \(fit \d of 6\)", line)[0] for line in lines] == [
        "a, fold 1 of 3 (fit 1 of 6)",
        "b, fold 1 of 3 (fit 4 of 6)",
    ]


def test_quick_work_is_silent(capsys, monkeypatch):
    assert progress.PAUSE >= 1.0
    monkeypatch.setattr(progress, "PAUSE", 1e6)
    with counting(True) as callback:
        callback(STEPS[0])
    with counting(False) as callback:
        assert callback is None
    with Shown(False).fitting("da") as callback:
        assert callback is None
    assert capsys.readouterr().err == ""


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("method", registry.methods(), ids=lambda method: method.name)
def test_every_method_can_be_watched(method):
    X, y = two_blobs(40)
    traced = Traced(method.name)
    method.make(callback=traced.update).fit(X, hide(y, 10))
    assert traced.text().startswith(f"fitting {method.name}")
    assert 0.0 <= traced.share() <= 1.0
    assert np.isfinite(traced.share())
