"""Named encoders of texts: vectors as features, in model files, and the cache on the disk."""

import pickle
import sqlite3
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import clone

import semisvm
from encoders import make_mail, write_encoder
from semisvm import SemiSupervisedClassifier
from semisvm.persistence.conversion import convert
from semisvm.tables import ColumnFeatures, DataError, encode_texts
from semisvm.tables import encoders as encoders_module
from semisvm.tables.encoders import NamedEncoder, VectorCache, cache_folder, open_encoder
from semisvm.tables.feature_states import restored, state_of

TEXTS = make_mail()
SIZES = np.random.default_rng(0).normal(size=60)
LABELS = [["spam", "ham"][i % 2] if i < 16 else None for i in range(60)]


def lengths(texts):
    return np.array([[len(text), text.count("prize")] for text in texts], dtype=float)


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """The folder of the cache."""
    monkeypatch.setenv("SEMISVM_CACHE_DIR", str(tmp_path / "cache"))
    return tmp_path / "cache" / "vectors"


@pytest.fixture
def named(cache, tmp_path):
    """Name of an encoder of model2vec."""
    pytest.importorskip("model2vec")
    return write_encoder(tmp_path / "encoder")


@pytest.fixture
def counted(monkeypatch):
    """Numbers of texts that the encoder was called with, without those of the fingerprint."""
    found = []
    compute = NamedEncoder._compute

    def count(self, texts):
        found.append(len(texts))
        return compute(self, texts)

    monkeypatch.setattr(NamedEncoder, "_compute", count)
    return lambda: [n for n in found if n != len(encoders_module.PROBES)]


def test_vectors_are_a_column_beside_the_words(named):
    features = ColumnFeatures(encoder=named).fit({"body": TEXTS, "size": SIZES})
    assert features.kinds_ == {"body": "text", "size": "numeric", "body__encoded": "vector"}
    assert features.columns_ == ["body", "size"]
    assert features.get_feature_names_out()[-1] == "body__encoded[3]"
    expected = encode_texts({"body": TEXTS}, ["body"], named).columns["body__encoded"]
    made = features.transform({"body": TEXTS, "size": SIZES}).toarray()[:, -4:]
    centred = expected - expected.mean(axis=0)
    assert np.allclose(made / features.scales_[-1], centred, atol=1e-6)


def test_vectors_alone_are_an_array(named):
    features = ColumnFeatures(text=["body"], encoder=named, words=False)
    made = features.fit_transform({"body": TEXTS})
    assert isinstance(made, np.ndarray)
    assert features.kinds_ == {"body__encoded": "vector"}
    assert np.isclose(np.square(made).sum(axis=1).mean(), 1.0)


def test_a_missing_text_counts_as_the_mean(named):
    features = ColumnFeatures(text=["body"], encoder=named, words=False)
    made = features.fit_transform({"body": [None, " ", *TEXTS]})
    assert np.all(made[:2] == 0.0)
    assert np.abs(made[2:]).min(axis=1).max() > 0.0
    assert np.all(features.transform({"body": [None, ""]}) == 0.0)
    with pytest.raises(DataError, match="no vector"):
        clone(features).fit({"body": [None, ""]})


def test_a_function_is_an_encoder(tmp_path):
    model = SemiSupervisedClassifier("svm", encoder=lengths).fit(TEXTS, LABELS)
    assert model.model_.features.kinds_["text__encoded"] == "vector"
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    with pytest.raises(ValueError, match="encoder is a function cannot be saved"):
        model.save(tmp_path / "m.semisvm")
    assert not (tmp_path / "m.semisvm").exists()


@pytest.mark.parametrize("method", ["tsvm", "auto"])
def test_a_model_file_has_the_name_of_the_encoder(named, tmp_path, method):
    model = SemiSupervisedClassifier(method, encoder=named, time_limit=2).fit(TEXTS, LABELS)
    model.save(tmp_path / "m.semisvm")
    again = SemiSupervisedClassifier.load(tmp_path / "m.semisvm")
    assert again.model_.features.encoder == named
    assert again.feature_names_in_.tolist() == ["text"]
    assert np.array_equal(again.decision_function(TEXTS), model.decision_function(TEXTS))
    copied = pickle.loads(pickle.dumps(again))
    assert np.array_equal(copied.predict(TEXTS), model.predict(TEXTS))
    expected = ["spam", "ham"] * 20
    assert again.predict(make_mail(40, seed=1)).tolist() == expected


