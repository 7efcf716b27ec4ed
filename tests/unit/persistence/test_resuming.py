"""A fit that was interrupted goes on from its checkpoint to the model of one that was not."""

import os

import numpy as np
import pytest
from scipy import sparse

from interrupted import CASES, TWO, InterruptedFitError, die, killed, made, same
from semisvm import AnnealedSVC, Checkpoint, NewtonSVC, TransductiveSVC, open_rows, write_rows
from semisvm.persistence import CheckpointError
from semisvm.persistence import checkpoints as module


@pytest.fixture
def path(tmp_path):
    return tmp_path / "fit.checkpoint"


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """Return the models of fits that are not interrupted, made once each."""
    found = {}

    def get(case):
        if case not in found:
            found[case] = made(case, tmp_path_factory.mktemp("whole") / "x", every=1e9)
        return found[case]

    return get


class Stopping:
    """Raise at a row of the trace."""

    def __init__(self, at):
        self.left = at

    def __call__(self, row):
        self.left -= 1
        if self.left < 0:
            raise InterruptedFitError


@pytest.mark.parametrize("case", CASES)
def test_every_method_goes_on_bit_for_bit(case, whole, path):
    n = len(whole(case).trace_)
    # the other cases differ from these by a loss, a kernel or a tree
    often = case in ("tsvm", "tsvm many", "da", "da many", "newton")
    for at in sorted({0, 1, n // 3, n // 2, n - 2, n - 1} if often else {1, n // 2, n - 1}):
        path.unlink(missing_ok=True)
        with pytest.raises(InterruptedFitError):
            made(case, path, callback=Stopping(at))
        same(made(case, path, resume=True), whole(case))


@pytest.mark.parametrize("case", ["tsvm", "da rare", "tsvm many", "da many", "newton"])
def test_a_fit_that_is_resumed_many_times(case, whole, path):
    for _ in range(1000):
        try:
            model = made(case, path, resume=True, callback=Stopping(3))
            break
        except InterruptedFitError:
            pass
    same(model, whole(case))


@pytest.mark.parametrize("case", ["tsvm", "da", "tsvm many", "newton"])
def test_a_callback_stops_a_fit_that_goes_on_later(case, whole, path):
    n = len(whole(case).trace_)
    stop = iter([*[False] * (n // 2), True, *[False] * n])
    early = made(case, path, callback=lambda row: next(stop))
    assert "stopped by the callback" in early.trace_.notes
    assert len(early.trace_) == n // 2 + 1
    same(made(case, path, resume=True), whole(case))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.parametrize(("case", "times"), [("tsvm", 6), ("da", 6), ("da many", 4)])
def test_killed_at_many_moments(case, times, whole, path, monkeypatch):
    """In the middle of rounds, before a file takes its name, and right after."""
    n = len(whole(case).trace_)
    real = module.write_checkpoint
    moments = np.linspace(0, n - 2, times).astype(int).tolist()

    def dying(where, at):
        left = [at]

        def write(name, content):
            left[0] -= 1
            if left[0] < 0 and where == "before":
                monkeypatch.setattr(os, "replace", lambda *_: die())
            real(name, content)
            if left[0] < 0:
                die()

        def callback(row):
            left[0] -= 1
            if left[0] < 0:
                die()

        if where != "round":
            module.write_checkpoint = write
        made(case, path, callback=callback if where == "round" else None)

    for k, at in enumerate(moments):
        path.unlink(missing_ok=True)
        where = ("round", "before", "after")[k % 3]
        killed(lambda where=where, at=at: dying(where, at))
        same(made(case, path, resume=True), whole(case))


@pytest.mark.parametrize("case", ["tsvm", "da many"])
def test_two_threads(case, path, tmp_path):
    other = made(case, tmp_path / "x", n_jobs=2)
    with pytest.raises(InterruptedFitError):
        made(case, path, n_jobs=2, callback=Stopping(5))
    same(made(case, path, n_jobs=2, resume=True), other)


def test_another_number_of_threads_is_reported(path):
    with pytest.raises(InterruptedFitError):
        made("tsvm", path, n_jobs=2, callback=Stopping(5))
    model = made("tsvm", path, n_jobs=1, resume=True)
    assert any("with 1 threads after 2" in note for note in model.trace_.notes)


@pytest.mark.parametrize("case", ["tsvm", "da", "tsvm many", "da many", "newton"])
def test_the_fit_is_as_good_as_one_without(case, whole):
    estimator, (X, y) = CASES[case]
    plain = estimator.set_params(callback=None).fit(X, y)
    kept = whole(case)
    assert kept.objective_ == pytest.approx(plain.objective_, rel=1e-4)
    assert np.mean(kept.transduction_ == plain.transduction_) > 0.98


def test_a_finished_fit_is_there_at_once(whole, path):
    made("tsvm", path)
    rows = []
    same(made("tsvm", path, resume=True, callback=rows.append), whole("tsvm"))
    assert rows == []


def test_seconds_go_on(path):
    with pytest.raises(InterruptedFitError):
        made("tsvm", path, callback=Stopping(5))
    assert np.all(np.diff(made("tsvm", path, resume=True).trace_["seconds"]) >= 0)


@pytest.mark.parametrize("kind", [NewtonSVC, TransductiveSVC, AnnealedSVC])
@pytest.mark.parametrize("dense", [False, True])
def test_fits_to_rows_on_the_disk(kind, dense, tmp_path, path):
    X, y = TWO
    write_rows(tmp_path / "a.rows", X if dense else sparse.csr_matrix(X), y)
    rows = open_rows(tmp_path / "a.rows")

    def fitted(**options):
        return kind(reg=1e-2, callback=Checkpoint(path, **options)).fit(rows, y)

    whole = fitted(every=1e9)
    n = len(whole.trace_)
    for at in (0, n // 2, n - 1):
        path.unlink(missing_ok=True)
        with pytest.raises(InterruptedFitError):
            fitted(every=0.0, callback=Stopping(at))
        same(fitted(every=0.0, resume=True), whole)


def test_other_rows_on_the_disk_are_refused(tmp_path, path):
    X, y = TWO
    write_rows(tmp_path / "a.rows", X, y)
    write_rows(tmp_path / "b.rows", X + 1e-9 * (np.arange(160) == 7)[:, None], y)
    write_rows(tmp_path / "c.rows", X)  # the same rows, without labels
    model = TransductiveSVC(callback=Checkpoint(path, every=0.0, callback=Stopping(3)))
    with pytest.raises(InterruptedFitError):
        model.fit(open_rows(tmp_path / "a.rows"), y)
    model = TransductiveSVC(callback=Checkpoint(path, resume=True))
    with pytest.raises(CheckpointError, match="rows"):
        model.fit(open_rows(tmp_path / "b.rows"), y)
    model.fit(open_rows(tmp_path / "c.rows"), y)
