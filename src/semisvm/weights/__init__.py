"""Weight steps: convex solvers for given labels."""

from semisvm.weights.newton import NewtonResult, Problem, minimize

__all__ = ["NewtonResult", "Problem", "minimize"]
