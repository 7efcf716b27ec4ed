"""Linear models as objects of scikit-learn and as ONNX files predict what the models do."""

import io
import pickle
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import semisvm
from semisvm import (
    CalibratedPartialClassifier,
    LaplacianRLSC,
    NewtonSVC,
    SemiBoostClassifier,
    SemiSupervisedCommittee,
    TransductiveSVC,
    to_onnx,
    to_sklearn,
)
from semisvm.model import Model
from semisvm.tables import ColumnFeatures, MatrixData

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 5))
UNITS = X * [1.0, 10.0, 100.0, 1.0, 1.0]
COUNTS = sparse.csr_matrix(RNG.poisson(1.0, size=(200, 30)).astype(float))
TWO = np.where(np.arange(200) < 40, X[:, 0] > 0, -1).astype(int)
THREE = np.array(["a", "b", "c"], dtype=object)[X[:, :3].argmax(axis=1)]
THREE[40:] = None


def labels_for(classes):
    return (TWO, {}) if classes == 2 else (THREE, {"unlabeled": None})


def answers_of(model, rows):
    """Run the ONNX file of a model; return its outputs by name."""
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    stream = io.BytesIO()
    to_onnx(model, stream)
    session = runtime.InferenceSession(stream.getvalue())
    dense = rows.toarray() if sparse.issparse(rows) else np.asarray(rows)
    found = session.run(None, {"X": dense.astype(np.float64)})
    return dict(zip([output.name for output in session.get_outputs()], found, strict=True))


def score_columns(model, rows):
    bundle = Model.of(model)
    return bundle.score_columns(bundle.matrix(rows))


def check(model, rows, probabilities=True):
    bundle = model if isinstance(model, Model) else Model.of(model)
    plain = pickle.loads(pickle.dumps(to_sklearn(model)))
    truth = bundle.predict(rows)
    assert np.array_equal(plain.predict(rows), truth)
    answers = answers_of(model, rows)
    assert np.array_equal(answers["label"], truth)
    scores = bundle.score_columns(bundle.matrix(rows))
    assert np.allclose(answers["scores"], scores, rtol=1e-9, atol=1e-9)
    assert ("probabilities" in answers) == bundle.has_probabilities
    assert hasattr(plain, "predict_proba") == (bundle.has_probabilities and probabilities)
    if bundle.has_probabilities:
        p = bundle.predict_proba(rows)
        assert np.allclose(answers["probabilities"], p, atol=1e-9)
        assert not probabilities or np.allclose(plain.predict_proba(rows), p, atol=1e-9)
    return plain


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("kind", [NewtonSVC, TransductiveSVC])
def test_estimators(kind, loss, classes):
    y, more = labels_for(classes)
    fitted = kind(loss=loss, **more).fit(X, y)
    plain = check(fitted, X)
    assert type(plain).__name__ == ("LogisticRegression" if loss == "log" else "LinearSVC")
    assert plain.classes_.tolist() == fitted.classes_.tolist()
    assert plain.coef_.shape == ((1, 5) if classes == 2 else (3, 5))
    assert plain.n_features_in_ == 5


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("method", ["sigmoid", "temperature"])
def test_calibrated_ones(method, classes):
    y, more = labels_for(classes)
    found = CalibratedPartialClassifier(NewtonSVC(**more), method=method, cv=3, **more).fit(X, y)
    # scikit-learn has no linear classifier with a sigmoid a class
    check(found, X, probabilities=not (method == "sigmoid" and classes == 3))


@pytest.mark.parametrize("classes", [2, 3])
def test_a_committee_of_linear_members(classes):
    y, more = labels_for(classes)
    members = [("svm", NewtonSVC()), ("tsvm", TransductiveSVC())]
    check(SemiSupervisedCommittee(members, cv=2, **more).fit(X, y), X)


@pytest.mark.parametrize("rows", [UNITS, COUNTS, X * 50.0], ids=["columns", "counts", "length"])
def test_what_was_done_to_a_matrix_is_part_of_it(rows):
    model = semisvm.train(MatrixData(rows, THREE), "svm", probabilities=True)
    assert model.scaling is not None
    check(model, rows)


def test_real_texts_of_two_classes(dataset):
    rows, y = dataset("text1_pcmac")
    hidden = np.where(np.arange(len(y)) % 20 == 0, y, 0)
    fitted = TransductiveSVC(unlabeled=0).fit(rows, hidden)
    plain = to_sklearn(fitted)
    assert np.array_equal(plain.predict(rows), fitted.predict(rows))
    assert np.array_equal(answers_of(fitted, rows[:300])["label"], fitted.predict(rows[:300]))


def test_real_digits_of_ten_classes(dataset):
    rows, y = dataset("optdigits")
    labels = y.astype(object)
    labels[100:] = None
    check(semisvm.train(MatrixData(rows, labels), "tsvm", probabilities=True), rows)


def test_a_model_of_columns_is_exported_from_its_features_on():
    table = semisvm.tables.Table({"x": X[:, 0], "v": X[:, 1:]}, THREE)
    model = semisvm.train(table, "svm")
    features = model.features.transform(table)
    assert np.array_equal(to_sklearn(model).predict(features), model.predict(table))
    assert np.array_equal(answers_of(model, features)["label"], model.predict(table))


@pytest.mark.parametrize(
    "options", [{}, {"ngram_range": (1, 2), "stop_words": ["the"]}, {"analyzer": "char_wb"}]
)
def test_columns_of_text_are_part_of_it_if_requested(options, newsgroups):
    texts, groups = newsgroups("sci.med", "sci.space")
    texts, labels = texts[::10], np.array(groups[::10], dtype=object)
    labels[np.arange(len(labels)) % 5 > 0] = None
    columns = {"body": texts, "n_jobs__": [text[:200] for text in texts]}
    table = semisvm.tables.Table(columns, labels)
    features = ColumnFeatures(text=list(columns), **options)
    model = semisvm.train(table, "svm", features=features)
    plain = pickle.loads(pickle.dumps(to_sklearn(model, columns=True)))
    assert np.array_equal(plain.predict(table.columns), model.predict(table))
    scores = plain.decision_function(table.columns)
    assert np.allclose(scores, model.decision_function(table), atol=1e-12)


