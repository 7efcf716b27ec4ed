import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from papers.quadratic_programs import Cone, QuadraticProgram, solve_quadratic
from scipy import sparse
from scipy.optimize import minimize

from semisvm.solvers import ProgramError, Status


def some_program(rng, n=6, k=2, m=4):
    """A feasible program with every kind of constraint."""
    root = rng.standard_normal((n, n))
    inside = rng.uniform(-0.5, 0.5, n)
    A, G = rng.standard_normal((k, n)), rng.standard_normal((m, n))
    return QuadraticProgram(
        root @ root.T,
        rng.standard_normal(n),
        A=A,
        b=A @ inside,
        G=sparse.csr_matrix(G),
        h=G @ inside + rng.random(m),
        lower=np.where(np.arange(n) % 2, -1.0, -np.inf),
        upper=np.where(np.arange(n) % 3, 1.0, np.inf),
    )


@settings(max_examples=30)
@given(st.integers(0, 2**32 - 1))
def test_first_order_conditions(seed):
    p = some_program(np.random.default_rng(seed))
    found = solve_quadratic(p)
    x, z, v = found.x, found.inequality_duals, found.bound_duals
    assert found.status is Status.OPTIMAL
    np.testing.assert_allclose(p.A @ x, p.b, atol=1e-6)
    slack, below, above = p.h - p.G @ x, x - p.lower, p.upper - x
    assert min(slack.min(), below.min(), above.min(), z.min()) > -1e-6
    slope = p.P @ x + p.q + p.A.T @ found.equality_duals + p.G.T @ z + v
    np.testing.assert_allclose(slope, 0.0, atol=1e-5)
    np.testing.assert_allclose(z * slack, 0.0, atol=1e-5)
    free = np.minimum(below, above) > 1e-3
    np.testing.assert_allclose(v[free], 0.0, atol=1e-4)
    assert found.objective == p.objective(x)


def test_same_as_another_solver():
    p = some_program(np.random.default_rng(3), n=5, k=1, m=3)
    G, A = p.G.toarray(), p.A.toarray()
    peer = minimize(
        p.objective,
        np.zeros(5),
        bounds=list(zip(p.lower, p.upper, strict=True)),
        constraints=[
            {"type": "eq", "fun": lambda x: A @ x - p.b},
            {"type": "ineq", "fun": lambda x: p.h - G @ x},
        ],
        method="SLSQP",
        options={"ftol": 1e-12, "maxiter": 500},
    )
    found = solve_quadratic(p, tol=1e-10)
    np.testing.assert_allclose(found.x, peer.x, atol=1e-5)


def test_known_answer_without_constraints_and_with_one_bound_for_all():
    P, q = np.diag([2.0, 4.0]), np.array([-2.0, 8.0])
    np.testing.assert_allclose(solve_quadratic(QuadraticProgram(P, q)).x, [1.0, -2.0], atol=1e-6)
    found = solve_quadratic(QuadraticProgram(P, q, lower=-1.0, upper=0.5))
    np.testing.assert_allclose(found.x, [0.5, -1.0], atol=1e-6)
    np.testing.assert_allclose(found.bound_duals, [1.0, -4.0], atol=1e-5)


@pytest.mark.parametrize(
    ("parts", "status"),
    [
        ({"G": [[1.0, 0.0], [-1.0, 0.0]], "h": [0.0, -1.0]}, Status.INFEASIBLE),
        ({}, Status.UNBOUNDED),
    ],
)
def test_no_solution_is_an_error(parts, status):
    program = QuadraticProgram(np.zeros((2, 2)), [1.0, 1.0], **parts)
    with pytest.raises(ProgramError, match=f"2 variables.*'{status}'") as error:
        solve_quadratic(program)
    assert error.value.status is status


def test_limits_pass_through():
    program = some_program(np.random.default_rng(0))
    with pytest.raises(ProgramError, match="within the iteration limit"):
        solve_quadratic(program, max_iter=1)
    with pytest.raises(ProgramError, match="raise the time limit"):
        solve_quadratic(program, time_limit=0.0)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"P": np.zeros((2, 3))}, "P must have one column per variable, 2, but has 3"),
        ({"P": np.zeros((1, 2))}, "P must have 2 rows"),
        ({"P": [[1.0, 1.0], [0.0, 1.0]]}, "symmetric"),
        ({"G": np.zeros((3, 2)), "h": [1.0]}, r"h must have shape \(3,\)"),
        ({"A": np.zeros((3, 2))}, r"b must have shape \(3,\), got \(0,\)"),
        ({"q": [np.nan, 0.0]}, "q holds NaN"),
        ({"G": [[np.inf, 0.0]], "h": [1.0]}, "G holds NaN or infinity"),
        ({"lower": [0.0, 2.0], "upper": 1.0}, "variable 1 are 2.0 and 1.0"),
    ],
)
def test_parts_that_do_not_fit(parts, message):
    with pytest.raises(ValueError, match=message):
        QuadraticProgram(**{"P": np.eye(2), "q": np.zeros(2), **parts})


def test_projection_on_a_ball():
    point = np.array([3.0, -4.0, 12.0])
    ball = Cone(np.eye(3), d=2.0)
    found = solve_quadratic(QuadraticProgram(np.eye(3), -point, cones=[ball]))
    np.testing.assert_allclose(found.x, 2.0 * point / 13.0, atol=1e-6)
    assert abs(ball.slack(found.x)) < 1e-6


@settings(max_examples=20)
@given(st.integers(0, 2**32 - 1))
def test_first_order_conditions_with_cones(seed):
    rng = np.random.default_rng(seed)
    p = some_program(rng)
    inside = np.linalg.lstsq(p.A.toarray(), p.b, rcond=None)[0]
    cones = []
    for k in (1, 3):
        F, f, c = rng.standard_normal((k, 6)), rng.standard_normal(k), rng.standard_normal(6)
        d = float(np.linalg.norm(F @ inside + f) - c @ inside + rng.random())
        cones.append(Cone(F, f, c, d))
    p = QuadraticProgram(p.P, p.q, p.A, p.b, cones=cones)
    found = solve_quadratic(p)
    slope = p.P @ found.x + p.q + p.A.T @ found.equality_duals
    for cone, z in zip(p.cones, found.cone_duals, strict=True):
        assert cone.slack(found.x) > -1e-6
        assert z[0] >= np.linalg.norm(z[1:]) - 1e-6
        slope = slope - z[0] * cone.c - cone.F.T @ z[1:]
        value = np.concatenate([[cone.c @ found.x + cone.d], cone.F @ found.x + cone.f])
        assert abs(value @ z) < 1e-4 * (1.0 + abs(z).max() * abs(value).max())
    np.testing.assert_allclose(slope, 0.0, atol=1e-4)


def test_a_cone_that_nothing_meets():
    cones = [Cone(np.eye(2), d=-1.0)]
    with pytest.raises(ProgramError) as caught:
        solve_quadratic(QuadraticProgram(np.eye(2), np.ones(2), cones=cones))
    assert caught.value.status is Status.INFEASIBLE


def test_a_cone_of_another_size_is_refused():
    with pytest.raises(ValueError, match="F of cone 0 must have 2 columns"):
        QuadraticProgram(np.eye(2), np.ones(2), cones=[Cone(np.eye(3))])
