"""SemiSupervisedClassifier: frames and labels of every kind, and what it reports."""

import pickle
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import semisvm
from semisvm import Model, PartialLabelKFold, SemiSupervisedClassifier, load
from semisvm.tables import ColumnFeatures, DataError, as_data, as_table
from semisvm.tables.frames import as_labels

N, LABELED = 120, 30
WORDS = {"spam": "cheap pills win money offer", "ham": "lunch monday meeting plans team"}


def make_mail():
    """Return columns of mail, and the true kind of every row."""
    rng = np.random.default_rng(0)
    kinds = np.array(["ham", "spam"])[rng.integers(0, 2, N)]
    columns = {
        "subject": [" ".join(rng.choice(WORDS[kind].split(), 4)) for kind in kinds],
        "size": (rng.normal(size=N) + (kinds == "spam")).tolist(),
        "urgent": (rng.random(N) < 0.3 + 0.4 * (kinds == "spam")).tolist(),
    }
    return columns, kinds


COLUMNS, KINDS = make_mail()
KNOWN = [kind if row < LABELED else None for row, kind in enumerate(KINDS.tolist())]


class FakeDataset:
    """A dataset of Hugging Face, as far as it is used: rows in the order of some indices."""

    def __init__(self, table, indices):
        self.table, self.indices = table, indices
        self.column_names = table.column_names

    def __len__(self):
        return len(self.indices)

    def with_format(self, kind):
        assert kind == "arrow"
        return self

    def __getitem__(self, rows):
        return self.table.take(self.indices[rows])


FRAMES = {
    "dict": lambda columns: columns,
    "pandas": pd.DataFrame,
    "pandas nullable": lambda columns: pd.DataFrame(columns).convert_dtypes(),
    "pandas on pyarrow": lambda c: pd.DataFrame(c).convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.DataFrame,
    "pyarrow": pa.table,
    "record batch": lambda columns: pa.table(columns).to_batches()[0],
    "dataset": lambda columns: FakeDataset(pa.table(columns), list(range(len(columns["size"])))),
    "table": as_table,
}


@pytest.fixture(scope="module")
def expected():
    model = SemiSupervisedClassifier("tsvm").fit(COLUMNS, KNOWN)
    return model.predict_proba(COLUMNS)


@pytest.mark.parametrize("kind", FRAMES)
def test_frames_of_every_kind(kind, expected):
    frame = FRAMES[kind](COLUMNS)
    model = SemiSupervisedClassifier("tsvm").fit(frame, KNOWN)
    np.testing.assert_allclose(model.predict_proba(frame), expected)
    assert model.feature_names_in_.tolist() == ["subject", "size", "urgent"]
    assert model.n_features_in_ == 3
    assert model.model_.features.kinds_ == {
        "subject": "text",
        "size": "numeric",
        "urgent": "categorical",
    }


def with_missing(values, missing):
    return [value if row < LABELED else missing for row, value in enumerate(values)]


