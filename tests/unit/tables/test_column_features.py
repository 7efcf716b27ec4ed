"""Features from columns: kinds, scales, and a state that gives the same bits."""

import json

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline

from semisvm import TransductiveSVC
from semisvm.tables import ColumnFeatures, DataError, Table, as_table, find_kind
from semisvm.tables.feature_states import restored, state_of

WORDS = ["apple", "pear", "plum", "quince", "cherry", "grape", "melon", "lemon", "fig", "lime"]


def some_table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "id": [f"A-{i:04d}" for i in range(n)],
        "row": list(range(n)),
        "body": [" ".join(rng.choice(WORDS, 8)) for _ in range(n)],
        "title": [" ".join(rng.choice(WORDS, 4)) for _ in range(n)],
        "age": [None if i % 7 == 0 else str(20 + int(rng.integers(50))) for i in range(n)],
        "price": rng.lognormal(3, 1, n),
        "country": [["de", "fr", "uk"][i % 3] if i else "xx" for i in range(n)],
        "member": [bool(i % 2) for i in range(n)],
        "constant": ["same"] * n,
        "empty": [""] * n,
        "day": [f"2024-01-{i % 28 + 1:02d}" for i in range(n)],
    }


def test_kinds_and_notes():
    features = ColumnFeatures().fit(some_table())
    assert features.kinds_ == {
        "body": "text",
        "title": "text",
        "age": "numeric",
        "price": "numeric",
        "country": "categorical",
        "member": "categorical",
        "day": "time",
    }
    notes = " | ".join(features.notes_)
    for name, reason in [
        ("id", "like an identifier"),
        ("row", "it numbers the rows"),
        ("constant", "the same"),
        ("empty", "empty"),
    ]:
        assert f"'{name}' is left out" in notes
        assert reason in notes


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        (["0,5", "1,25"], "decimal commas, such as '0,5'; write decimal points"),
        (["<0.5", "n.a."], "2 of its 82 values are not numbers, such as '<0.5'"),
    ],
)
def test_the_note_names_why_numbers_are_no_numbers(odd, reason):
    cells = [str(0.5 + i) for i in range(80)] + odd
    (note,) = ColumnFeatures().fit({"x": cells, "y": np.arange(82) % 5}).notes_
    assert reason in note


def test_commas_between_thousands_are_read():
    cells = ["56,125", "875", "-1,234,567.5", "", "2,000"] + [str(k) for k in range(40)]
    with pytest.warns(UserWarning, match="commas separate thousands, so '56,125' is read as 56125"):
        found = Table({"price": cells}).numbers("price")
    np.testing.assert_array_equal(found[[0, 1, 2, 4]], [56125.0, 875.0, -1234567.5, 2000.0])
    assert np.isnan(found[3])
    with pytest.warns(UserWarning, match="thousands"):
        features = ColumnFeatures().fit({"price": cells})
    assert features.kinds_ == {"price": "numeric"}


@pytest.mark.parametrize("odd", ["12,5", "0,125", "1,23,456", "1234,567"])
def test_a_column_with_other_commas_is_refused_as_a_whole(odd):
    cells = [f"{k},{k + 100}" for k in range(100, 180)] + [odd]
    (note,) = ColumnFeatures().fit({"x": cells, "y": np.arange(81) % 5}).notes_
    assert "'x' is left out" in note
    assert odd in note
    with pytest.raises(DataError, match="is not a number"):
        Table({"x": cells}).numbers("x")


def test_numbers_whose_squares_overflow_are_refused():
    """They made a scale of infinity, and a model file that could not be read again."""
    with pytest.raises(DataError, match="too large, above 1e\\+150"):
        ColumnFeatures().fit({"x": [1.0, 2.5, 1e308, 3.0]})


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["free money now", "see you at lunch", "win a prize today"], "text"),
        (["a", "b", "a", "b"], "categorical"),
        (["red car", "red car", "blue car", "blue car"] * 5, "categorical"),
        ([1.5, 2.5, None, 9.0], "numeric"),
        (["1", "NA", "3", "5"], "numeric"),
        ([f"user{i}@mail.org" for i in range(40)], None),
        ([f"x{i % 30}" for i in range(300)], "categorical"),
        (
            ["日本語のとても長い文章がここにあります" * 4, "別の長い文章" * 15, "もう一つ" * 20],
            "text",
        ),
        ([[1], [2]], "vector"),
        ([[1.5, 2], None, [0, 1]], "vector"),
        ([[1], [2, 3]], None),
        ([["a"], ["b"]], None),
        (np.ones((3, 2)), "vector"),
        ([None, None], None),
        ([7, 7, 7], None),
        (np.array([3.0, np.nan, 5.0]), "numeric"),
        (np.array([np.nan, np.nan]), None),
    ],
)
def test_kind_of_a_column(cells, kind):
    assert find_kind(as_table({"c": cells}), "c").name == kind


