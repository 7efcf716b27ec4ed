import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import LinearConstraint, linprog, milp

from semisvm.solvers import (
    LinearModel,
    LinearProgram,
    MixedIntegerProgram,
    ProgramError,
    ProgramWarning,
    Status,
    solve_linear,
    solve_mixed_integer,
)


def some_program(rng, n=8, m=5):
    """A feasible and bounded program with ranges, an equation and open rows."""
    A, inside = rng.standard_normal((m, n)), rng.uniform(-1.0, 1.0, n)
    low, high = A @ inside - rng.random(m), A @ inside + rng.random(m)
    low[0] = high[0] = A[0] @ inside
    high[1] = np.inf
    return LinearProgram(
        rng.standard_normal(n), sparse.csr_matrix(A), low, high, lower=-2.0, upper=2.0
    )


def by_scipy(p):
    """Solve with scipy, whose rows have one side."""
    A, low, high = p.A.toarray(), np.isfinite(p.row_lower), np.isfinite(p.row_upper)
    rows, right = np.vstack([-A[low], A[high]]), np.append(-p.row_lower[low], p.row_upper[high])
    found = linprog(p.c, rows, right, bounds=np.column_stack([p.lower, p.upper]))
    assert found.status == 0
    return found.fun


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_optimal_with_a_certificate(seed):
    p = some_program(np.random.default_rng(seed))
    found = solve_linear(p)
    assert found.objective == pytest.approx(by_scipy(p), abs=1e-6)
    np.testing.assert_allclose(p.A.T @ found.row_duals + found.reduced_costs, p.c, atol=1e-7)
    rows = p.A @ found.x
    assert (rows - p.row_lower).min() > -1e-6
    assert (p.row_upper - rows).min() > -1e-6
    y, d = found.row_duals, found.reduced_costs
    assert np.all(np.abs(rows - p.row_lower)[y > 1e-7] < 1e-6)
    assert np.all(np.abs(rows - p.row_upper)[y < -1e-7] < 1e-6)
    assert np.all(np.abs(found.x + 2.0)[d > 1e-7] < 1e-6)
    assert np.all(np.abs(found.x - 2.0)[d < -1e-7] < 1e-6)


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_a_changed_model_has_the_solution_of_a_new_one(seed):
    rng = np.random.default_rng(seed)
    p = some_program(rng)
    model = LinearModel(p)
    model.solve()
    c = rng.standard_normal(p.n_variables)
    model.change_costs(c)
    changed = LinearProgram(c, p.A, p.row_lower, p.row_upper, p.lower, p.upper)
    assert model.solve().objective == pytest.approx(solve_linear(changed).objective, abs=1e-7)
    wider = np.full(p.n_variables, 3.0)
    model.change_bounds(-wider, wider)
    changed = LinearProgram(c, p.A, p.row_lower, p.row_upper, -wider, wider)
    assert model.solve().objective == pytest.approx(solve_linear(changed).objective, abs=1e-7)


def test_resolving_is_warm():
    p = some_program(np.random.default_rng(0), n=60, m=40)
    model = LinearModel(p)
    cold = model.solve().pivots
    assert cold > 20
    assert model.solve().pivots == 0
    model.change_bounds(p.lower, p.upper + 1e-3)
    assert model.solve().pivots < cold / 4


@pytest.mark.parametrize(
    ("lower", "row_lower", "status"), [(0.0, 1.0, "infeasible"), (None, -1.0, "unbounded")]
)
def test_no_solution_is_an_error(lower, row_lower, status):
    program = LinearProgram([-1.0, -1.0], [[-1.0, -1.0]], row_lower=row_lower, lower=lower)
    if status == "unbounded":
        program = LinearProgram([-1.0, -1.0], [[1.0, -1.0]], row_lower=row_lower, lower=lower)
    with pytest.raises(ProgramError, match=f"2 variables and 1 rows.*'{status}'") as error:
        solve_linear(program)
    assert error.value.status == status