NUMBERS = [int(kind == "spam") for kind in KINDS]
FLAGS = [bool(number) for number in NUMBERS]
TEXTS = KINDS.tolist()
LABELS = {
    "list of None": (with_missing(TEXTS, None), str),
    "list of NaN": (with_missing(TEXTS, np.nan), str),
    "list of blanks": (with_missing(TEXTS, ""), str),
    "list of spaces": (with_missing(TEXTS, "  "), str),
    "object NaT": (pd.Series(with_missing(TEXTS, pd.NaT), dtype=object), str),
    "object NA": (pd.Series(with_missing(TEXTS, pd.NA), dtype=object), str),
    "str": (pd.Series(with_missing(TEXTS, None)), str),
    "string": (pd.Series(with_missing(TEXTS, pd.NA), dtype="string"), str),
    "category": (pd.Series(with_missing(TEXTS, None), dtype="category"), str),
    "category of numbers": (pd.Series(with_missing(NUMBERS, None), dtype="Int64"), int),
    "string[pyarrow]": (pd.Series(with_missing(TEXTS, None), dtype="string[pyarrow]"), str),
    "boolean": (pd.Series(with_missing(FLAGS, pd.NA), dtype="boolean"), bool),
    "object bool": (pd.Series(with_missing(FLAGS, None), dtype=object), bool),
    "Int64": (pd.Series(with_missing(NUMBERS, pd.NA), dtype="Int64"), int),
    "Int8 with the marker": (pd.Series(with_missing(NUMBERS, -1), dtype="Int8"), int),
    "int64[pyarrow]": (pd.Series(with_missing(NUMBERS, None), dtype="int64[pyarrow]"), int),
    "array of the marker": (np.array(with_missing(NUMBERS, -1)), int),
    "array of NaN": (np.array(with_missing(NUMBERS, np.nan)), float),
    "list of the marker": (with_missing(NUMBERS, -1), int),
    "polars text": (pl.Series(with_missing(TEXTS, None)), str),
    "polars category": (pl.Series(with_missing(TEXTS, None), dtype=pl.Categorical), str),
    "polars numbers": (pl.Series(with_missing(NUMBERS, None)), int),
    "polars bool": (pl.Series(with_missing(FLAGS, None)), bool),
    "polars enum": (pl.Series(with_missing(TEXTS, None), dtype=pl.Enum(["spam", "ham"])), str),
    "pyarrow": (pa.chunked_array([with_missing(TEXTS, None)]), str),
    "pyarrow dictionary": (pa.array(with_missing(TEXTS, None)).dictionary_encode(), str),
    "tuple": (tuple(with_missing(TEXTS, None)), str),
    "index": (pd.Index(with_missing(TEXTS, None)), str),
    "variable texts": (
        np.array(with_missing(TEXTS, None), np.dtypes.StringDType(na_object=None)),
        str,
    ),
    "uint8": (np.array(with_missing(NUMBERS, 255), np.uint8), int),
    "float32": (np.array(with_missing(NUMBERS, np.nan), np.float32), float),
    "category with numbers": (pd.Series(with_missing(NUMBERS, None), dtype="category"), int),
    "masked array": (np.ma.array(with_missing(NUMBERS, 7), mask=np.arange(N) >= LABELED), int),
    "frame of pandas": (
        pd.DataFrame({"kind": pd.Series(with_missing(NUMBERS, None), dtype="Int64")}),
        int,
    ),
    "frame of polars": (pl.DataFrame({"kind": with_missing(FLAGS, None)}), bool),
    "table of pyarrow": (pa.table({"kind": with_missing(NUMBERS, None)}), int),
}


@pytest.mark.parametrize("kind", LABELS)
def test_labels_of_every_kind(kind, expected):
    y, of = LABELS[kind]
    model = SemiSupervisedClassifier("tsvm", unlabeled=255 if kind == "uint8" else -1)
    model.fit(COLUMNS, y)
    assert [type(label) for label in model.classes_.tolist()] == [of, of]
    np.testing.assert_allclose(model.predict_proba(COLUMNS), expected)
    assert model.report_.data["labelled"] == LABELED
    labeled = (TEXTS if of is str else FLAGS if of is bool else NUMBERS)[:LABELED]
    assert model.transduction_[:LABELED].tolist() == labeled
    assert model.score(COLUMNS, y) == np.mean(model.predict(COLUMNS)[:LABELED] == labeled)


def test_numpy_makes_texts_of_nan():
    """A word for missing values is no class, with a warning; it can be one."""
    y = np.array(with_missing(TEXTS, np.nan))
    assert "nan" in y
    with pytest.warns(UserWarning, match="'nan'"):
        model = SemiSupervisedClassifier("tsvm").fit(COLUMNS, y)
    assert model.classes_.tolist() == ["ham", "spam"]
    three = SemiSupervisedClassifier("svm", na_is_class=True)
    assert three.fit(COLUMNS, y).classes_.tolist() == ["ham", "nan", "spam"]


