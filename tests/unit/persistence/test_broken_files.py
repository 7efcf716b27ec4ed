"""Model files that are damaged, tampered with or not models at all are refused."""

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
from problems import two_blobs
from semisvm import NewtonSVC
from semisvm.persistence import ModelFileError
from semisvm.tables import DataError

DATA = Path(__file__).resolve().parents[2] / "data"


def mostly_zero_model(n_features=4000):
    """Weights that are stored by their entries; one of them is -0.0."""
    model = fitted()
    coef = np.zeros((1, n_features))
    coef[0, [5, 99]] = 1.5, -2.5
    coef[0, 7] = -0.0
    model.coef_ = model.node_coef_ = coef
    model.n_features_in_ = n_features
    return model


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
    ("change", "message"),
    [
        (set_document("format", value="other"), "not a model file"),
        (set_document("version", value=99), "newer semisvm"),
        (set_document("version", value="1"), "no sensible version"),
        (set_document("estimator", "name", value="Popen"), "'Popen' are not saved or loaded"),
        (set_document("estimator", "name", value="NewtonSVCC"), "Did you mean 'NewtonSVC'"),
        (set_document("estimator", "parameters", "shell", value=True), "no parameters shell"),
        (set_document("estimator", "values", "__class__", value=1), "not an attribute"),
        (set_document("estimator", "values", "predict", value=1), "not an attribute"),
        (set_document("estimator", "values", "n_features_in_", value=7), "number of features"),
        (set_document("estimator", "values", "x_", value={"$": "code", "value": 1}), "no kind"),
        (set_document("estimator", value=[]), "damaged"),
        (set_document("arrays", value={}), "does not name"),
        (set_document("arrays", value=7), "damaged"),
        (set_document(*COEF, "shape", value=[1, 10**12]), "not the one that the document"),
        (set_document(*COEF, "shape", value=[6, 1]), "not the one that the document"),
        (set_document(*COEF, "type", value="<f4"), "not the one that the document"),
        (set_document(*COEF, "file", value="../../etc/passwd"), "damaged"),
        (set_document("arrays", "estimator.coef_", value={"same_as": "x"}), "damaged"),
        (set_weights(b"nonsense"), "damaged"),
        (set_weights(npy(np.array([{}]), allow_pickle=True)), "damaged"),
        (set_weights(npy(np.zeros((1, 6)))[:-8]), "declares"),
        (set_weights(npy(np.full((1, 6), np.nan))), "not finite"),
        (set_part("extra", b"x"), "does not name"),
    ],
)
def test_files_that_were_tampered_with(change, message, tmp_path):
    path = tmp_path / "m"
    semisvm.save(fitted(), path)
    rewrite(path, change)
    with pytest.raises(ModelFileError, match=message) as caught:
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
        with pytest.raises(ModelFileError, match=r"classes|scores|kind f"):
            semisvm.load(tmp_path / "m")


def test_mostly_zero_weights_take_little_room(tmp_path):
    model = mostly_zero_model()
    semisvm.save(model, tmp_path / "m.semisvm")
    again = semisvm.load(tmp_path / "m.semisvm")
    assert again.coef_.tobytes() == model.coef_.tobytes()
    assert (tmp_path / "m.semisvm").stat().st_size < 4000


def test_bombs_are_refused(tmp_path):
    path = tmp_path / "m"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("model.json", b" " * (70 << 20))
    with pytest.raises(ModelFileError, match="would unpack to"):
        semisvm.load(path)
    semisvm.save(mostly_zero_model(), path)
    rewrite(path, set_document("arrays", "estimator.node_coef_", "shape", value=[1, 10**9]))
    with pytest.raises(ModelFileError, match="would unpack to 8,000,"):
        semisvm.load(path)
    rewrite(path, set_document("arrays", "estimator.node_coef_", "shape", value=[1, -5]))
    with pytest.raises(ModelFileError, match="whole numbers"):
        semisvm.load(path)
    rewrite(path, set_document("arrays", "estimator.node_coef_", "shape", value=[1, 10]))
    with pytest.raises(ModelFileError, match="damaged"):
        semisvm.load(path)


def test_a_wrong_size_is_noticed(tmp_path):
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


@settings(max_examples=150)
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
