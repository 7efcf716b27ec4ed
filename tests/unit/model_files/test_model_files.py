"""Model files: the same bits come back, and broken files are refused."""

import io
import json
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression

import semisvm
from problems import hide, sparse_text, two_blobs
from semisvm import AnnealedSVC, Model, NewtonSVC, TransductiveSVC, registry
from semisvm.columns import ColumnFeatures
from semisvm.io import DataError, DataWarning, MatrixData, Table
from semisvm.io.labels import text_labels
from semisvm.model_files import ModelFileError
from semisvm.model_files.archive import read_archive, write_archive
from semisvm.model_files.values import from_plain, to_plain

DATA = Path(__file__).resolve().parents[2] / "data"
METHODS = registry.methods()


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


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_every_method(method, tmp_path):
    X, y = two_blobs(80)
    model = method.make(reg=0.01).fit(X, hide(y, 10))
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


def mostly_zero_model(n_features=4000):
    X, y = two_blobs(60, 3)
    model = NewtonSVC().fit(X, y)
    coef = np.zeros((1, n_features))
    coef[0, [5, 99]] = 1.5, -2.5
    coef[0, 7] = -0.0
    model.coef_ = model.node_coef_ = coef
    model.n_features_in_ = n_features
    return model


def test_mostly_zero_weights_take_little_room(tmp_path):
    model = mostly_zero_model()
    again = round_trip(model, tmp_path)
    assert again.coef_.tobytes() == model.coef_.tobytes()
    assert (tmp_path / "m.semisvm").stat().st_size < 4000


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
    with pytest.raises(DataError, match=r"one class only, 1.*--unlabeled none"):
        semisvm.train(one)
    with pytest.raises(DataError, match="nowhere"):
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


@pytest.mark.parametrize("name", ["model_1", "estimator_1", "calibrated_1"])
def test_a_model_of_every_release_loads_for_ever(name):
    """These files are never written again: later versions must read them as they are."""
    model = semisvm.load(DATA / f"{name}.semisvm")
    expected = json.loads((DATA / f"{name}.json").read_text())
    data = expected["columns"] if isinstance(model, Model) else np.array(expected["X"])
    assert model.predict(data).tolist() == expected["labels"]
    np.testing.assert_allclose(model.decision_function(data), expected["scores"], rtol=1e-9)
    if "probabilities" in expected:
        np.testing.assert_allclose(model.predict_proba(data), expected["probabilities"], rtol=1e-9)


def fitted():
    X, y = two_blobs(60)
    return NewtonSVC().fit(X, y)


def test_what_cannot_be_saved(tmp_path):
    path = tmp_path / "m"
    with pytest.raises(ModelFileError, match="not fitted"):
        semisvm.save(NewtonSVC(), path)
    with pytest.raises(ModelFileError, match="'LogisticRegression' are not saved"):
        semisvm.save(LogisticRegression().fit([[0], [1]], [0, 1]), path)
    model = fitted()
    model.unlabeled = object()
    with pytest.raises(ModelFileError, match=r"NewtonSVC\(unlabeled=...\) cannot be saved"):
        semisvm.save(model, path)
    assert list(tmp_path.iterdir()) == []