def test_identifiers_of_numbers():
    def kind(cells, name="size"):
        return find_kind(as_table({name: cells}), name).name

    rng = np.random.default_rng(0)
    distinct = rng.permutation(10_000)[:50]
    assert kind(distinct) == "numeric"
    assert kind([str(value) for value in distinct]) == "numeric"
    assert kind(distinct, "Unnamed: 0") is None
    assert kind(rng.permutation(50)) is None
    assert kind(rng.permutation(50) + 1.0) is None
    assert kind(np.arange(700, 750)) is None
    assert kind(rng.permutation(50) + 700) == "numeric"
    assert kind(distinct + 0.5) == "numeric"
    assert kind(distinct[:5]) == "numeric"
    halved = np.repeat(distinct[:30], 2)[:50]
    assert kind(halved) == "numeric"
    assert kind(halved, "customer_id") is None
    assert kind(halved, "customerId") is None
    assert kind(halved, "humid") == "numeric"


def test_weights_in_grams_are_used_and_left_out_columns_can_be():
    grams = np.random.default_rng(0).choice(5000, 270) + 40
    assert len(np.unique(grams)) > 0.95 * 270
    table = {"weight_g": grams, "fish_id": grams, "half": np.arange(270) % 9}
    features = ColumnFeatures().fit(table)
    assert features.kinds_ == {"weight_g": "numeric", "half": "numeric"}
    (note,) = features.notes_
    assert "'fish_id'" in note
    assert "numeric=" in note
    assert "fish_id" in ColumnFeatures(numeric=["fish_id"]).fit(table).kinds_


@pytest.mark.parametrize("length", [16, 64])
def test_hashes_are_identifiers(length):
    rng = np.random.default_rng(0)
    hashes = ["".join(rng.choice(list("0123456789abcdef"), length)) for _ in range(40)]
    assert find_kind(as_table({"c": hashes}), "c").name is None
    assert find_kind(as_table({"c": hashes[:4] * 10}), "c").name == "categorical"


def test_text_is_that_of_scikit_learn():
    table = some_table()
    X = ColumnFeatures(text=["body"], features=[]).fit_transform(table)
    peer = TfidfVectorizer(sublinear_tf=True, min_df=2).fit_transform(table["body"])
    np.testing.assert_allclose(X.toarray(), peer.toarray(), rtol=1e-12)


