"""``semisvm label``: from a file without labels to a model, with a person who is a script."""

import csv
import json
import re
import signal
import subprocess
import sys
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")
pytest.importorskip("starlette")
pytest.importorskip("uvicorn")


from commands import refusal, run
from encoders import write_encoder
from semisvm.cli import label as label_module
from semisvm.labelling import LabelingSession
from semisvm.labelling.journal import Journal
from semisvm.labelling.people import read_people
from semisvm.tables import read
from waiting import PATIENCE

WORDS = (["win", "money", "prize", "offer", "cash"], ["lunch", "meeting", "plan", "notes", "team"])


def kind_of(row):
    return ["spam", "ham"][row % 2]


@pytest.fixture
def mail(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    common = [f"word{k}" for k in range(40)]
    texts = [" ".join([*rng.choice(WORDS[i % 2], 5), *rng.choice(common, 5)]) for i in range(80)]
    with open("mail.csv", "w", newline="") as stream:
        csv.writer(stream).writerows([["body"], *[[text] for text in texts]])
    return tmp_path


@pytest.fixture
def person(monkeypatch):
    """Answer rows in place of the page."""

    def serve(session, host, port, *, echo, watch, model, **options):
        printed.append({"host": host, "port": port, "model": model, **options})
        echo("Open http://127.0.0.1/")
        for _ in range(person.answers):
            query = session.ask()
            session.answer(query.row, kind_of(query.row))
        session.wait()
        watch(session.status())

    def person():
        return printed

    printed = []
    person.answers = 20
    monkeypatch.setattr(label_module, "_server", lambda: serve)
    return person


OPTIONS = ("--label", "kind", "--classes", "spam,ham", "--text", "body", "--no-browser")


def test_from_no_labels_to_a_model(mail, person):
    result = run("label", "mail.csv", *OPTIONS, "-o", "mail.semisvm", "--report", "mail.html")
    assert "20 answers are in mail.answers.csv" in result.output
    assert "20 of 80 rows labelled" in result.output
    assert person()[0]["title"] == "mail.csv"
    assert str(person()[0]["model"]) == "mail.semisvm"
    assert not person()[0]["open_browser"]
    facts = json.loads(run("inspect", "mail.semisvm", "--json").stdout)
    assert facts["summary"]["labelled"] == 20
    assert facts["settings"]["label"] == "kind"
    assert "labelled in a session" in Path("mail.html").read_text()
    run("predict", "mail.semisvm", "mail.csv", "-o", "found.csv")
    found = read("found.csv").text("label")
    assert np.mean([found[row] == kind_of(row) for row in range(80)]) > 0.9


ENCODER = """
def encode(texts):
    return [[text.count("win") + text.count("money") + text.count("prize"), 1.0] for text in texts]
"""


def test_vectors_are_learnt_from_and_not_shown(mail, person):
    rng = np.random.default_rng(1)
    vectors = rng.normal(size=(80, 3)) + np.array([[4.0], [-4.0]] * 40)
    np.save("vectors.npy", vectors)
    np.save("short.npy", vectors[1:])
    Path("my_own_encoder.py").write_text(ENCODER)
    named = ("--embeddings", "vectors.npy", "--encoder", "my_own_encoder:encode")
    person.answers = 6
    plain = run("label", "mail.csv", *OPTIONS).output
    person.answers = 14
    # the rows are the same ones with and without vectors
    result = run("label", "mail.csv", *OPTIONS, *named, "--no-words", "-o", "mail.semisvm")
    assert "6 answers are in" in plain
    assert "20 answers are in" in result.output
    command = next(line for line in plain.splitlines() if line.startswith("semisvm fit"))
    assert "--embeddings" not in command
    facts = json.loads(run("inspect", "mail.semisvm", "--json").stdout)
    assert facts["columns"] == {"embeddings": "vector", "body__encoded": "vector"}
    assert facts["settings"]["encoder"] == "my_own_encoder:encode"
    run("predict", "mail.semisvm", "mail.csv", "-o", "found.csv", *named)
    found = read("found.csv").text("label")
    assert np.mean([found[row] == kind_of(row) for row in range(80)]) > 0.9
    assert "--embeddings" in run("predict", "mail.semisvm", "mail.csv", code=2).stderr
    line = run("label", "mail.csv", *OPTIONS, "--embeddings", "short.npy", code=2).stderr
    assert "there are 79 vectors" in " ".join(line.split())
    line = run("label", "mail.csv", *OPTIONS, "--no-words", code=2).stderr
    assert "--no-words is for --encoder" in line


def test_texts_are_encoded_by_a_library(mail, person, tmp_path, monkeypatch):
    pytest.importorskip("model2vec")
    monkeypatch.setenv("SEMISVM_CACHE_DIR", str(tmp_path / "cache"))
    encoder = ("--encoder", write_encoder(tmp_path / "encoder"))
    person.answers = 20
    run("label", "mail.csv", *OPTIONS, *encoder, "--no-words", "-o", "mail.semisvm")
    facts = json.loads(run("inspect", "mail.semisvm", "--json").stdout)
    assert facts["columns"] == {"body__encoded": "vector"}
    run("predict", "mail.semisvm", "mail.csv", "-o", "found.csv")
    found = read("found.csv").text("label")
    assert np.mean([found[row] == kind_of(row) for row in range(80)]) > 0.9


def test_vectors_of_a_matrix_are_refused(mail, person):
    np.savez("x.npz", X=np.eye(4), y=np.array([1, 2, -1, -1]))
    line = run("label", "x.npz", "--embeddings", "x.npy", "--no-browser", code=2).stderr
    assert "this is a matrix" in line


def test_fit_goes_on_with_the_answers(mail, person):
    shown = run("label", "mail.csv", *OPTIONS).output
    command = next(line for line in shown.splitlines() if line.startswith("semisvm fit"))
    assert "--answers mail.answers.csv" in command
    run(*command.split()[1:], "--algorithm", "svm")
    facts = json.loads(run("inspect", "mail.semisvm", "--json").stdout)
    assert facts["summary"]["labelled"] == 20


def test_fit_reports_answers_that_only_the_journal_has(mail, person):
    run("label", "mail.csv", *OPTIONS)
    journal = Journal("mail.answers.csv.journal")
    journal.append({"kind": "skip", "rows": ["x"]})  # as before a kill
    journal.close()
    fit = ["fit", "mail.csv", "--label", "kind", "--answers", "mail.answers.csv", "-o", "m.semisvm"]
    shown = run(*fit, "--algorithm", "svm").output
    assert "1 later answers are in" in " ".join(shown.split())


def test_the_same_command_goes_on(mail, person):
    run("label", "mail.csv", *OPTIONS)
    result = run("label", "mail.csv", *OPTIONS)
    assert "40 answers are in" in result.output
    joined = read("mail.answers.csv", label="kind")
    assert len(joined) == 40


def test_labels_of_the_file_count(mail, person):
    lines = Path("mail.csv").read_text().splitlines()
    kinds = [kind_of(row) if row < 6 else "" for row in range(80)]
    some = [f"{line},{kind}" for line, kind in zip(lines[1:], kinds, strict=True)]
    Path("some.csv").write_text("\n".join(["body,kind", *some]))
    person.answers = 0
    result = run("label", "some.csv", "--label", "kind", "--text", "body", "-o", "m.semisvm")
    assert "0 answers are in some.answers.csv" in result.output
    assert json.loads(run("inspect", "m.semisvm", "--json").stdout)["summary"]["labelled"] == 6


def test_without_answers_no_model_is_written(mail, person):
    person.answers = 0
    result = run("label", "mail.csv", *OPTIONS, "-o", "mail.semisvm")
    assert re.search(r"mail\.semisvm was not written.* two classes", result.output)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--answers", "a.txt"], "must be a .csv file"),
        (["--answers", "-"], "must be a .csv file"),
        (["--answers", "missing/a.csv"], "no folder"),
        (["--answers", "mail.csv"], "is read by this command"),
        (["--text", "bod"], "Did you mean 'body'"),
        (["--classes", "a\tb"], "printable"),
        (["--key", "id"], "no column 'id'"),
    ],
)
def test_mistakes(mail, person, options, message):
    assert message in run("label", "mail.csv", *options, code=2).output
    assert person() == []


