"""Commands whose work is done by worker processes: the results of one process, and clear errors."""

import csv
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("distributed")

import distributed
import psutil

from commands import refusal, run
from dask_clusters import start_cluster
from semisvm import load, open_rows
from semisvm.distributed import connecting
from semisvm.distributed.connecting import ClusterError, connected, in_order
from waiting import PATIENCE

WORDS = ("win money prize offer", "lunch meeting plan notes")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Three CSV files with a text, a number and few labels."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    for k in range(3):
        lines = ["text,size,kind"]
        for i in range(60):
            words = [*rng.choice(WORDS[i % 2].split(), 3), *rng.choice(list("abcdefgh"), 4)]
            label = ("spam", "ham")[i % 2] if i < 10 else ""
            lines.append(f"{' '.join(words)},{rng.normal():.3f},{label}")
        (folder / f"{k}.csv").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def client():
    with connected(n_workers=2) as client:
        yield client


@pytest.fixture(scope="module")
def address(client):
    return client.scheduler.address


@pytest.fixture(scope="module")
def model(made, address):
    """A model of all files, fitted by workers."""
    pattern, output = made / "*.csv", made / "m.semisvm"
    run(
        *("fit", pattern, "--label", "kind", "-a", "tsvm", "--cluster", address),
        *("-o", output, "--checkpoint", made / "c.checkpoint", "-q"),
    )
    assert not [path for path in made.iterdir() if path.name.startswith(".")]
    return output


def predictions(path):
    with open(path, newline="") as stream:
        return [(row["label"], float(row["score"])) for row in csv.DictReader(stream)]


def test_convert_writes_what_one_process_writes(made, address, tmp_path):
    run("convert", made / "*.csv", tmp_path / "a.rows", "--label", "kind", "-q")
    more = ("--cluster", address)
    run("convert", made / "*.csv", tmp_path / "b.rows", "--label", "kind", "-q", *more)
    one, other = open_rows(tmp_path / "a.rows"), open_rows(tmp_path / "b.rows")
    other.verify()
    np.testing.assert_allclose(one[:].toarray(), other[:].toarray(), rtol=1e-12)
    np.testing.assert_array_equal(one.labels(), other.labels())
    assert one.header.facts == other.header.facts
    names = [sorted(path.name for path in X.path.iterdir()) for X in (one, other)]
    assert names[0] == names[1]


def test_fit_finds_the_model_of_one_process(made, model, tmp_path):
    run("convert", made / "*.csv", tmp_path / "a.rows", "--label", "kind", "-q")
    run("fit", tmp_path / "a.rows", "-a", "tsvm", "-o", tmp_path / "m", "-q")
    one, other = load(tmp_path / "m").estimator, load(model).estimator
    assert one.objective_ == pytest.approx(other.objective_, rel=1e-6)
    assert "rounds" in other.trace_.columns
    assert "rounds" not in one.trace_.columns
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-4)


def test_rows_of_a_folder_are_divided(made, address, tmp_path):
    run("convert", made / "*.csv", tmp_path / "a.rows", "--label", "kind", "-q")
    arguments = ["fit", tmp_path / "a.rows", "-a", "svm", "-o"]
    run(*arguments, tmp_path / "one", "-q")
    run(*arguments, tmp_path / "many", "-q", "--cluster", address)
    one, many = (load(tmp_path / name).estimator for name in ("one", "many"))
    np.testing.assert_allclose(one.coef_, many.coef_, atol=1e-5)


def test_predict_and_evaluate(made, model, address, tmp_path):
    files = [made / "0.csv", made / "1.csv"]
    run("predict", model, *files, "-o", tmp_path / "a.csv", "--keep", "size")
    run("predict", model, *files, "-o", tmp_path / "b.csv", "--keep", "size", "--cluster", address)
    assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()
    assert len(predictions(tmp_path / "a.csv")) == 120
    shown = [
        run("evaluate", model, made / "0.csv", "--json", *more).stdout
        for more in ((), ("--cluster", address))
    ]
    assert shown[0] == shown[1]


def test_rules_and_sets_are_judged_by_workers(made, address, tmp_path, monkeypatch):
    monkeypatch.setattr("semisvm.cli.clusters.PIECE_ROWS", 17)  # several pieces
    arguments = ["--label", "kind", "-a", "svm", "--probabilities", "-q", "-o", tmp_path / "m"]
    run("fit", made / "0.csv", *arguments)
    rules = ["--abstain-below", "0.7", "--cost", "spam:ham=3", "--coverage", "0.8", "--json"]
    for options in (rules, ["--threshold", "spam=0.8", "--json"]):
        command = ("evaluate", tmp_path / "m", made / "1.csv", *options)
        shown = [json.loads(run(*command, *more).stdout) for more in ((), ("--cluster", address))]
        assert shown[0] == shown[1]
        assert {"answered", "accuracy_of_answered"} <= set(shown[0]["trust"])
    assert "--cost must look like" in refusal(*command, "--cost", "x", "--cluster", address)


