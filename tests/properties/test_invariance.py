"""What must not change the answer.

The supervised machine is convex: its properties hold for every problem, and are tried on
random ones. The semi-supervised ones may end in another local minimum when rounding tips
a switch, so they are held to the same answer on a fixed list of problems.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy import sparse

from problems import hide, sparse_text, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.designs import workers

MODEST = settings(
    max_examples=15,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
seeds = st.integers(0, 10_000)
SEMI = pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
SEEDS = pytest.mark.parametrize("seed", range(6))


def weights(model):
    return np.append(model.coef_[0], model.intercept_[0])


@MODEST
@given(seed=seeds, n=st.integers(6, 60), d=st.integers(1, 30), gap=st.floats(0.1, 4))
def test_duplicated_row_is_weight_two(seed, n, d, gap):
    X, y = two_blobs(n, max(d, 2), gap=gap, seed=seed)
    rng = np.random.default_rng(seed)
    repeats = rng.integers(1, 4, n)
    weighted = NewtonSVC(tol=1e-13).fit(X, y, sample_weight=repeats)
    repeated = NewtonSVC(tol=1e-13).fit(np.repeat(X, repeats, axis=0), np.repeat(y, repeats))
    np.testing.assert_allclose(weights(weighted), weights(repeated), atol=1e-6)


def check_order_of_rows(cls, seed):
    X, y = two_blobs(80, 4, gap=2.0, seed=seed)
    partly = hide(y, 10, seed)
    order = np.random.default_rng(seed).permutation(80)
    one = cls(tol=1e-12).fit(X, partly)
    two = cls(tol=1e-12).fit(X[order], partly[order])
    np.testing.assert_allclose(weights(two), weights(one), atol=1e-5)
    np.testing.assert_array_equal(two.transduction_, one.transduction_[order])


@MODEST
@given(seed=seeds)
def test_order_of_rows(seed):
    check_order_of_rows(NewtonSVC, seed)


@SEMI
@SEEDS
def test_order_of_rows_semi(cls, seed):
    check_order_of_rows(cls, seed)


def check_csr_equals_dense(cls, seed):
    X, y = sparse_text(60, 40, seed=seed)
    partly = hide(y, 12, seed)
    one = cls(tol=1e-12).fit(X, partly)
    two = cls(tol=1e-12).fit(X.toarray(), partly)
    np.testing.assert_allclose(weights(two), weights(one), atol=1e-5)


@MODEST
@given(seed=seeds)
def test_csr_equals_dense(seed):
    check_csr_equals_dense(NewtonSVC, seed)


@SEMI
@SEEDS
def test_csr_equals_dense_semi(cls, seed):
    check_csr_equals_dense(cls, seed)


def check_one_thread_equals_many(cls, seed, n_jobs, monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 50)
    X, y = sparse_text(100, 80, seed=seed)
    partly = hide(y, 20, seed)
    # so tight that the certificate itself bounds the distance of the weights
    one = cls(tol=1e-22).fit(X, partly)
    many = cls(tol=1e-22, n_jobs=n_jobs).fit(X, partly)
    assert many.objective_ == pytest.approx(one.objective_, rel=1e-10)
    np.testing.assert_allclose(weights(many), weights(one), atol=1e-10)
    again = cls(tol=1e-22, n_jobs=n_jobs).fit(X, partly)
    np.testing.assert_array_equal(weights(again), weights(many))


@MODEST
@given(seed=seeds, n_jobs=st.integers(2, 4))
def test_one_thread_equals_many(seed, n_jobs, monkeypatch):
    check_one_thread_equals_many(NewtonSVC, seed, n_jobs, monkeypatch)


@SEMI
@SEEDS
def test_one_thread_equals_many_semi(cls, seed, monkeypatch):
    check_one_thread_equals_many(cls, seed, 2, monkeypatch)


def check_swapping_the_classes_flips_the_sign(cls, seed):
    X, y = two_blobs(80, 4, gap=2.0, seed=seed)
    partly = hide(y, 10, seed)
    one = cls(tol=1e-12).fit(X, partly)
    two = cls(tol=1e-12).fit(X, np.where(partly == -1, -1, 1 - partly))
    np.testing.assert_allclose(weights(two), -weights(one), atol=1e-5)


@MODEST
@given(seed=seeds)
def test_swapping_the_classes_flips_the_sign(seed):
    check_swapping_the_classes_flips_the_sign(NewtonSVC, seed)


@SEMI
@SEEDS
def test_swapping_the_classes_flips_the_sign_semi(cls, seed):
    check_swapping_the_classes_flips_the_sign(cls, seed)


@MODEST
@given(
    seed=seeds,
    gap=st.floats(0.0, 3.0),
    share=st.floats(0.1, 0.9),
    switches=st.sampled_from([1, 3, None]),
)
def test_objective_falls_and_counts_hold_at_every_level(seed, gap, share, switches):
    X, y = two_blobs(50, 4, gap=gap, seed=seed)
    X = X.round(1)  # ties
    partly = hide(y, 6, seed)
    model = TransductiveSVC(class_prior=[1 - share, share], max_switches=switches).fit(X, partly)
    frame = model.trace_.to_frame().query("phase == 'switching'")
    for _, level in frame.groupby("level"):
        assert np.all(np.diff(level["objective"]) <= 1e-12)
        assert np.all(level["switched"].iloc[:-1] > 0)
        assert level["switched"].iloc[-1] == 0
    chosen = model.transduction_[partly == -1]
    assert abs(chosen.sum() - share * len(chosen)) <= 0.5 + 1e-9


@MODEST
@given(seed=seeds, copies=st.integers(2, 30))
def test_identical_unlabelled_rows_do_not_cycle(seed, copies):
    X, y = two_blobs(20, 3, seed=seed)
    X = np.vstack([X, np.zeros((copies, 3))])
    partly = np.concatenate([hide(y, 6, seed), np.full(copies, -1)])
    for cls in (TransductiveSVC, AnnealedSVC):
        model = cls().fit(sparse.csr_matrix(X), partly)
        assert np.isfinite(weights(model)).all()