def test_no_output_takes_the_place_of_the_answers(mail, person):
    answers, journal = Path("mail.answers.csv"), Path("mail.answers.csv.journal")
    for option, name in [("-o", answers), ("-o", journal), ("--report", answers)]:
        assert "the same file" in refusal("label", "mail.csv", *OPTIONS, option, name)
    given = ["--answers", "a.csv", "-o", "a.csv.journal"]
    assert "the same file" in refusal("label", "mail.csv", *OPTIONS, *given)
    assert [path.name for path in mail.iterdir()] == ["mail.csv"]
    run("label", "mail.csv", *OPTIONS)
    before = answers.read_bytes(), journal.read_bytes()
    fit = ["fit", "mail.csv", "--label", "kind", "--answers", answers, "-o"]
    assert "is a journal of answers" in refusal(*fit, journal)
    select = ["select", "mail.csv", "-n", "3", "-o"]
    assert "has the answers of 'semisvm label'" in refusal(*select, answers)
    Path("link.csv").symlink_to(answers)
    assert "has the answers of 'semisvm label'" in refusal(*select, "link.csv")
    assert (answers.read_bytes(), journal.read_bytes()) == before


def test_a_second_process_is_refused(mail, person):
    from semisvm.labelling import LabelingSession

    with LabelingSession.open("mail.csv", background=False):
        assert "has this journal open" in run("label", "mail.csv", code=2).output


