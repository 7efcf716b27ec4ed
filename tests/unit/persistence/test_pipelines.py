"""Pipelines in model files: what comes back, and what is refused."""

import json
import zipfile

import numpy as np
import pytest
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import (
    CountVectorizer,
    HashingVectorizer,
    TfidfTransformer,
    TfidfVectorizer,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, StandardScaler

import semisvm
from problems import hide, two_blobs
from semisvm import CalibratedPartialClassifier, MultiLabelSVC, NewtonSVC, TransductiveSVC
from semisvm.persistence import ModelFileError
from semisvm.tables import ColumnFeatures

TEXTS = ["good film", "great film", "bad film", "awful film", "great good", "awful bad"] * 4
LABELS = np.array(["up", None, "down", None, None, None] * 4, dtype=object)


def there_and_back(pipeline, path):
    semisvm.save(pipeline, path)
    with zipfile.ZipFile(path) as archive:
        assert not any(name.endswith(".pkl") for name in archive.namelist())
    return semisvm.load(path)


@pytest.mark.parametrize(
    "steps",
    [
        [TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, stop_words=["film"])],
        [TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 3), dtype=np.float32)],
        [TfidfVectorizer(use_idf=False, stop_words="english")],
        [CountVectorizer(vocabulary=["good", "bad", "great", "awful"]), MaxAbsScaler()],
        [CountVectorizer(token_pattern=r"(?u)\b\w+\b"), TfidfTransformer(), Normalizer()],
        [HashingVectorizer(n_features=64, alternate_sign=False), TfidfTransformer(use_idf=False)],
        [CountVectorizer(), StandardScaler(with_mean=False), "passthrough"],
    ],
    ids=lambda steps: type(steps[0]).__name__,
)
def test_text_comes_back(steps, tmp_path):
    pipeline = make_pipeline(*steps, TransductiveSVC(class_prior=[0.5, 0.5])).fit(TEXTS, LABELS)
    loaded = there_and_back(pipeline, tmp_path / "m.semisvm")
    assert isinstance(loaded, Pipeline)
    new = [*TEXTS, "good awful bad", "unknown words", ""]
    np.testing.assert_array_equal(
        loaded.decision_function(new), pipeline.decision_function(new), strict=True
    )
    assert loaded.predict(new).tolist() == pipeline.predict(new).tolist()
    kept = [step for step in pipeline.steps if step[1] != "passthrough"]
    assert [name for name, _ in loaded.steps] == [name for name, _ in kept]
    for (_, one), (_, other) in zip(loaded.steps, kept, strict=True):
        differ = {"vocabulary", "stop_words", "dtype", "callback"}
        ours, theirs = one.get_params(), other.get_params()
        assert {k: ours[k] for k in ours if k not in differ} == {
            k: theirs[k] for k in theirs if k not in differ
        }
    # it saves to the same bytes again
    semisvm.save(loaded, tmp_path / "again.semisvm")
    assert (tmp_path / "again.semisvm").read_bytes() == (tmp_path / "m.semisvm").read_bytes()


@pytest.mark.parametrize(
    "scaler",
    [
        StandardScaler(),
        StandardScaler(with_std=False),
        MinMaxScaler(feature_range=(-1, 2), clip=True),
        MaxAbsScaler(),
        Normalizer("max"),
    ],
    ids=repr,
)
def test_numbers_come_back(scaler, tmp_path):
    X, y = two_blobs(60, 4)
    pipeline = make_pipeline(scaler, TransductiveSVC()).fit(X, hide(y, 20))
    loaded = there_and_back(pipeline, tmp_path / "m.semisvm")
    np.testing.assert_array_equal(loaded.decision_function(X), pipeline.decision_function(X))


def test_several_labels_and_calibration(tmp_path):
    X, y = two_blobs(80, 4)
    Y = np.column_stack([hide(y, 30), hide(1 - y, 40, seed=1)])
    many = make_pipeline(StandardScaler(), MultiLabelSVC()).fit(X, Y)
    loaded = there_and_back(many, tmp_path / "many.semisvm")
    np.testing.assert_array_equal(loaded.predict(X), many.predict(X))
    sure = make_pipeline(StandardScaler(), CalibratedPartialClassifier(NewtonSVC(), cv=2))
    sure.fit(X, hide(y, 40))
    loaded = there_and_back(sure, tmp_path / "sure.semisvm")
    np.testing.assert_array_equal(loaded.predict_proba(X), sure.predict_proba(X))


