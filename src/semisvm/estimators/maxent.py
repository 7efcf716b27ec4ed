r"""What the maxent classifiers with class constraints share.

They model p_i(y) = exp(s_iy) / sum_z exp(s_iz), the softmax of the scores, and know how
many of the u unlabelled rows belong to every class: the mean of p_i(y) over them is held
at, or drawn to, n(y)/u.
"""

from typing import Any

import numpy as np

from semisvm.designs import Floats
from semisvm.estimators.base import LinearSemiSupervisedClassifier, Solution
from semisvm.estimators.multi_task import MultiTask
from semisvm.estimators.task import BinaryTask
from semisvm.multi_losses import MAXENT
from semisvm.weights import State


def probabilities(scores: Floats) -> Floats:
    """Give the softmax of scores (n, m)."""
    return np.exp(-MAXENT.costs(scores))


def share_residual(p: Floats, counts: Any) -> float:
    """Give the largest difference of mean probabilities (u, m) and wanted shares."""
    return float(np.abs(p.mean(axis=0) - counts / len(p)).max())


def first_state(task: MultiTask, start: Floats | None, tol: float) -> State:
    """Fit the labelled rows, or take the weights of an earlier fit, and score all rows."""
    if start is not None:
        task.recorder.note("warm start: from the weights of the last fit")
        state = State(start, np.empty(0))
        task.score_all(state)
        return state
    state = task.start(np.zeros(task.n_weights), tol)
    task.score_all(state)
    residual = share_residual(probabilities(state.scores[task.unlabeled]), task.counts)
    task.recorder.record("supervised", state, objective=state.objective, residual=residual)
    task.recorder.level_done()
    return state


class MaxentClassifier(LinearSemiSupervisedClassifier):
    """Base of the classifiers whose scores are logarithms of probabilities."""

    # not a parameter: the constraints are on the probabilities of this loss
    loss = MAXENT.name

    def _solve_binary(self, task: BinaryTask, start: Floats | None) -> Solution:
        raise AssertionError("maxent has one score a class, so two classes are a MultiTask too")

    def predict_proba(self, X: Any) -> Floats:
        """Give the probabilities of the model, the softmax of the scores.

        They are what the model was fitted with. Nothing calibrates them afterwards; few
        labels and little regularisation make them too sure.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        p : array of shape (n, m)
            In the order of ``classes_``; rows sum to one.
        """
        scores = self.decision_function(X)
        if scores.ndim == 1:
            scores = np.column_stack([np.zeros_like(scores), scores])
        return probabilities(scores)
