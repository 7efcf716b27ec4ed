"""Columns of vectors: means, shares of the length of rows, files, and encoders of texts."""

import json
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

import semisvm
from semisvm.tables import ColumnFeatures, DataError, Table, as_table, encode_texts
from semisvm.tables.feature_states import state_of
from semisvm.tables.row_vectors import load_encoder
from semisvm.tables.streaming import StreamedFeatures

RNG = np.random.default_rng(0)
VECTORS = 5.0 + RNG.normal(size=(30, 4))
WORDS = ["apple", "pear", "plum", "quince", "cherry", "grape"]
TABLE = {
    "body": [" ".join(RNG.choice(WORDS, 5)) for _ in range(30)],
    "vectors": VECTORS,
    "size": RNG.normal(size=30),
}


def share_of_blocks(features, X):
    """Mean squared length of rows, block by block."""
    ends = np.cumsum([0, *(block.width() for block in features.blocks_)])
    squares = X.multiply(X).tocsc()
    return [squares[:, a:b].sum() / X.shape[0] for a, b in pairwise(ends)]


def test_no_block_drowns_the_others():
    found = []
    for factor in (1e-3, 1.0, 1e3):
        features = ColumnFeatures(text=["body"])
        X = features.fit_transform({**TABLE, "vectors": factor * VECTORS})
        assert features.kinds_ == {"body": "text", "vectors": "vector", "size": "numeric"}
        found.append(share_of_blocks(features, X))
        assert sum(found[-1]) == pytest.approx(1)
        assert min(found[-1]) > 0.02
    assert found[0] == pytest.approx(found[1])
    assert found[2] == pytest.approx(found[1])


def test_the_mean_is_subtracted_and_missing_vectors_are_the_mean():
    cells = [row.tolist() for row in VECTORS]
    cells[3] = None
    features = ColumnFeatures().fit({"v": cells})
    X = features.transform({"v": cells})
    assert np.allclose(X.sum(axis=0), 0.0)
    assert np.array_equal(X[3], np.zeros(4))
    there = np.delete(VECTORS, 3, axis=0)
    assert np.allclose(np.delete(X, 3, axis=0) / features.scales_[0], there - there.mean(axis=0))


def test_arrays_lists_and_frames_are_the_same():
    pandas = pytest.importorskip("pandas")
    lists = [row.tolist() for row in VECTORS]
    frame = pandas.DataFrame({"v": list(VECTORS)})
    found = [ColumnFeatures().fit_transform(t) for t in ({"v": VECTORS}, {"v": lists}, frame)]
    assert all(np.array_equal(other, found[0]) for other in found[1:])
    assert ColumnFeatures(numeric=["v"]).fit({"v": lists}).kinds_ == {"v": "vector"}


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([[1.0, 2.0, 3.0]], "has 3 numbers"),
        ([[1.0, 2.0, 3.0, np.nan]], "missing or infinite"),
        ([[1.0, 2.0, 3.0, np.inf]], "missing or infinite"),
        (["text"], "not a list of numbers"),
        ([7.0], "not a list of numbers"),
    ],
)
def test_wrong_vectors_are_refused_with_their_row(cells, message):
    features = ColumnFeatures().fit({"v": VECTORS})
    table = Table({"v": [VECTORS[0].tolist(), *cells]})
    with pytest.raises(DataError, match=message) as caught:
        features.transform(table)
    assert caught.value.line == 2
    assert caught.value.column == "v"


def test_piece_by_piece_is_the_same():
    cells = [None if i in (0, 1, 9) else row.tolist() for i, row in enumerate(VECTORS)]
    table = {**TABLE, "vectors": cells}
    whole = ColumnFeatures(text=["body"]).fit(table)
    streamed = StreamedFeatures(ColumnFeatures(text=["body"], numeric=["vectors"]))
    pieces = [as_table(table)[start : start + 10] for start in (0, 10, 20)]
    streamed.find_kinds(pieces[0])
    other = streamed.empty()
    streamed.count(pieces[0])
    other.count(pieces[1])
    other.count(pieces[2])
    streamed.merge_counts(other)
    streamed.fit()
    for piece in pieces:
        streamed.transform(piece)
    streamed.finish()
    difference = streamed.features.transform(table) - whole.transform(table)
    assert abs(difference).max() < 1e-12


