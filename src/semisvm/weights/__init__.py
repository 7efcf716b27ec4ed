"""Weight steps: convex solvers for given labels."""

from semisvm.weights.newton import Problem, State, minimize

__all__ = ["Problem", "State", "minimize"]
