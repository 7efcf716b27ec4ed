r"""The curvature of the free energy: a weight step whose soft labels answer to the weights.

At a temperature T the beliefs p, q = 1 - p of annealing minimise, under a fixed mean of p, ::

    lam/(2u) sum_j [ p_j l(o_j) + q_j l(-o_j) ] + T/(2u) sum_j [ p_j log p_j + q_j log q_j ]

What is left is the free energy, a function of the weights alone. Its gradient is that of the
weight step for the beliefs as they are. Its curvature is smaller: as a score moves, so does
the belief, and the price nu that keeps their mean. With g_j' the derivative of
lam (l(o_j) - l(-o_j)) by o_j and r_j = p_j q_j g_j', ::

    dp_j = p_j q_j (dnu - g_j' do_j) / T,        dnu = sum_j r_j do_j / sum_j p_j q_j

so that the curvature by the scores is that of the weight step, plus ::

    1/(2uT) [ r r^T / sum_j p_j q_j  -  diag(r_j g_j') ]

It need not be positive: where labels are about to decide, the free energy curves down.
"""

from dataclasses import replace
from functools import cache, partial

import numba
import numpy as np

from semisvm.designs import Floats, Index
from semisvm.designs.workers import ROW_WORK
from semisvm.vectors import add, dot
from semisvm.weights.conjugate_gradients import Operator
from semisvm.weights.problems import BinaryProblem, Linearization

# Rows that are decided up to this do not answer.
DECIDED = 1e-12


@numba.njit(nogil=True, cache=True)
def _soften(a, b, scale, softness, rows, gap_slopes, curvature, answering, start, stop):
    """Lower the curvatures, turn slopes of the gaps into r, and list the rows that answer.

    Return the sum of p q, and the end of the list, which begins at ``start``.
    """
    total = 0.0
    end = start
    for k in range(start, stop):
        i = rows[k]
        pq = (scale * a[i]) * (scale * b[i])
        r = pq * gap_slopes[i]
        curvature[i] -= softness * r * gap_slopes[i]
        gap_slopes[i] = r
        total += pq
        answering[end] = i
        end += pq > DECIDED
    return total, end


def linearize_softly(
    problem: BinaryProblem,
    w: Floats,
    scores: Floats,
    *,
    unlabeled: Index,
    lam: float,
    temperature: float,
) -> Linearization:
    """Give the gradient and the curvature of the free energy.

    Parameters
    ----------
    problem : BinaryProblem
        The weight step for the beliefs at the scores; costs of an unlabelled row are its
        beliefs times lam / u.
    w, scores : arrays
        Weights and their scores.
    unlabeled : array of row indices, ascending
    lam, temperature : float

    The value is that of the weight step, without the entropy. Where the loss does not tell
    how the gap between the labels changes, so is the curvature.
    """
    design, loss, u = problem.design, problem.loss, len(unlabeled)
    slope, curvature = np.empty(len(scores)), np.empty(len(scores))
    here = problem.linearize_into(slope, curvature, w, scores)
    slopes_of_gaps = loss.gap_slopes
    if slopes_of_gaps is None:
        return here

    @cache
    def answer() -> tuple[float, Floats]:
        """Soften the curvatures; give the factor and the vector of what the price adds."""
        # the slopes have done their work
        answers, answering = slope, np.empty_like(unlabeled)
        softness = 0.5 / (u * temperature)
        share = partial(design.workers.share, k=u, work_each=ROW_WORK)
        share(partial(slopes_of_gaps, scores, unlabeled, lam, answers))
        costs = (problem.positive, problem.negative, u / lam)
        soften = partial(_soften, *costs, softness, unlabeled, answers, curvature, answering)
        total, n_answering = 0.0, 0
        for start, part, end in share(lambda start, stop: (start, *soften(start, stop))):
            # close the gap to the list of the block before, without another list
            answering[n_answering : n_answering + end - start] = answering[start:end]
            total, n_answering = total + part, n_answering + end - start
        together = np.zeros(problem.n_weights)
        if n_answering:
            design.pull_back(answers, design.rows(answering[:n_answering]), together)
        return (softness / total if n_answering else 0.0), together

    def product(p: Floats, out: Floats) -> Floats:
        factor, together = answer()
        here.product(p, out)
        add(out, factor * dot(together, p), together)
        return out

    def scales() -> Floats:
        answer()
        out = np.empty(problem.n_weights)
        return design.column_scales(np.abs(curvature), problem.rows, out)

    def inverse() -> Operator | None:
        # the first to be asked for: before a solver takes memory of its own
        answer()
        return here.inverse()

    return replace(here, product=product, scales=scales, inverse=inverse)
