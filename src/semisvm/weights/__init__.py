"""Weight steps: convex solvers for given labels."""

from semisvm.weights.newton import State, minimize
from semisvm.weights.problems import BinaryProblem, Linearization, MultiProblem, Problem

__all__ = ["BinaryProblem", "Linearization", "MultiProblem", "Problem", "State", "minimize"]
