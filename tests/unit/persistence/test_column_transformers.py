"""Column transformers in model files: what comes back, and what is refused."""

import copy
import json
import warnings
import zipfile

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.feature_extraction.text import CountVectorizer, HashingVectorizer, TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    OneHotEncoder,
    StandardScaler,
)

import semisvm
from problems import hide, two_blobs
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.persistence import ModelFileError

pd = pytest.importorskip("pandas")

N = 40
RNG = np.random.default_rng(0)
Y = np.array(["spam", "ham"], dtype=object)[np.arange(N) % 2]
TABLE = pd.DataFrame(
    {
        "text": [" ".join(RNG.choice(["win", "money", "now"], 4)) for _ in range(N)],
        "title": ["Café", "naïve"] * (N // 2),
        "size": np.where(np.arange(N) % 7, np.arange(N), np.nan),
        "price": RNG.standard_normal(N),
        "kind": RNG.choice(["a", "b", "rare", "c"], N, p=[0.5, 0.3, 0.05, 0.15]),
        "year": RNG.choice([2001, 2002, 2003], N),
        "count": RNG.integers(0, 9, N),
    }
)
LABELS = np.where(np.arange(N) < 20, Y, None)
NEW = pd.concat([TABLE, TABLE.assign(text="money", kind="new", year=1999)], ignore_index=True)
NEW.insert(0, "further", 1.0)

WORDS = ("words", TfidfVectorizer(), "text")
NUMBERS = ("numbers", StandardScaler(), ["price", "count"])
FILLED = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler())
KINDS = OneHotEncoder(handle_unknown="ignore")


def saved(transformers, path, labels=LABELS, table=TABLE, **settings):
    columns = ColumnTransformer(transformers, **settings)
    fitted = make_pipeline(columns, TransductiveSVC(class_prior=[0.5, 0.5])).fit(table, labels)
    semisvm.save(fitted, path)
    return fitted


