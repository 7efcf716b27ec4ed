"""``--sample-weight COLUMN``: weights of rows on the command line."""

import csv
import json

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

import semisvm
from commands import run
from semisvm.tables import read

WORDS = (["win", "money", "prize", "offer"], ["lunch", "meeting", "plan", "notes"])


def write(path, weights, n_labels=16, column="weight"):
    rng = np.random.default_rng(0)
    with open(path, "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text", "size", column, "kind"])
        for i, weight in enumerate(weights):
            label = ["spam", "ham"][i % 2] if i < n_labels else ""
            table.writerow([" ".join(rng.choice(WORDS[i % 2], 4)), i % 5, weight, label])
    return path


def numbers(n, seed=1):
    return np.random.default_rng(seed).integers(1, 5, n).tolist()


@pytest.fixture
def mail(tmp_path):
    return write(tmp_path / "mail.csv", numbers(60))


def fit(data, *more, name="m.semisvm", code=0):
    output = data.parent / name
    result = run("fit", data, "--label", "kind", "-o", output, *more, code=code)
    return result if code else semisvm.load(output)


@pytest.mark.parametrize("method", ["svm", "tsvm", "da", "laprls"])
def test_fit_takes_weights_of_a_column(mail, method):
    weighted = fit(mail, "-a", method, "--sample-weight", "weight", "-q")
    assert "weight" not in weighted.features.columns_
    plain = fit(mail, "-a", method, "--features", "text", "--features", "size", "-q", name="p")
    assert weighted.features.columns_ == plain.features.columns_
    assert not np.allclose(weighted.estimator.coef_, plain.estimator.coef_)


def test_auto_chooses_among_methods_that_take_weights(mail):
    model = fit(mail, "--quick", "--sample-weight", "weight", "-q")
    assert "weight" not in model.features.columns_


def test_weights_of_equal_rows_change_nothing(tmp_path):
    data = write(tmp_path / "equal.csv", [3] * 60)
    weighted = fit(data, "-a", "tsvm", "--sample-weight", "weight", "-q")
    plain = fit(data, "-a", "tsvm", "--features", "text", "--features", "size", "-q", name="p")
    np.testing.assert_allclose(weighted.estimator.coef_, plain.estimator.coef_)


def test_probabilities_with_weights(mail):
    more = ("-a", "tsvm", "--sample-weight", "weight", "--probabilities", "-q")
    assert fit(mail, *more).has_probabilities


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ("-2", "-2 is negative"),
        ("heavy", "'heavy' is not a number"),
        ("", "there is no weight"),
        ("inf", "infinite"),
    ],
)
def test_bad_weights_are_named_with_line_and_column(tmp_path, weight, message):
    values = numbers(40)
    values[5] = weight
    data = write(tmp_path / "bad.csv", values)
    result = fit(data, "-a", "tsvm", "--sample-weight", "weight", code=2)
    output = " ".join(result.output.split())
    assert message in output
    assert "line 7" in output
    assert "weight" in output


def test_a_column_that_is_not_there(mail):
    result = fit(mail, "-a", "tsvm", "--sample-weight", "wait", code=2)
    assert "'wait'" in result.output
    assert "weight" in result.output


def test_a_method_without_weights_is_refused(mail):
    result = fit(mail, "-a", "rlp", "--sample-weight", "weight", code=2)
    output = " ".join(result.output.split())
    assert "'rlp' takes no weights of rows" in output
    assert "tsvm" in output


def test_a_matrix_has_no_such_column(tmp_path):
    path = tmp_path / "rows.svm"
    path.write_text("1 1:1\n-1 2:1\n0 1:1 2:1\n")
    result = run("fit", path, "-o", tmp_path / "m", "--sample-weight", "weight", code=2)
    assert "no columns with names" in result.output


def test_weights_on_a_cluster_are_refused(mail):
    result = fit(mail, "-a", "tsvm", "--workers", "1", "--sample-weight", "weight", code=2)
    assert "not for a cluster" in " ".join(result.output.split())


