"""Weight steps: convex solvers for given labels."""

from semisvm.weights.newton import State, minimize
from semisvm.weights.problems import BinaryProblem, Linearization, Problem

__all__ = ["BinaryProblem", "Linearization", "Problem", "State", "minimize"]
