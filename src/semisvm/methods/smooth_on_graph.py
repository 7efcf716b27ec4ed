"""Labelled rows, with outputs of all rows that are smooth on a graph (Laplacian machines)."""

import numpy as np

from semisvm.methods.solution import Solution
from semisvm.methods.supervised import recording
from semisvm.solvers import State, minimize
from semisvm.tasks.graph import GraphProblem, GraphTerm
from semisvm.tasks.two_classes import TwoClassTask


def solve_on_graph(task: TwoClassTask, term: GraphTerm, *, tol: float, max_iter: int) -> Solution:
    """Solve for two classes; the block holds the outputs afterwards."""
    block = task.rows.single_shard()
    block.set_given_costs()
    problem = GraphProblem(block, task.reg, task.labeled_preconditioner, term)
    state = State(np.zeros(task.n_weights))
    minimize(problem, state, tol=tol, max_iter=max_iter, on_step=recording(task))
    task.recorder.level_done()
    block.take_scores(problem.scores[0])
    codes = task.rows.all.predictions()
    return Solution(state.w, state.objective, state.n_iter, state.converged, codes)