def correlated_groups():
    """Return rows that are much alike within a group, whose class they do not show elsewhere."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 30, 400)
    truth = group % 2
    X = 2.0 * rng.normal(size=(30, 5))[group] + 0.3 * rng.normal(size=(400, 5))
    return X, np.where(rng.random(400) < 0.25, truth, -1), group


@pytest.mark.parametrize("method", ["auto", "tsvm"])
def test_groups_are_held_out_together(method):
    X, y, group = correlated_groups()
    model = SemiSupervisedClassifier(method, time_limit=3)
    alone = model.fit(X, y).report_.data["held_out"]["accuracy"]
    apart = model.fit(X, y, groups=group).report_.data["held_out"]["accuracy"]
    assert alone - apart > 0.1
    # new groups are as hard as that
    assert apart < 0.7


def test_groups_by_name_and_mistakes():
    X, y, group = correlated_groups()
    frame = pd.DataFrame(X, columns=list("abcde")).assign(sender=group, kind=y)
    named = SemiSupervisedClassifier("svm").fit(frame, "kind", groups="sender")
    assert named.feature_names_in_.tolist() == list("abcde")
    given = SemiSupervisedClassifier("svm").fit(frame[[*"abcde"]], y, groups=group)
    assert named.report_.data["held_out"] == given.report_.data["held_out"]
    with pytest.raises(DataError, match="groups='sender'"):
        SemiSupervisedClassifier("svm").fit(X, y, groups="sender")
    with pytest.raises(ValueError, match="groups has 3 entries"):
        SemiSupervisedClassifier("svm").fit(X, y, groups=[1, 2, 3])
    with pytest.raises(DataError, match="too few groups"):
        SemiSupervisedClassifier("svm").fit(X, y, groups=np.zeros(len(y)))
    with pytest.raises(ValueError, match="'auto' weighs the members by groups"):
        SemiSupervisedClassifier("committee").fit(X, y, groups=group)
    few = SemiSupervisedClassifier(time_limit=3).fit(X, y, groups=group % 2)
    assert few.report_.data["held_out"] is None
    assert "in too few groups" in str(few.report_)


def test_own_marker():
    y = with_missing(TEXTS, "later")
    model = SemiSupervisedClassifier("svm", unlabeled="later").fit(COLUMNS, y)
    assert model.classes_.tolist() == ["ham", "spam"]
    signs = np.where(np.array(NUMBERS) == 1, 1, -1)
    with pytest.raises(ValueError, match="unlabeled=None"):
        SemiSupervisedClassifier("svm").fit(COLUMNS, signs)
    with pytest.warns(UserWarning, match="have the label -1"):
        model = SemiSupervisedClassifier("svm", unlabeled=None).fit(COLUMNS, signs)
    assert model.classes_.tolist() == [-1, 1]
    with pytest.raises(ValueError, match="text '-1'"):
        SemiSupervisedClassifier("svm").fit(COLUMNS, with_missing(TEXTS, "-1"))
    # True is no 1
    assert as_labels([True, False, None], unlabeled=1)[0].tolist() == [True, False, None]


@pytest.mark.parametrize("kind", [pd.Timestamp, lambda text: ("kind", text), Decimal, pd.Interval])
def test_labels_of_other_types_are_refused(kind):
    years = {"ham": "2020", "spam": "2021"}
    if kind is pd.Interval:
        y = pd.Series(pd.cut(with_missing(NUMBERS, np.nan), [-1, 0.5, 2]))
    else:
        y = with_missing([kind(years[label]) for label in TEXTS], None)
    with pytest.raises(ValueError, match=r"y has a label of type .*: give texts, numbers"):
        SemiSupervisedClassifier("svm").fit(COLUMNS, y)
    texts = [None if row >= LABELED else str(label) for row, label in enumerate(y)]
    assert len(SemiSupervisedClassifier("svm").fit(COLUMNS, texts).classes_) == 2


def test_five_lines_on_a_file(tmp_path):
    """What the documentation begins with."""
    path = tmp_path / "mail.csv"
    pd.DataFrame({**COLUMNS, "kind": KNOWN}).to_csv(path, index=False)
    mail = pd.read_csv(path)
    model = SemiSupervisedClassifier(time_limit=5).fit(mail.drop(columns="kind"), mail["kind"])
    mail["guess"], mail["sure"] = model.predict(mail), model.predict_proba(mail).max(axis=1)
    assert (mail["guess"] == KINDS).mean() > 0.95
    assert mail["sure"].between(0.5, 1.0).all()
    text, data = str(model.report_), model.report_.data
    assert text.startswith("Chosen: ")
    assert f"Rows: {N}, of which {LABELED} with a label" in text
    assert data["held_out"]["interval"][0] <= data["held_out"]["accuracy"]
    assert data["verdict"][0] in text
    assert sum(member["weight"] for member in data["members"]) in (0, pytest.approx(1.0))
    # a file and the name of a column are the same rows
    named = SemiSupervisedClassifier("tsvm").fit(path, "kind")
    same = SemiSupervisedClassifier("tsvm").fit(mail[["subject", "size", "urgent", "kind"]], "kind")
    np.testing.assert_allclose(named.predict_proba(path), same.predict_proba(mail))
    assert "kind" not in same.feature_names_in_


def test_texts(tmp_path):
    texts = COLUMNS["subject"]
    model = SemiSupervisedClassifier("tsvm").fit(texts, KNOWN)
    arrays = (np.array(texts), np.array(texts, object), pa.array(texts), pa.chunked_array([texts]))
    for rows in (*arrays, pd.Series(texts), pl.Series(texts)):
        same = clone(model).fit(rows, KNOWN)
        np.testing.assert_array_equal(same.predict_proba(rows), model.predict_proba(texts))
    assert model.predict(["cheap offer", "team lunch"]).tolist() == ["spam", "ham"]
    assert model.model_.predict(["cheap offer"]).tolist() == ["spam"]
    assert model.get_feature_names_out()[0] == "text__cheap"
    with pytest.raises(TypeError, match="in a list"):
        model.predict("one text\nof two lines")
    with pytest.raises(DataError, match="does not show the format"):
        model.predict("cheap offer")


def test_arrays_and_matrices():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 5)) + np.array(NUMBERS)[:, None]
    y = np.array(with_missing(NUMBERS, -1))
    model = SemiSupervisedClassifier("tsvm").fit(X, y)
    assert model.n_features_in_ == 5
    assert not hasattr(model, "feature_names_in_")
    assert model.score(X, NUMBERS) > 0.8
    for rows in (X.tolist(), sparse.csr_matrix(X), sparse.csc_array(X)):
        same = clone(model).fit(rows, y)
        assert np.mean(same.predict(rows) == model.predict(X)) > 0.95
    with pytest.raises(ValueError, match="expecting 5 features"):
        model.predict(X[:, :4])
    # arrays for a model of a frame are taken by position, with scikit-learn's warning
    frame = pd.DataFrame(X, columns=list("abcde"))
    named = clone(model).fit(frame, y)
    with pytest.warns(UserWarning, match="valid feature names"):
        np.testing.assert_array_equal(named.predict(X), named.predict(frame))


def test_columns_are_found_by_name():
    frame = pd.DataFrame(COLUMNS)
    model = SemiSupervisedClassifier("svm").fit(frame, KNOWN)
    turned = frame[frame.columns[::-1]].assign(kind=KNOWN)
    np.testing.assert_array_equal(model.predict(turned), model.predict(frame))
    with pytest.raises(DataError, match="no column 'subject'"):
        model.predict(frame.drop(columns="subject"))


def test_refused_frames():
    lazy, one = pl.DataFrame(COLUMNS).lazy(), pl.DataFrame({"y": KNOWN})
    model = SemiSupervisedClassifier("svm").fit(COLUMNS, KNOWN)
    for call in (
        lambda: SemiSupervisedClassifier().fit(lazy, KNOWN),
        lambda: SemiSupervisedClassifier().fit(COLUMNS, one.lazy()),
        lambda: model.predict(lazy),
        lambda: ColumnFeatures().fit(lazy),
        lambda: semisvm.TransductiveSVC().fit(lazy.select("size"), NUMBERS),
        lambda: as_data(lazy),
    ):
        with pytest.raises(TypeError, match=r"LazyFrame holds no rows yet: give its \.collect\(\)"):
            call()
    with pytest.raises(ValueError, match="y should be one column, got a frame with 2"):
        SemiSupervisedClassifier().fit(COLUMNS, one.with_columns(z=1))
    rows = pd.DataFrame(COLUMNS)
    with pytest.raises(TypeError, match="list of dicts"):
        SemiSupervisedClassifier().fit(rows.to_dict("records"), KNOWN)
    with pytest.raises(TypeError, match="array of records"):
        SemiSupervisedClassifier().fit(rows.to_records(index=False), KNOWN)
    with pytest.raises(TypeError, match="X is one generator"):
        SemiSupervisedClassifier().fit((text for text in COLUMNS["subject"]), KNOWN)
    with pytest.raises(ValueError, match="texts among its cells"):
        SemiSupervisedClassifier().fit(rows.to_numpy(), KNOWN)
    twice = pd.DataFrame([[1, 2]], columns=["a", "a"])
    with pytest.raises(DataError, match="a"):
        as_data(twice)
    with pytest.raises(DataError, match="twice"):
        as_data(pd.DataFrame([[1, 2]], columns=[1, "1"]))
    streamed = type("IterableDataset", (), {"column_names": [], "with_format": None})()
    with pytest.raises(TypeError, match="without streaming"):
        as_data(streamed)
    splits = type("DatasetDict", (dict,), {"column_names": [], "with_format": None})()
    with pytest.raises(TypeError, match=r"dataset\['train'\]"):
        as_data(splits)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SemiSupervisedClassifier("svm").fit(COLUMNS, KNOWN[:-1])
    with pytest.raises(DataError, match="no column 'sort'"):
        SemiSupervisedClassifier("svm").fit(COLUMNS, "sort")
    with pytest.raises(DataError, match="no columns with names"):
        SemiSupervisedClassifier("svm").fit(np.eye(3), "sort")


def test_a_shuffled_dataset_has_its_own_order():
    rows = np.random.default_rng(1).permutation(N).tolist()
    table = as_table(FakeDataset(pa.table(COLUMNS), rows))
    assert table.text("subject") == [COLUMNS["subject"][row] for row in rows]


@pytest.mark.parametrize("make", [pl.DataFrame, pa.table, pd.DataFrame])
def test_vectors_and_missing_cells(make):
    frame = make({"v": [[1.0, 2.0], None, [3.0, 4.0]], "n": [1, None, 2**40]})
    table = as_table(frame)
    assert table.numbers("n")[[0, 2]].tolist() == [1.0, 2.0**40]
    features = ColumnFeatures(numeric=["n", "v"]).fit(table)
    assert features.kinds_ == {"v": "vector", "n": "numeric"}
    assert features.transform(frame).shape == (3, 4)


def test_features_of_others():
    frame = pd.DataFrame(COLUMNS)
    made = ColumnTransformer(
        [("words", TfidfVectorizer(), "subject"), ("numbers", StandardScaler(), ["size"])]
    )
    model = SemiSupervisedClassifier("tsvm", features=made).fit(frame, KNOWN)
    assert model.score(frame, KINDS) > 0.9
    assert {"words__cheap", "numbers__size"} <= {*model.get_feature_names_out()}
    assert not hasattr(made, "transformers_")
    words = SemiSupervisedClassifier("tsvm", features=TfidfVectorizer())
    assert words.fit(COLUMNS["subject"], KNOWN).score(COLUMNS["subject"], KINDS) > 0.9
    with pytest.raises(ValueError, match="pickle"):
        model.save("model.semisvm")
    with pytest.raises(ValueError, match="exported"):
        model.to_onnx("model.onnx")
    with pytest.raises(TypeError, match="transformer"):
        SemiSupervisedClassifier(features="tf-idf").fit(frame, KNOWN)
    with pytest.raises(ValueError, match="column_weights"):
        SemiSupervisedClassifier(features=made, column_weights={"size": 0}).fit(frame, KNOWN)


def test_parameters_reach_the_fit():
    frame = pd.DataFrame(COLUMNS)
    shares = {"ham": 0.3, "spam": 0.7}
    model = SemiSupervisedClassifier("tsvm", class_prior=shares, column_weights={"size": 0.0})
    model.fit(frame, KNOWN)
    assert model.report_.data["shares"] == shares
    assert model.report_.data["shares_from"] == "given"
    assert "size" not in model.model_.features.kinds_
    assert "the column 'size' is left out" in str(model.report_)
    own = SemiSupervisedClassifier("svm", features=ColumnFeatures(features=["subject"]))
    assert own.fit(frame, KNOWN).model_.features.kinds_ == {"subject": "text"}
    weight = np.where(np.arange(N) < 5, 100.0, 1.0)
    weighted = SemiSupervisedClassifier("svm").fit(frame, KNOWN, sample_weight=weight)
    plain = SemiSupervisedClassifier("svm").fit(frame, KNOWN)
    assert not np.allclose(weighted.decision_function(frame), plain.decision_function(frame))
    with pytest.raises(ValueError, match="use"):
        SemiSupervisedClassifier(use="nothing").fit(frame, KNOWN)


def test_two_labels_are_enough():
    """Nothing can be held out, and the report has that."""
    y = [None] * N
    y[KINDS.tolist().index("ham")], y[KINDS.tolist().index("spam")] = "ham", "spam"
    with pytest.warns(UserWarning, match="appear once"):
        model = SemiSupervisedClassifier().fit(COLUMNS, y)
    assert model.report_.data["held_out"] is None
    assert "Accuracy: not known" in str(model.report_)
    assert model.predict_proba(COLUMNS).shape == (N, 2)


def test_files_pickles_and_views(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    model = SemiSupervisedClassifier("tsvm").fit(frame, KNOWN)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict_proba(frame), model.predict_proba(frame))
    path = tmp_path / "mail.semisvm"
    model.save(path)
    loaded = SemiSupervisedClassifier.load(path)
    np.testing.assert_array_equal(loaded.predict_proba(frame), model.predict_proba(frame))
    assert loaded.feature_names_in_.tolist() == [*frame.columns]
    assert str(loaded.report_) == str(model.report_)
    assert isinstance(load(path), Model)
    model.to_onnx(tmp_path / "mail.onnx", columns=True)
    assert "Accuracy on held-out labels" in model._repr_html_()
    assert "Accuracy" not in clone(model)._repr_html_()
    assert model.explain(frame.iloc[:2])[0]
    semisvm.save(semisvm.NewtonSVC().fit([[0.0], [1.0]], [0, 1]), path)
    with pytest.raises(DataError, match="one label per row"):
        SemiSupervisedClassifier.load(path)


def test_among_parts_of_scikit_learn():
    frame = pd.DataFrame(COLUMNS)
    y = pd.Series(KNOWN)
    cv = PartialLabelKFold(3, unlabeled=None)
    assert cross_val_score(SemiSupervisedClassifier("svm"), frame, y, cv=cv).min() > 0.8
    search = GridSearchCV(SemiSupervisedClassifier(), {"method": ["svm", "tsvm"]}, cv=cv)
    assert search.fit(frame, y).best_score_ > 0.8
    with sklearn.config_context(enable_metadata_routing=True):
        model = SemiSupervisedClassifier("svm").set_fit_request(sample_weight=True, groups=False)
        model.set_score_request(sample_weight=False)
        weights = {"sample_weight": np.ones(N)}
        assert cross_val_score(model, frame, y, cv=cv, params=weights).min() > 0.8
        hard, groups = frame[["size"]], np.arange(N) // 4
        routed = cross_val_score(model, hard, y, cv=cv, params={"groups": groups, **weights})
    given = cross_val_score(SemiSupervisedClassifier("svm"), hard, y, cv=cv, groups=groups)
    np.testing.assert_array_equal(routed, given)
    apart = cross_val_score(SemiSupervisedClassifier("svm"), hard, y, cv=cv)
    assert not np.array_equal(given, apart)


@pytest.mark.parametrize("output", ["pandas", "polars"])
def test_frames_as_output_of_transformers(output):
    """What the settings of scikit-learn ask for reaches transformers, and no model."""
    frame = pd.DataFrame(COLUMNS)
    expected = SemiSupervisedClassifier("tsvm").fit(frame, KNOWN).predict_proba(frame)
    with sklearn.config_context(transform_output=output):
        model = SemiSupervisedClassifier("tsvm").fit(frame, KNOWN)
        np.testing.assert_array_equal(model.predict_proba(frame), expected)
        scaled = make_pipeline(StandardScaler(), SemiSupervisedClassifier("tsvm"))
        assert scaled.fit(frame[["size"]], KNOWN).predict(frame[["size"]]).shape == (N,)
    features = ColumnFeatures().set_output(transform=output)
    model = SemiSupervisedClassifier("tsvm", features=features).fit(frame, KNOWN)
    np.testing.assert_array_equal(model.predict_proba(frame), expected)


def test_train_takes_frames():
    frame = pd.DataFrame({**COLUMNS, "kind": KNOWN})
    model = semisvm.train(frame, "tsvm", y="kind")
    same = SemiSupervisedClassifier("tsvm").fit(frame, "kind")
    np.testing.assert_array_equal(model.predict(frame), same.predict(frame))
    with pytest.raises(DataError, match="y="):
        semisvm.train(frame, "tsvm")


def test_choose_is_public():
    assert semisvm.choose is semisvm.model_selection.choose