def test_numbers_are_standardised_and_filled():
    table = {"a": [1.0, 2.0, 4.0, np.nan], "b": [1, 9, 1, 1]}
    features = ColumnFeatures().fit(table)
    assert features.get_feature_names_out().tolist() == ["a", "b", "a__missing"]
    block = features.blocks_[0]
    assert block.median.tolist() == [2, 1]
    plain = block.matrix(as_table(table))
    np.testing.assert_allclose(plain[:, :2].mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(plain[:, :2].std(axis=0), 1)
    assert plain[:, 2].tolist() == [0, 0, 0, 1]
    later = features.transform({"b": ["NA", "1"], "a": ["", "2"], "other": [0, 0]})
    assert later.shape == (2, 3)


def test_categories_rare_and_unseen():
    table = {"c": ["x", "x", "y", "y", "q", "r", "x", ""]}
    features = ColumnFeatures(categorical=["c"]).fit(table)
    assert features.get_feature_names_out().tolist() == ["c=x", "c=y", "c=(rare)"]
    X = features.transform({"c": ["x", "q", "r", "new", ""]})
    assert (X.toarray() > 0).tolist() == [
        [True, False, False],
        [False, False, True],
        [False, False, True],
        [False] * 3,
        [False] * 3,
    ]
    many = ColumnFeatures(categorical=["c"], max_levels=1).fit(table)
    assert many.get_feature_names_out().tolist() == ["c=x", "c=(rare)"]


def test_an_average_row_has_length_one():
    features = ColumnFeatures()
    X = features.fit_transform(some_table())
    assert X.shape[1] == features.n_features_out_ == len(features.get_feature_names_out())
    assert len(features.blocks_) == len(features.scales_) == 5
    assert X.multiply(X).sum() / X.shape[0] == pytest.approx(1)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("ngram_range", [(1, 1), (1, 2)])
def test_state_gives_the_same_bits(dtype, ngram_range):
    features = ColumnFeatures(dtype=dtype, ngram_range=ngram_range)
    X = features.fit_transform(some_table())
    assert X.dtype == dtype
    state, arrays = state_of(features)
    again = restored(json.loads(json.dumps(state)), arrays)
    fresh = some_table(seed=5)
    for table, expected in [(some_table(), X), (fresh, features.transform(fresh))]:
        Y = again.transform(table)
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(Y, part), getattr(expected, part))
        assert Y.dtype == dtype
    assert again.get_params().keys() == features.get_params().keys()
    assert again.kinds_ == features.kinds_
    assert again.notes_ == features.notes_
    assert again.get_feature_names_out().tolist() == features.get_feature_names_out().tolist()


def test_broken_state_is_refused():
    state, arrays = state_of(ColumnFeatures().fit(some_table()))
    for name in arrays:
        with pytest.raises((ValueError, KeyError)):
            restored(state, {**arrays, name: np.zeros(1000)})
    broken = {**state, "blocks": [{**state["blocks"][0], "kind": "exec"}]}
    with pytest.raises(KeyError):
        restored(broken, arrays)


def test_mistakes():
    table = some_table()
    with pytest.raises(DataError, match="Did you mean 'body'"):
        ColumnFeatures(text=["boddy"]).fit(table)
    with pytest.raises(DataError, match="is not a number"):
        ColumnFeatures(numeric=["body"], features=[]).fit(table)
    with pytest.raises(DataError, match="no column is left"):
        ColumnFeatures(features=["id"]).fit(table)
    with pytest.raises(ValueError, match="text and numeric"):
        ColumnFeatures(text=["body"], numeric=["body"]).fit(table)
    with pytest.raises(DataError, match="no words"):
        ColumnFeatures(text=["t"]).fit({"t": ["!", "?"]})
    with pytest.raises(DataError, match="min_df"):
        ColumnFeatures(text=["t"]).fit({"t": ["one thing", "another matter"]})
    with pytest.raises(DataError, match="no rows"):
        ColumnFeatures().fit({"a": []})
    with pytest.raises(DataError, match="no number"):
        ColumnFeatures(numeric=["empty"], features=[]).fit(table)
    fitted = ColumnFeatures().fit(table)
    with pytest.raises(DataError, match="no column 'body'"):
        fitted.transform({"age": [1]})


def test_among_the_parts_of_scikit_learn():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(some_table())
    y = np.where(np.arange(60) % 10, -1, (np.arange(60) // 10) % 2)
    model = make_pipeline(ColumnFeatures(), TransductiveSVC()).fit(frame, y)
    assert model.predict(frame).shape == (60,)
    assert clone(model).get_params()["columnfeatures__min_df"] == 2


def test_frames_as_output():
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(
        {"words": ["cheap pills", "lunch monday", "cheap lunch", "monday pills"], "size": range(4)},
        index=list("abcd"),
    )
    features = ColumnFeatures(text=["words"], numeric=["size"], sparse_output=False)
    dense = features.fit_transform(table)
    assert isinstance(dense, np.ndarray)
    frame = features.set_output(transform="pandas").fit_transform(table)
    assert list(frame.columns) == features.get_feature_names_out().tolist()
    assert list(frame.index) == list("abcd")
    assert np.array_equal(frame.to_numpy(), dense)
    assert np.array_equal(features.transform(table).to_numpy(), dense)
    again = restored(*state_of(features))
    assert np.array_equal(again.transform(table), dense)
    with pytest.raises(ValueError, match="dense array"):
        ColumnFeatures(text=["words"]).set_output(transform="pandas").fit_transform(table)
