"""The runner of experiments: what it measures, keeps, judges and draws, also after a kill."""

import json
import os
import subprocess
import sys
from dataclasses import asdict, replace

import pytest
from papers.data import MissingDataError
from papers.keeping import data_fingerprint, key_of
from papers.plans import Curve, Part, Plan, draws, mean
from papers.runner import Progress, run
from papers.table import OK, revision, verdict

from interrupted import die, killed
from papers import Table
from papers import runner as running
from semisvm.tables import DataError

TABLE = Table("made", "made up", "nobody", (), may_use=("blobs",), figure=True)
SEEN = []


def measure(folder, n, seed):
    """Stand for a fit, and remember that it was made."""
    SEEN.append((n, seed))
    return {"score": n + 0.1 * seed, "pair": (n, seed)}


def rows(found):
    """Average the draws of every n; two is enough."""
    scores = {n: mean([r["score"] for r in draws(found, n)]) for n in (1, 2)}
    return [{"n": n, "score": s, "ok": verdict(s >= 2)} for n, s in scores.items()]


def curves(found):
    lines = {"made": [[r["score"] for r in draws(found, n)] for n in (1, 2)]}
    return [Curve("made", (1, 2), lines, {"most": 3.0})]


def plan(folder, repeat):
    calls = [(n, seed) for n in (1, 2) for seed in range(repeat)]
    return Plan(
        {"draws": repeat},
        [Part("first", measure, calls, rows, curves), Part("again", measure, calls, rows)],
    )


@pytest.fixture(autouse=True)
def made(monkeypatch):
    """Let the runner find the experiment of this file."""
    SEEN.clear()
    module = sys.modules[__name__]
    monkeypatch.setattr(module, "REPEAT", 2, raising=False)
    monkeypatch.setattr(running, "import_module", lambda name: module)


def test_a_run_prints_judges_and_returns_everything(tmp_path, capsys):
    result = run(TABLE, tmp_path, jobs=1)
    printed = capsys.readouterr().out
    assert "draws 2" in printed
    assert "MISSED" in printed
    assert result["settings"] == {"draws": 2}
    assert [row["score"] for row in result["tables"]["first"]] == [1.05, 2.05]
    assert result["tables"]["again"][1]["ok"] == OK
    assert result["misses"] == 2, "one in each part"
    (curve,) = result["curves"]
    assert curve["lines"]["made"] == [[1, 1.1], [2, 2.1]]
    assert curve["levels"] == {"most": 3.0}
    # parts that ask for the same measurement share it
    assert len(SEEN) == 4
    json.dumps(result)


def test_two_processes_give_the_same():
    # a function that the other process can import
    part = Part("squares", pow, [(3, 5), (4, 5)], lambda found: [{"sum": sum(found.values())}])
    both = running.Results(2, 2, running.unwatched)
    both.expect([part])
    assert both.of(part) == {(3, 5): 3, (4, 5): 1}
    alone = running.Results(2, 1, running.unwatched)
    alone.expect([part])
    assert alone.of(part) == both.of(part)