def rewrite(path, change):
    """Write a model file again with its document changed."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(parts["model.json"])
    change(document, parts)
    parts["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def set_document(*keys, value):
    def change(document, parts):
        for key in keys[:-1]:
            document = document[key]
        document[keys[-1]] = value

    return change


def npy(array, allow_pickle=False):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def set_part(name, content):
    return lambda document, parts: parts.update({name: content})


# `coef_` is stored as the same array
COEF = ("arrays", "estimator.node_coef_", "whole")


def set_weights(content):
    def change(document, parts):
        parts[document["arrays"]["estimator.node_coef_"]["whole"]["file"]] = content

    return change


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (set_document("format", value="other"), "not a model file"),
        (set_document("version", value=99), "newer semisvm"),
        (set_document("version", value="1"), "no sensible version"),
        (set_document("estimator", "name", value="Popen"), "'Popen' are not saved or loaded"),
        (set_document("estimator", "name", value="NewtonSVCC"), "Did you mean NewtonSVC"),
        (set_document("estimator", "parameters", "shell", value=True), "no parameters shell"),
        (set_document("estimator", "values", "__class__", value=1), "not an attribute"),
        (set_document("estimator", "values", "predict", value=1), "not an attribute"),
        (set_document("estimator", "values", "n_features_in_", value=7), "number of features"),
        (set_document("estimator", "values", "x_", value={"$": "code", "value": 1}), "no kind"),
        (set_document("estimator", value=[]), "damaged"),
        (set_document("arrays", value={}), "does not name"),
        (set_document("arrays", value=7), "damaged"),
        (set_document(*COEF, "shape", value=[1, 10**12]), "not what the document says"),
        (set_document(*COEF, "shape", value=[6, 1]), "not what the document says"),
        (set_document(*COEF, "type", value="<f4"), "not what the document says"),
        (set_document(*COEF, "file", value="../../etc/passwd"), "damaged"),
        (set_document("arrays", "estimator.coef_", value={"same_as": "x"}), "damaged"),
        (set_weights(b"nonsense"), "damaged"),
        (set_weights(npy(np.array([{}]), allow_pickle=True)), "damaged"),
        (set_weights(npy(np.zeros((1, 6)))[:-8]), "longer or shorter"),
        (set_weights(npy(np.full((1, 6), np.nan))), "not finite"),
        (set_part("extra", b"x"), "does not name"),
    ],
)
def test_files_that_were_tampered_with(change, said, tmp_path):
    path = tmp_path / "m"
    semisvm.save(fitted(), path)
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=said) as caught:
        semisvm.load(path)
    assert str(path) in str(caught.value)


def test_weights_must_fit_the_classes(tmp_path):
    for name, value in [
        ("coef_", np.zeros((3, 6))),
        ("intercept_", np.zeros(3)),
        ("classes_", np.array([1])),
        ("coef_", np.zeros((1, 6), dtype=int)),
    ]:
        model = fitted()
        setattr(model, name, value)
        semisvm.save(model, tmp_path / "m")
        with pytest.raises(ModelFileError, match="classes"):
            semisvm.load(tmp_path / "m")


def test_bombs_are_refused(tmp_path):
    path = tmp_path / "m"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b" " * (70 << 20))
    with pytest.raises(ModelFileError, match="would unpack to"):
        semisvm.load(path)
    semisvm.save(mostly_zero_model(), path)
    rewrite(path, set_document("arrays", "estimator.node_coef_", "shape", value=[1, 10**9]))
    with pytest.raises(ModelFileError, match="would unpack to 8,000,000,000"):
        semisvm.load(path)
    rewrite(path, set_document("arrays", "estimator.node_coef_", "shape", value=[1, -5]))
    with pytest.raises(ModelFileError, match="whole numbers"):
        semisvm.load(path)
    rewrite(path, set_document("arrays", "estimator.node_coef_", "shape", value=[1, 10]))
    with pytest.raises(ModelFileError, match="damaged"):
        semisvm.load(path)


def test_a_size_that_lies_is_noticed(tmp_path):
    path = tmp_path / "m"
    semisvm.save(fitted(), path)
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02arrays"[:4])
    content[at + 24 : at + 28] = (10_000).to_bytes(4, "little")
    path.write_bytes(content)
    with pytest.raises(ModelFileError):
        semisvm.load(path)


def test_documents_nested_too_deeply(tmp_path):
    path = tmp_path / "m"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", "[" * 200_000)
    with pytest.raises(ModelFileError, match="damaged"):
        semisvm.load(path)


def test_files_that_are_no_models(tmp_path):
    path = tmp_path / "m"
    for content in (b"", b"hello", b"PK\x03\x04"):
        path.write_bytes(content)
        with pytest.raises(ModelFileError, match="not a model file"):
            semisvm.load(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "x")
    with pytest.raises(ModelFileError, match=r"no model\.json"):
        semisvm.load(path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", "x")
            archive.writestr("a", "y")
    with pytest.raises(ModelFileError, match="parts of one name"):
        semisvm.load(path)
    with pytest.raises(DataError, match="no such file"):
        semisvm.load(tmp_path / "none")
    with pytest.raises(DataError, match="folder"):
        semisvm.load(tmp_path)


@settings(max_examples=150, deadline=None)
@given(position=st.floats(0, 1), byte=st.integers(1, 255), cut=st.booleans())
def test_damaged_bytes_never_give_another_model(position, byte, cut, tmp_path_factory):
    path = tmp_path_factory.mktemp("m") / "m"
    X, _ = two_blobs(5)
    model = semisvm.load(DATA / "estimator_1.semisvm")
    content = bytearray((DATA / "estimator_1.semisvm").read_bytes())
    at = min(int(position * len(content)), len(content) - 1)
    content[at] ^= byte
    path.write_bytes(content[:at] if cut else content)
    try:
        again = semisvm.load(path)
    except (ModelFileError, DataError):
        return
    width = model.coef_.shape[1]
    probe = np.resize(X, (5, width))
    np.testing.assert_array_equal(again.decision_function(probe), model.decision_function(probe))


plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.integers() | st.text(max_size=3), inner, max_size=3)
        | st.tuples(inner, inner)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(plain)
def test_plain_values_come_back(value):
    assert from_plain(json.loads(json.dumps(to_plain(value), allow_nan=False))) == value


@settings(max_examples=50, deadline=None)
@given(
    values=st.lists(st.floats(width=64) | st.just(0.0), min_size=1, max_size=300),
    order=st.sampled_from("CF"),
    rows=st.sampled_from([1, 2, 3]),
)
def test_arrays_come_back(values, order, rows, tmp_path_factory):
    path = tmp_path_factory.mktemp("a") / "a"
    array = np.array(np.resize(values, (rows, len(values))), order=order)
    write_archive(path, {}, {"a": array, "b": array.copy(), "c": np.array(["x", "yy"])})
    _, arrays = read_archive(path)
    assert arrays["a"].tobytes() == arrays["b"].tobytes() == array.tobytes()
    assert arrays["a"].flags.c_contiguous == array.flags.c_contiguous
    assert arrays["c"].tolist() == ["x", "yy"]
