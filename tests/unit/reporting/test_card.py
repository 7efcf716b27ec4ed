"""Model cards: the headings, the figures of the report, and text of users as it is."""

import json
import re

import numpy as np
import pytest

import semisvm
from semisvm.reporting import render_card, report_data, write_card
from semisvm.reporting.card import escaped
from semisvm.tables import Table

HEADINGS = ["Model details", "Intended use", "Training data", "Metrics", "Caveats"]


def model_of(names=("a", "b"), **options):
    X = np.random.default_rng(0).normal(size=(80, 2))
    labels = np.array([names[int(x > 0)] for x in X[:, 0]], dtype=object)
    labels[30:] = None
    return semisvm.train(Table({"x": X[:, 0], "y": X[:, 1]}, labels), **options)


@pytest.fixture(scope="module")
def chosen():
    return model_of(quick=True, time_limit=3000.0)


def test_headings_in_their_order(chosen):
    card = render_card(report_data(chosen, title="My model"))
    assert card.startswith("# My model\n")
    assert re.findall("^## (.*)$", card, re.MULTILINE) == HEADINGS
    assert re.search(r"80 rows, .* 30 .* 50 ", card)
    assert "| a |" in card


def test_metrics_have_intervals_and_mark_the_model(chosen):
    data = report_data(chosen)
    card = render_card(data)
    assert "95% interval" in card
    assert card.count("(this model)") == 1
    for method in data["comparison"]["methods"]:
        low, high = method["interval"]
        assert f"{method['mean']:.3f} | {low:.3f} to {high:.3f} |" in card


def test_a_card_without_a_comparison_has_a_note():
    card = render_card(report_data(model_of(method="svm")))
    assert "Not measured" in card


def test_a_card_is_the_same_after_json_and_in_a_file(chosen, tmp_path):
    data = write_card(chosen, tmp_path / "card.md", title="T")
    written = (tmp_path / "card.md").read_text(encoding="utf-8")
    assert written == render_card(json.loads(json.dumps(data)))


def test_text_of_users_is_no_markup():
    names = ("<script>alert(1)</script>", "a|b\n# [x](y)")
    card = render_card(report_data(model_of(names, method="svm"), title="*T*"))
    assert "# \\*T\\*" in card
    assert "<script>" not in card
    rows = [line for line in card.splitlines() if line.startswith("| ")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {6}
    assert escaped("a_b\n`c`") == "a\\_b \\`c\\`"