def test_a_checkpoint_goes_on(made, model, address, tmp_path):
    """The fit was finished, so that it returns at once; with another file it is refused."""
    arguments = ["--label", "kind", "-a", "tsvm", "--cluster", address, "-q", "--resume"]
    arguments += ["--checkpoint", made / "c.checkpoint"]
    run("fit", made / "*.csv", *arguments, "-o", tmp_path / "m")
    assert np.array_equal(load(tmp_path / "m").estimator.coef_, load(model).estimator.coef_)
    line = refusal("fit", made / "[01].csv", *arguments, "-o", tmp_path / "m")
    assert "cannot go on from this checkpoint" in line


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ([], "--algorithm must be one of svm, tsvm, da, not auto"),
        (["-a", "lds"], "--algorithm must be one of svm, tsvm, da, not lds"),
        (["-a", "tsvm", "--kernel", "rbf"], "--kernel must be linear"),
        (["-a", "tsvm", "--probabilities"], "--probabilities makes five more fits"),
        (["-a", "tsvm", "--key", "size"], "--answers and --key need a file in one place"),
        (["-a", "tsvm", "--cluster", "tcp://127.0.0.1:1"], "--workers starts some: use one"),
    ],
)
def test_what_is_refused_before_anything_starts(made, arguments, reason, tmp_path):
    line = refusal("fit", made / "0.csv", "--workers", 2, "-o", tmp_path / "m", *arguments)
    assert reason in line


def test_several_files_without_workers(made, tmp_path):
    line = refusal("fit", made / "0.csv", made / "1.csv", "-a", "tsvm", "-o", tmp_path / "m")
    assert "there are 2 files" in line
    assert "--workers N" in line


def test_a_scheduler_that_does_not_answer(made, tmp_path, monkeypatch):
    monkeypatch.setattr(connecting, "CONNECT_SECONDS", 1.0)
    arguments = ["-a", "svm", "-o", tmp_path / "m", "--cluster"]
    for place in ("tcp://127.0.0.1:1", "nowhere"):
        line = refusal("fit", made / "0.csv", *arguments, place)
        assert f"no scheduler of Dask answers at {place} within 1 s" in line


def test_dask_that_is_not_installed(made, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    line = refusal("fit", made / "0.csv", "-a", "svm", "-o", tmp_path / "m", "--workers", 2)
    assert 'pip install "semisvm[dask]"' in line


def test_files_that_workers_cannot_read(made, address, tmp_path, monkeypatch):
    """Workers see this one, so what they answer is taken for another file."""
    compare = connecting._compare_sizes
    monkeypatch.setattr(
        connecting, "_compare_sizes", lambda client, names, here: compare(client, names, [17])
    )
    arguments = ["--label", "kind", "-a", "svm", "-o", tmp_path / "m", "--cluster", address]
    line = refusal("fit", made / "0.csv", *arguments)
    assert "has another file in the place of" in line
    assert "shared disk" in line


def test_workers_that_have_no_such_file(client, tmp_path):
    with pytest.raises(ClusterError, match=r"cannot read .*gone\.csv"):
        connecting._compare_sizes(client, [str(tmp_path / "gone.csv")], [5])


def test_workers_with_other_versions(client, monkeypatch):
    here = connecting.versions()
    monkeypatch.setattr(connecting, "versions", lambda: here)
    connecting.check_workers(client)
    monkeypatch.setattr(connecting, "_run", lambda *_: {"tcp://a:1": {**here, "numpy": "1.0"}})
    with pytest.raises(ClusterError, match=r"tcp://a:1 has numpy 1\.0 instead of"):
        connecting.check_workers(client)


def test_a_cluster_without_workers(monkeypatch):
    with start_cluster(0) as empty, distributed.Client(empty) as client:
        monkeypatch.setattr(connecting, "CONNECT_SECONDS", 0.5)
        with pytest.raises(ClusterError, match=r"no worker after 0\.5 s"):
            connecting.check_workers(client)


def double(number):
    if number < 0:
        raise ValueError("negative")
    return 2 * number


def test_answers_come_in_order(client):
    assert list(in_order(client, double, ((k,) for k in range(20)))) == list(range(0, 40, 2))
    with pytest.raises(ValueError, match="negative"):
        list(in_order(client, double, [(1,), (-1,), (2,)]))


def test_what_is_started_listens_on_the_loopback_address_only(client):
    processes = [os.getpid(), *client.run(os.getpid).values()]
    listening = [
        found.laddr.ip
        for number in processes
        for found in psutil.Process(number).net_connections("inet")
        if found.status == psutil.CONN_LISTEN
    ]
    assert len(listening) >= 3
    assert set(listening) == {"127.0.0.1"}


PROGRAM = """
import sys
import semisvm.training as training

def train(*arguments, **options):
    print("in the fit", file=sys.stderr, flush=True)
    import time
    time.sleep(600)

if __name__ == "__main__":
    training.train = train
    from semisvm.cli import interrupts
    interrupts.GRACE = 100.0  # to end its workers may take a busy machine a while
    from semisvm.cli.entry import main
    main()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork and POSIX signals")
def test_an_interrupt_leaves_no_worker_and_no_file(made, tmp_path):
    """Ctrl-C goes to all processes of a terminal."""
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, tmp_path / "program.py", "fit", made / "*.csv", "--label", "kind"]
    command += ["-a", "tsvm", "-o", tmp_path / "m", "--workers", "2"]
    process = subprocess.Popen(
        list(map(str, command)), stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        seen = ""
        while "in the fit" not in seen and process.poll() is None:
            seen += process.stderr.readline()
        started = psutil.Process(process.pid).children(recursive=True)
        assert len(started) >= 3, seen
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 128 + signal.SIGINT
    assert "stopped; no file was written" in errors
    assert "Traceback" not in errors
    _, alive = psutil.wait_procs(started, timeout=PATIENCE)
    assert not alive
    assert [path.name for path in tmp_path.iterdir()] == ["program.py"]