def test_the_extra_is_named(mail, monkeypatch):
    monkeypatch.setitem(sys.modules, "semisvm.labelling.server", None)
    result = run("label", "mail.csv", code=2)
    assert "pip install 'semisvm[label]'" in result.output


def start(*options):
    command = [sys.executable, "-m", "semisvm", "label", "mail.csv", *OPTIONS, *options]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    line = ""
    while "http://" not in line:
        line = process.stderr.readline()
        assert line, process.communicate()
    return process, line.split()[-1]


def test_the_page_is_there_and_ctrl_c_ends_it(mail):
    process, address = start("-o", "mail.semisvm")
    try:
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        with opener.open(address, timeout=PATIENCE) as page:
            assert b"<html" in page.read().lower()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert "0 answers are in mail.answers.csv" in out, err
    assert process.returncode in (0, 130)


def test_several_people(mail, person):
    run("label", "mail.csv", *OPTIONS, "--people", "anna,ben", "--overlap", "0.2")
    assert [(one.name, one.role) for one in person()[0]["people"]] == [
        ("anna", "finish"),
        ("ben", "label"),
    ]
    with LabelingSession.open("mail.csv", label="kind", background=False) as session:
        assert session.overlap == 0.2
        session.people.invite(person()[0]["people"][0])
        session.keep_port(4321)
    # the links of the last time need their port
    run("label", "mail.csv", *OPTIONS)
    assert person()[1]["port"] == 4321
    assert "'ben' has no link" in refusal("label", "mail.csv", *OPTIONS, "--revoke", "ben")
    run("label", "mail.csv", *OPTIONS, "--revoke", "anna")
    with LabelingSession.open("mail.csv", label="kind", background=False) as session:
        assert len(session.people) == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--people", "a:boss"), "label, settle, finish"),
        (("--tls-cert", "mail.csv"), "give both"),
        (("--tls-cert", "mail.csv", "--tls-key", "mail.csv"), "cannot be used"),
        (("--behind-proxy", "label.example.org"), "https://label.example.org"),
        (("--behind-proxy", "http://label.example.org"), "https://label.example.org"),
        (("--overlap", "2"), "--overlap"),
    ],
)
def test_bad_options_of_people(mail, person, options, words):
    shown = run("label", "mail.csv", *OPTIONS, *options, code=2).stderr
    assert words in " ".join(shown.replace("│", " ").split())
    assert not Path("mail.answers.csv.journal").exists()


