"""Labels from and to Label Studio, Prodigy, doccano and Argilla."""

import json

import numpy as np
import pytest

from semisvm.tables import DataError, MatrixData, Table, join_answers, to_tasks
from semisvm.tables.annotation_tools import SUFFIXES, TOOLS, read_tool_answers, studio_interface

TEXTS = [f"text number {k}" for k in range(6)]
DATA = Table({"body": TEXTS, "size": np.arange(6.0)}, path="data.csv")


def with_labels(labels):
    return Table(DATA.columns, np.array([*labels, *[None] * (6 - len(labels))], dtype=object))


def write(path, tasks):
    if path.suffix == ".json":
        path.write_text(json.dumps(tasks), encoding="utf-8")
    else:
        path.write_text("".join(json.dumps(task) + "\n" for task in tasks), encoding="utf-8")
    return path


def joined(path, data=DATA, **options):
    return join_answers(data, [path], **options).data.labels.tolist()


def choices(*labels, name="label", **more):
    value = {"choices": list(labels)}
    result = {"from_name": name, "to_name": "text", "type": "choices", "value": value}
    return {"result": [result], **more}


@pytest.mark.parametrize(("tool", "suffix"), SUFFIXES.items())
def test_labels_go_out_and_come_back(tmp_path, tool, suffix):
    known = with_labels(["spam", "ham", None, "spam"])
    tasks = to_tasks(known, [0, 1, 3], tool, "body", classes=["ham", "spam"])
    path = write(tmp_path / f"tasks{suffix}", tasks)
    assert joined(path) == ["spam", "ham", None, "spam", None, None]
    # rows that have moved are found by their content
    moved = DATA.take([5, 4, 3, 2, 1, 0])
    assert joined(path, moved) == [None, None, "spam", None, "ham", "spam"]
    with pytest.raises(DataError, match="no row with this content"):
        joined(path, Table({**DATA.columns, "body": [text.upper() for text in TEXTS]}))


@pytest.mark.parametrize("tool", TOOLS)
def test_rows_can_be_named_by_a_key(tmp_path, tool):
    data = Table({**with_labels(["a", "b"]).columns, "id": list("uvwxyz")}, path="data.csv")
    labels = with_labels(["a", "b"]).labels
    tasks = to_tasks(Table(data.columns, labels), [0, 1], tool, "body", key="id", keep=[])
    assert "semisvm_row" not in json.dumps(tasks)
    path = write(tmp_path / f"t{SUFFIXES[tool]}", tasks)
    assert joined(path, data, key="id") == ["a", "b", None, None, None, None]


def test_a_task_of_label_studio_has_the_documented_form():
    (task,) = to_tasks(with_labels(["spam"]), [0], "label-studio", "body")
    assert task["data"]["body"] == TEXTS[0]
    assert task["annotations"] == [choices("spam")]
    (bare,) = to_tasks(DATA, [1], "label-studio", "body")
    assert list(bare) == ["data"]


def test_a_task_of_prodigy_is_that_of_its_choice_interface():
    (task,) = to_tasks(with_labels(["spam"]), [0], "prodigy", "body", classes=["ham", "spam"])
    assert task["text"] == TEXTS[0]
    assert task["options"] == [{"id": "ham", "text": "ham"}, {"id": "spam", "text": "spam"}]
    assert (task["accept"], task["answer"]) == (["spam"], "accept")
    assert task["meta"]["semisvm_row"] == 1


def test_tasks_of_others_are_found_by_shared_columns(tmp_path):
    tasks = [
        {"id": 7, "data": {"body": "text  number 2"}, "annotations": [choices("x", name="topic")]},
        {"id": 8, "data": {"body": TEXTS[4]}, "annotations": [choices("y", was_cancelled=True)]},
        {"id": 9, "data": {"body": TEXTS[5]}, "annotations": []},
    ]
    path = write(tmp_path / "export.json", tasks)
    found = join_answers(DATA, [path])
    assert found.data.labels.tolist() == [None, None, "x", None, None, None]
    assert found.notes == [f"2 of the 3 rows of {path} have no label yet."]


def test_json_min_has_one_level(tmp_path):
    path = write(tmp_path / "min.json", [{"id": 1, "body": TEXTS[1], "kind": "spam"}])
    assert joined(path, label="kind") == [None, "spam", None, None, None, None]


def test_a_binary_answer_of_prodigy(tmp_path):
    data = Table({"text": TEXTS}, path="data.csv")
    tasks = [
        {"text": TEXTS[0], "label": "SPAM", "answer": "accept", "_task_hash": 1},
        {"text": TEXTS[1], "label": "SPAM", "answer": "reject", "_task_hash": 2},
        {"text": TEXTS[2], "label": "SPAM", "answer": "ignore", "_task_hash": 3},
    ]
    path = write(tmp_path / "out.jsonl", tasks)
    assert joined(path, data) == ["SPAM", None, None, None, None, None]


def test_our_own_json_lines_are_read_as_before(tmp_path):
    path = write(tmp_path / "mine.jsonl", [{"semisvm_row": 2, "label": "spam"}])
    assert joined(path) == [None, "spam", None, None, None, None]


def test_the_ground_truth_decides(tmp_path):
    task = {"data": {"body": TEXTS[0]}, "annotations": [choices("a"), choices("b")]}
    path = write(tmp_path / "export.json", [task])
    with pytest.raises(DataError, match="its annotators disagree: 'a', 'b'") as caught:
        joined(path)
    assert (caught.value.word, caught.value.line) == ("task", 1)
    task["annotations"][1]["ground_truth"] = True
    assert joined(write(path, [task]))[0] == "b"


