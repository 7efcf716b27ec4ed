"""Reasons of linear models add up to their scores."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.preprocessing import normalize

from problems import hide, sparse_text, two_blobs
from semisvm import (
    ClusterKernelSVC,
    LaplacianSVC,
    LowDensitySeparation,
    Model,
    NewtonSVC,
    SemiSupervisedCommittee,
    TransductiveSVC,
)
from semisvm.model_selection.decisions import columns_of
from semisvm.model_selection.explaining import reasons
from semisvm.tables import DataError


def total(model, X, codes):
    """What all columns together add to the scores of classes, without the intercepts."""
    weights = model.coef_
    scores = X @ weights.T
    if len(weights) == 1:
        return np.where(codes == 1, scores[:, 0], -scores[:, 0])
    others = (scores + model.intercept_).copy()
    rows = np.arange(len(codes))
    others[rows, codes] = -np.inf
    return scores[rows, codes] - scores[rows, others.argmax(axis=1)]


def everything(model, X, codes):
    """Sum of all contributions: of those for a class, and of those against it."""
    columns = model.decision_function(X)
    columns = np.column_stack([-columns, columns]) if columns.ndim == 1 else columns
    both = [reasons(w, X, columns, codes, X.shape[1]) for w in (model.coef_, -model.coef_)]
    sums = [np.array([sum(part for _, part in row) for row in found]) for found in both]
    return sums[0] - sums[1]


def test_two_classes_add_up_to_the_score():
    X, y = sparse_text(80)
    model = TransductiveSVC().fit(X, hide(y, 20))
    codes = (model.decision_function(X) > 0).astype(int)
    np.testing.assert_allclose(everything(model, X, codes), total(model, X, codes), atol=1e-9)


def test_many_classes_add_up_to_the_lead():
    X, y = load_digits(return_X_y=True)
    X = normalize(X)[:300]
    model = NewtonSVC().fit(X, y[:300])
    codes = model.decision_function(X).argmax(axis=1)
    np.testing.assert_allclose(everything(model, X, codes), total(model, X, codes), atol=1e-9)


def test_the_largest_come_first_and_none_speaks_against():
    X, y = two_blobs(60)
    model = Model.of(NewtonSVC().fit(X, y))
    for row in model.explain(X, 3):
        parts = [part for _, part in row]
        assert len(row) <= 3
        assert parts == sorted(parts, reverse=True)
        assert all(part > 0 for part in parts)
    names = [f"word {k}" for k in range(X.shape[1])]
    assert model.explain(X[:1], 1, names)[0][0][0].startswith("word ")
    assert model.top_features(2, names)[1][0][0] in ("word 0", "word 1")


@pytest.mark.parametrize(
    ("estimator", "classes"),
    [
        (NewtonSVC(kernel="rbf"), 2),
        (NewtonSVC(kernel="rbf"), 3),
        (TransductiveSVC(kernel="poly", degree=2), 2),
        (ClusterKernelSVC(n_runs=5, random_state=0), 2),
        (LaplacianSVC(kernel="neighbors"), 2),
    ],
    ids=lambda value: str(value)[:14],
)
def test_training_rows_add_up_to_the_score(estimator, classes):
    X, y = two_blobs(60)
    labels = hide(y if classes == 2 else y + (X[:, 2] > 0.3), 30)
    fitted = estimator.fit(X, labels)
    scores = columns_of(fitted.decision_function(X))
    codes = scores.argmax(axis=1)
    known, everyone = fitted.kernel_map_, len(X)
    weights, K = known.expansion(fitted.coef_), known.similarities(X)
    both = [reasons(w, K, scores, codes, everyone) for w in (weights, -weights)]
    sums = [np.array([sum(part for _, part in row) for row in found]) for found in both]
    rows, others = np.arange(len(X)), scores.copy()
    others[rows, codes] = -np.inf
    against = others.argmax(axis=1)
    plain = scores - (columns_of(fitted.intercept_) if classes == 2 else fitted.intercept_)
    lead = plain[rows, codes] - (0.0 if classes == 2 else plain[rows, against])
    np.testing.assert_allclose(sums[0] - sums[1], lead, atol=1e-8)
    found = Model.of(fitted).explain_by_rows(X, 3)
    assert [[(known.pivots[k], part) for k, part in row[:3]] for row in both[0]] == found
    assert {row for each in found for row, _ in each} <= set(known.pivots.tolist())


def test_only_labelled_rows_speak_in_a_supervised_machine():
    X, y = two_blobs(60)
    labels = hide(y, 30)
    fitted = NewtonSVC(kernel="rbf", gamma=1.0).fit(X, labels)
    assert fitted.kernel_map_.rank == len(X)  # all rows are in the expansion
    new = X[labels >= 0]
    for (row, _), *_ in Model.of(fitted).explain_by_rows(new, 1):
        assert labels[row] >= 0


def test_what_cannot_be_explained():
    X, y = two_blobs(60)
    kernel = Model.of(NewtonSVC(kernel="rbf").fit(X, y))
    with pytest.raises(ValueError, match=r"has a kernel here.*explain_by_rows.*such as tsvm"):
        kernel.explain(X)
    linear = Model.of(NewtonSVC().fit(X, y))
    paths = Model.of(LowDensitySeparation().fit(X, hide(y, 20)))
    with pytest.raises(ValueError, match=r"has a kernel here.* Fit a method"):
        paths.explain(X)
    for model in (linear, paths):
        with pytest.raises(ValueError, match="no weights of training rows"):
            model.explain_by_rows(X)
    with pytest.raises(ValueError, match="count"):
        kernel.explain_by_rows(X, 0)
    with pytest.raises(ValueError, match="count"):
        linear.explain(X, 0)
    with pytest.raises(DataError, match="2 names, but the model has 6 columns"):
        linear.explain(X, 1, ["a", "b"])


def test_a_committee_is_explained_by_its_linear_members():
    X, y = two_blobs(80)
    members = [("svm", NewtonSVC()), ("tsvm", TransductiveSVC())]
    committee = SemiSupervisedCommittee(members, cv=3).fit(X, hide(y, 30))
    assert all(row for row in Model.of(committee).explain(X[:20], 2))