@pytest.mark.parametrize(
    ("transformers", "settings"),
    [
        ([WORDS, NUMBERS], {}),
        ([WORDS, ("filled", FILLED, ["size"]), ("kinds", KINDS, ["kind", "year"])], {}),
        ([("title", CountVectorizer(binary=True), "title"), ("kept", "passthrough", [3])], {}),
        ([("hash", HashingVectorizer(n_features=32), "text"), ("gone", "drop", ["size"])], {}),
        ([("scaled", MaxAbsScaler(), slice(3, 4)), ("none", StandardScaler(), [])], {}),
        ([NUMBERS], {"remainder": "drop", "verbose_feature_names_out": False}),
        (
            [WORDS, ("gone", "drop", ["title", "size", "kind"])],
            {"remainder": StandardScaler(), "transformer_weights": {"words": 3.0}},
        ),
        ([("gone", "drop", ["text", "title", "size", "kind"])], {"remainder": "passthrough"}),
        ([("all", StandardScaler(), make_column_selector("price|count"))], {}),
        ([("mask", StandardScaler(), np.arange(7) == 3), WORDS], {"sparse_threshold": 1.0}),
    ],
)
def test_tables_come_back(transformers, settings, tmp_path):
    fitted = saved(transformers, tmp_path / "m", **settings)
    loaded = semisvm.load(tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows, again = fitted[0].transform(NEW), loaded[0].transform(NEW)
        assert type(rows) is type(again)
        np.testing.assert_array_equal(loaded.decision_function(NEW), fitted.decision_function(NEW))
    if "hash" not in fitted[0].named_transformers_:
        names = fitted[0].get_feature_names_out()
        np.testing.assert_array_equal(loaded[0].get_feature_names_out(), names)
    assert loaded[0].output_indices_ == fitted[0].output_indices_
    assert set(loaded[0].named_transformers_) == set(fitted[0].named_transformers_)
    semisvm.save(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "m").read_bytes()
    # what is loaded can be fitted anew
    clone(loaded).fit(TABLE, LABELS)


@pytest.mark.parametrize(
    "columns",
    [[0], [0, -1], np.array([2]), [True, False, False, True, False], [False] * 5, slice(0, 1)],
    ids=str,
)
def test_arrays_come_back(columns, tmp_path):
    X, y = two_blobs(60, 5)
    columns = ColumnTransformer(
        [("scaled", StandardScaler(), columns), ("other", MinMaxScaler(), [1])],
        remainder="passthrough",
    )
    fitted = make_pipeline(columns, NewtonSVC()).fit(X, hide(y, 20))
    semisvm.save(fitted, tmp_path / "m")
    loaded = semisvm.load(tmp_path / "m")
    np.testing.assert_array_equal(loaded.decision_function(X), fitted.decision_function(X))


def test_output_as_a_frame(tmp_path):
    columns = ColumnTransformer([NUMBERS, ("kinds", OneHotEncoder(sparse_output=False), ["kind"])])
    fitted = make_pipeline(columns.set_output(transform="pandas"), NewtonSVC()).fit(TABLE, LABELS)
    semisvm.save(fitted, tmp_path / "m")
    loaded = semisvm.load(tmp_path / "m")
    pd.testing.assert_frame_equal(loaded[0].transform(TABLE), fitted[0].transform(TABLE))
    np.testing.assert_array_equal(loaded.decision_function(TABLE), fitted.decision_function(TABLE))


MIXED = TABLE.assign(kind=TABLE["kind"].where(np.arange(N) % 5 > 0, np.nan), flag=np.arange(N) > 9)


@pytest.mark.parametrize(
    "encoder",
    [
        OneHotEncoder(),
        OneHotEncoder(drop="first", handle_unknown="ignore", dtype=np.float32),
        OneHotEncoder(drop="if_binary", sparse_output=False),
        OneHotEncoder(drop=["b", 2002, False]),
        OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist"),
        OneHotEncoder(max_categories=2, handle_unknown="warn"),
        OneHotEncoder(min_frequency=0.9),  # all are rare
        OneHotEncoder(
            categories=[["c", "b", "rare", "a", np.nan], [2001, 2002, 2003], [False, True]]
        ),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:Found unknown categories")
def test_categories_come_back(encoder, tmp_path):
    columns = [("kinds", encoder, ["kind", "year", "flag"])]
    fitted = saved(columns, tmp_path / "m", table=MIXED)
    loaded = semisvm.load(tmp_path / "m")
    ours, theirs = (each[0].named_transformers_["kinds"] for each in (loaded, fitted))
    assert repr(ours) == repr(theirs)
    for one, other in zip(ours.categories_, theirs.categories_, strict=True):
        assert one.dtype == other.dtype
        assert repr(one.tolist()) == repr(other.tolist())
    rows = MIXED if ours.handle_unknown == "error" else pd.concat([MIXED, MIXED.assign(kind="zz")])
    a, b = (sparse.csr_array(each[0].transform(rows)) for each in (loaded, fitted))
    np.testing.assert_array_equal(a.toarray(), b.toarray(), strict=True)
    np.testing.assert_array_equal(loaded.decision_function(rows), fitted.decision_function(rows))


def test_names_of_columns_come_back_with_a_scaler(tmp_path):
    table = TABLE[["price", "count"]]
    fitted = make_pipeline(StandardScaler(), NewtonSVC()).fit(table, LABELS)
    semisvm.save(fitted, tmp_path / "m")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "X has feature names, but ..."
        semisvm.load(tmp_path / "m").predict(table)


@pytest.mark.parametrize(
    ("part", "settings", "message"),
    [
        (("f", FunctionTransformer(np.log1p), ["count"]), {}, "columntransformer__f.*Function"),
        (("i", SimpleImputer(add_indicator=True), ["size"]), {}, "columntransformer__i.*indicator"),
        (NUMBERS, {"verbose_feature_names_out": "{feature_name}"}, "verbose_names"),
        (
            ("k", OneHotEncoder(feature_name_combiner=lambda a, b: str(b)), ["kind"]),
            {},
            "feature_name_combiner",
        ),
    ],
)
def test_unknown_parts_are_refused(part, settings, message, tmp_path):
    with pytest.raises(ModelFileError, match=message):
        saved([WORDS, part], tmp_path / "m", **settings)
    assert not list(tmp_path.iterdir())


FRAME = [WORDS, ("kinds", KINDS, ["year"]), NUMBERS]


def part(document, k):
    return document["pipeline"]["steps"][0]["state"]["transformers"][k]


def frame(document):
    return document["pipeline"]["steps"][0]["state"]


def value(document, k, kind, key):
    """Return the pair of a name and a value in a step."""
    pairs = part(document, k)["does"]["state"][kind]["value"]
    return next(pair for pair in pairs if pair[0] == key)


def nested(document):
    step = document["pipeline"]["steps"][0]
    for _ in range(9):
        step["state"] = {"steps": [copy.deepcopy(step)], "verbose": False}
        step["kind"] = "Pipeline"


@pytest.mark.parametrize(
    "change",
    [
        lambda d: frame(d).pop("transformers"),
        lambda d: frame(d).update(transformers=[]),
        lambda d: frame(d).update(n_columns=10**9),
        lambda d: frame(d).update(n_columns=2),
        lambda d: frame(d)["names"].pop(),
        lambda d: frame(d).update(remainder="drop"),
        lambda d: part(d, 1).update(columns=None),
        lambda d: frame(d).update(weights={"words": "x"}),
        lambda d: frame(d).update(verbose_names="{feature_name:>1000000000}"),
        lambda d: frame(d)["transformers"].reverse(),
        lambda d: part(d, 0).update(columns=["text"]),
        lambda d: part(d, 0).update(columns="nowhere"),
        lambda d: part(d, 0).update(does="passthrough"),
        lambda d: part(d, 0).update(does="os"),
        lambda d: part(d, 0).update(does=None),
        lambda d: part(d, 1).update(columns=["year", "kind"]),
        lambda d: part(d, 1).update(columns=99),
        lambda d: part(d, 1).update(name="words"),
        lambda d: part(d, 2).update(columns=[True]),
        lambda d: part(d, 2)["does"].update(kind="FunctionTransformer"),
        lambda d: part(d, 2)["does"].update(state=part(d, 1)["does"]["state"]),
        lambda d: value(d, 1, "values", "categories_")[1][0]["value"].reverse(),
        lambda d: value(d, 1, "values", "categories_")[1][0]["value"].append(2001),
        lambda d: value(d, 1, "values", "infrequent")[1].__setitem__(0, [7]),
        lambda d: value(d, 1, "parameters", "drop").__setitem__(1, ["x"]),
        lambda d: d["arrays"].update({"pipeline.0.9.idf_": d["arrays"]["pipeline.0.0.idf_"]}),
        nested,
    ],
)
def test_damaged_tables_are_refused(change, tmp_path):
    path = tmp_path / "m"
    saved(FRAME, path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(parts["model.json"])
    before = copy.deepcopy(document)
    change(document)
    assert document != before
    parts["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(ModelFileError):
        semisvm.load(path)


def test_rare_categories_take_no_more_memory_than_a_file_may(tmp_path):
    """A long column beside many short ones would need rows for each of them."""
    pairs = range(60)
    table = pd.DataFrame({f"c{k}": ["a", "a", "b"] * 20 for k in pairs})
    table["long"] = [f"v{k}" for k in range(60)]
    rare = OneHotEncoder(min_frequency=5, handle_unknown="infrequent_if_exist")
    saved([("k", rare, list(table))], tmp_path / "m", Y[np.arange(60) % 2], table)
    with pytest.raises(ModelFileError, match="larger max_bytes"):
        semisvm.load(tmp_path / "m", max_bytes=200_000)
    semisvm.load(tmp_path / "m")
