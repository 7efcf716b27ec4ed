"""Weight steps: convex solvers for given labels."""

from semisvm.solvers.newton import State, minimize
from semisvm.solvers.problems import Linearization, Problem

__all__ = ["Linearization", "Problem", "State", "minimize"]