def test_onnx_takes_the_vectors(named, tmp_path):
    onnxruntime = pytest.importorskip("onnxruntime")
    features = ColumnFeatures(text=["body"], encoder=named, words=False)
    model = SemiSupervisedClassifier("svm", features=features).fit({"body": TEXTS}, LABELS)
    model.to_onnx(tmp_path / "m.onnx", columns=True)
    session = onnxruntime.InferenceSession(str(tmp_path / "m.onnx"))
    vectors = encode_texts({"body": TEXTS}, ["body"], named).columns["body__encoded"]
    found = session.run(None, {"body__encoded": vectors.astype(float)})[0]
    assert found.tolist() == model.predict({"body": TEXTS}).tolist()


def test_a_model_is_loaded_without_its_encoder(named, tmp_path):
    semisvm.save(_fitted(named), tmp_path / "m.semisvm")
    code = (
        "import sys, semisvm\n"
        f"semisvm.load({str(tmp_path / 'm.semisvm')!r})\n"
        "assert 'model2vec' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def _fitted(encoder):
    return SemiSupervisedClassifier("svm", encoder=encoder).fit(TEXTS, LABELS).model_


def test_another_encoder_in_its_place_is_refused(named, tmp_path):
    semisvm.save(_fitted(named), tmp_path / "m.semisvm")
    write_encoder(tmp_path / "encoder", seed=1)
    with pytest.raises(DataError, match="computes other vectors than the one that the model"):
        semisvm.load(tmp_path / "m.semisvm").predict({"text": TEXTS})
    write_encoder(tmp_path / "encoder", width=3)
    with pytest.raises(DataError, match="computes other vectors"):
        semisvm.load(tmp_path / "m.semisvm").predict({"text": TEXTS})


def test_an_encoder_may_move(named, tmp_path):
    model = _fitted(named)
    semisvm.save(model, tmp_path / "m.semisvm")
    (tmp_path / "encoder").rename(tmp_path / "elsewhere")
    again = semisvm.load(tmp_path / "m.semisvm")
    with pytest.raises(DataError, match="cannot be loaded"):
        again.predict({"text": TEXTS})
    again.features.set_params(encoder=f"model2vec:{tmp_path / 'elsewhere'}")
    assert np.array_equal(again.predict({"text": TEXTS}), model.predict({"text": TEXTS}))


def test_a_library_that_is_missing_is_named(monkeypatch, cache):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(DataError, match=r"pip install 'semisvm\[embeddings\]'"):
        ColumnFeatures(encoder="model2vec:some").fit({"body": TEXTS})
    monkeypatch.setitem(sys.modules, "fastembed", None)
    with pytest.raises(DataError, match="pip install 'fastembed'"):
        open_encoder("fastembed:some")


@pytest.mark.parametrize(
    ("module", "library"),
    [
        (
            "sentence_transformers",
            SimpleNamespace(
                SentenceTransformer=lambda name, trust_remote_code: SimpleNamespace(
                    encode=lambda texts, show_progress_bar, convert_to_numpy: lengths(texts)
                )
            ),
        ),
        (
            "fastembed",
            SimpleNamespace(
                TextEmbedding=lambda model_name: SimpleNamespace(
                    embed=lambda texts: iter(lengths(texts))
                )
            ),
        ),
    ],
)
def test_other_libraries_are_called_in_their_own_way(monkeypatch, cache, module, library):
    monkeypatch.setitem(sys.modules, module, library)
    found = open_encoder(f"{module.replace('_', '-')}:some")(TEXTS[:3])
    assert np.array_equal(found, lengths(TEXTS[:3]))


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"encoder": "os:system"}, ValueError, "encoder must be one of 'model2vec:NAME'"),
        ({"encoder": "model2vec:"}, ValueError, "encoder must be one of"),
        ({"encoder": 5}, TypeError, "name of an encoder or a function"),
        ({"words": False}, ValueError, "give an encoder"),
        ({"encoder": lengths, "categorical": ["body"]}, DataError, "nothing to encode"),
    ],
)
def test_wrong_parameters(parameters, error, message):
    with pytest.raises(error, match=message):
        ColumnFeatures(**parameters).fit({"body": TEXTS})


def test_an_encoder_is_for_texts():
    with pytest.raises(ValueError, match="X is a matrix"):
        SemiSupervisedClassifier("svm", encoder=lengths).fit(np.eye(4), [0, 1, -1, -1])


def test_a_weight_of_zero_encodes_nothing():
    def never(texts):
        raise AssertionError

    weights = {"body__encoded": 0.0}
    features = ColumnFeatures(encoder=never, column_weights=weights).fit({"body": TEXTS})
    assert features.kinds_ == {"body": "text"}


