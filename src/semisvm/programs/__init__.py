"""Linear, mixed-integer and quadratic programs as data, and solvers behind one interface.

The data of a program do not depend on a solver. An adapter translates them, calls its solver,
and translates the result: a solution, or an exception that says why there is none.
"""

from semisvm.programs.clarabel_adapter import solve_quadratic
from semisvm.programs.highs_adapter import LinearModel, solve_linear, solve_mixed_integer
from semisvm.programs.linear import (
    LinearProgram,
    LinearSolution,
    MixedIntegerProgram,
    MixedIntegerSolution,
)
from semisvm.programs.quadratic import Cone, QuadraticProgram, QuadraticSolution
from semisvm.programs.status import ProgramError, ProgramWarning, Status

__all__ = [
    "Cone",
    "LinearModel",
    "LinearProgram",
    "LinearSolution",
    "MixedIntegerProgram",
    "MixedIntegerSolution",
    "ProgramError",
    "ProgramWarning",
    "QuadraticProgram",
    "QuadraticSolution",
    "Status",
    "solve_linear",
    "solve_mixed_integer",
    "solve_quadratic",
]
