"""The fuzzers: that they find what is wrong, and nothing in the readers."""

import random
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest
from benchmarks import ROOT, fuzz
from benchmarks.__main__ import main
from benchmarks.fuzz import explore
from benchmarks.fuzzing import runner
from benchmarks.fuzzing.checking import WrongError, expect, outcome
from benchmarks.fuzzing.findings import Finding, attempt, shrink
from benchmarks.fuzzing.mutation import mutator, packed, unpacked
from benchmarks.fuzzing.targets import Inputs, load_target, target_names

from semisvm.tables import DataError

CASES = sorted(path for path in (Path(__file__).parent / "cases").glob("*/*") if path.is_file())
TARGETS = target_names()
INPUTS = 250
# of these, one input takes tens of milliseconds
FEWER = {"fits": 25, "models": 80, "checkpoints": 80, "xlsx": 80}


@pytest.mark.parametrize("name", TARGETS)
def test_short_run(name):
    found = explore(name, seed=7, n_inputs=FEWER.get(name, INPUTS))
    assert not found, found[0].report


@pytest.mark.parametrize("path", CASES, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_inputs_that_once_failed(path):
    name = path.parent.name
    found = attempt(name, load_target(name), path.read_bytes(), None)
    assert found is None, found.report


def test_there_are_cases_of_every_format():
    assert {path.parent.name for path in CASES} >= {
        *("csv", "jsonl", "svmlight", "npz", "parquet", "rows", "checkpoints", "fits")
    }


def test_checkpoints_that_are_sound_are_not_refused(tmp_path):
    from benchmarks.fuzzing import checkpoints

    for content in checkpoints.seeds():
        (tmp_path / "x").write_bytes(content)
        found = checkpoints.resumed(tmp_path / "x")
        assert not isinstance(found, DataError), found


def test_inputs_repeat_with_the_seed():
    target = load_target("svmlight")
    one, two, three = (Inputs(target, random.Random(seed)) for seed in (1, 1, 2))
    drawn = [one.draw() for _ in range(50)]
    assert drawn == [two.draw() for _ in range(50)]
    assert drawn != [three.draw() for _ in range(50)]
    assert len(set(drawn)) > 40


def test_members_of_archives_are_changed_with_right_checksums():
    target = load_target("npz")
    seed = target.seeds()[2]
    rng = random.Random(0)
    readable = [unpacked(target.mutate(seed, rng)) for _ in range(50)]
    assert sum(bool(members) for members in readable) > 30
    members = unpacked(seed)
    assert unpacked(packed(members, 0)) == members


def fails(data):
    """Stands for a reader that leaks errors, hangs, and reads wrongly."""
    if b"leak" in data:
        raise KeyError(data)
    if b"wrong" in data:
        raise WrongError
    if b"hang" in data:
        time.sleep(60)


SICK = SimpleNamespace(
    seeds=lambda: [b"well"], mutate=mutator([b"leak", b"wrong", b"hang"]), check=fails
)


def test_failures_are_distinguished_and_made_smaller():
    place = {}
    for word in (b"leak", b"wrong"):
        data = b"0123456789" * 20 + word + b"abcdef" * 30
        found = attempt("sick", SICK, data, None)
        place[word] = found.place
        small = shrink(found, lambda data: attempt("sick", SICK, data, None))
        assert small.data == word
    assert place[b"leak"].startswith("KeyError")
    assert place[b"wrong"] != place[b"leak"]
    assert attempt("sick", SICK, b"well", None) is None


def test_running_out_of_memory_is_a_failure_though_readers_report_it():
    def read():
        try:
            raise MemoryError
        except MemoryError as error:
            raise DataError("too large.") from error

    with pytest.raises(MemoryError):
        outcome(read)
    refusal = DataError("no.")
    assert outcome(lambda: expect(True, "")) is None

    def refuse():
        raise refusal

    assert outcome(refuse) is refusal


BOUNDED = """
import time
from types import SimpleNamespace
from benchmarks.fuzzing.findings import attempt
from benchmarks.fuzzing.runner import bound_memory
bound_memory()

def hang(data):
    while True:
        pass

for check, seconds in (
    (hang, 0.2),
    (lambda data: time.sleep(0.5), 0.2),
    (lambda data: bytearray(1 << 30), 60.0),
    (lambda data: None, 60.0),
):
    found = attempt("sick", SimpleNamespace(check=check), b"", seconds)
    print(None if found is None else found.place.split()[0])
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs Linux")
def test_time_and_memory_are_bounded():
    done = subprocess.run(
        [sys.executable, "-c", BOUNDED], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["HangError", "None", "MemoryError", "None"]


def test_kept_findings(tmp_path):
    path = Finding("csv", "KeyError in x.py:1", "Traceback", b"a,b").save(tmp_path)
    assert path.read_bytes() == b"a,b"
    assert "KeyError" in path.with_suffix(".txt").read_text()


def test_the_command_in_processes_of_its_own(tmp_path, capsys):
    arguments = ["fuzz", "--seconds", "0.5", "--processes", "1", "--out", str(tmp_path)]
    assert main([*arguments, "--targets", "jsonl", "labels"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["target", "jsonl", "labels", "all"]
    assert main(["fuzz", "--list"]) == 0
    assert "csv" in capsys.readouterr().out
    (tmp_path / "case").write_bytes(b"a,b\n1,2\n")
    assert main(["fuzz", "--targets", "csv", "--try", str(tmp_path / "case")]) == 0
    assert capsys.readouterr().out == "fine\n"


def test_slowest_inputs_are_kept(tmp_path, capsys, monkeypatch):
    def run(names, *_):
        outcome = runner.Outcome(names, [12], [1.0])
        for k in range(12):
            outcome.add(runner.Timed(k % 4 + k / 100, "fits", f"fit {k}".encode()))
        return outcome

    monkeypatch.setattr(fuzz, "run", run)
    assert main(["fuzz", "--targets", "fits", "--slowest", "--out", str(tmp_path)]) == 0
    lines = capsys.readouterr().out.splitlines()[3:]
    assert [line.split()[1] for line in lines[:3]] == ["3.11", "3.07", "3.03"]
    assert len(lines) == runner.SLOWEST
    assert Path(lines[0].split()[-1]).read_bytes() == b"fit 11"


def test_a_process_that_dies_leaves_its_input():
    import multiprocessing

    tally = runner.Tally.of(multiprocessing.get_context("spawn"), 2)
    tally.begin(1, b"deadly")
    dead = SimpleNamespace(is_alive=lambda: False, exitcode=-11)
    lost = runner.Worker(dead, tally).lost(["csv", "npz"])
    assert (lost.target, lost.data, lost.place) == ("npz", b"deadly", "exit code -11")
    tally.end()
    assert tally.counts[1] == 1
    fine = SimpleNamespace(is_alive=lambda: True, exitcode=None)
    assert runner.Worker(fine, tally).lost(["csv", "npz"]) is None
