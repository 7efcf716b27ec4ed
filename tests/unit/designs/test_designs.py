from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

from problems import sparse_text
from semisvm import TransductiveSVC
from semisvm.designs import (
    CsrDesign,
    DenseDesign,
    Design,
    Workers,
    csr,
    dense,
    make_design,
    workers,
)
from semisvm.maps import fit_map

BIAS = 0.7


def reference(X):
    X = np.asarray(X.todense() if sparse.issparse(X) else X, dtype=np.float64)
    return np.column_stack([X, np.full(len(X), BIAS)])


def as_int64(X):
    X = X.copy()
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


def frozen(X):
    X = X.copy()
    X.data.flags.writeable = X.indices.flags.writeable = X.indptr.flags.writeable = False
    return X


FORMS = {
    "csr64": lambda X: X,
    "csr32": lambda X: X.astype(np.float32),
    "csr array": sparse.csr_array,
    "int64 indices": as_int64,
    "read-only": frozen,
    "dense64": lambda X: X.toarray(),
    "dense32": lambda X: X.toarray().astype(np.float32),
    "fortran": lambda X: np.asfortranarray(X.toarray()),
    "trapezoid64": lambda X: np.tril(X.toarray(), 15)[::-1],
    "trapezoid32": lambda X: np.tril(X.toarray(), 15).astype(np.float32),
}


@pytest.fixture(params=[False, True], ids=["as it comes", "renumbered"])
def renumber(request, monkeypatch):
    monkeypatch.setattr(csr, "RENUMBER_MIN_COLUMNS", 1)
    monkeypatch.setattr(csr, "RENUMBER_MIN_ENTRIES", 1)
    return request.param


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("n_threads", [1, 3])
def test_seam_against_numpy(form, n_threads, renumber, monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 10)
    X, _ = sparse_text(60, 90)
    X = FORMS[form](X)
    rng = np.random.default_rng(0)
    with Workers(n_threads) as pool:
        design = make_design(X, BIAS, pool, renumber=renumber)
        A = reference(X)
        index = np.sort(rng.permutation(60)[:35])
        rows = design.rows(index)
        coef, intercept = rng.standard_normal(90), 0.4
        w = design.encode(coef, intercept)
        flat = np.append(coef, intercept / BIAS)
        v, c = rng.standard_normal(60), rng.random(60)

        def plain(out):
            coefficients, b = design.decode(out)
            return np.append(coefficients, b / BIAS)

        scores = design.scores(w, rows, np.full(60, np.nan))
        np.testing.assert_allclose(
            scores[index], A[index] @ flat, rtol=1e-6 if "32" in form else 1e-12
        )
        assert np.isnan(np.delete(scores, index)).all()
        out = np.empty(design.n_weights)
        np.testing.assert_allclose(
            plain(design.pull_back(v, rows, out)), A[index].T @ v[index], rtol=1e-10, atol=1e-12
        )
        np.testing.assert_allclose(
            plain(design.curvature(w, c, rows, out)),
            A[index].T @ (c[index] * (A[index] @ flat)),
            rtol=1e-10,
            atol=1e-12,
        )
        np.testing.assert_allclose(
            plain(design.column_scales(c, rows, out)),
            c[index] @ A[index] ** 2,
            rtol=1e-10,
            atol=1e-12,
        )


@pytest.mark.parametrize("bias", [0.0, 1.0, 3.0])
def test_encode_and_decode_are_inverse(bias, renumber):
    X, _ = sparse_text(30, 40)
    coef = np.random.default_rng(0).standard_normal(40)
    used = X.getnnz(axis=0) > 0
    assert not used.all()
    for design in (
        CsrDesign(X, bias, Workers(), renumber),
        DenseDesign(X.toarray(), bias, Workers()),
    ):
        back, intercept = design.decode(design.encode(coef, 2.0))
        compact = renumber and isinstance(design, CsrDesign)
        np.testing.assert_array_equal(back, np.where(used, coef, 0.0) if compact else coef)
        assert intercept == pytest.approx(2.0 if bias else 0.0)


def test_columns_without_entries_get_no_weight(renumber):
    X, y = sparse_text(300, 400)
    used = X.getnnz(axis=0) > 0
    design = CsrDesign(X, 1.0, Workers(), renumber)
    assert design.n_columns == 400
    assert design.n_weights == (used.sum() if renumber else 400) + 1
    partly = np.where(np.arange(300) % 10, -1, y + (np.arange(300) % 3 == 0))
    model = TransductiveSVC().fit(X, partly)
    assert model.coef_.shape == (3, 400)
    assert not model.coef_[:, ~used].any()
    dense = TransductiveSVC().fit(X.toarray(), partly)
    np.testing.assert_array_equal(model.transduction_, dense.transduction_)
    np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-3)
    again = clone(model).set_params(warm_start=True)
    again.classes_, again.coef_, again.intercept_ = (
        model.classes_,
        model.coef_ + ~used,
        model.intercept_,
    )
    again.node_coef_, again.node_intercept_ = again.coef_, model.intercept_
    again.fit(X, partly)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-2)