def test_time_limit_of_a_linear_program():
    program = some_program(np.random.default_rng(0), n=400, m=300)
    with pytest.raises(ProgramError, match="raise the time limit") as error:
        solve_linear(program, time_limit=0.0)
    assert error.value.status is Status.TIME_LIMIT
    # the clock begins anew with every solution
    model = LinearModel(program, time_limit=60.0)
    assert model.solve().objective == pytest.approx(model.solve().objective)


def knapsack(n, seed=0):
    """Two equal constraints and values close to the weights: bound and optimum lie apart."""
    rng = np.random.default_rng(seed)
    weights = rng.integers(50, 100, (4, n)).astype(float)
    values = weights.mean(axis=0) + rng.random(n)
    relaxed = LinearProgram(-values, weights, row_upper=weights.sum(axis=1) / 3, lower=0.0, upper=1)
    return MixedIntegerProgram(relaxed, np.ones(n, dtype=bool))


def test_mixed_integer_same_as_another_solver():
    program = knapsack(12)
    found = solve_mixed_integer(program)
    relaxed = program.relaxed
    rows = LinearConstraint(relaxed.A.toarray(), -np.inf, relaxed.row_upper)
    peer = milp(relaxed.c, constraints=rows, integrality=np.ones(12), bounds=(0, 1))
    assert found.objective == pytest.approx(peer.fun)
    assert found.status is Status.OPTIMAL
    assert found.gap <= 1e-6
    assert found.bound <= found.objective + 1e-9
    np.testing.assert_allclose(found.x, np.round(found.x), atol=1e-6)
    brute = min(
        relaxed.c @ x
        for x in (np.array([k >> j & 1 for j in range(12)]) for k in range(2**12))
        if np.all(relaxed.A @ x <= relaxed.row_upper)
    )
    assert found.objective == pytest.approx(brute)


def test_mixed_integer_time_limit_keeps_the_best_point():
    program = knapsack(60)
    start = np.zeros(60)
    start[:15] = 1.0
    with pytest.warns(ProgramWarning, match=r"60 of them whole.*above the optimum"):
        found = solve_mixed_integer(program, start=start, time_limit=0.0)
    assert found.status is Status.TIME_LIMIT
    assert found.gap > 0.0
    assert found.objective <= program.relaxed.c @ start + 1e-9
    loose = solve_mixed_integer(program, mip_gap=0.2)
    assert loose.gap <= 0.2


def test_numbers_of_threads_may_change():
    program, model = knapsack(12), LinearModel(some_program(np.random.default_rng(0)))
    values = [solve_mixed_integer(program, threads=k).objective for k in (1, 2, 1)]
    assert values == pytest.approx([values[0]] * 3)
    assert model.solve().objective == pytest.approx(model.solve().objective)


def test_mixed_integer_without_a_point():
    half = LinearProgram([1.0], [[1.0]], 0.4, 0.6, 0.0, 1.0)
    with pytest.raises(ProgramError, match=r"1 of them whole.*'infeasible'"):
        solve_mixed_integer(MixedIntegerProgram(half, np.array([True])))
    with pytest.raises(ValueError, match="bool for each of the 1 variables"):
        MixedIntegerProgram(half, np.array([1]))


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"A": np.zeros((1, 3))}, "A must have one column per variable, 2, but has 3"),
        ({"c": [np.nan, 0.0]}, "c holds NaN"),
        ({"row_lower": [1.0], "row_upper": [0.0]}, "row 0 are 1.0 and 0.0"),
        ({"lower": np.nan}, "neither may be NaN"),
    ],
)
def test_parts_that_do_not_fit(parts, message):
    with pytest.raises(ValueError, match=message):
        LinearProgram(**{"c": np.zeros(2), "A": np.zeros((1, 2)), **parts})


def test_importing_loads_no_solver():
    code = "import sys, semisvm.solvers; print('highspy' in sys.modules)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "False"
