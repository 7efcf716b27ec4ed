"""Watching a fit: the trace, the callback, printed lines and warnings of every estimator."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from promises import clusters, every, every_with_classes, fitted, scores

COLUMNS = {"phase", "level", "value", "iteration", "objective", "seconds"}
"""What every row of a trace has."""


@every_with_classes("trace", "verbose")
def test_the_trace_has_rows(candidate, m):
    trace = fitted(candidate, m).trace_
    assert len(trace) >= 1
    for row in trace:
        assert row.keys() >= COLUMNS
        assert isinstance(row["phase"], str)
        assert np.isfinite(row["objective"])
    assert np.all(np.diff(trace["seconds"]) >= 0)
    assert list(trace.to_frame().columns) == trace.columns
    assert len(trace.to_frame()) == len(trace)


@every_with_classes("progress", "verbose")
def test_progress_never_falls_within_a_phase(candidate, m):
    shares = {}
    for row in fitted(candidate, m).trace_:
        if "progress" in row:
            shares.setdefault(row["phase"], []).append(row["progress"])
    for found in shares.values():
        assert np.all(np.diff(found) >= 0)
        assert 0 <= found[0] <= found[-1] <= 1


@every_with_classes("callback", "callback")
def test_a_callback_sees_every_row(candidate, m):
    X, _, partly = clusters(m)
    seen = []
    model = candidate.make(callback=seen.append).fit(X, partly)
    assert seen == model.trace_.rows
    np.testing.assert_array_equal(scores(model, X), scores(fitted(candidate, m), X))


@every("late stopping", "callback")
def test_the_second_row_may_be_the_last(candidate):
    X, _, partly = clusters(2)
    seen = []
    model = candidate.make(callback=lambda row: seen.append(row) or len(seen) == 2)
    whole = len(fitted(candidate).trace_)
    assert len(model.fit(X, partly).trace_) == min(whole, 2)
    assert model.trace_.rows == seen


@every_with_classes("stopping", "callback")
def test_a_callback_stops_the_fit(candidate, m):
    X, _, partly = clusters(m)
    calls = []
    model = candidate.make(callback=lambda row: calls.append(row) is None).fit(X, partly)
    assert calls == model.trace_.rows[:1]
    # each class against the rest still needs weights
    assert len(model.trace_) <= max(len(fitted(candidate, m).trace_) // 2, m)
    assert "stopped by the callback" in model.trace_.notes
    assert np.isfinite(scores(model, X)).all()
    assert set(model.predict(X).tolist()) <= set(range(m))


@every_with_classes("verbose", "verbose")
def test_verbose_prints_lines_on_stdout(candidate, m, capfd):
    X, _, partly = clusters(m)
    candidate.make().fit(X, partly)
    silent = capfd.readouterr()
    assert silent.out == silent.err == ""
    candidate.make(verbose=1).fit(X, partly)
    shown = capfd.readouterr()
    assert shown.err == ""
    assert all(line.startswith("[semisvm] ") for line in shown.out.splitlines())
    assert "objective=" in shown.out


@every_with_classes("max_iter", "max_iter")
def test_one_round_ends_or_warns(candidate, m):
    X, _, partly = clusters(m)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = candidate.make(max_iter=1).fit(X, partly)
    assert {warning.category for warning in caught} <= {ConvergenceWarning}
    assert {str(warning.message) for warning in caught} <= set(model.trace_.notes)
    assert np.isfinite(scores(model, X)).all()
    given = partly != -1
    np.testing.assert_array_equal(model.transduction_[given], partly[given])