def test_data_are_not_copied():
    X, _ = sparse_text()
    design = CsrDesign(X, 1.0, Workers(), renumber=False)
    assert np.shares_memory(design._arrays[1], X.indices)
    assert np.shares_memory(design._arrays[2], X.data)
    dense = X.toarray()
    assert np.shares_memory(DenseDesign(dense, 1.0, Workers())._arrays[0], dense)


def test_renumbering_takes_two_bytes_an_entry(renumber):
    X, _ = sparse_text()
    design = CsrDesign(X, 1.0, Workers(), renumber=True)
    assert design._arrays[1].dtype == np.uint16
    assert np.shares_memory(design._arrays[2], X.data)
    counts = np.bincount(design._arrays[1], minlength=X.shape[1])
    assert np.all(np.diff(counts) <= 0), "frequent columns come first"


@pytest.mark.parametrize(
    ("n_columns", "n_entries", "worth"),
    [
        (50_000, 10**6, True),
        (50_000, 5 * 10**6, False),  # the copy would take more than 8 MB
        (100_000, 2 * 10**6, True),
        (100_000, 3 * 10**6, False),  # the same, with four bytes per index
        (50_000, 10**4, False),  # too small to pay
        (1_000, 10**6, False),  # fits in the cache as it is
    ],
)
def test_when_renumbering_is_worth_it(n_columns, n_entries, worth):
    assert csr.worth_renumbering(n_columns, n_entries) is worth


