"""Fits of a few rows in coordinates of the space that they span."""

import numpy as np
import pytest

from problems import hide, sparse_text, two_blobs
from semisvm import TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.solvers.woodbury import LabeledPreconditioner, Span, preconditioner_of
from semisvm.tasks import weight_steps as sharing

REG = 1e-2


def few_rows(X, index, bias=0.7):
    design = make_design(X, bias, Workers())
    rows = design.rows(np.asarray(index))
    return design, preconditioner_of(design, rows, np.ones(len(index)), REG, 10**9)


@pytest.mark.parametrize("m", [1, 3])
@pytest.mark.parametrize("kind", ["sparse", "dense"])
def test_scores_and_lengths_are_those_of_the_weights(kind, m):
    X = sparse_text(60, 300)[0] if kind == "sparse" else two_blobs(60, 40)[0]
    index = np.arange(0, 60, 4)
    design, labeled_preconditioner = few_rows(X, index)
    span = Span.of(labeled_preconditioner)
    v = np.random.default_rng(0).standard_normal((span.design.n_weights, m))
    v[-1] = 0.0
    w = span.weights(v.ravel()).reshape(-1, m)
    np.testing.assert_allclose((w**2).sum(axis=0), (v**2).sum(axis=0), rtol=1e-9)
    scores = design.few_scores(w, design.rows(index))
    here = span.design.few_scores(v, span.design.all_rows)
    np.testing.assert_allclose(scores, here, rtol=1e-9, atol=1e-9)


def test_rows_that_depend_on_each_other_have_no_coordinates():
    X, _ = two_blobs(60, 40)
    X[4] = X[0]
    assert Span.of(few_rows(X, [0, 4, 8])[1]) is None
    X[4] += 1e-6 * X[1]
    assert Span.of(few_rows(X, [0, 4, 8])[1]) is None
    # three points of a line are dependent even if they differ
    assert Span.of(few_rows(np.arange(9.0).reshape(-1, 1), [0, 4, 8])[1]) is None
    design = make_design(np.eye(3), 1.0, Workers())
    assert (
        Span.of(LabeledPreconditioner(design, design.all_rows, np.full((3, 3), np.nan), np.ones(3)))
        is None
    )


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "log"])
@pytest.mark.parametrize("duplicate", [False, True])
def test_a_start_in_coordinates_is_the_start_in_weights(n_classes, loss, duplicate, monkeypatch):
    X, y = sparse_text(300, 300)
    labels = hide(y + 2 * (np.arange(300) % 2) if n_classes == 4 else y, 20)
    if duplicate:
        first, second = np.flatnonzero(labels >= 0)[:2]
        X = X.tolil()
        X[second] = X[first]
        X = X.tocsr()
    options = {"class_prior": np.full(n_classes, 1 / n_classes), "loss": loss, "max_iter": 1}
    spans, original = [], Span.of
    monkeypatch.setattr(
        sharing.Span,
        "of",
        lambda labeled_preconditioner: (spans.append(original(labeled_preconditioner)), spans[-1])[
            1
        ],
    )
    found = TransductiveSVC(**options).fit(X, labels)
    assert [span is None for span in spans] == [duplicate]
    monkeypatch.setattr(sharing.Span, "of", lambda labeled_preconditioner: None)
    plain = TransductiveSVC(**options).fit(X, labels)
    for name in ("objective", "active_rows"):
        assert found.trace_[name][0] == pytest.approx(plain.trace_[name][0], rel=1e-5)
    np.testing.assert_array_equal(found.transduction_, plain.transduction_)
