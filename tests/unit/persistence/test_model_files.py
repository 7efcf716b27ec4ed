"""Model files: the same bits come back, and broken files are refused."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import semisvm
from problems import hide, sparse_text, two_blobs
from promises import EVERY_METHOD
from semisvm import AnnealedSVC, Model, NewtonSVC, TransductiveSVC
from semisvm.persistence.archive import read_archive, write_archive
from semisvm.persistence.json_values import from_plain, to_plain
from semisvm.tables import ColumnFeatures, DataError, DataWarning, MatrixData, Table
from semisvm.tables.labels import text_labels

DATA = Path(__file__).resolve().parents[2] / "data"
UNHURRIED = {"reg": 0.01, "time_limit": None}


def check_same(a, b, X):
    np.testing.assert_array_equal(a.predict(X), b.predict(X), strict=True)
    np.testing.assert_array_equal(a.decision_function(X), b.decision_function(X), strict=True)
    assert hasattr(a, "predict_proba") == hasattr(b, "predict_proba")
    if hasattr(a, "predict_proba"):
        np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X), strict=True)


def round_trip(model, tmp_path):
    path = tmp_path / "m.semisvm"
    semisvm.save(model, path)
    return semisvm.load(path)


@EVERY_METHOD
def test_every_method(method, tmp_path):
    X, y = two_blobs(40)
    # a limit of time would end the search of a mixed-integer program early on a busy machine
    given = {name: value for name, value in UNHURRIED.items() if name in method.parameters}
    model = method.make(**given).fit(X, hide(y, 10))
    again = round_trip(model, tmp_path)
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    check_same(model, again, two_blobs(50, seed=3)[0])
    left_out = set(vars(model)) - set(vars(again))
    assert left_out <= {"transduction_", "label_distribution_"}
    assert again.trace_.notes == model.trace_.notes
    assert again.trace_.columns == model.trace_.columns
    np.testing.assert_array_equal(again.trace_["objective"], model.trace_["objective"])


@pytest.mark.parametrize("cls", [NewtonSVC, TransductiveSVC, AnnealedSVC])
def test_many_classes_and_hierarchy(cls, tmp_path):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 4
    X = rng.standard_normal((120, 5)) + 2 * np.eye(4, 5)[y]
    names = np.array(["north", "south", "east", "west"])
    target = np.where(np.arange(120) % 3, None, names[y])
    hierarchy = {"vertical": ["north", "south"], "horizontal": ["east", "west"]}
    model = cls(hierarchy=hierarchy).fit(X, target)
    again = round_trip(model, tmp_path)
    check_same(model, again, X)
    assert again.classes_.dtype == model.classes_.dtype
    assert again.hierarchy_.names == model.hierarchy_.names
    assert again.predict_at_depth(X, 1).tolist() == model.predict_at_depth(X, 1).tolist()
    np.testing.assert_array_equal(again.hierarchy_.paths, model.hierarchy_.paths)
    warm = again.set_params(warm_start=True).fit(X, target)
    assert warm.coef_.shape == model.coef_.shape


@pytest.mark.parametrize("names", [["one", "zwei"], [3, 7], [0.0, 1.0], [False, True]])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_classes_and_types_are_kept(names, dtype, tmp_path):
    X, y = two_blobs(60, 4)
    target = np.array(names)[y]
    model = NewtonSVC(unlabeled=None).fit(X.astype(dtype), target)
    again = round_trip(model, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    check_same(model, again, X.astype(dtype))


def test_sparse_data_and_parameters(tmp_path):
    X, y = sparse_text()
    prior = {0: 0.5, 1: 0.5}
    model = TransductiveSVC(class_prior=prior, callback=lambda row: False).fit(X, hide(y, 20))
    again = round_trip(model, tmp_path)
    check_same(model, again, X)
    assert again.class_prior == prior
    assert again.callback is None
    given = TransductiveSVC(class_prior=np.array([0.4, 0.6])).fit(X, hide(y, 20))
    assert round_trip(given, tmp_path).class_prior.tolist() == [0.4, 0.6]


def test_names_of_columns(tmp_path):
    pd = pytest.importorskip("pandas")
    X, y = two_blobs(60, 3)
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    model = NewtonSVC().fit(frame, y)
    again = round_trip(model, tmp_path)
    assert again.feature_names_in_.tolist() == ["a", "b", "c"]
    check_same(model, again, frame)


def mail_table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    spam = np.arange(n) % 2 == 0
    words = [["win", "money", "prize", "now"], ["lunch", "meeting", "plan", "notes"]]
    texts = [" ".join(rng.choice(words[0 if s else 1], 6)) for s in spam]
    labels = [("spam" if s else "ham") if i < 10 else "" for i, s in enumerate(spam)]
    columns = {"text": texts, "size": rng.random(n), "kind": ["ab"[i % 2] for i in range(n)]}
    return Table(columns, text_labels(labels), "mail.csv", np.arange(2, n + 2))


def test_bundles(tmp_path):
    table = mail_table()
    features = ColumnFeatures(text=["text"])
    model = semisvm.train(table, "da", features=features, settings={"label": "y"}, reg=0.01)
    assert model.summary["labels"] == {"ham": 5, "spam": 5}
    path = tmp_path / "m.semisvm"
    semisvm.save(model, path, created="2026-01-01")
    again = semisvm.load(path)
    assert isinstance(again, Model)
    fresh = mail_table(seed=1)
    np.testing.assert_array_equal(model.matrix(fresh).data, again.matrix(fresh).data)
    np.testing.assert_array_equal(model.decision_function(fresh), again.decision_function(fresh))
    assert again.predict(fresh).tolist() == ["spam", "ham"] * 30
    assert again.settings == {"label": "y"}
    assert again.summary["created"] == "2026-01-01"
    assert again.summary["versions"]["semisvm"] == semisvm.__version__
    assert again.summary["notes"] == model.summary["notes"]
    assert {name for name, _ in again.top_features(2)["spam"]} <= set(again.feature_names())
    with pytest.raises(DataError, match="fitted to columns"):
        again.predict(MatrixData(np.eye(2)))


def test_bundles_of_matrices(tmp_path):
    X, y = sparse_text()
    labels = np.where(hide(y, 20) == -1, None, y.astype(object))
    model = semisvm.train(MatrixData(X, labels, facts={"zero_based": False}), "maxent")
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.settings == {"zero_based": False}
    assert again.top_features(1)[0][0][0].isdigit()
    with pytest.raises(DataError, match="fitted to a matrix"):
        again.predict(mail_table())


def test_training_refuses_and_remarks():
    with pytest.raises(DataError, match="no labels: name the label column"):
        semisvm.train(Table({"a": [1, 2]}))
    one = MatrixData(np.eye(3), text_labels([1, 1, None]), "a.svm")
    with pytest.raises(DataError, match=r"one class only, 1.*unlabeled='none'"):
        semisvm.train(one)
    with pytest.raises(DataError, match="there are no labels"):
        semisvm.train(Table({"a": [1, 2]}, text_labels(["", ""])))
    rare = MatrixData(two_blobs(10)[0], text_labels([1, 2, 2, *[None] * 7]))
    with pytest.warns(DataWarning, match="'1' appear once"):
        semisvm.train(rare, "svm")


def test_the_same_model_gives_the_same_bytes(tmp_path):
    X, y = two_blobs(60)
    model = NewtonSVC().fit(X, y)
    for name in "ab":
        semisvm.save(model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


OLD_FILES = sorted(path.stem for path in DATA.glob("*_1.semisvm"))


@pytest.mark.parametrize("name", OLD_FILES)
def test_a_model_of_every_release_loads_for_ever(name):
    """These files are never written again: later versions must read them as they are."""
    model = semisvm.load(DATA / f"{name}.semisvm")
    expected = json.loads((DATA / f"{name}.json").read_text())
    data = expected["columns"] if isinstance(model, Model) else np.array(expected["X"])
    assert model.predict(data).tolist() == expected["labels"]
    np.testing.assert_allclose(model.decision_function(data), expected["scores"], rtol=1e-9)
    if "probabilities" in expected:
        np.testing.assert_allclose(model.predict_proba(data), expected["probabilities"], rtol=1e-9)


whole = st.integers(-(2**64), 2**64)
plain = st.recursive(
    st.none() | st.booleans() | whole | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(whole | st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@settings(max_examples=100)
@given(plain)
def test_plain_values_come_back(value):
    assert from_plain(json.loads(json.dumps(to_plain(value), allow_nan=False))) == value


@settings(max_examples=50)
@given(
    values=st.lists(st.floats(width=64) | st.just(0.0), min_size=1, max_size=300),
    order=st.sampled_from("CF"),
    rows=st.sampled_from([1, 2, 3]),
)
def test_arrays_come_back(values, order, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("a") / "a"
    array = np.array(np.resize(values, (rows, len(values))), order=order)
    write_archive(path, {}, {"a": array, "b": array.copy(), "c": np.array(["x", "yy"])})
    _, arrays, _ = read_archive(path)
    assert arrays["a"].tobytes() == arrays["b"].tobytes() == array.tobytes()
    assert arrays["a"].flags.c_contiguous == array.flags.c_contiguous
    assert arrays["c"].tolist() == ["x", "yy"]
