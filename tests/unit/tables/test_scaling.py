"""Matrices that are far from rows of length one: what is recognised, and what is done."""

from contextlib import nullcontext

import numpy as np
import pytest
from scipy import sparse
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler

import semisvm
from problems import hide, two_blobs
from semisvm.designs.validation import has_usual_length
from semisvm.tables import MatrixData
from semisvm.tables.labels import text_labels
from semisvm.tables.scaling import fit_scaling

COUNTS = sparse.csr_matrix(np.random.default_rng(0).poisson(1.0, (50, 30)).astype(float))


def test_counts_become_tf_idf():
    scaling = fit_scaling(COUNTS)
    assert scaling.kind == "counts"
    expected = TfidfTransformer(sublinear_tf=True).fit_transform(COUNTS)
    np.testing.assert_allclose(scaling.transform(COUNTS).toarray(), expected.toarray())
    few = scaling.transform(COUNTS[:3]).toarray()
    np.testing.assert_allclose(few, expected[:3].toarray())


def test_columns_in_different_units_are_standardised():
    X = np.random.default_rng(1).standard_normal((60, 4)) * [1.0, 100.0, 1e-3, 1.0] + [
        0.0,
        5000.0,
        0.0,
        1.0,
    ]
    scaling = fit_scaling(X)
    assert scaling.kind == "columns"
    np.testing.assert_allclose(scaling.transform(X), StandardScaler().fit_transform(X) / 2.0)
    constant = np.column_stack([X, np.full(60, 7.0)])
    assert np.isfinite(fit_scaling(constant).transform(constant)).all()


def test_one_unit_is_one_factor():
    images = np.random.default_rng(2).integers(0, 256, (40, 64)).astype(float)
    scaling = fit_scaling(images)
    assert scaling.kind == "length"
    scaled = scaling.transform(images)
    assert np.square(scaled).sum(axis=1).mean() == pytest.approx(1.0)
    np.testing.assert_allclose(scaled * scaling.length, images)


@pytest.mark.parametrize("change", [lambda X: X, sparse.csr_matrix])
def test_fine_rows_are_left_alone(change):
    X = np.random.default_rng(3).standard_normal((50, 60))
    assert fit_scaling(change(X / np.linalg.norm(X, axis=1, keepdims=True))) is None
    assert fit_scaling(change(np.zeros((4, 3)))) is None
    assert fit_scaling(np.full((4, 3), np.nan)) is None


def test_a_model_scales_raw_rows_by_itself(tmp_path):
    X, y = two_blobs(90)
    X = X * [1.0, 1e3, 1.0, 1.0, 1.0, 1e-3] + 10.0
    labels = text_labels(["" if v == -1 else "ab"[v] for v in hide(y, 30).tolist()])
    model = semisvm.train(MatrixData(X, labels), "svm")
    assert any("standardised" in note for note in model.summary["notes"])
    semisvm.save(model, tmp_path / "m")
    again = semisvm.load(tmp_path / "m")
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    assert np.mean(again.predict(X) == np.array(["a", "b"])[y]) > 0.9
    raw = semisvm.train(MatrixData(X, labels), "svm", as_is=True)
    assert raw.scaling is None
    assert any("the rows have length" in note for note in raw.summary["notes"])


@pytest.mark.parametrize(
    ("length", "usual"), [(2.9, True), (3.1, False), (0.31, True), (0.29, False)]
)
def test_scaling_notes_and_warnings_share_one_range_of_lengths(length, usual):
    X, y = two_blobs(40)
    X = X * length / np.sqrt(np.square(X).sum(axis=1).mean())
    labels = text_labels(["" if v == -1 else "ab"[v] for v in hide(y, 20).tolist()])
    assert has_usual_length(length) is usual
    assert (fit_scaling(sparse.csr_matrix(X)) is None) is usual
    raw = semisvm.train(MatrixData(X, labels), "svm", as_is=True)
    assert any("the rows have length" in note for note in raw.summary["notes"]) is not usual
    far = X * (10.0 if length > 1.0 else 0.1)
    with nullcontext() if usual else pytest.warns(UserWarning, match="the rows of X have length"):
        semisvm.NewtonSVC().fit(far, hide(y, 20))
