"""Options about trust, ``audit``, and names of columns, on the command line."""

import csv
import json
import re

import numpy as np
import pytest
from scipy import sparse

import semisvm
from problems import hide, sparse_text
from semisvm.tables import read

pytest.importorskip("typer")
pytest.importorskip("rich")

from commands import run

WORDS = (["win", "money", "prize", "offer", "cash"], ["lunch", "meeting", "plan", "notes", "team"])


def write_mail(path, n, n_labels, seed, noise=0.3, wrong=()):
    """Mail whose words are mostly those of its class."""
    rng = np.random.default_rng(seed)
    with open(path, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text", "kind"])
        for i in range(n):
            kinds = np.where(rng.random(6) < noise, 1 - i % 2, i % 2)
            text = " ".join(str(rng.choice(WORDS[k])) for k in kinds)
            label = ["spam", "ham"][(i % 2) ^ (i in wrong)] if i < n_labels else ""
            table.writerow([text, label])


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust")
    write_mail(folder / "train.csv", 200, 60, 0)
    write_mail(folder / "test.csv", 120, 120, 1)
    options = ["--label", "kind", "-a", "tsvm", "-q"]
    run("fit", folder / "train.csv", *options, "--probabilities", "-o", folder / "m")
    run("fit", folder / "train.csv", *options, "-o", folder / "plain")
    return folder


def rows_of(mail, *options):
    out = mail / "out.jsonl"
    run("predict", mail / "m", mail / "test.csv", *options, "-o", out)
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_no_label_where_the_probability_is_low(mail):
    usual, sure = rows_of(mail), rows_of(mail, "--abstain-below", "0.9")
    for before, after in zip(usual, sure, strict=True):
        assert after["label"] == (before["label"] if before["probability"] >= 0.9 else None)
        assert after["probability"] == before["probability"]
    assert 0 < sum(row["label"] is None for row in sure) < len(sure)
    text = run("predict", mail / "m", mail / "test.csv", "--abstain-below", "0.9").stdout
    blank = [row for row in csv.DictReader(text.splitlines()) if row["label"] == ""]
    assert len(blank) == sum(row["label"] is None for row in sure)


def test_thresholds_and_costs(mail):
    usual = [row["label"] for row in rows_of(mail)]
    strict = [row["label"] for row in rows_of(mail, "--threshold", "spam=0.95")]
    assert strict.count("spam") < usual.count("spam")
    assert set(strict) == {"ham", "spam"}
    careful = [row["label"] for row in rows_of(mail, "--cost", "spam:ham=9")]
    assert careful.count("spam") > usual.count("spam")


def test_top_sets_and_reasons(mail):
    rows = rows_of(mail, "--top", "5", "--coverage", "0.9", "--explain", "2")
    words = {word for part in WORDS for word in part}
    for row in rows:
        assert row["label"] == row["label_1"]
        assert row["probability_1"] + row["probability_2"] == pytest.approx(1.0)
        assert row["label"] in row["set"]
        assert set(row["set"]) <= {"ham", "spam"}
        assert {name.removeprefix("text__") for name in row["because"]} <= words
        assert len(row["because"]) == len(row["contributions"]) <= 2
    out = run("predict", mail / "m", mail / "test.csv", "--coverage", "0.9", "--explain", "2")
    first = next(csv.DictReader(out.stdout.splitlines()))
    assert json.loads(first["set"]) == rows[0]["set"]
    assert json.loads(first["because"]) == rows[0]["because"]


def test_evaluate_reports_coverage(mail):
    facts = json.loads(run("evaluate", mail / "m", mail / "test.csv", "--json").stdout)
    sets = facts["trust"]["sets"]
    assert sets["coverage"] == 0.9
    # the sets come from 60 labels, so what they cover varies by several per cent
    assert sets["covered"] >= 0.75
    assert set(sets["covered_by_class"]) == {"ham", "spam"}
    options = ["--abstain-below", "0.9", "--coverage", "0.8", "--cost", "spam:ham=2", "--json"]
    facts = json.loads(run("evaluate", mail / "m", mail / "test.csv", *options).stdout)
    trust = facts["trust"]
    assert 0 < trust["answered"] < 1
    assert trust["accuracy_of_answered"] > facts["accuracy"]
    assert trust["mean_cost"] >= 0
    table = run("evaluate", mail / "m", mail / "test.csv", "--abstain-below", "0.9").stdout
    assert "answered" in table
    assert "(0.9 asked for)" in table
    plain = json.loads(run("evaluate", mail / "plain", mail / "test.csv", "--json").stdout)
    assert plain["trust"] == {}


def write_rows(source, target, keep):
    """Copy the rows of a file for whose number and cells ``keep`` is true."""
    with open(source, newline="") as stream:
        header, *rows = csv.reader(stream)
    with open(target, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerows([header, *(row for i, row in enumerate(rows) if keep(i, row))])
    return target


def test_predicted_classes_that_are_mixed_differently(mail, tmp_path):
    spam = write_rows(mail / "test.csv", tmp_path / "spam.csv", lambda i, row: row[1] == "spam")
    result = run("predict", mail / "m", spam, "-o", tmp_path / "out.csv")
    (line,) = [line for line in result.stderr.splitlines() if "training rows" in line]
    with open(tmp_path / "out.csv", newline="") as stream:
        found = [row["label"] for row in csv.DictReader(stream)]
    share = found.count("spam") / len(found)
    counts = semisvm.load(mail / "m").summary["found"]
    before = counts["spam"] / sum(counts.values())
    assert re.match(rf"warning: {share:.0%} .*'spam', but {before:.0%}", line)
    facts = json.loads(run("evaluate", mail / "m", spam, "--json").stdout)
    assert any("predicted to be 'spam'" in note for note in facts["notes"])
    assert "predicted to be" not in run("predict", mail / "m", mail / "test.csv").stderr
    assert "predicted to be" not in run("evaluate", mail / "m", mail / "test.csv").stdout
    # labels by other rules have other shares
    careful = run("predict", mail / "m", spam, "--abstain-below", "0.9", "-o", tmp_path / "o.csv")
    assert "predicted to be" not in careful.stderr


def test_evaluation_on_rows_that_trained_the_model(mail, tmp_path):
    text = run("evaluate", mail / "m", mail / "train.csv").stdout
    assert "60 of these 60 labelled rows trained the model" in text
    # the columns in another order, and a column more
    with open(mail / "train.csv", newline="") as stream:
        rows = list(csv.DictReader(stream))
    other = tmp_path / "other.csv"
    with open(other, "w", newline="") as stream:
        table = csv.DictWriter(stream, ["kind", "number", "text"])
        table.writeheader()
        table.writerows({"number": i, **row} for i, row in enumerate(rows))
    assert "60 of these 60 labelled" in run("evaluate", mail / "plain", other).stdout


def test_evaluation_on_some_rows_that_trained_the_model(tmp_path):
    rng = np.random.default_rng(0)
    numbers = rng.standard_normal((300, 4))
    numbers[:, 0] += np.where(np.arange(300) % 2, 1.0, -1.0)

    def write(name, rows, n_labels):
        with open(tmp_path / name, "w", newline="") as stream:
            table = csv.writer(stream)
            table.writerow(["a", "b", "c", "d", "kind"])
            for k, i in enumerate(rows):
                label = ["no", "yes"][i % 2] if k < n_labels else ""
                table.writerow([*numbers[i].tolist(), label])
        return tmp_path / name

    train, model = write("train.csv", range(150), 40), tmp_path / "m"
    run("fit", train, "--label", "kind", "-a", "svm", "-q", "-o", model)
    facts = json.loads(
        run("evaluate", model, write("new.csv", range(150, 300), 150), "--json").stdout
    )
    assert facts["trained_on"] == {"rows": 0, "accuracy_on_others": facts["accuracy"]}
    assert "better than guessing" in facts["chance"]["sentence"]
    mixed = write("mixed.csv", [*range(30, 40), *range(150, 300)], 160)
    seen = json.loads(run("evaluate", model, mixed, "--json").stdout)
    assert seen["trained_on"] == {"rows": 10, "accuracy_on_others": facts["accuracy"]}
    sentence = seen["chance"]["sentence"]
    assert sentence.startswith("10 of these 160 labelled rows trained the model")
    assert sentence.endswith(f"; it is {facts['accuracy']:.4g} on the other 150.")
    run("report", model, "--evaluate", train, "--label", "kind", "-o", tmp_path / "report.html")
    shown = (tmp_path / "report.html").read_text()
    assert "40 of these 40 labelled rows trained the model" in shown
    assert "held out" not in shown
    assert "better than guessing" not in shown
    # a matrix, whose columns are scaled, and rows on the disk
    run("convert", train, tmp_path / "train.rows", "--label", "kind")
    run("fit", tmp_path / "train.rows", "-a", "svm", "-q", "-o", model)
    assert "40 of these 40" in run("evaluate", model, tmp_path / "train.rows").stdout
    assert "40 of these 40" in run("evaluate", model, train, "--label", "kind").stdout


def test_rows_unlike_those_of_the_fit(mail):
    lines = ["text,kind", *["tout autre chose que ce courrier,ham"] * 40]
    (mail / "other.csv").write_text("\n".join(lines))
    result = run("predict", mail / "m", mail / "other.csv")
    assert "warning: the rows look unlike the training rows: 100%" in result.stderr
    assert result.stdout.startswith("label,score,probability\n")
    facts = json.loads(run("evaluate", mail / "m", mail / "other.csv", "--json").stdout)
    assert any("unlike the training rows" in note for note in facts["notes"])
    assert "unlike" not in run("predict", mail / "m", mail / "test.csv").stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--abstain-below", "0"], "--abstain-below must be above 0 and below 1, got 0.0"),
        (["--abstain-below", "1.5"], "above 0 and below 1"),
        (["--threshold", "spam"], "has no '='"),
        (["--threshold", "spm=0.5"], "--threshold names the class 'spm'. Did you mean 'spam'?"),
        (["--threshold", "spam=much"], "'much' is not a number"),
        (["--cost", "spam=5"], "--cost must look like spam:ham=5"),
        (["--cost", "spam:eggs=5"], "--cost names the class 'eggs'"),
        (["--cost", "spam:ham=-5"], "must be a finite number >= 0, got -5"),
        (["--cost", "spam:ham=5", "--threshold", "spam=0.5"], "give one of them"),
        (["--coverage", "1"], "--coverage must be above 0 and below 1"),
        (["--coverage", "0.99"], "needs 99 held-out labels or more, and the model has 60"),
        (["--top", "0"], "--top"),
        (["--explain", "0"], "--explain"),
        (["--vocabulary", "words.txt"], "--explain"),
    ],
)
def test_options_that_make_no_sense(mail, options, message):
    result = run("predict", mail / "m", mail / "test.csv", *options, code=2)
    assert message in result.stderr
    assert result.stdout == ""


