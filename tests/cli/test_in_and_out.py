"""Words, vectors, Parquet, ONNX, tasks of other tools and model cards on the command line."""

import csv
import json

import numpy as np
import pytest

import semisvm
from commands import run
from semisvm.cli import embeddings as vectors_module
from semisvm.tables import read
from semisvm.tables.row_vectors import with_vectors

WORDS = (["win", "money", "prize", "offer", "cash"], ["lunch", "meeting", "plan", "notes", "team"])
ENCODER = """
import numpy as np
def encode(texts):
    return np.array([[text.count("prize") + text.count("cash"), len(text)] for text in texts])
def other(texts):
    return encode(texts)
"""


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        table = csv.DictWriter(stream, list(rows[0]))
        table.writeheader()
        table.writerows(rows)


@pytest.fixture
def mail(tmp_path, monkeypatch):
    """mail.csv with 60 texts and 16 labels, its vectors, and an encoder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        {
            "id": f"m{i:02d}",
            "body": "the " + " ".join(rng.choice(WORDS[i % 2], 6)),
            "kind": ["spam", "ham"][i % 2] if i < 16 else "",
        }
        for i in range(60)
    ]
    write("mail.csv", rows)
    vectors = rng.normal(size=(60, 3)) + np.array([[4.0], [-4.0]] * 30)
    np.save("vectors.npy", vectors.astype(np.float32))
    np.save("short.npy", vectors[:59])
    (tmp_path / "my_text_encoder.py").write_text(ENCODER)
    return tmp_path


FIT = ("fit", "mail.csv", "--label", "kind", "--text", "body", "-a", "svm")


def test_words_are_chosen_and_shown(mail):
    (mail / "stop.txt").write_text("the\nCash\n")
    shown = run(*FIT, "-o", "m", "--stop-words", "stop.txt", "--max-features", 5).stdout
    assert "words of body" in shown
    assert "5 kept" in shown
    kept = semisvm.load("m").features.kept_words()["body"]
    assert kept["words"] == 5
    assert not {"the", "cash"} & set(kept["most_frequent"])
    printed = json.loads(run("inspect", "m", "--words", 2, "--json").stdout)["kept_words"]["body"]
    assert printed == {"words": 5, "most_frequent": kept["most_frequent"][:2]}
    assert kept["most_frequent"][0] in run("inspect", "m").stdout


def test_characters_instead_of_words(mail):
    run(*FIT, "-o", "m", "--char-ngrams", "2-3", "-q")
    model = semisvm.load("m")
    assert model.features.analyzer == "char_wb"
    assert {len(w) for w in model.features.kept_words(10**6)["body"]["most_frequent"]} == {2, 3}
    predicted = run("predict", "m", "mail.csv").stdout
    assert predicted.count("\n") == 61


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--char-ngrams", "x"], "two numbers such as 3-5"),
        (["--char-ngrams", "5-2"], "ngram_range must be"),
        (["--char-ngrams", "3", "--ngrams", "2"], "--ngrams is about words"),
        (["--char-ngrams", "3", "--stop-words", "a"], "--stop-words is about words"),
        (["--stop-words", "no.txt"], "no such file"),
        (["--no-words"], "--no-words is for --encoder"),
        (["--embeddings", "short.npy"], "59 vectors, but mail.csv has more than 59 rows"),
        (["--encoder", "my_text_encoder"], "module:function"),
        (["--encoder", "my_text_encoder:nothing"], "no function 'nothing'"),
        (["--workers", "1", "--embeddings", "vectors.npy"], "not for a cluster"),
    ],
)
def test_wrong_options_of_fit(mail, options, message):
    algorithm = ["-a", "tsvm"] if "--workers" in options else []
    shown = run(*FIT, *algorithm, "-o", "m", *options, code=2)
    assert message in shown.stderr
    assert not (mail / "m").exists()


def test_embeddings_are_joined_and_needed_again(mail):
    run(*FIT, "-o", "m", "--embeddings", "vectors.npy", "-q")
    model = semisvm.load("m")
    assert model.features.kinds_ == {"body": "text", "embeddings": "vector"}
    run("predict", "m", "mail.csv", "--embeddings", "vectors.npy", "-o", "out.csv")
    labels = read("out.csv").columns["label"]
    table = read("mail.csv", label="kind")
    columns = {"body": table.columns["body"], "embeddings": np.load("vectors.npy")}
    assert labels == model.predict(columns).tolist()
    evaluate = ("evaluate", "m", "mail.csv", "--json")
    printed = json.loads(run(*evaluate, "--embeddings", "vectors.npy").stdout)
    assert printed["accuracy"] == 1.0
    for command in (("predict", "m", "mail.csv"), evaluate):
        assert "--embeddings" in run(*command, code=2).stderr
        shown = run(*command, "--embeddings", "short.npy", code=2).stderr
        assert "59 vectors" in shown
    assert (
        "59 vectors"
        in run(
            "predict", "m", "mail.csv", "--embeddings", "short.npy", "-o", "never.csv", code=2
        ).stderr
    )
    assert not (mail / "never.csv").exists()


def test_vectors_are_used_where_features_are_named(mail):
    run(*FIT, "--features", "id", "-o", "m", "--embeddings", "vectors.npy", "-q")
    assert "embeddings" in semisvm.load("m").features.kinds_


def test_an_encoder_is_run_only_if_it_is_named(mail):
    run(*FIT, "-o", "m", "--encoder", "my_text_encoder:encode", "-q")
    model = semisvm.load("m")
    assert model.features.kinds_ == {"body": "text", "body__encoded": "vector"}
    assert model.settings["encoder"] == "my_text_encoder:encode"
    assert "--encoder" in run("inspect", "m").stdout
    predict = ("predict", "m", "mail.csv")
    assert "Model files run no code" in run(*predict, code=2).stderr
    shown = run(*predict, "--encoder", "my_text_encoder:other", code=2).stderr
    assert "not my_text_encoder:other" in shown
    assert run(*predict, "--encoder", "my_text_encoder:encode").stdout.count("spam") > 20
    run("evaluate", "m", "mail.csv", "--encoder", "my_text_encoder:encode")


@pytest.mark.parametrize(
    ("option", "named"),
    [("--embeddings", "vectors.npy"), ("--encoder", "my_text_encoder:encode")],
)
def test_held_out_rows_of_a_report_have_vectors_too(mail, option, named):
    words = ("--no-words",) if option == "--encoder" else ()
    run(*FIT, "-o", "m", option, named, "-q", *words)
    report = ("report", "m", "--json", "-o", "r.html", "--evaluate", "mail.csv")
    found = json.loads(run(*report, option, named).stdout)["evaluation"]
    printed = json.loads(run("evaluate", "m", "mail.csv", "--json", option, named).stdout)
    assert found["accuracy"] == printed["accuracy"]
    # the text stands beside an example, also where only its vector is used
    assert "the " in found["examples"][0]["cells"]
    assert "the" in (mail / "r.html").read_text(encoding="utf-8")
    assert option in run(*report, code=2).stderr
    without = run("report", "m", "-o", "r.html", option, named, code=2).stderr
    assert "for --evaluate FILE, which is not given" in without


def test_how_the_file_of_a_report_is_read(mail):
    run(*FIT, "-o", "m", "-q")
    semicolons = (mail / "mail.csv").read_text().replace(",", ";")
    (mail / "held.dat").write_text(semicolons)
    report = ("report", "m", "--json", "-o", "r.html")
    run(*report, "--evaluate", "held.dat", code=2)
    found = run(*report, "--evaluate", "held.dat", "--format", "csv", "--delimiter", ";").stdout
    assert json.loads(found)["evaluation"]["rows"] == 16
    assert "for --evaluate FILE" in run(*report, "--format", "csv", code=2).stderr


@pytest.mark.parametrize("more", [(), ("--features", "body")])
def test_an_array_is_joined_in_a_conversion(mail, more):
    rows = list(csv.DictReader((mail / "mail.csv").read_text().splitlines()))
    write("one.csv", rows[:20])
    write("two.csv", rows[20:])
    options = ("--label", "kind", "--text", "body", "--embeddings", "vectors.npy", *more)
    run("convert", "one.csv", "two.csv", "mail.rows", *options, "-q")
    run("fit", "mail.rows", "-a", "svm", "-o", "m", "-q")
    run("fit", "mail.csv", *options, "-a", "svm", "-o", "n", "-q")
    models = [semisvm.load(name) for name in ("m", "n")]
    assert models[0].features.kinds_["embeddings"] == "vector"
    assert models[0].settings["embeddings"] is True
    table = with_vectors(read("mail.csv", label="kind"), "embeddings", np.load("vectors.npy"))
    a, b = (model.decision_function(table) for model in models)
    assert np.allclose(a, b, atol=1e-6)
    assert "--embeddings" in run("predict", "m", "mail.csv", code=2).stderr
    run("predict", "m", "mail.csv", "--embeddings", "vectors.npy")


def test_what_a_conversion_cannot_join(mail):
    convert = ("convert", "mail.csv", "mail.rows", "--label", "kind", "-q", "--embeddings")
    assert "there are 59 vectors" in run(*convert, "short.npy", code=2).stderr
    np.save("long.npy", np.ones((61, 2)))
    assert "there are 61 vectors" in run(*convert, "long.npy", code=2).stderr
    np.savez("x.npz", X=np.eye(4), y=np.array([1, 2, -1, -1]))
    shown = run("convert", "x.npz", "x.rows", "--embeddings", "vectors.npy", code=2).stderr
    assert "joined to tables" in shown
    assert not (mail / "mail.rows").exists()


def test_predict_shows_how_many_texts_are_encoded(mail, monkeypatch):
    printed = []
    shown = vectors_module.Encoded.update

    def record(state, done, total):
        shown(state, done, total)
        printed.append(state.text())

    monkeypatch.setattr(vectors_module.Encoded, "update", record)
    run(*FIT, "-o", "m", "--encoder", "my_text_encoder:encode", "-q")
    printed.clear()
    run("predict", "m", "mail.csv", "mail.csv", "--encoder", "my_text_encoder:encode")
    assert printed[0] == "encoding: 0 of 60 texts"
    assert printed[-1] == "encoding: 0 of 60 texts, after 60 of earlier rows"


def test_vectors_without_words(mail):
    run(*FIT, "-o", "m", "--encoder", "my_text_encoder:encode", "--no-words", "-q")
    assert semisvm.load("m").features.kinds_ == {"body__encoded": "vector"}
    run("predict", "m", "mail.csv", "--encoder", "my_text_encoder:encode", "--keep", "id")
    compare = ("compare", "mail.csv", "--label", "kind", "--text", "body", "--methods", "svm")
    run(*compare, "--encoder", "my_text_encoder:encode", "--no-words", "--repeats", 1)


@pytest.mark.parametrize(
    ("option", "value"), [("--embeddings", "vectors.npy"), ("--encoder", "my_text_encoder:encode")]
)
def test_what_a_model_does_not_need_is_refused(mail, option, value):
    run(*FIT, "-o", "m", "-q")
    shown = run("predict", "m", "mail.csv", option, value, code=2).stderr
    assert f"fitted without {option}" in shown


def test_vectors_of_a_matrix_are_refused(mail):
    np.savez("x.npz", X=np.eye(4), y=np.array([1, 2, -1, -1]))
    shown = run("fit", "x.npz", "-a", "svm", "-o", "m", "--embeddings", "vectors.npy", code=2)
    assert "are for tables" in shown.stderr


def test_lists_of_parquet_from_convert_to_predict(mail):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = read("mail.csv")
    columns = {name: table.columns[name] for name in ("body", "kind")}
    pq.write_table(pa.table({**columns, "v": np.load("vectors.npy").tolist()}), "mail.parquet")
    run("convert", "mail.parquet", "mail.rows", "--label", "kind", "--text", "body", "-q")
    run("fit", "mail.rows", "-a", "svm", "-o", "m", "-q")
    run("fit", "mail.parquet", "--label", "kind", "--text", "body", "-a", "svm", "-o", "n", "-q")
    run("predict", "m", "mail.parquet", "-o", "a.parquet", "--all-scores")
    run("predict", "n", "mail.parquet", "-o", "b.parquet", "--all-scores")
    a, b = (pq.read_table(name) for name in ("a.parquet", "b.parquet"))
    assert a.column_names == ["label", "score", "score_ham", "score_spam"]
    assert a["label"] == b["label"]
    assert np.allclose(a["score"].to_numpy(), b["score"].to_numpy())
    assert "are written to" in run("predict", "m", "mail.parquet", "-o", "a.xml", code=2).stderr


def test_models_are_exported(mail):
    runtime = pytest.importorskip("onnxruntime")
    joblib = pytest.importorskip("joblib")
    run(*FIT, "--features", "body", "--ngrams", 2, "-o", "m", "-q")
    model, table = semisvm.load("m"), read("mail.csv", label="kind")
    X = model.features.transform(table)
    shown = run("export", "m", "m.onnx").stdout
    assert "With --columns, an ONNX file takes the columns themselves" in shown
    assert "has n-grams" in run("export", "m", "m.onnx", "--columns", code=2).stderr
    (label, *_) = runtime.InferenceSession("m.onnx").run(["label"], {"X": X.toarray()})
    assert label.tolist() == model.predict(table).tolist()
    shown = run("export", "m", "m.joblib").stdout
    assert "load your own only" in shown
    assert "a data frame with the columns 'body'" in shown
    assert joblib.load("m.joblib").predict(table.columns).tolist() == label.tolist()
    assert "models are exported to" in run("export", "m", "m.txt", code=2).stderr


def test_texts_are_the_input_of_an_exported_model(mail):
    runtime = pytest.importorskip("onnxruntime")
    run(*FIT, "--features", "body", "-o", "m", "-q")
    model, table = semisvm.load("m"), read("mail.csv", label="kind")
    assert "its inputs are the columns" in run("export", "m", "m.onnx", "--columns").stdout
    texts = np.array(table.text("body"), dtype=object)
    (label,) = runtime.InferenceSession("m.onnx").run(["label"], {"body": texts})
    assert label.tolist() == model.predict(table).tolist()


def test_kernels_are_not_objects_of_sklearn(mail):
    run(*FIT, "--kernel", "rbf", "-o", "m", "-q")
    assert "not linear" in run("export", "m", "m.joblib", code=2).stderr
    assert not (mail / "m.joblib").exists()


def test_whether_a_chosen_model_can_be_exported_is_shown(tmp_path):
    runtime = pytest.importorskip("onnxruntime")
    rng = np.random.default_rng(0)
    X = rng.standard_normal((90, 4)) + np.repeat([[0.0], [2.0]], 45, axis=0)
    kinds = [("a", "b")[k // 45] if k % 45 < 10 else "" for k in range(90)]
    lines = [",".join([*map(str, row), kind]) for row, kind in zip(X, kinds, strict=True)]
    data, model = tmp_path / "x.csv", tmp_path / "m"
    data.write_text("\n".join(["p,q,r,s,kind", *lines]) + "\n")
    fit = ["fit", data, "--label", "kind", "--quick", "-o"]
    run(*fit, model, "--exportable")
    assert semisvm.load(model).estimator.is_exportable
    onnx = tmp_path / "m.onnx"
    run("export", model, onnx, "--columns")
    bundle, table = semisvm.load(model), read(data, label="kind")
    columns = {name: table.numbers(name) for name in "pqrs"}
    session = runtime.InferenceSession(str(onnx))
    label, p = session.run(["label", "probabilities"], columns)
    assert label.tolist() == bundle.predict(table).tolist()
    np.testing.assert_allclose(p, bundle.predict_proba(table), atol=1e-9)
    shown = run(*fit, tmp_path / "other").stdout
    other = semisvm.load(tmp_path / "other")
    assert ("cannot be exported" in shown) is not other.estimator.is_exportable
    if not other.estimator.is_exportable:
        assert "--exportable keeps to methods that can" in shown
        error = run("export", tmp_path / "other", onnx, code=2).stderr
        assert "cannot be exported" in error
    assert "auto" in run(*fit, model, "-a", "svm", "--exportable", code=2).stderr


def labels_after(answers):
    return read(answers, label="kind").labels.tolist()


def test_labels_go_from_tool_to_tool(mail):
    table = read("mail.csv", label="kind")
    write("bare.csv", [{"id": i, "body": b} for i, b in zip(*table.columns.values(), strict=True)])
    shown = run("answers", "mail.csv", "--label", "kind", "--to", "label-studio", "-o", "a.json")
    assert "16 labels are in a.json." in shown.stdout
    assert '<Choice value="spam"/>' in shown.stdout
    bare = ("answers", "bare.csv", "--label", "kind")
    run(*bare, "--answers", "a.json", "--to", "prodigy", "-o", "b.jsonl")
    run(*bare, "--answers", "b.jsonl", "-o", "c.csv")
    assert labels_after("c.csv") == ["spam", "ham"] * 8
    fit = ("fit", "bare.csv", "--label", "kind", "--text", "body", "-a", "svm", "-q")
    for number, answers in enumerate(("a.json", "b.jsonl", "c.csv")):
        run(*fit, "--answers", answers, "-o", f"m{number}")
    models = [semisvm.load(f"m{number}").estimator.coef_ for number in range(3)]
    assert all(np.array_equal(models[0], other) for other in models[1:])


@pytest.mark.parametrize(("tool", "place"), [("label-studio", "t.json"), ("prodigy", "t.jsonl")])
def test_rows_to_label_are_written_as_tasks(mail, tool, place):
    select = ("select", "mail.csv", "--label", "kind", "--text", "body", "-n", 5)
    shown = run(*select, "--to", tool, "-o", place).stdout
    assert "read the export back" in shown
    text = (mail / place).read_text(encoding="utf-8")
    tasks = (
        json.loads(text)
        if place.endswith(".json")
        else list(map(json.loads, text.split("\n")[:-1]))
    )
    assert len(tasks) == 5
    assert "annotations" not in tasks[0]
    assert "answer" not in tasks[0]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--to", "excel", "-o", "a.csv"], "--to must be one of label-studio, prodigy"),
        (["--to", "prodigy", "-o", "a.json"], "are written to a .jsonl file"),
        (["-o", "a.json"], "need --to label-studio"),
    ],
)
def test_wrong_options_of_answers(mail, options, message):
    assert message in run("answers", "mail.csv", "--label", "kind", *options, code=2).stderr


def test_answers_need_a_label(mail):
    write("bare.csv", [{"body": "a b c"}, {"body": "d e f"}])
    write("none.csv", [{"semisvm_row": 1, "label": ""}])
    shown = run("answers", "bare.csv", "--answers", "none.csv", "-o", "a.csv", code=2)
    assert "neither bare.csv nor --answers have a label" in shown.stderr


def test_a_card_beside_a_report(mail):
    run(*FIT, "-o", "m", "-q")
    shown = run("report", "m", "--card", "card.md", "-o", "report.html").stdout
    assert "Report report.html" in shown
    assert "Card card.md" in shown
    assert "## Training data" in (mail / "card.md").read_text(encoding="utf-8")
    assert "-o or --card" in run("report", "m", code=2).stderr