def labelled(n=12):
    labels = np.full(30, None, dtype=object)
    labels[:n] = ["a", "b"] * (n // 2)
    return Table({"vectors": VECTORS, "body": TABLE["body"]}, labels)


def test_a_model_file_keeps_vectors_and_stop_words(tmp_path):
    features = ColumnFeatures(text=["body"], stop_words=["plum"])
    model = semisvm.train(labelled(), "svm", features=features)
    semisvm.save(model, tmp_path / "m.semisvm")
    again = semisvm.load(tmp_path / "m.semisvm")
    assert np.array_equal(again.decision_function(TABLE), model.decision_function(TABLE))
    assert again.features.kinds_["vectors"] == "vector"
    named = [name for top in again.top_features(100).values() for name, _ in top]
    assert named
    assert all(name.startswith("body__") for name in named)
    with pytest.raises(DataError, match="no column 'vectors'"):
        again.predict({"body": TABLE["body"]})


@pytest.mark.parametrize(
    "damage",
    [
        lambda block: block.update(n_columns=5),
        lambda block: block.update(column=7),
        lambda block: block.pop("n_columns"),
        lambda block: block.update(kind="vectors"),
    ],
)
def test_damaged_vectors_are_refused(damage):
    from semisvm.persistence import ModelFileError
    from semisvm.persistence.column_states import restore_features

    state, arrays = state_of(ColumnFeatures().fit({"v": VECTORS}))
    state = json.loads(json.dumps(state))
    restore_features(state, arrays, lambda n_bytes: None)
    damage(state["blocks"][0])
    with pytest.raises(ModelFileError):
        restore_features(state, arrays, lambda n_bytes: None)


@pytest.mark.parametrize("stop_words", [[], ["a", "a"], [1], "en", {"a": 1}])
def test_damaged_stop_words_are_refused(stop_words):
    from semisvm.persistence import ModelFileError
    from semisvm.persistence.column_states import restore_features

    features = ColumnFeatures(text=["body"], stop_words=["plum"]).fit(TABLE)
    state, arrays = state_of(features)
    state = json.loads(json.dumps(state))
    assert restore_features(state, arrays, lambda n_bytes: None).stop_words == ["plum"]
    state["blocks"][0]["settings"]["stop_words"] = stop_words
    with pytest.raises(ModelFileError):
        restore_features(state, arrays, lambda n_bytes: None)


@pytest.mark.parametrize("wrong", [{"encoder": 5}, {"encoded": "body"}, {"embeddings": "yes"}])
def test_what_a_model_remembers_of_vectors_is_checked(wrong, tmp_path):
    model = semisvm.train(labelled(), "svm")
    model.settings |= wrong
    with pytest.raises(semisvm.persistence.ModelFileError, match=next(iter(wrong))):
        semisvm.save(model, tmp_path / "m.semisvm")


def count_vowels(texts):
    return np.array([[text.count(vowel) for vowel in "aeiou"] for text in texts], dtype=float)


def test_texts_are_encoded_in_batches():
    batches, calls = [], []

    def encoder(texts):
        batches.append(len(texts))
        return count_vowels(texts)

    table = encode_texts(
        TABLE, ["body"], encoder, batch=12, callback=lambda done, total: calls.append((done, total))
    )
    assert batches == [12, 12, 6]
    assert calls == [(0, 30), (12, 30), (24, 30)]
    assert np.array_equal(table.columns["body__encoded"], count_vowels(TABLE["body"]))
    assert "body__encoded" in encode_texts({"body": TABLE["body"]}, None, count_vowels).columns


@pytest.mark.parametrize(
    ("encoder", "message"),
    [
        (lambda texts: [1.0] * len(texts), "a row for each of 30 texts"),
        (lambda texts: np.ones((1, 3)), "a row for each of 30 texts"),
        (lambda texts: [["x"]] * len(texts), "an array of numbers"),
        (lambda texts: np.full((len(texts), 2), np.nan), "not finite"),
        (lambda texts: np.ones((len(texts), 0)), "not finite, or none"),
        (lambda texts: 1 / 0, "the encoder failed .ZeroDivisionError"),
    ],
)
def test_what_an_encoder_returns_is_checked(encoder, message):
    with pytest.raises(DataError, match=message):
        encode_texts(TABLE, ["body"], encoder)


def test_vectors_of_different_lengths_are_refused():
    with pytest.raises(DataError, match="vectors of 10 and of 20 numbers"):
        encode_texts(TABLE, ["body"], lambda texts: np.ones((len(texts), len(texts))), batch=20)


def test_vectors_of_real_texts_add_to_words(newsgroups):
    """Two newsgroups, 20 labels: words and vectors together are better than words."""
    texts, groups = newsgroups("sci.med", "sci.space")
    texts, y = texts[::4], np.array(groups[::4])
    counter = TfidfVectorizer(sublinear_tf=True, min_df=3)
    directions = TruncatedSVD(20, random_state=0).fit(counter.fit_transform(texts))
    table = encode_texts(
        {"text": texts}, None, lambda some: directions.transform(counter.transform(some))
    )
    free = np.arange(len(y)) % 25 > 0
    labels = np.where(free, None, y.astype(object))
    found = {}
    for names in (["text"], ["text", "text__encoded"]):
        part = Table({name: table.columns[name] for name in names}, labels)
        model = semisvm.train(part, "svm", features=ColumnFeatures(text=["text"]))
        found[len(names)] = np.mean(model.predict(part)[free] == y[free])
    assert found[2] > found[1] + 0.02


def test_encoders_are_imported_by_name(tmp_path, monkeypatch):
    (tmp_path / "my_encoder_module.py").write_text(
        "class Group:\n    encode = staticmethod(lambda texts: [[len(t)] for t in texts])\n"
    )
    (tmp_path / "my_broken_module.py").write_text("raise RuntimeError('no')\n")
    monkeypatch.chdir(tmp_path)
    assert load_encoder("my_encoder_module:Group.encode")(["abc"]) == [[3]]
    for name, message in [
        ("my_encoder_module", "named as module:function"),
        ("my_encoder_module:nothing", "no function 'nothing'"),
        ("no_such_module_here:f", "no module 'no_such_module_here'"),
        ("my_broken_module:f", "cannot be imported .RuntimeError: no"),
    ]:
        with pytest.raises(ValueError, match=message):
            load_encoder(name)


def test_vectors_alone_are_dense_and_mixed_columns_sparse():
    alone, texts = {"v": VECTORS, "x": VECTORS[:, 0]}, ["win money", "plan lunch"]
    dense = ColumnFeatures().fit(alone)
    X = dense.transform(alone)
    assert isinstance(X, np.ndarray)
    assert X.flags.c_contiguous
    assert ColumnFeatures(dtype="float32").fit_transform(alone).dtype == np.float32
    mixed = {**alone, "t": [texts[k % 2] for k in range(len(VECTORS))]}
    both = ColumnFeatures(text=["t"]).fit(mixed)
    Z = both.transform(mixed)
    assert sparse.issparse(Z)
    # each kind has a scale of its own, that of the numbers and vectors is the same but for it
    ours = Z.toarray()[:, -X.shape[1] :]
    np.testing.assert_allclose(ours / ours.std(), X / X.std(), atol=1e-12)


def test_a_machine_of_dense_features_comes_back(tmp_path):
    labels = np.array([None, "a", "b"], dtype=object)[np.arange(len(VECTORS)) % 3]
    table = semisvm.tables.Table({"v": VECTORS}, labels)
    model = semisvm.train(table, "svm", kernel="laplacian")
    semisvm.save(model, tmp_path / "m")
    loaded = semisvm.load(tmp_path / "m")
    assert np.array_equal(loaded.decision_function(table), model.decision_function(table))
