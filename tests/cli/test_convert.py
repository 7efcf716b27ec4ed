"""From files to rows on the disk, and from there to models and predictions."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")


from commands import refusal, run
from semisvm import NewtonSVC, load, open_rows, save
from semisvm.cli.convert import Reading
from semisvm.designs import disk as opened
from semisvm.persistence.conversion import Progress

WORDS = ("win money prize offer", "lunch meeting plan notes")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Two CSV files, one of both, and the rows of it."""
    folder = tmp_path_factory.mktemp("made")
    rng = np.random.default_rng(0)
    lines = []
    for i in range(120):
        words = [*rng.choice(WORDS[i % 2].split(), 3), *rng.choice(list("abcdefgh"), 4)]
        label = ("spam", "ham")[i % 2] if i < 30 else ""
        lines.append(f"{' '.join(words)},{rng.normal():.3f},{label}")
    for name, part in {"0": lines[:50], "1": lines[50:], "all": lines}.items():
        (folder / f"{name}.csv").write_text("\n".join(["text,size,kind", *part]) + "\n")
    run("convert", folder / "0.csv", folder / "1.csv", folder / "all.rows", "--label", "kind", "-q")
    run("fit", folder / "all.rows", "-a", "tsvm", "-o", folder / "m", "-q")
    return folder


def predictions(path):
    with open(path, newline="") as stream:
        return [(row["label"], float(row["score"])) for row in csv.DictReader(stream)]


def test_models_of_rows_are_those_of_the_file(made, tmp_path):
    run("fit", made / "all.csv", "--label", "kind", "-a", "tsvm", "-o", tmp_path / "m", "-q")
    for model, data, name in [
        (tmp_path / "m", "all.csv", "a.csv"),
        (made / "m", "all.csv", "b.csv"),
        (made / "m", "all.rows", "c.csv"),
    ]:
        run("predict", model, made / data, "-o", tmp_path / name)
    a, b, c = (predictions(tmp_path / name) for name in ("a.csv", "b.csv", "c.csv"))
    assert [label for label, _ in a] == [label for label, _ in b] == [label for label, _ in c]
    scores = np.array([[score for _, score in rows] for rows in (a, b, c)])
    assert np.allclose(scores[0], scores[1:], atol=1e-9)


def test_evaluate_reads_both(made):
    facts = [
        json.loads(run("evaluate", made / "m", made / name, "--json").stdout)
        for name in ("all.csv", "all.rows")
    ]
    assert facts[0]["rows"] == facts[1]["rows"] == 30
    assert facts[0]["confusion"] == facts[1]["confusion"]


def test_convert_and_inspect_show_the_columns(made, tmp_path):
    printed = run("convert", made / "all.csv", tmp_path / "a.rows", "--label", "kind", "--json")
    facts = json.loads(printed.stdout)
    assert facts["rows"] == 120
    assert facts["labels"] == {"ham": 15, "spam": 15}
    assert facts["columns"] == {"text": "text", "size": "numeric"}
    assert facts["notes"] == []
    shown = run("inspect", tmp_path / "a.rows").stdout
    assert "120" in shown
    assert "spam=15" in shown
    assert json.loads(run("inspect", tmp_path / "a.rows", "--json").stdout)["entries"] > 0


def test_notes_name_what_was_left_out_and_what_is_no_label(tmp_path):
    rows = [f"{k % 7}.5,same,{('a', 'b', 'NA')[k % 3]}" for k in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["size,flag,kind", *rows]))
    shown = run("convert", tmp_path / "a.csv", tmp_path / "a.rows", "--label", "kind").stdout
    words = " ".join(shown.split())
    assert "the column 'flag' is left out" in words
    assert "10 rows count as unlabelled" in words


def test_an_estimator_of_its_own_predicts_from_rows(made, tmp_path):
    X = open_rows(made / "all.rows")
    model = NewtonSVC(unlabeled=None).fit(X, X.y)
    save(model, tmp_path / "m")
    run("predict", tmp_path / "m", made / "all.rows", "-o", tmp_path / "p.csv")
    assert [label for label, _ in predictions(tmp_path / "p.csv")] == model.predict(X).tolist()


def test_options_reach_the_features(made, tmp_path):
    options = ["--hash", 64, "--float32", "--ngrams", 2]
    run("convert", made / "all.csv", tmp_path / "a.rows", "--label", "kind", *options)
    run("fit", tmp_path / "a.rows", "-a", "tsvm", "-o", tmp_path / "m", "-q")
    features = load(tmp_path / "m").features
    assert features.hash_columns == 64
    assert features.ngram_range == (1, 2)
    assert features.dtype == np.float32
    run("predict", tmp_path / "m", made / "all.csv", "-o", tmp_path / "p.csv")
    assert len(predictions(tmp_path / "p.csv")) == 120
    limits = ["--max-features", 5, "--min-df", 3, "--text", "text"]
    run("convert", made / "all.csv", tmp_path / "a.rows", "--label", "kind", *limits)
    facts = json.loads(run("inspect", tmp_path / "a.rows", "--json").stdout)
    assert facts["features"] == 6


