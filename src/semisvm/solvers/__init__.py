"""Convex solvers for given labels, mathematical programs, and the trace of a fit."""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.solvers.clarabel_adapter import solve_quadratic
    from semisvm.solvers.highs import LinearModel, solve_linear, solve_mixed_integer
    from semisvm.solvers.newton import State, minimize
    from semisvm.solvers.problems import Linearization, Problem
    from semisvm.solvers.programs import (
        Cone,
        LinearProgram,
        LinearSolution,
        MixedIntegerProgram,
        MixedIntegerSolution,
        ProgramError,
        ProgramWarning,
        QuadraticProgram,
        QuadraticSolution,
        Status,
    )

_HOMES = {
    "Cone": "semisvm.solvers.programs",
    "LinearModel": "semisvm.solvers.highs",
    "LinearProgram": "semisvm.solvers.programs",
    "LinearSolution": "semisvm.solvers.programs",
    "Linearization": "semisvm.solvers.problems",
    "MixedIntegerProgram": "semisvm.solvers.programs",
    "MixedIntegerSolution": "semisvm.solvers.programs",
    "Problem": "semisvm.solvers.problems",
    "ProgramError": "semisvm.solvers.programs",
    "ProgramWarning": "semisvm.solvers.programs",
    "QuadraticProgram": "semisvm.solvers.programs",
    "QuadraticSolution": "semisvm.solvers.programs",
    "State": "semisvm.solvers.newton",
    "Status": "semisvm.solvers.programs",
    "minimize": "semisvm.solvers.newton",
    "solve_linear": "semisvm.solvers.highs",
    "solve_mixed_integer": "semisvm.solvers.highs",
    "solve_quadratic": "semisvm.solvers.clarabel_adapter",
}

__all__ = [
    "Cone",
    "LinearModel",
    "LinearProgram",
    "LinearSolution",
    "Linearization",
    "MixedIntegerProgram",
    "MixedIntegerSolution",
    "Problem",
    "ProgramError",
    "ProgramWarning",
    "QuadraticProgram",
    "QuadraticSolution",
    "State",
    "Status",
    "minimize",
    "solve_linear",
    "solve_mixed_integer",
    "solve_quadratic",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
