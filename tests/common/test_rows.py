"""Rows in every form: what must not change the answer of any estimator."""

from functools import cache

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from promises import N_ROWS, clusters, every, every_with_classes, fitted, scores
from semisvm.designs import workers

TIGHT = 1e-9


def tight(candidate, **more):
    """An estimator that is solved closely, where it has a tolerance."""
    if "tol" in candidate.parameters:
        more["tol"] = TIGHT
    return candidate.make(**more)


@cache
def reference(candidate, m):
    """A fit of the clusters that tests share."""
    X, _, partly = clusters(m)
    return tight(candidate).fit(X, partly)


def check_same(candidate, m, change, undo=lambda found: found, atol=1e-3):
    """Fit the rows and the changed rows; compare scores up to a share of the largest."""
    X, _, partly = clusters(m)
    expected = reference(candidate, m)
    rows, labels = change(X, partly)
    model = tight(candidate).fit(rows, labels)
    near = {"rtol": 0.0, "atol": atol * np.abs(scores(expected, X)).max()}
    np.testing.assert_allclose(undo(scores(model, rows)), scores(expected, X), **near)
    np.testing.assert_array_equal(undo(model.transduction_), expected.transduction_)


@every_with_classes("order of rows")
def test_order_of_rows_does_not_matter(candidate, m):
    order = np.random.default_rng(1).permutation(N_ROWS)
    back = np.argsort(order)
    check_same(candidate, m, lambda X, y: (X[order], y[order]), lambda found: found[back])


@every_with_classes("order of columns")
def test_order_of_columns_does_not_matter(candidate, m):
    check_same(candidate, m, lambda X, y: (np.ascontiguousarray(X[:, ::-1]), y))


@every_with_classes("sparse and dense")
def test_sparse_rows_are_dense_rows(candidate, m):
    check_same(candidate, m, lambda X, y: (sparse.csr_matrix(X), y))


@every_with_classes("single precision")
def test_single_precision_is_close(candidate, m):
    check_same(candidate, m, lambda X, y: (X.astype(np.float32), y), atol=1e-2)


@every_with_classes("threads", "n_jobs")
def test_one_thread_is_two_threads(candidate, m, monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 10)
    X, _, partly = clusters(m)
    one = reference(candidate, m)
    two = tight(candidate, n_jobs=2).fit(X, partly)
    near = {"rtol": 0.0, "atol": 1e-3 * np.abs(scores(one, X)).max()}
    np.testing.assert_allclose(scores(two, X), scores(one, X), **near)
    np.testing.assert_array_equal(two.transduction_, one.transduction_)
    if m == 2:
        again = tight(candidate, n_jobs=2).fit(X, partly)
        np.testing.assert_array_equal(scores(again, X), scores(two, X))


@every_with_classes("rows twice")
def test_rows_may_be_there_twice(candidate, m):
    X, y, partly = clusters(m, 24)
    rows, labels = np.vstack([X, X]), np.concatenate([partly, np.full(24, -1)])
    model = candidate.make().fit(rows, labels)
    found = scores(model, rows)
    np.testing.assert_allclose(found[:24], found[24:], atol=1e-12 * np.abs(found).max())
    assert np.mean(model.predict(X) == y) > 0.9


@every_with_classes("constant column")
def test_columns_without_information_do_not_harm(candidate, m):
    X, y, partly = clusters(m)
    rows = np.column_stack([X, np.zeros(N_ROWS), np.ones(N_ROWS)])
    assert np.mean(candidate.make().fit(rows, partly).predict(rows) == y) > 0.8


@every("data frames")
def test_data_frames_name_their_columns(candidate):
    X, _, partly = clusters(2)
    frame = pd.DataFrame(X, columns=[f"f{j}" for j in range(6)])
    model = candidate.make().fit(frame, pd.Series(partly))
    assert model.feature_names_in_.tolist() == list(frame.columns)
    assert model.n_features_in_ == 6
    plain = fitted(candidate)
    np.testing.assert_allclose(scores(model, frame), scores(plain, X), atol=1e-12)
    assert not hasattr(plain, "feature_names_in_")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[frame.columns[::-1]])


@every("wrong number of columns")
def test_new_rows_have_the_columns_of_the_fit(candidate):
    X, _, _ = clusters(2)
    model = fitted(candidate)
    for rows in (X[:, :5], np.column_stack([X, X[:, 0]]), sparse.csr_matrix(X[:, :5])):
        with pytest.raises(ValueError, match=r"X has \d features, but .* is expecting 6"):
            model.predict(rows)


@every("one new row")
def test_new_rows_are_scored_one_by_one(candidate):
    model = fitted(candidate)
    new = clusters(2, 5, seed=1)[0]
    alone = np.concatenate([scores(model, new[i : i + 1]) for i in range(5)])
    np.testing.assert_allclose(scores(model, new), alone, atol=1e-12)


@every("bad rows")
def test_bad_rows_are_named(candidate):
    X, _, partly = clusters(2)
    model = fitted(candidate)
    for wrong, kind in ((np.nan, "NaN"), (np.inf, "infinity")):
        bad = X.copy()
        bad[17, 3] = wrong
        for form in (bad, np.asfortranarray(bad), sparse.csr_matrix(bad)):
            with pytest.raises(ValueError, match=f"{kind}: row 17, column 3"):
                candidate.make().fit(form, partly)
            with pytest.raises(ValueError, match=f"{kind}: row 17, column 3"):
                model.predict(form)
    with pytest.raises(ValueError, match=f"X has {N_ROWS} rows but y has {N_ROWS - 1}"):
        candidate.make().fit(X, partly[:-1])
