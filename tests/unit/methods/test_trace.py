import numpy as np
import pytest

from semisvm.methods import Recorder, Trace, falling, follow, rising, settling
from semisvm.solvers import State


def test_trace_as_table():
    trace = Trace([{"a": 1, "b": 2.0}, {"a": 3}], ["a note"])
    assert len(trace) == 2
    assert trace[1] == {"a": 3}
    assert trace["a"].tolist() == [1, 3]
    assert trace["b"][0] == 2.0
    assert np.isnan(trace["b"][1])
    assert [row["a"] for row in trace] == [1, 3]
    with pytest.raises(KeyError, match="the columns are"):
        trace["c"]
    frame = trace.to_frame()
    assert list(frame.columns) == ["a", "b"]
    assert len(frame) == 2


def test_rising_schedule_ends_at_the_goal():
    levels = list(rising(1e-5, 1.0, 1.5, 1e-6))
    values = [level.value for level in levels]
    assert values[0] == 1e-5
    assert values[-1] == 1.0
    assert np.all(np.diff(values) >= 0)
    assert [level.last for level in levels] == [False] * (len(levels) - 1) + [True]
    assert levels[0].tol == 1e-3
    assert levels[-1].tol == 1e-6


def test_rising_schedule_of_a_tiny_goal():
    assert [level.value for level in rising(1e-5, 1e-6, 1.5, 1e-2)] == [1e-6]


def test_settling_is_loose_then_tight():
    assert [level.tol for level in settling(1.0, 1e-6)] == [1e-3, 1e-6]
    assert [level.tol for level in settling(1.0, 1e-2)] == [1e-2]


def test_a_falling_schedule_ends_at_its_end_or_at_the_floor():
    levels = falling(8.0, 1.0, 2.0, 1e-6)
    assert [level.value for level in levels] == [8.0, 4.0, 2.0]
    state, method = iter([False, False, True]), Counting()
    follow("test", levels, method, Recorder(), 10, lambda: next(state))
    assert [call for call in method.calls if call[0] == "enter"] == [("enter", 8.0), ("enter", 4.0)]


class Counting:
    """A method whose labels settle after three rounds at every level."""

    def __init__(self):
        self.calls = []

    def enter(self, level):
        self.calls.append(("enter", level.value))
        self.round = 0

    def weight_step(self, level):
        self.calls.append("weights")
        return State(np.zeros(1), objective=1.0)

    def label_step(self, level):
        self.calls.append("labels")
        self.round += 1
        return self.round == 3, {"objective": 1.0}


def test_loop_alternates_until_settled():
    method, recorder = Counting(), Recorder()
    rounds, settled = follow("test", settling(1.0, 1e-6), method, recorder, 10)
    assert rounds == 6
    assert settled
    assert method.calls == [("enter", 1.0), *["weights", "labels"] * 3] * 2
    assert recorder.trace["iteration"].tolist() == [0, 1, 2, 0, 1, 2]
    assert recorder.trace["level"].tolist() == [0, 0, 0, 1, 1, 1]


def test_loop_is_bounded():
    rounds, settled = follow("test", settling(1.0, 1e-2), Counting(), Recorder(), 2)
    assert rounds == 2
    assert not settled


def test_callback_stops_the_loop():
    recorder = Recorder(callback=lambda row: row["iteration"] == 1)
    rounds, _ = follow("test", settling(1.0, 1e-6), Counting(), recorder, 10)
    assert rounds == 2
    assert recorder.stopped
    assert "stopped by the callback" in recorder.trace.notes


def test_verbose_prints_one_line_a_level(capsys):
    follow("test", settling(1.0, 1e-6), Counting(), Recorder(verbose=1), 10)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert all("objective=1" in line for line in lines)


def test_problems_in_turns_share_a_trace_and_each_has_a_round_after_a_stop():
    calls = []
    whole = Recorder(lambda row: calls.append(row) or len(calls) == 2)
    for number in range(3):
        part = whole.part(number, 3)
        for share in (0.0, 0.5, 0.9):
            part.add("descending", progress=share)
            if part.stopped:
                break
    assert whole.stopped
    assert len(calls) == 2
    assert whole.trace["progress"] == pytest.approx([0.0, 1 / 6, 1 / 3, 2 / 3])
    assert whole.trace.notes == ["stopped by the callback"]
