"""What a fit holds besides the data, counted in vectors over rows."""

import gc
import weakref

import numpy as np
import pytest
from papers.timing import peak_bytes
from scipy import sparse

from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.designs.validation import read_rows
from semisvm.labels.partial import encode
from semisvm.losses import SQUARED_HINGE
from semisvm.methods.fold_fits import used_rows
from semisvm.solvers.woodbury import preconditioner_of
from semisvm.tasks import OneScoreBlock

N_ROWS = 20_000


def long_rows(n=N_ROWS, d=12, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, d)) + 0.8 * (2 * y - 1)[:, np.newaxis]
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    labels = np.where(np.arange(n) % (n // 20) == 0, y, -1)
    return sparse.csr_matrix(X.astype(np.float32)), labels


@pytest.mark.parametrize(("method", "most"), [(TransductiveSVC, 8.5), (AnnealedSVC, 10.0)])
def test_vectors_over_rows_are_few(method, most):
    X, labels = long_rows()
    model = method(class_prior=[0.5, 0.5])
    # all kernels are compiled before, whichever these rows need
    model.fit(X, labels)
    assert peak_bytes(lambda: model.fit(X, labels)) <= most * 8 * N_ROWS


def test_validation_makes_no_vector_over_entries():
    X, _ = long_rows(4_000, d=200)
    read_rows(X)
    assert peak_bytes(lambda: read_rows(X)) < 0.5 * X.nnz


def test_drawing_rows_for_the_share_estimate_converts_none():
    X, labels = long_rows(8_000, d=200)
    found = encode(labels)
    used_rows(X, found)
    assert peak_bytes(lambda: used_rows(X, found)) < X.nnz


def charged_block(n=60, n_labeled=6):
    X, labels = long_rows(n)
    labels = np.where(np.arange(n) < n_labeled, np.arange(n) % 2, -1)
    labeled, unlabeled = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    weight = np.linspace(0.1, 0.3, n_labeled)
    design = make_design(X, 1.0, Workers(1))
    positive = labels[labeled] == 1
    return OneScoreBlock(
        design, labeled, unlabeled, positive, weight, len(unlabeled), SQUARED_HINGE.two
    )


@pytest.mark.parametrize("soft", [False, True])
def test_costs_that_were_freed_are_the_same_again(soft):
    block = charged_block()
    block.score(np.linspace(-1.0, 1.0, block.n_weights))
    if soft:
        block.soften(0.1, 0.3, 0.7)
        block.set_belief_costs(0.7)
    else:
        block.cut(0.0, 0)
        block.set_label_costs(0.7)
    before = [costs.copy() for costs in block.charged()[1:]]
    block.linearize()
    block.curvature(np.ones(block.n_weights))
    assert len(block._b) == 0
    after = block.charged()[1:]
    for a, b in zip(before, after, strict=True):
        np.testing.assert_allclose(a, b, rtol=0.0, atol=1e-17)
        assert np.all(b >= 0.0)


def test_row_numbers_take_four_bytes():
    block = charged_block()
    lists = (block.unlabeled, block.labeled, block.design.all_rows.index)
    assert {index.dtype for index in lists} == {np.dtype(np.uint32)}


def test_the_preconditioner_keeps_no_rows_alive():
    # a cycle would keep the rows until the next run of the garbage collector
    X, labels = long_rows(400)
    with Workers(1) as workers:
        design = make_design(X, 1.0, workers)
        rows = design.rows(np.flatnonzero(labels >= 0))
        labeled_preconditioner = preconditioner_of(
            design, rows, np.full(len(rows), 1.0), 1e-3, 10**9
        )
        assert labeled_preconditioner.inverse(np.ones((len(rows), 1)), 1e-3) is not None
        alive = weakref.ref(design)
        gc.disable()
        try:
            del design, labeled_preconditioner
            assert alive() is None
        finally:
            gc.enable()