def test_the_cache_is_used_across_processes_and_files(named, cache, counted):
    first = open_encoder(named)(TEXTS)
    assert counted() == [len(set(TEXTS))]
    again = open_encoder(named)([*TEXTS[::-1], "a new text"])
    assert counted()[1:] == [1]
    assert np.array_equal(again[:-1], first[::-1])
    assert len(list(cache.iterdir())) == 1


@pytest.mark.parametrize("damage", [b"", b"no database at all" * 99, None])
def test_a_damaged_cache_is_computed_again(named, cache, counted, damage):
    first = open_encoder(named)(TEXTS)
    (file,) = cache.iterdir()
    if damage is None:
        with sqlite3.connect(file) as database:
            database.execute("UPDATE vectors SET numbers = zeroblob(16)")
        database.close()
    else:
        file.write_bytes(damage)
    assert np.array_equal(open_encoder(named)(TEXTS), first)
    assert len(counted()) == 2
    assert np.array_equal(open_encoder(named)(TEXTS), first)
    assert len(counted()) == 2  # the file is whole again


def test_a_cache_that_is_cut_off_is_computed_again(named, cache, counted):
    many = [f"{text} {k}" for k, text in enumerate(TEXTS * 5)]
    first = open_encoder(named)(many)
    (file,) = cache.iterdir()
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])
    assert np.array_equal(open_encoder(named)(many), first)
    assert np.array_equal(open_encoder(named)(many), first)


def test_vectors_of_another_model_are_not_taken(tmp_path):
    ours, theirs = (np.full((2, 3), value, dtype=np.float32) for value in (1.0, 2.0))
    path = tmp_path / "c" / "x.sqlite"
    VectorCache(path, theirs).write({b"a": theirs[0]})
    assert VectorCache(path, theirs).read([b"a"])
    assert VectorCache(path, ours).read([b"a"]) == {}
    assert not path.exists()


def test_no_cache_is_no_error(named, monkeypatch, tmp_path, counted):
    monkeypatch.setenv("SEMISVM_CACHE_DIR", "")
    assert cache_folder() is None
    open_encoder(named)(TEXTS)
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEMISVM_CACHE_DIR", str(tmp_path / "file"))
    open_encoder(named)(TEXTS)
    assert len(counted()) == 2
    monkeypatch.delenv("SEMISVM_CACHE_DIR")
    assert cache_folder().name == "semisvm"


def test_progress_on_a_terminal(monkeypatch, capsys):
    monkeypatch.setattr(encoders_module, "PATIENCE", -1.0)
    encode_texts({"body": TEXTS}, ["body"], lengths, batch=20)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    encode_texts({"body": TEXTS}, ["body"], lengths, batch=20)
    shown = capsys.readouterr().err
    assert "encoding: 40 of 60 texts" in shown
    assert shown.endswith("\r\x1b[K")


def test_a_conversion_encodes_piece_by_piece(named, tmp_path):
    kinds = ["spam", "ham"]
    lines = [f"{text},{kinds[i % 2] if i < 16 else ''}" for i, text in enumerate(TEXTS)]
    (tmp_path / "mail.csv").write_text("\n".join(["body,kind", *lines]))
    features = ColumnFeatures(text=["body"], encoder=named)
    convert([tmp_path / "mail.csv"], tmp_path / "mail.rows", label="kind", features=features)
    stored = semisvm.train(semisvm.tables.read(tmp_path / "mail.rows"), "svm")
    whole = semisvm.train(
        semisvm.tables.read(tmp_path / "mail.csv", label="kind"),
        "svm",
        features=ColumnFeatures(text=["body"], encoder=named, raised=0.0),
    )
    table = {"body": TEXTS}
    a, b = (model.decision_function(table) for model in (stored, whole))
    assert np.allclose(a, b, atol=1e-6)


@pytest.mark.parametrize(
    "damage",
    [
        lambda state, arrays: state.update(encoded=["other"]),
        lambda state, arrays: state["parameters"].update(encoder="os:system"),
        lambda state, arrays: state["parameters"].pop("encoder"),
        lambda state, arrays: arrays.pop("fingerprint"),
        lambda state, arrays: arrays.update(fingerprint=np.zeros((8, 3), dtype=np.float32)),
    ],
)
def test_a_damaged_state_is_refused(named, damage):
    features = ColumnFeatures(text=["body"], encoder=named).fit({"body": TEXTS})
    state, arrays = state_of(features)
    assert restored(state, arrays).encoded_ == ["body"]
    damage(state, arrays)
    with pytest.raises((TypeError, ValueError)):
        restored(state, arrays)