def test_compare_leaves_out_methods_without_weights(mail):
    options = ("--label", "kind", "--methods", "svm,tsvm,semiboost", "--json")
    result = run("compare", mail, *options, "--sample-weight", "weight")
    facts = json.loads(result.output)
    assert "weights" in facts["skipped"]["semiboost"]
    assert {method["name"] for method in facts["methods"]} == {"svm", "tsvm"}


def test_the_next_command_keeps_the_weights(mail):
    options = ("--label", "kind", "--methods", "tsvm", "--sample-weight", "weight")
    assert "--sample-weight weight" in run("compare", mail, *options).output


def test_evaluate_weighs_rows(mail):
    fit(mail, "-a", "tsvm", "--sample-weight", "weight", "-q")
    model = mail.parent / "m.semisvm"
    # every row that is predicted wrongly has weight zero
    table = read(mail, label="kind")
    truth = np.array([["spam", "ham"][i % 2] for i in range(60)])
    right = semisvm.load(model).predict(table) == truth
    right[:3] = False
    test = write(mail.parent / "test.csv", right.astype(int).tolist(), 60)
    plain = json.loads(run("evaluate", model, test, "--label", "kind", "--json").output)
    options = ("--label", "kind", "--sample-weight", "weight", "--json")
    weighted = json.loads(run("evaluate", model, test, *options).output)
    assert weighted["accuracy"] == 1.0 >= plain["accuracy"]
    assert weighted["rows"] == plain["rows"] == 60
    assert weighted["confusion"] == plain["confusion"]
    assert any("weigh rows by 'weight'" in note for note in weighted["notes"])


def test_audit_weighs_rows(tmp_path):
    equal = write(tmp_path / "equal.csv", [2] * 60, n_labels=24)
    other = write(tmp_path / "other.csv", [0, *numbers(59)], n_labels=24)
    features = ("--features", "text", "--features", "size")
    audit = ("--label", "kind", "--json")
    plain = json.loads(run("audit", equal, *audit, *features).stdout)
    same = json.loads(run("audit", equal, *audit, "--sample-weight", "weight").stdout)
    assert same == plain
    weighed = json.loads(run("audit", other, *audit, "--sample-weight", "weight").stdout)
    assert weighed["n_checked"] == 23, "a label of weight zero counts like none"
    rlp = ("-a", "rlp", "--sample-weight", "weight")
    refused = run("audit", other, "--label", "kind", *rlp, code=2)
    assert "takes no --sample-weight" in refused.stderr


@pytest.mark.parametrize("weights", ["balanced", "spam=5"])
def test_class_weights_of_the_supervised_machine(mail, weights):
    weighted = fit(mail, "-a", "svm", "--class-weight", weights, "-q")
    given = "balanced" if weights == "balanced" else {"spam": 5.0}
    assert weighted.estimator.get_params()["class_weight"] == given
    again = semisvm.NewtonSVC(class_weight=given, unlabeled=None)
    data = read(mail, label="kind")
    again.fit(weighted.features.transform(data), data.labels)
    np.testing.assert_allclose(weighted.estimator.coef_, again.coef_)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-a", "tsvm", "--class-weight", "balanced"), "'tsvm' has no --class-weight"),
        (("--class-weight", "balanced"), "--class-weight is for --algorithm svm"),
        (("-a", "svm", "--class-weight", "even"), "'even' has no '='"),
        (("-a", "svm", "--class-weight", "spam=much"), "has 'much' for 'spam'"),
        (("-a", "svm", "--class-weight", "spma=2"), "Did you mean 'spam'?"),
        (("-a", "svm", "--class-weight", "spam=-2"), "must be a finite number >= 0"),
    ],
)
def test_bad_class_weights(mail, options, message):
    assert message in fit(mail, *options, code=2).stderr