def test_what_a_model_cannot_do(mail):
    for options in (["--abstain-below", "0.9"], ["--top", "1"], ["--cost", "spam:ham=2"]):
        message = run("predict", mail / "plain", mail / "test.csv", *options, code=2).stderr
        assert f"{options[0]} needs probabilities" in message
    message = run("predict", mail / "plain", mail / "test.csv", "--coverage", "0.9", code=2).stderr
    assert "fit it with --probabilities" in message
    run("fit", mail / "train.csv", "--label", "kind", "-a", "lds", "-q", "-o", mail / "k")
    message = run("predict", mail / "k", mail / "test.csv", "--explain", "3", code=2).stderr
    assert "has a kernel here" in message


def test_training_rows_explain_a_model_with_a_kernel(mail):
    options = ["--label", "kind", "-a", "svm", "--kernel", "rbf", "-q"]
    run("fit", mail / "train.csv", *options, "-o", mail / "k")
    explained = [mail / "k", mail / "test.csv", "--explain", "3"]
    run("predict", *explained, "-o", mail / "why.jsonl")
    rows = [json.loads(line) for line in (mail / "why.jsonl").read_text().splitlines()]
    model, table = semisvm.load(mail / "k"), read(mail / "test.csv", label="kind")
    expected = model.explain_by_rows(table, 3)
    assert [row["because_rows"] for row in rows] == [[k + 1 for k, _ in each] for each in expected]
    words = mail / "words.txt"
    words.write_text("a\n")
    message = run("predict", *explained, "--vocabulary", words, code=2).stderr
    assert "lists training rows" in message