def test_commands_that_need_all_rows_load_small_ones(made, tmp_path, monkeypatch):
    run("compare", made / "all.rows", "--methods", "svm,tsvm", "--repeats", 2)
    monkeypatch.setattr(opened, "MOST_LOADED", open_rows(made / "all.rows").nbytes // 2)
    assert "needs all rows in memory" in refusal("compare", made / "all.rows")
    line = refusal("fit", made / "all.rows", "-a", "lapsvm", "-o", tmp_path / "m")
    assert "needs all rows in memory" in line
    run("fit", made / "all.rows", "-a", "da", "-o", tmp_path / "m", "-q")


def test_choice_and_calibration_take_a_few_rows(made, tmp_path, monkeypatch):
    monkeypatch.setattr("semisvm.model_selection.method_choice.MOST_UNLABELED", 40)

    def fitted(data, *options):
        run("fit", made / data, *options, "--probabilities", "-o", tmp_path / "m", "-q")
        return load(tmp_path / "m")

    rows, table = fitted("all.rows"), fitted("all.csv", "--label", "kind")
    assert rows.summary["method"] == table.summary["method"]
    assert np.allclose(rows.estimator.coef_, table.estimator.coef_, atol=1e-9)
    most = int(0.8 * open_rows(made / "all.rows").nbytes)
    monkeypatch.setattr(opened, "MOST_LOADED", most)
    large = fitted("all.rows")
    members = getattr(large.estimator, "estimators_", [large.estimator])
    assert all(member.reads_in_passes for member in members)
    assert large.calibrator is not None


def test_refusals_are_one_line(made, tmp_path):
    rows, out = made / "all.rows", tmp_path / "o"
    (tmp_path / "damaged.rows").mkdir()
    (tmp_path / "damaged.rows" / "header.json").write_text("{")
    for arguments, message in [
        (["fit", rows, "--label", "kind", "-o", out], "leave out the label"),
        (["fit", tmp_path / "damaged.rows", "-o", out], "header.json cannot be read"),
        (["inspect", tmp_path / "damaged.rows"], "header.json cannot be read"),
        (["predict", made / "m", rows, "--keep", "text"], "--keep"),
        (["convert", made / "all.csv", made / "all.csv"], "would be overwritten"),
        (["convert", made / "all.csv", made], "does not hold rows"),
        (["convert", rows, out], "this is a folder"),
        (["convert", made / "all.csv", out, "--label", "kinds"], "Did you mean 'kind'?"),
        (["convert", made / "all.csv", out, "--min-df", 500], "option --min-df"),
        (["convert", tmp_path / "*.nothing", out], "none has a name like this"),
    ]:
        assert message in refusal(*arguments)
    assert not out.exists()


def test_a_model_among_rows_is_not_deleted(made, tmp_path):
    rows = tmp_path / "r.rows"
    run("convert", made / "all.csv", rows, "--label", "kind", "-q")
    run("fit", rows, "-a", "svm", "-o", rows / "model.semisvm", "-q")
    message = refusal("convert", made / "all.csv", rows, "--label", "kind")
    assert "'model.semisvm' besides rows" in message
    run("predict", rows / "model.semisvm", made / "all.csv", "-o", tmp_path / "p.csv")
    (rows / "model.semisvm").unlink()
    run("convert", made / "all.csv", rows, "--label", "kind", "-q")
    # a file of the folder itself, which would be deleted when it is replaced
    assert "would be replaced" in refusal("convert", rows / "labels.npy", rows)


def test_rows_without_labels(made, tmp_path):
    run("convert", made / "all.csv", tmp_path / "a.rows", "--text", "text", "-q")
    line = refusal("fit", tmp_path / "a.rows", "-a", "tsvm", "-o", tmp_path / "m")
    assert "the data have no labels" in line
    labels = tmp_path / "y.txt"
    labels.write_text("a\nb\n" * 10 + "\n" * 100)
    run("fit", tmp_path / "a.rows", "--labels", labels, "-a", "tsvm", "-o", tmp_path / "m", "-q")


def test_progress_in_words():
    progress = Progress(rows=1234, bytes=2_000_000, total=8_000_000, n_passes=2, doing="counting")
    assert Reading(progress).text() == "counting: 1,234 rows, 2 of 8 MB"
    assert Reading(progress).share() == 0.125
    progress.next_pass()
    progress.seen(4_000_000)
    assert Reading(progress).text() == "writing: 0 rows, 4 of 8 MB"
    assert Reading(progress).share() == 0.75
