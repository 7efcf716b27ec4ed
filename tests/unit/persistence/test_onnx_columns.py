"""ONNX files that take columns predict what the models do, whatever the texts hold."""

import io

import numpy as np
import pytest

import semisvm
from semisvm import NewtonSVC, to_onnx
from semisvm.tables import ColumnFeatures, Table

pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")


def session_of(model):
    stream = io.BytesIO()
    to_onnx(model, stream, columns=True)
    return runtime.InferenceSession(stream.getvalue(), providers=["CPUExecutionProvider"])


def given(columns):
    return {
        name: np.array(values, dtype=object) if isinstance(values, list) else values
        for name, values in columns.items()
    }


def check(model, columns, renamed=()):
    """Compare all rows at once, and the first ones one by one."""
    table, session = Table(columns), session_of(model)
    inputs = {f"{n}_column" if n in renamed else n: v for n, v in given(columns).items()}
    label, scores = session.run(["label", "scores"], inputs)
    truth = model.score_columns(model.matrix(table))
    assert np.array_equal(label, model.predict(table))
    np.testing.assert_allclose(scores, truth, rtol=1e-9, atol=1e-12)
    for k in range(min(len(truth), 5)):
        one = session.run(["scores"], {name: values[k : k + 1] for name, values in inputs.items()})
        np.testing.assert_allclose(one[0], truth[k : k + 1], rtol=1e-9, atol=1e-12)


def partly(n):
    return np.where(np.arange(n) % 3 > 0, None, np.array(["no", "yes"], dtype=object)[:, None])[
        np.arange(n) % 2, np.arange(n)
    ]


def test_real_texts(newsgroups):
    texts, groups = newsgroups("sci.med", "sci.space")
    texts, labels = list(texts[::10]), np.array(groups[::10], dtype=object)
    labels[np.arange(len(labels)) % 5 > 0] = None
    features = ColumnFeatures(text=["body"], stop_words=["the", "of"], max_features=3000)
    model = semisvm.train(Table({"body": texts}, labels), "svm", features=features)
    check(model, {"body": [*texts[:60], "", "   ", "...", "THE Moon", "moon's orbit\x00"]})


LETTERS = [
    *"aAbBiIsSzZ019_ \t\n.,-'’",
    *"éÉßẞüÜøØłŁñÑçÇæÆœŒ",
    *"İıŞşĞğ\u0307\u0301\u0300",
    *"жЖяЯ日本語のア",
    *"ªº²½Ⅷⅷⓐ٣٤߀",
    *"\u00ad\u200b\u2028\u3000\ufeff🙂𝐀𐐀𐐨ǅǆǄΩΩåÅK",
]


def test_random_texts_of_all_kinds_of_letters():
    rng = np.random.default_rng(0)
    texts = ["".join(rng.choice(LETTERS, rng.integers(0, 40))) for _ in range(400)]
    table = Table({"text": texts}, partly(400))
    model = semisvm.train(table, "svm", features=ColumnFeatures(text=["text"], min_df=1))
    assert model.features.n_features_out_ > 300
    check(model, {"text": texts})
    others = ["".join(rng.choice(LETTERS, rng.integers(0, 12))) for _ in range(400)]
    # no word of a Greek text is in the vocabulary, so its capital sigmas do not matter
    check(model, {"text": [*others, "ΣΑΣ'Α ΟΔΟΣ", "Σ", *(t.upper() for t in texts[:50])]})


def test_columns_of_all_kinds():
    rng = np.random.default_rng(0)
    n = 60
    columns = {
        "text": [" ".join(rng.choice(["Win", "money", "now"], 3)) for _ in range(n)],
        "label": np.where(np.arange(n) % 7, rng.standard_normal(n), np.nan),
        "size": rng.standard_normal(n),
        "kind": ["rare" if k == 1 else str(rng.choice(["a", "b", "ü"])) for k in range(n)],
        "vector": rng.standard_normal((n, 4)),
    }
    table = Table(columns, partly(n))
    features = ColumnFeatures(text=["text"], numeric=["label", "size"], categorical=["kind"])
    model = semisvm.train(table, "svm", features=features)
    assert set(model.features.kinds_.values()) == {"text", "numeric", "categorical", "vector"}
    check(model, columns, renamed=["label"])
    unseen = ["new", "", "rare", "A", "ü"] * 12
    missing = np.where(np.arange(n)[:, None] % 2, columns["vector"], np.nan)
    check(
        model,
        {**columns, "kind": unseen, "vector": missing, "size": np.full(n, np.nan)},
        renamed=["label"],
    )


@pytest.mark.parametrize(
    ("settings", "word", "message"),
    [
        ({"ngram_range": (1, 2)}, "win", "'text' has n-grams.*transform makes"),
        ({"analyzer": "char_wb"}, "win", "has n-grams"),
        ({"hash_columns": 64}, "win", "hashed words"),
        ({}, "οδός", "sigma"),
    ],
)
def test_features_that_would_differ_are_refused(settings, word, message):
    table = Table({"text": [f"{word} money", "plan lunch"] * 8}, partly(16))
    model = semisvm.train(table, "svm", features=ColumnFeatures(text=["text"], **settings))
    with pytest.raises(ValueError, match=message):
        to_onnx(model, io.BytesIO(), columns=True)


def test_models_without_columns_are_refused():
    fitted = NewtonSVC().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="no columns"):
        to_onnx(fitted, io.BytesIO(), columns=True)