def test_names_of_the_columns_of_a_matrix(tmp_path):
    X, y = sparse_text(120)
    sparse.save_npz(tmp_path / "X.npz", X)
    labels = hide(y, 40)
    (tmp_path / "y.txt").write_text("".join("\n" if v < 0 else f"c{v}\n" for v in labels))
    about = ["--labels", tmp_path / "y.txt", "-a", "svm", "-q", "--as-is"]
    run("fit", tmp_path / "X.npz", *about, "-o", tmp_path / "m")
    words = tmp_path / "words.txt"
    words.write_text("".join(f"word {k}\n" for k in range(X.shape[1])))
    facts = json.loads(run("inspect", tmp_path / "m", "--vocabulary", words, "--json").stdout)
    plain = json.loads(run("inspect", tmp_path / "m", "--json").stdout)
    assert facts["top"]["c1"][0][0] == f"word {plain['top']['c1'][0][0]}"
    out = run(
        "predict", tmp_path / "m", tmp_path / "X.npz", "--explain", "2", "--vocabulary", words
    )
    first = json.loads(next(csv.DictReader(out.stdout.splitlines()))["because"])
    assert all(name.startswith("word ") for name in first)
    words.write_text("one\ntwo\n")
    message = run("inspect", tmp_path / "m", "--vocabulary", words, code=2).stderr
    assert "words.txt: there are 2 names, but the model has 500 columns" in message
    message = run("inspect", tmp_path / "m", "--vocabulary", tmp_path / "none.txt", code=2).stderr
    assert "none.txt" in message