def test_columns_and_output_as_a_frame(tmp_path):
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame({"text": TEXTS, "size": np.arange(24.0)})
    features = ColumnFeatures(text=["text"], sparse_output=False).set_output(transform="pandas")
    frame = features.fit_transform(table)
    assert isinstance(frame, pd.DataFrame)
    assert frame.columns.tolist() == features.get_feature_names_out().tolist()
    pipeline = Pipeline([("columns", features), ("svm", NewtonSVC())]).fit(table, LABELS)
    assert pipeline[-1].feature_names_in_.tolist() == frame.columns.tolist()
    loaded = there_and_back(pipeline, tmp_path / "m.semisvm")
    assert isinstance(loaded[0].transform(table), pd.DataFrame)
    np.testing.assert_array_equal(
        loaded.decision_function(table), pipeline.decision_function(table)
    )


@pytest.mark.parametrize(
    ("pipeline", "message"),
    [
        (make_pipeline(TruncatedSVD(2), NewtonSVC()), "'truncatedsvd' .* TruncatedSVD.*joblib"),
        (make_pipeline(StandardScaler(), LogisticRegression()), "'logisticregression'.*skops"),
        (make_pipeline(NewtonSVC()), "one step only"),
    ],
)
def test_unknown_steps_are_refused(pipeline, message, tmp_path):
    X, y = two_blobs(40, 4)
    with pytest.raises(ModelFileError, match=message):
        semisvm.save(pipeline.fit(X, y), tmp_path / "m")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"tokenizer": str.split, "token_pattern": None}, "tokenizer"),
        ({"preprocessor": str.lower}, "preprocessor"),
        ({"analyzer": str.split}, "analyzer"),
        ({"token_pattern": r"(a+)+b|\w+"}, "token_pattern must be one of"),
    ],
)
def test_words_that_are_code(words, message, tmp_path):
    pipeline = make_pipeline(TfidfVectorizer(**words), NewtonSVC()).fit(TEXTS, LABELS)
    with pytest.raises(ModelFileError, match=f"tfidfvectorizer.*{message}"):
        semisvm.save(pipeline, tmp_path / "m")


def test_steps_that_are_not_fitted(tmp_path):
    estimator = make_pipeline(TfidfVectorizer(), NewtonSVC()).fit(TEXTS, LABELS)[-1]
    with pytest.raises(ModelFileError, match="not fitted"):
        semisvm.save(Pipeline([("words", TfidfVectorizer()), ("svm", estimator)]), tmp_path / "m")


def rewritten(path, change):
    """Change the document of a file."""
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    document = json.loads(parts["model.json"])
    change(document)
    parts["model.json"] = json.dumps(document).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


@pytest.mark.parametrize(
    "change",
    [
        lambda d: d.pop("pipeline"),
        lambda d: d["pipeline"].pop("steps"),
        lambda d: d["pipeline"]["steps"].append(d["pipeline"]["steps"][0]),
        lambda d: d["pipeline"].update(last="tfidfvectorizer"),
        lambda d: d["pipeline"]["steps"][0].update(kind="FunctionTransformer"),
        lambda d: d["pipeline"]["steps"][0].update(name="a__b"),
        lambda d: d["pipeline"]["steps"][0].update(output="os"),
        lambda d: d["pipeline"]["steps"][0].update(state=None),
        lambda d: d["pipeline"]["steps"][0]["state"].update(parameters=[]),
        lambda d: d["pipeline"]["steps"][0]["state"]["values"]["value"][0].append("x"),
        lambda d: d["pipeline"]["steps"][0]["state"]["values"]["value"][0][1].pop(),
        lambda d: d["pipeline"]["steps"][0]["state"]["parameters"]["value"].append(["input", "x"]),
        lambda d: d["pipeline"]["steps"][0]["state"]["parameters"]["value"].append(
            ["token_pattern", "(a+)+b"]
        ),
        lambda d: d["pipeline"]["steps"][0]["state"]["parameters"]["value"].append(["evil", 1]),
        lambda d: d["arrays"].pop("pipeline.0.idf_"),
        lambda d: d.update(kind="model"),
    ],
)
def test_damaged_pipelines_are_refused(change, tmp_path):
    path = tmp_path / "m.semisvm"
    semisvm.save(make_pipeline(TfidfVectorizer(), NewtonSVC()).fit(TEXTS, LABELS), path)
    rewritten(path, change)
    with pytest.raises(ModelFileError):
        semisvm.load(path)