@pytest.mark.parametrize("form", ["csr64", "csr32", "int64 indices"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_pairs_of_numbers_change_no_bit(form, n_threads, renumber, monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 10)
    X, _ = sparse_text(200, 90)
    rng = np.random.default_rng(0)
    p, c, index = rng.standard_normal(91), rng.random(200), np.arange(3, 190, 2)
    with Workers(n_threads) as pool:
        design = make_design(FORMS[form](X), BIAS, pool, renumber=renumber)
        rows, found = design.rows(index), []
        for work in (0, 10**9):
            monkeypatch.setattr(csr, "WORK_PER_PAIR", work)
            found.append(design.curvature(p, c, rows, np.full(91, np.nan)))
            # memory for partial sums is shared by products of other shapes
            found.append(design.pull_back(c, rows, np.full(91, np.nan)))
    np.testing.assert_array_equal(found[0], found[2])
    np.testing.assert_array_equal(found[1], found[3])


@pytest.mark.parametrize("form", ["csr64", "dense64", "dense32"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_sums_are_added_to_what_is_there(form, n_threads, monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 10)
    X, _ = sparse_text(60, 90)
    rng = np.random.default_rng(0)
    with Workers(n_threads) as pool:
        design = make_design(FORMS[form](X), BIAS, pool)
        rows, V = design.rows(np.arange(0, 60, 2)), rng.standard_normal((60, 5))
        start = rng.standard_normal((design.n_weights, 5))
        for many in (True, False):
            product = design.pull_back_many if many else design.pull_back
            pick = (lambda a: a) if many else (lambda a: a[:, 0].copy())
            alone = product(pick(V), rows, np.empty_like(pick(start)))
            onto = product(pick(V), rows, pick(start).copy(), add=True)
            np.testing.assert_allclose(onto, pick(start) + alone, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("form", ["csr64", "dense64"])
def test_products_do_not_depend_on_the_length_of_chunks(form, monkeypatch):
    X, _ = sparse_text(300, 40)
    rng = np.random.default_rng(0)
    design = make_design(FORMS[form](X), BIAS, Workers())
    P, V = rng.standard_normal((design.n_weights, 3)), rng.standard_normal((300, 3))
    scale = rng.random((300, 3))

    def operator(index, start, stop, Q):
        Q[: stop - start] *= scale[index[start:stop]]

    def products(index):
        rows = design.rows(index)
        yield design.curvature_many(P, operator, rows, np.empty_like(P))
        yield design.scores_many(P, rows, np.zeros((300, 3)))
        yield design.pull_back_many(V, rows, np.empty_like(P))

    lists = (np.arange(300), np.arange(0, 300, 2), np.arange(0))
    usual = [[*products(index)] for index in lists]
    monkeypatch.setattr(csr, "LEAST_CHUNK", 7)
    monkeypatch.setattr(dense, "LEAST_CHUNK", 7)
    monkeypatch.setattr(dense, "CHUNK_PRODUCTS", 1)
    for index, expected in zip(lists, usual, strict=True):
        for found, known in zip(products(index), expected, strict=True):
            np.testing.assert_allclose(found, known, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("form", ["csr64", "dense64"])
def test_a_design_alone_has_one_thread_and_counts_for_itself(form, monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 10)
    X, _ = sparse_text(60, 90)
    with Workers(3) as pool:
        shared, single = (make_design(FORMS[form](X), BIAS, own) for own in (pool, Workers()))
        other, v = shared.alone(), np.random.default_rng(0).standard_normal(60)
        found = other.pull_back(v, other.all_rows, np.empty(other.n_weights))
    assert len(other.all_rows.blocks) == 1 < len(shared.all_rows.blocks)
    assert (other.passes(), shared.passes()) == (1.0, 0.0)
    expected = single.pull_back(v, single.all_rows, np.empty(single.n_weights))
    np.testing.assert_array_equal(found, expected)


def test_same_bits_every_time(monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 10)
    X, _ = sparse_text(300, 400)
    rng = np.random.default_rng(1)
    p, c = rng.standard_normal(401), rng.random(300)
    with Workers(3) as pool:
        design = make_design(X, 1.0, pool)
        first = design.curvature(p, c, design.all_rows, np.empty(401))
        for _ in range(20):
            again = design.curvature(p, c, design.all_rows, np.empty(401))
            np.testing.assert_array_equal(first, again)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("part", [False, True])
def test_dense_products_with_many_columns_agree_with_sparse_ones(dtype, part):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((700, 9)).astype(dtype)
    P, V = rng.standard_normal((10, 4)), rng.standard_normal((700, 4))

    def double(index, start, stop, Q):
        Q *= 2.0

    answers = []
    with Workers(2) as pool:
        for design in (make_design(X, BIAS, pool), make_design(sparse.csr_array(X), BIAS, pool)):
            rows = design.rows(np.arange(0, 700, 3)) if part else design.all_rows
            answers.append(
                [
                    design.scores_many(P, rows, np.zeros((700, 4))),
                    design.pull_back_many(V, rows, np.empty((10, 4))),
                    design.curvature_many(P, double, rows, np.empty((10, 4))),
                ]
            )
    for full, thin in zip(*answers, strict=True):
        np.testing.assert_allclose(full, thin, rtol=1e-10, atol=1e-9)


@given(
    lengths=st.lists(st.integers(0, 12), min_size=1, max_size=40),
    dtype=st.sampled_from([np.float64, np.float32]),
    n_threads=st.sampled_from([1, 2]),
    seed=st.integers(0, 3),
)
@settings(max_examples=40)
def test_zeros_at_the_end_of_a_row_are_not_read(lengths, dtype, n_threads, seed):
    """NaN in their place changes no answer, and the answers are those of all entries."""
    rng, n, d = np.random.default_rng(seed), len(lengths), 14
    beyond = np.arange(d) >= np.array(lengths)[:, None]
    X = np.where(beyond, 0.0, rng.standard_normal((n, d))).astype(dtype)
    A, holes = reference(X), X.copy()
    index = np.flatnonzero(rng.random(n) < 0.7)
    w, v, c = rng.standard_normal(d + 1), rng.standard_normal(n), rng.random(n)
    with pytest.MonkeyPatch.context() as patch, Workers(n_threads) as pool:
        patch.setattr(workers, "MIN_WORK_PER_THREAD", 10)
        design = DenseDesign(holes, BIAS, pool)
        np.testing.assert_array_equal(design._lengths, lengths)
        holes[beyond] = np.nan
        rows, out = design.rows(index), np.empty(d + 1)
        assert rows.work == np.sum(np.array(lengths)[index] + 1)
        part, step = A[index], v[index]
        wide = 1e-6 if dtype == np.float32 else 1e-12
        close = partial(np.testing.assert_allclose, rtol=wide, atol=wide)
        close(design.scores(w, rows, np.zeros(n))[index], part @ w)
        close(design.pull_back(v, rows, out), part.T @ step)
        close(design.curvature(w, c, rows, out), part.T @ (c[index] * (part @ w)))
        close(design.column_scales(c, rows, out), c[index] @ part**2)
        _, found = design.pull_back_found(v, rows, lambda some: (0, some[v[some] > 0.0]), out)
        np.testing.assert_array_equal(np.concatenate(found), index[step > 0.0])
        close(out, part[step > 0.0].T @ step[step > 0.0])


@pytest.mark.parametrize(
    ("X", "known"),
    [
        (np.ones((4, 6)), False),
        (np.eye(4, 6), True),
        (np.eye(4, 6)[:, ::-1], True),
        (np.column_stack([np.zeros((4, 5)), np.ones(4)]), False),
        (np.full((4, 6), np.nan), False),
        (np.zeros((4, 6)), True),
    ],
)
def test_lengths_are_kept_where_they_save_something(X, known):
    assert (DenseDesign(X, 1.0, Workers())._lengths is not None) == known


def test_half_of_an_exact_factor_is_read():
    X = np.random.default_rng(0).standard_normal((200, 5))
    _, features = fit_map(X, "rbf", gamma=1.0, tol=0.0)
    assert features.shape == (200, 200)
    design = make_design(features, 1.0, Workers())
    assert design.all_rows.work == 200 * 201 // 2 + 200


def test_rows_as_a_matrix_in_the_order_of_the_design(monkeypatch):
    monkeypatch.setattr(csr, "worth_renumbering", lambda *facts: True)
    X, _ = sparse_text(60, 5000)
    index, w = np.array([3, 7, 41]), np.random.default_rng(0).standard_normal(5000)
    for design in (CsrDesign(X, 0.0, Workers()), DenseDesign(X.toarray(), 0.0, Workers())):
        own = design.encode(w, 0.0)[:-1]
        assert np.array_equal(own, w) == isinstance(design, DenseDesign)
        np.testing.assert_allclose(design.matrix(index) @ own, X[index] @ w)
    with pytest.raises(TypeError, match="DenseDesign cannot return its rows"):
        Design.matrix(design, index)


@pytest.mark.parametrize("form", FORMS)
def test_inner_products_of_a_few_rows(form, renumber):
    """A design's own way and the one that any design has."""
    X, _ = sparse_text(60, 90)
    X = sparse.vstack([X[:7], sparse.csr_matrix((1, 90)), X[8:]], format="csr")
    X = FORMS[form](X)
    design = make_design(X, BIAS, Workers(), renumber=renumber)
    index = np.array([0, 7, 8, 31, 59])
    A = reference(X)[index]
    np.testing.assert_allclose(design.gram(design.rows(index)), A @ A.T, rtol=1e-6)
    np.testing.assert_allclose(Design.gram(design, design.rows(index)), A @ A.T, rtol=1e-6)
    others = np.array([40, 3, 3, 17])
    for products in (design.products, partial(Design.products, design)):
        found = products(design.rows(index), design.rows(others))
        np.testing.assert_allclose(found, A @ reference(X)[others].T, rtol=1e-6)


@pytest.mark.parametrize("form", ["csr64", "dense64"])
@pytest.mark.parametrize("n_threads", [1, 3])
def test_rows_read_are_counted(form, n_threads, monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 10)
    X, _ = sparse_text(60, 90)
    with Workers(n_threads) as pool:
        design = make_design(FORMS[form](X), BIAS, pool)
        few = design.rows(np.arange(5, 40))
        w, v, out = np.ones(91), np.ones(60), np.empty(91)
        W, V, into = np.ones((91, 4)), np.ones((60, 4)), np.empty((91, 4))
        products = {
            "scores": lambda: design.scores(w, few, np.empty(60)),
            "pull_back": lambda: design.pull_back(v, few, out),
            "found": lambda: design.pull_back_found(v, few, lambda i: (0, i[i % 2 == 0]), out),
            "curvature": lambda: design.curvature(w, v, few, out),
            "column_scales": lambda: design.column_scales(v, few, out),
            "scores_many": lambda: design.scores_many(W, few, np.empty((60, 4))),
            "pull_back_many": lambda: design.pull_back_many(V, few, into),
            "curvature_many": lambda: design.curvature_many(W, lambda *_: None, few, into),
            "few_scores": lambda: design.few_scores(W, few),
            "add_few": lambda: design.add_few(V[:35], few, into),
            "gram": lambda: design.gram(few),
            "matrix": lambda: design.matrix(few.index),
        }
        read = {}
        for name, product in products.items():
            before = design.rows_read
            product()
            read[name] = design.rows_read - before
        assert read.pop("found") == 17
        assert read.pop("gram") == 70
        assert read == dict.fromkeys(read, 35)
        assert design.passes() == design.rows_read / 60