def test_names_are_not_for_models_of_columns(mail):
    (mail / "words.txt").write_text("a\n")
    message = run("inspect", mail / "m", "--vocabulary", mail / "words.txt", code=2).stderr
    assert "has names of its own" in message


def test_audit_finds_wrong_labels_and_reads_them_back(tmp_path):
    data, doubts = tmp_path / "mail.csv", tmp_path / "doubts.csv"
    write_mail(data, 200, 60, 2, noise=0.1, wrong=(3, 10))
    result = run("audit", data, "--label", "kind", "-o", doubts)
    assert "of 60 labels are contradicted" in result.stdout
    assert f"semisvm fit {data} --label kind --answers {doubts}" in result.stdout.replace("\n", " ")
    rows = list(csv.DictReader(doubts.read_text().splitlines()))
    assert {"4", "11"} <= {row["semisvm_row"] for row in rows[:4]}
    assert all(row["kind"] == row["semisvm_before"] for row in rows)
    found = json.loads(run("audit", data, "--label", "kind", "--json").stdout)
    assert [str(doubt["row"]) for doubt in found["doubts"]] == [row["semisvm_row"] for row in rows]
    for row in rows:
        if row["semisvm_row"] in ("4", "11"):
            row["kind"] = row["semisvm_suggested"]
    corrected = tmp_path / "corrected.csv"
    with open(corrected, "w", newline="") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)
    again = run("audit", data, "--label", "kind", "--answers", corrected, "--json")
    assert len(json.loads(again.stdout)["doubts"]) < len(found["doubts"])
    message = run("audit", data, "--label", "kind", "-o", doubts, code=2).stderr
    assert "exists already" in message


def test_audit_that_cannot_judge_lists_nothing(tmp_path):
    rng = np.random.default_rng(3)
    rows = [",".join(f"{v:.3f}" for v in rng.standard_normal(8)) for _ in range(120)]
    kinds = ["a"] * 40 + ["b"] * 20 + [""] * 60
    lines = [f"{row},{kind}" for row, kind in zip(rows, kinds, strict=True)]
    data, doubts = tmp_path / "noise.csv", tmp_path / "doubts.csv"
    data.write_text("\n".join(["p,q,r,s,t,u,v,w,kind", *lines]) + "\n")
    shown = run("audit", data, "--label", "kind", "-a", "svm", "-o", doubts).stdout
    assert "cannot be judged" in shown
    assert "Labels in doubt" not in shown
    assert not doubts.exists()


def test_audit_of_matrices_and_of_too_few_labels(tmp_path):
    X, y = sparse_text(120)
    sparse.save_npz(tmp_path / "X.npz", X)
    labels = tmp_path / "y.txt"
    labels.write_text("".join("\n" if v < 0 else f"c{v}\n" for v in hide(y, 40)))
    out = run("audit", tmp_path / "X.npz", "--labels", labels, "-a", "svm", "--repeats", "1").stdout
    assert "of 40 labels are contradicted" in out
    labels.write_text("c0\nc1\n" + 118 * "\n")
    message = run("audit", tmp_path / "X.npz", "--labels", labels, code=2).stderr
    assert "no class has two labels" in message
    message = run("audit", tmp_path / "X.npz", "--labels", labels, "-a", "tsvmm", code=2).stderr
    assert "tsvm" in message


@pytest.fixture(scope="module")
def pool(tmp_path_factory):
    """Mail with a few labels, all labels, and a model of the few."""
    folder = tmp_path_factory.mktemp("certify")
    for name, n_labels in (("few.csv", 30), ("all.csv", 400)):
        write_mail(folder / name, 400, n_labels, 0, noise=0.1)
    run("fit", folder / "few.csv", "--label", "kind", "-a", "tsvm", "-q", "-o", folder / "m")
    return folder


def fill_in(path, folder):
    """Fill in the label column of a file of rows, as a person would."""
    truth = read(folder / "all.csv", label="kind").labels
    lines = list(csv.DictReader(path.read_text().splitlines()))
    for line in lines:
        line["kind"] = truth[int(line["semisvm_row"]) - 1]
    with open(path, "w", newline="") as stream:
        table = csv.DictWriter(stream, lines[0])
        table.writeheader()
        table.writerows(lines)