def test_other_columns_are_not():
    model = semisvm.train(semisvm.tables.Table({"x": X[:, 0]}, THREE), "svm")
    for other in (model, NewtonSVC().fit(X, TWO)):
        with pytest.raises(ValueError, match="must be text"):
            to_sklearn(other, columns=True)


def test_pickles_need_no_semisvm(tmp_path):
    (tmp_path / "model.pkl").write_bytes(pickle.dumps(to_sklearn(NewtonSVC().fit(X, TWO))))
    code = (
        "import pickle, sys; sys.modules['semisvm'] = None\n"
        f"model = pickle.load(open({str(tmp_path / 'model.pkl')!r}, 'rb'))\n"
        f"print(*model.predict({X[:5].tolist()}))"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert list(map(int, shown.stdout.split())) == NewtonSVC().fit(X, TWO).predict(X[:5]).tolist()


KERNELS = {
    "rbf": {"kernel": "rbf", "gamma": 0.7},
    "poly": {"kernel": "poly", "degree": 2},
    "cosine": {"kernel": "cosine"},
    "latent": {"kernel": "latent", "n_components": 3},
}


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("kernel", list(KERNELS))
def test_kernels_are_written_to_onnx(kernel, classes):
    y, more = labels_for(classes)
    fitted = NewtonSVC(**KERNELS[kernel], **more).fit(X, y)
    new = np.random.default_rng(5).standard_normal((40, X.shape[1]))
    for rows in (X, new, new + 1e3 if kernel == "rbf" else new, np.zeros((1, X.shape[1]))):
        found = answers_of(fitted, rows)
        scores = score_columns(fitted, rows)
        # a kernel of low rank has large weights of rows, which cancel each other
        np.testing.assert_allclose(found["scores"], scores, rtol=1e-6, atol=1e-6)
        assert np.array_equal(found["label"], fitted.predict(rows))
    with pytest.raises(ValueError, match="not linear"):
        to_sklearn(fitted)


@pytest.mark.parametrize("classes", [2, 3])
def test_a_committee_with_kernels_is_written_to_onnx(classes):
    y, more = labels_for(classes)
    members = [("svm", NewtonSVC()), ("k", NewtonSVC(kernel="rbf")), ("tsvm", TransductiveSVC())]
    fitted = SemiSupervisedCommittee(members, weights=[1.0, 2.0, 0.5], **more).fit(X, y)
    assert fitted.is_exportable
    found = answers_of(fitted, X)
    np.testing.assert_allclose(found["scores"], score_columns(fitted, X), atol=1e-9)
    np.testing.assert_allclose(found["probabilities"], fitted.predict_proba(X), atol=1e-9)
    assert np.array_equal(found["label"], fitted.predict(X))


@pytest.mark.parametrize("rows", [UNITS, COUNTS, X * 50.0], ids=["columns", "counts", "length"])
def test_kernels_work_on_the_rows_of_the_fit(rows):
    model = semisvm.train(MatrixData(rows, THREE), "svm", kernel="rbf", probabilities=True)
    assert model.scaling is not None
    found = answers_of(model, rows)
    np.testing.assert_allclose(found["probabilities"], model.predict_proba(rows), atol=1e-8)
    assert np.array_equal(found["label"], model.predict(rows))


@pytest.mark.parametrize(
    "model",
    [
        SemiBoostClassifier(n_estimators=2),
        LaplacianRLSC(),
        NewtonSVC(kernel="laplacian"),
        SemiSupervisedCommittee([("svm", NewtonSVC()), ("graph", LaplacianRLSC())], cv=2),
    ],
    ids=["boosting", "graph", "laplacian", "committee"],
)
@pytest.mark.parametrize("export", [to_sklearn, lambda model: to_onnx(model, io.BytesIO())])
def test_what_other_programs_cannot_compute_is_refused(model, export):
    fitted = model.fit(X, TWO)
    assert not fitted.is_exportable
    with pytest.raises(ValueError, match=r"cannot be exported.*exportable=True keeps to") as caught:
        export(fitted)
    # what to use instead
    committee = isinstance(model, SemiSupervisedCommittee)
    assert committee or "such as tsvm or da" in str(caught.value)


def test_a_committee_names_the_members_in_the_way():
    members = [("svm", NewtonSVC()), ("graph", LaplacianRLSC())]
    fitted = SemiSupervisedCommittee(members, weights=[1.0, 1.0]).fit(X, TWO)
    with pytest.raises(ValueError, match="scores of graph"):
        to_onnx(fitted, io.BytesIO())
    without = SemiSupervisedCommittee(members, weights=[1.0, 0.0]).fit(X, TWO)
    check(without, X)


def test_what_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        to_sklearn(NewtonSVC())


def test_a_missing_package_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ImportError, match=r"semisvm\[onnx\]"):
        to_onnx(NewtonSVC().fit(X, TWO), io.BytesIO())


def test_several_labels_per_row_are_refused():
    X = np.random.default_rng(0).standard_normal((40, 3))
    model = semisvm.MultiLabelSVC(NewtonSVC()).fit(X, (X[:, :2] > 0).astype(int))
    for export in (to_sklearn, lambda given: to_onnx(given, io.BytesIO())):
        with pytest.raises(ValueError, match="several labels per row"):
            export(model)