def test_a_run_goes_on_where_it_was_stopped(tmp_path, capsys):
    kept = tmp_path / "kept.jsonl"
    first = run(TABLE, tmp_path, 1, jobs=1, resume=kept)
    assert SEEN == [(1, 0), (2, 0)]
    # more draws take over the fewer
    second = run(TABLE, tmp_path, 2, jobs=1, resume=kept)
    assert SEEN == [(1, 0), (2, 0), (1, 1), (2, 1)]
    assert "2 of 4 measurements are taken over" in capsys.readouterr().out
    third = run(TABLE, tmp_path, 2, jobs=1, resume=kept)
    assert len(SEEN) == 4
    assert third["tables"] == second["tables"] == run(TABLE, tmp_path, 2, jobs=1)["tables"]
    assert first["tables"] != second["tables"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kill -9 of a forked process")
def test_kill_9_loses_only_what_was_running(tmp_path, monkeypatch, capsys):
    kept, usual = tmp_path / "kept.jsonl", measure

    def fatal(folder, n, seed):
        if (n, seed) == (2, 1):
            die()
        return usual(folder, n, seed)

    fatal.__module__, fatal.__qualname__ = usual.__module__, usual.__qualname__
    with monkeypatch.context() as patch:
        patch.setitem(globals(), "measure", fatal)
        killed(lambda: run(TABLE, tmp_path, 2, jobs=1, resume=kept))
    assert not SEEN, "the child has its own list"
    result = run(TABLE, tmp_path, 2, jobs=1, resume=kept)
    assert SEEN == [(2, 1)]
    assert result["tables"] == run(TABLE, tmp_path, 2, jobs=1)["tables"]


def test_a_line_that_was_cut_off_is_measured_again(tmp_path, capsys):
    kept = tmp_path / "kept.jsonl"
    run(TABLE, tmp_path, 1, jobs=1, resume=kept)
    content = kept.read_bytes()
    kept.write_bytes(content[:-20])
    SEEN.clear()
    run(TABLE, tmp_path, 1, jobs=1, resume=kept)
    assert SEEN == [(2, 0)]


def changed(kept, old, new):
    content = kept.read_text()
    assert old in content
    kept.write_text(content.replace(old, new))


def test_damaged_results_are_measured_again(tmp_path, capsys):
    kept = tmp_path / "kept.jsonl"
    right = run(TABLE, tmp_path, 1, jobs=1, resume=kept)
    before = kept.read_bytes()
    changed(kept, '"score":2.0', '"score":7.0')
    damaged = kept.read_bytes()
    SEEN.clear()
    assert run(TABLE, tmp_path, 1, jobs=1, resume=kept)["tables"] == right["tables"]
    assert SEEN == [(2, 0)]
    assert "kept.jsonl is damaged. Every result" in capsys.readouterr().out
    assert (tmp_path / "kept.jsonl.damaged").read_bytes() == damaged
    # without it it is not known whether the results are of this code and these data
    kept.write_bytes(before.replace(b'{"seq":2', b'"seq":2', 1))
    with pytest.raises(DataError, match=r"line .* is lost"):
        run(TABLE, tmp_path, 1, jobs=1, resume=kept)


@pytest.mark.parametrize(
    "content", ['{"some": "other file"}\n{}\n', "one line of notes", '{"a": 1}', "a,b\n1,2"]
)
def test_other_files_are_refused_and_left_alone(tmp_path, content):
    kept = tmp_path / "kept.jsonl"
    kept.write_text(content)
    with pytest.raises(DataError, match="not a journal of 'python -m papers'"):
        run(TABLE, tmp_path, 1, jobs=1, resume=kept)
    assert kept.read_text() == content
    assert list(tmp_path.iterdir()) == [kept]


def test_results_of_something_else_are_refused(tmp_path, monkeypatch, capsys):
    kept = tmp_path / "kept.jsonl"
    place = tmp_path / "blobs"
    place.mkdir()
    (place / "y.npy").write_bytes(b"1")
    run(TABLE, tmp_path, 1, jobs=1, resume=kept)
    other = Table("other", "", "", (), may_use=("blobs",))
    with pytest.raises(DataError, match="of 'made', not of 'other'"):
        run(other, tmp_path, 1, jobs=1, resume=kept)
    with monkeypatch.context() as patch:
        patch.setattr(running, "__version__", "9.9")
        with pytest.raises(DataError, match=r"and this is 9\.9"):
            run(TABLE, tmp_path, 1, jobs=1, resume=kept)
    with monkeypatch.context() as patch:
        patch.setattr(running, "source_fingerprint", lambda: "another")
        with pytest.raises(DataError, match="other code of semisvm"):
            run(TABLE, tmp_path, 1, jobs=1, resume=kept)
    (place / "y.npy").write_bytes(b"2")
    with pytest.raises(DataError, match=r"other data.*delete this one"):
        run(TABLE, tmp_path, 1, jobs=1, resume=kept)


def test_a_journal_of_a_session_is_none_of_ours(tmp_path):
    from semisvm.labelling.journal import Journal

    Journal(tmp_path / "a.jsonl").close()
    with pytest.raises(DataError, match="not a journal of 'python -m papers'"):
        run(TABLE, tmp_path, 1, jobs=1, resume=tmp_path / "a.jsonl")


def test_sets_that_are_missing(tmp_path, capsys):
    needy = Table("made", "", "", ("blobs", "rings"))
    with pytest.raises(MissingDataError, match="no set 'blobs', which 'made' needs"):
        run(needy, tmp_path)
    (tmp_path / "blobs").mkdir()
    with pytest.raises(MissingDataError, match="no set 'rings'"):
        run(needy, tmp_path)
    assert capsys.readouterr().out == ""
    run(replace(needy, some=True), tmp_path, jobs=1)


def test_fingerprints_of_data(tmp_path):
    assert data_fingerprint(tmp_path, ("blobs",)) == {}
    (tmp_path / "blobs").mkdir()
    empty = data_fingerprint(tmp_path, ("blobs",))
    (tmp_path / "blobs" / "X.npy").write_bytes(b"rows")
    assert data_fingerprint(tmp_path, ("blobs",)) != empty


def test_keys_hold_the_function_and_its_arguments():
    assert key_of(measure, (1, 2.5, ("a", "b"))) == f'["{__name__}.measure", 1, 2.5, ["a", "b"]]'


def test_progress_is_reported_while_measuring(tmp_path, capsys):
    recorded = []

    class Watched:
        def __init__(self, progress):
            self.progress = progress

        def __enter__(self):
            recorded.append(("begin", self.progress.share()))

        def __exit__(self, *error):
            recorded.append((self.progress.text(), self.progress.share()))

    run(TABLE, tmp_path, 1, jobs=1, watch=Watched)
    # the second part has nothing left to measure
    assert recorded == [("begin", 0.0), ("first (2 of 2 measurements)", 1.0)]
    assert Progress().share() == 0.0


def test_long_runs_print_how_long_they_take(tmp_path, capsys):
    long = Table("made", "", "", (), minutes=60.0)
    run(long, tmp_path, 2, jobs=1)
    assert "this takes about 60 min of one processor" in capsys.readouterr().out
    run(long, tmp_path, 1, jobs=1)
    assert "this takes about 30 min of one processor" in capsys.readouterr().out


def test_curves_are_drawn(tmp_path, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    from papers.figures import draw_curves

    result = json.loads(json.dumps(run(TABLE, tmp_path, jobs=1)))
    figure = draw_curves(result["curves"] * 4)
    shown = [ax for ax in figure.axes if ax.get_title()]
    assert len(shown) == 4
    assert shown[0].get_ylabel() == "Macro F"
    labels = [text.get_text() for text in shown[0].get_legend().get_texts()]
    assert labels == ["made", "most"]


def test_courses_are_drawn_with_points_of_their_own():
    pytest.importorskip("matplotlib").use("Agg")
    from papers.figures import draw_curves

    paths = {"slow": [(1.0, 100.0), (30.0, 2.0), (60.0, 0.0)], "quick": [(5.0, 100.0), (5.0, 0.0)]}
    curve = asdict(Curve("course", (), {}, {}, "milliseconds", "left to gain", paths))
    (ax,) = draw_curves([curve]).axes
    assert [line.get_label() for line in ax.lines] == list(paths)
    assert [tuple(point) for point in ax.lines[0].get_xydata().tolist()] == paths["slow"]
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("milliseconds", "left to gain")


def test_panels_to_compare_have_the_same_vertical_axis():
    pytest.importorskip("matplotlib").use("Agg")
    from papers.figures import draw_curves

    tops = {"here": 20.0, "published": 9.0, "other": 3.0}
    curves = [
        asdict(
            Curve(name, (1, 2), {"SVM": [[1.0], [top]]}, scale="" if name == "other" else "error")
        )
        for name, top in tops.items()
    ]
    here, published, other = (ax.get_ylim() for ax in draw_curves(curves).axes)
    assert here == published
    assert here[1] > 20.0
    assert other[1] < 4.0


def test_the_commit_of_a_clone():
    found = revision()
    done = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=os.path.dirname(__file__), capture_output=True, text=True
    )
    if done.returncode:
        assert found is None
    else:
        assert done.stdout.startswith(found.removesuffix("-dirty"))