def test_certified_labels_are_read_back(pool, tmp_path):
    drawn, out = tmp_path / "drawn.csv", tmp_path / "certified.csv"
    options = ["--label", "kind"]
    run("select", pool / "few.csv", *options, "--by", "random", "-n", "120", "-o", drawn)
    fill_in(drawn, pool)
    wanted = ["--answers", drawn, "--error", "0.05", "--json", "-o", out]
    found = json.loads(run("certify", pool / "m", pool / "few.csv", *wanted).stdout)
    # some equal a row of the fit
    assert 100 < found["sample"] <= 120
    assert 220 < found["unlabelled_rows"] <= 250
    assert 0 < found["certified"] == len(found["rows"])
    truth = read(pool / "all.csv", label="kind").labels
    lines = list(csv.DictReader(out.read_text().splitlines()))
    assert [int(line["semisvm_row"]) for line in lines] == sorted(found["rows"])
    wrong = [line["kind"] != truth[int(line["semisvm_row"]) - 1] for line in lines]
    assert np.mean(wrong) <= 0.05
    text = run("certify", pool / "m", pool / "few.csv", *wanted[:4]).stdout
    assert (
        f"{found['certified']} of {found['unlabelled_rows']} unlabelled rows are certified" in text
    )
    answers = ["--answers", drawn, "--answers", out]
    run("fit", pool / "few.csv", *options, *answers, "-a", "svm", "-q", "-o", tmp_path / "again")
    again = semisvm.load(tmp_path / "again")
    assert again.summary["labelled"] == 150 + found["certified"]


def test_certify_wants_random_rows(pool, tmp_path):
    result = run("certify", pool / "m", pool / "few.csv", code=2)
    assert "there are no labels of random rows that the model has not seen" in result.stderr
    result = run("certify", pool / "m", pool / "all.csv", code=2)
    assert "labels that the model has not seen have no record" in " ".join(result.stderr.split())
    picked = tmp_path / "picked.csv"
    options = ["--label", "kind", "-n", "40", "-o", picked]
    run("select", pool / "few.csv", "--by", "margin", *options)
    fill_in(picked, pool)
    answers = ["--answers", picked]
    result = run("certify", pool / "m", pool / "few.csv", *answers, "--drawn-at-random", code=2)
    assert "there are no labels of random rows" in result.stderr


def test_slices(mail, tmp_path):
    lines = list(csv.reader((mail / "test.csv").read_text().splitlines()))
    path = tmp_path / "sources.csv"
    with open(path, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow([*lines[0], "source"])
        table.writerows([*line, "web" if k < 90 else "phone"] for k, line in enumerate(lines[1:]))
    facts = json.loads(run("evaluate", mail / "m", path, "--by", "source", "--json").stdout)
    assert facts["by"]["column"] == "source"
    web, phone = facts["by"]["slices"]
    assert (web["value"], web["rows"], phone["value"], phone["rows"]) == ("web", 90, "phone", 30)
    pooled = (90 * web["accuracy"] + 30 * phone["accuracy"]) / 120
    assert pooled == pytest.approx(facts["accuracy"])
    for part in (web, phone, facts):
        assert part["interval"][0] < part["accuracy"] <= part["interval"][1]
    assert web["interval"][1] - web["interval"][0] < phone["interval"][1] - phone["interval"][0]
    text = run("evaluate", mail / "m", path, "--by", "source").stdout
    assert "Rows by source" in text
    assert "95% interval" in text
    assert "'sauce'" in run("evaluate", mail / "m", path, "--by", "sauce", code=2).stderr


def test_other_shares(mail):
    usual = [row["label"] for row in rows_of(mail)]
    rare = rows_of(mail, "--prior", "spam=0.02,ham=0.98")
    assert [row["label"] for row in rare].count("spam") < usual.count("spam")
    assert all(row["probability"] >= 0.5 for row in rare)
    out = mail / "adapted.csv"
    shown = run("predict", mail / "m", mail / "test.csv", "--adapt", "-o", out).stderr
    assert "estimated class shares of these rows: ham " in shown
    refused = ["predict", mail / "plain", mail / "test.csv", "--adapt"]
    assert "--adapt needs probabilities" in run(*refused, code=2).stderr
    both = ["predict", mail / "m", mail / "test.csv", "--adapt", "--prior", "spam=0.1"]
    assert "take one of them" in run(*both, code=2).stderr
