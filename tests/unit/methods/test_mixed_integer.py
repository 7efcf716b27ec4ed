"""The mixed-integer S3VM: the optimum over all labels, its bounds, and its limits."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from problems import hide, two_blobs
from semisvm import ConcaveSVC, MixedIntegerSVC
from semisvm.solvers import ProgramWarning
from semisvm.solvers.hinge_programs import Balance, HingeProgram, LabelProgram, undecided


def tiny(seed, n_labels=4, n_free=6, d=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n_labels + n_free) % 2
    X = rng.standard_normal((len(y), d)) + 0.6 * (2 * y[:, None] - 1)
    return X, y, np.where(np.arange(len(y)) < n_labels, y, -1)


def best_over_all_labels(X, partly, mu, nu, balance=None):
    """Try all labels of the unlabelled rows."""
    free = partly == -1
    rows = np.vstack([X[~free], X[free], X[free]])
    u = int(free.sum())
    signs = np.concatenate([2.0 * partly[~free] - 1, np.ones(u), -np.ones(u)])
    program = HingeProgram(rows, signs, mu, balance)
    known = np.ones(len(X) - u)
    tries = (np.array(z) for z in product([0.0, 1.0], repeat=u))
    return min(program.solve(np.concatenate([known, nu * z, nu * (1 - z)])).value for z in tries)


@settings(max_examples=15)
@given(
    st.integers(0, 10_000),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from([0.1, 0.5, 2.0]),
    st.booleans(),
)
def test_optimal_over_all_labels(seed, mu, nu, balanced):
    X, _, partly = tiny(seed)
    mean = X[partly == -1].mean(axis=0)
    balance = Balance(mean, 0.0) if balanced else None
    model = MixedIntegerSVC(mu, nu, class_prior=[0.5, 0.5] if balanced else None, mip_gap=1e-7)
    # six rows may well be on one side, which is noted
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        model.fit(X, partly)
    best = best_over_all_labels(X, partly, mu, nu, balance)
    assert model.objective_ == pytest.approx(best, rel=1e-5)
    assert model.optimality_gap_ <= 1e-6
    if balanced:
        assert model.decision_function(X)[partly == -1].mean() == pytest.approx(0.0, abs=1e-8)


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.booleans())
def test_bounds_hold_for_all_models_that_are_as_good(seed, balanced):
    X, _, partly = tiny(seed, n_labels=6, n_free=12, d=3)
    free, rng = partly == -1, np.random.default_rng(seed)
    balance = Balance(X[free].mean(axis=0), 0.1) if balanced else None
    program = LabelProgram(X[~free], 2.0 * partly[~free] - 1, X[free], 0.5, 0.2, balance)
    start = HingeProgram(X[~free], program.signs, 0.5, balance).solve(np.ones(6)).w
    relaxed = program.program(np.full(12, -1e3), np.full(12, 1e3)).relaxed
    objective = float(relaxed.c @ program.point(start))
    first = program.first_bounds(objective)
    closer = program.tightened(*first, objective, np.inf)
    assert np.all(closer[0] >= first[0])
    assert np.all(closer[1] <= first[1])
    for _ in range(200):
        w = start + rng.choice([0.03, 0.3]) * rng.standard_normal(4)
        if balance is not None:
            w[-1] = balance.level - balance.mean @ w[:-1]
        x = program.point(w)
        if relaxed.c @ x > objective:
            continue
        outputs = X[free] @ w[:-1] + w[-1]
        assert np.all((closer[0] <= outputs) & (outputs <= closer[1]))
        tight = program.program(*closer).relaxed
        rows = tight.A @ x
        assert np.all((rows >= tight.row_lower - 1e-9) & (rows <= tight.row_upper + 1e-9))
        assert np.all((x >= tight.lower) & (x <= tight.upper))


def test_tightening_decides_labels():
    X, y = two_blobs(60, 4, gap=4.0)
    partly = hide(y, 10)
    model = MixedIntegerSVC().fit(X, partly)
    row = model.trace_[-1]
    assert row["phase"] == "search"
    assert row["in_doubt"] < 25
    lo, hi = np.array([-1.0, 0.5, -2.0]), np.array([1.0, 2.0, -0.1])
    assert undecided(lo, hi).tolist() == [True, False, False]


def test_never_worse_than_its_start_and_sparse_is_dense():
    X, y = two_blobs(50, 5, gap=1.5, seed=3)
    partly = hide(y, 12)
    start = ConcaveSVC(nu=0.3).fit(X, partly)
    best = MixedIntegerSVC(nu=0.3).fit(X, partly)
    assert best.objective_ <= start.objective_
    assert start.objective_ > best.objective_ * 1.001, "the local optimum is not the global one"
    again = MixedIntegerSVC(nu=0.3, n_jobs=2).fit(sparse.csr_matrix(X), partly)
    assert again.objective_ == pytest.approx(best.objective_, rel=2e-4)
    assert best.n_nonzero_[0] == np.count_nonzero(best.coef_)


def test_the_time_limit_keeps_the_start_with_a_note():
    X, y = two_blobs(150, 10, gap=0.5)
    partly = hide(y, 14)
    with pytest.warns(ProgramWarning, match=r"136 of them whole.*Raise time_limit"):
        model = MixedIntegerSVC(nu=1.0, time_limit=1e-3).fit(X, partly)
    assert model.optimality_gap_ > 0.01
    assert model.objective_ <= ConcaveSVC(nu=1.0).fit(X, partly).objective_


def test_a_callback_stops_it_before_the_search():
    X, y = two_blobs(50, 5, gap=1.5, seed=3)
    model = MixedIntegerSVC(max_iter=1, callback=lambda row: True).fit(X, hide(y, 12))
    assert model.trace_["phase"].tolist() == ["concave"]
    assert model.optimality_gap_ == 1.0, "nothing is known of the optimum"


def test_without_unlabelled_rows_there_is_nothing_to_search():
    X, y = two_blobs(30, 3)
    model = MixedIntegerSVC().fit(X, y)
    assert model.optimality_gap_ == 0.0
    assert model.n_iter_ == 1


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"time_limit": 0.0}, "time_limit must be a finite number > 0"),
        ({"mip_gap": -1.0}, "mip_gap must be a finite number >= 0"),
        ({"mu": 0.0}, "mu must be"),
        ({"nu": 0.0}, "nu must be"),
    ],
)
def test_parameters_that_make_no_sense(parameters, message):
    X, y = two_blobs(20, 3)
    with pytest.raises(ValueError, match=message):
        MixedIntegerSVC(**parameters).fit(X, hide(y, 6))


def test_scale_of_the_rows_does_not_stop_the_search():
    # the objective falls with the scale, far below the tolerances of the solver
    X, _, partly = tiny(3)
    small, large = (MixedIntegerSVC().fit(X * scale, partly) for scale in (1e3, 1e9))
    np.testing.assert_array_equal(large.transduction_, small.transduction_)
    np.testing.assert_allclose(1e6 * large.coef_, small.coef_, rtol=1e-5)
    assert large.optimality_gap_ < 1e-3