def test_several_choices_need_a_name(tmp_path):
    both = {"result": [*choices("a")["result"], *choices("c", name="tone")["result"]]}
    path = write(tmp_path / "export.json", [{"data": {"body": TEXTS[0]}, "annotations": [both]}])
    assert joined(path, label="tone")[0] == "c"
    with pytest.raises(DataError, match="choices named 'label', 'tone'"):
        joined(path, label="kind")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{}", "an array of one task or more"),
        ("[]", "an array of one task or more"),
        ("[1]", "not a task of Label Studio"),
        ('[{"data": 1}]', "not a task of Label Studio"),
        ('[{"data": {}, "annotations": [1]}]', "not those of Label Studio"),
        ('[{"data": {}, "annotations": {"a": 1}}]', "not a task of Label Studio"),
        ('[{"data": {}, "annotations": [{"result": 5}]}]', "not those of Label Studio"),
        ('[{"body": "text number 0", "label": [{"a": 1}]}]', "its label is not text or a number"),
        ('[{"data": {"body": "text number 0"}', "this is not JSON"),
        ('[{"data": {"body": "nobody wrote this"}}]', "no rows like this in 'body'"),
        ('[{"data": {"other": "text number 0"}}]', "no column of data.csv"),
        ('[{"data": {"body": "\\ud83d"}}]', "half of a character"),
        ('[{"body": "text number 0", "label": {"choices": ["a", "b"]}}]', "it has 2 labels"),
    ],
)
def test_wrong_exports_are_refused(tmp_path, content, message):
    (tmp_path / "export.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=message):
        joined(tmp_path / "export.json")


def test_rows_of_one_content_need_a_key(tmp_path):
    path = write(tmp_path / "export.json", [{"body": "twice", "label": "a"}])
    with pytest.raises(DataError, match="2 rows like this"):
        joined(path, Table({"body": ["twice", "twice"]}, path="data.csv"))


def test_matrices_make_no_tasks():
    with pytest.raises(DataError, match="this is a matrix"):
        to_tasks(MatrixData(np.eye(2)), [0], "prodigy", "body")


def test_the_interface_of_label_studio_is_xml():
    from xml.etree import ElementTree

    found = ElementTree.fromstring(studio_interface("body", ['<"spam">', "ham & eggs"]))
    assert found.find("Text").get("value") == "$body"
    assert [choice.get("value") for choice in found.iter("Choice")] == ['<"spam">', "ham & eggs"]


def test_doccano_exports_are_read(tmp_path):
    lines = [
        {"id": 17, "text": "x", "body": TEXTS[0], "label": ["spam"], "Comments": []},
        {"id": 18, "text": "y", "body": TEXTS[1], "label": []},
    ]
    path = write(tmp_path / "admin.jsonl", lines)
    assert joined(path) == ["spam", None, None, None, None, None]
    path = write(tmp_path / "spans.jsonl", [{"text": "x", "label": [[0, 3, "PER"]]}])
    with pytest.raises(DataError, match="not text or a number"):
        joined(path)


def test_argilla_records_are_read(tmp_path):
    responses = [
        {"value": "spam", "user_id": "u1"},
        {"value": "ham", "user_id": "u2", "status": "discarded"},
    ]
    record = {"id": "1", "fields": {"body": TEXTS[0]}, "metadata": {}, "suggestions": {}}
    for suffix in (".json", ".jsonl"):
        path = write(tmp_path / f"r{suffix}", [{**record, "responses": {"q": responses}}])
        assert joined(path) == ["spam", *[None] * 5]
    responses[1]["status"] = "submitted"
    path = write(tmp_path / "r.json", [{**record, "responses": {"q": responses}}])
    with pytest.raises(DataError, match="annotators disagree"):
        joined(path)
    _, (answers,) = read_tool_answers(path, "label")
    assert [(one.value, one.by) for one in answers] == [("spam", "u1"), ("ham", "u2")]
    path = write(tmp_path / "r.json", [{**record, "responses": {"q": responses, "r": []}}])
    with pytest.raises(DataError, match="questions named 'q', 'r'"):
        joined(path)


def test_who_answered_is_read(tmp_path):
    made = choices("spam", completed_by={"id": 3, "email": "a@b.c"}, created_at="2024-01-02")
    other = choices("ham", completed_by=4, ground_truth=True)
    tasks = [{"data": {"body": TEXTS[0]}, "annotations": [made, other]}]
    _, (found,) = read_tool_answers(write(tmp_path / "s.json", tasks), "label")
    assert [(one.value, one.by, one.is_truth) for one in found] == [
        ("spam", "a@b.c", False),
        ("ham", "4", True),
    ]
    assert found[0].time == "2024-01-02"
    line = {"text": "x", "accept": ["spam"], "answer": "accept"}
    line |= {"_annotator_id": "anna", "_timestamp": 0}
    _, ((one,),) = read_tool_answers(write(tmp_path / "p.jsonl", [line]), "label")
    assert (one.by, one.time) == ("anna", "1970-01-01T00:00:00+00:00")
    line["_timestamp"] = 1e30
    with pytest.raises(DataError, match="_timestamp 1e\\+30 is not a time"):
        read_tool_answers(write(tmp_path / "q.jsonl", [line]), "label")