def test_rows_on_which_people_differ_are_not_counted_as_labels(mail, person):
    person.answers = 0
    with LabelingSession.open("mail.csv", label="kind", background=False) as session:
        session.add_class("spam")
        session.add_class("ham")
        session.answer(0, "spam", by="anna")
        session.answer(0, "ham", by="ben")
        session.answer(1, "ham", by="ben")
    shown = run("label", "mail.csv", *OPTIONS).output
    assert "2 rows answered; the labels are in mail.answers.csv" in shown
    assert "where people differ: 1 row." in shown
    assert len(read("mail.answers.csv", label="kind")) == 1


def test_a_new_link_gives_no_more_rights(mail, person):
    with LabelingSession.open("mail.csv", label="kind", background=False) as session:
        for one in read_people("anna,ben"):
            session.people.invite(one)
    run("label", "mail.csv", *OPTIONS, "--revoke", "ben", "--people", "ben")
    assert [(one.name, one.role) for one in person()[0]["people"]] == [("ben", "label")]


def test_answers_of_another_tool_are_taken(mail, person):
    tasks = [{"text": "?", "semisvm_row": 3, "label": ["spam"]}]
    Path("tasks.jsonl").write_text("".join(json.dumps(task) + "\n" for task in tasks))
    person.answers = 0
    shown = run("label", "mail.csv", *OPTIONS, "--import", "tasks.jsonl").output
    assert "tasks.jsonl: answers taken: 1; here already: 0" in " ".join(shown.split())
    assert "1 answer is in mail.answers.csv" in shown
    Path("tasks.jsonl").write_text(json.dumps({**tasks[0], "semisvm_row": 300}) + "\n")
    shown = run("label", "mail.csv", *OPTIONS, "--import", "tasks.jsonl", code=2).stderr
    assert "not a row of" in " ".join(shown.split())


def test_a_packed_session_is_taken_up(mail, person):
    run("label", "mail.csv", *OPTIONS)
    options = person()[0]["options"]
    assert options["text"] == ["body"]
    with LabelingSession.open("mail.csv", label="kind", background=False) as session:
        session.pack("mail.session", options)
    Path("there").mkdir()
    Path("mail.session").rename("there/mail.session")
    person.answers = 3
    shown = run("label", "there/mail.session", "--no-browser").output
    assert "23 answers are in there/mail.answers.csv" in shown
    command = " ".join(shown.partition("semisvm fit ")[2].split())
    for part in ("there/mail.csv", "--label kind", "--text body", "--output mail.semisvm"):
        assert part in command
    assert "mail.session" not in command
    packed = ("label", "there/mail.session", "--no-browser")
    assert "go on with there/mail.csv itself" in " ".join(refusal(*packed).split())
    assert "--answers cannot name one" in refusal(*packed, "--answers", "other.csv")
    assert person()[1]["options"]["text"] == ["body"]


def test_weak_labels_are_guesses_and_no_features(mail, person):
    with open("mail.csv", newline="") as stream:
        texts = [line["body"] for line in csv.DictReader(stream)]
    with open("mail.csv", "w", newline="") as stream:
        votes = [kind_of(row + (row % 5 == 0)) for row in range(len(texts))]
        rows = zip(texts, votes, strict=True)
        csv.writer(stream).writerows([["body", "llm"], *rows])
    result = run("label", "mail.csv", "--label", "kind", "--weak", "llm", "--text", "body")
    assert len(person()) == 1
    assert "--weak llm" in result.stdout
    lines = list(csv.DictReader((mail / "mail.answers.csv").read_text().splitlines()))
    assert {line["kind"] for line in lines} == {"spam", "ham"}
    assert "nosuch" in refusal("label", "mail.csv", "--weak", "nosuch")
