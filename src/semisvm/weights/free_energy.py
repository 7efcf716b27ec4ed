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
from functools import partial

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs import Design, Floats, Index
from semisvm.designs.workers import ROW_WORK
from semisvm.losses import Loss
from semisvm.vectors import add, dot
from semisvm.weights.problems import MAX_CHANGED, BinaryProblem, Linearization

# Rows that are decided up to this do not answer.
DECIDED = 1e-12
# Such a step is taken if it lowers the objective by this share of what its slope promises: how
# labels answer is known for small steps only.
LEAST_GAIN = 1e-4


@compiled
def _soften(pq, softness, rows, gap_slopes, curvature, answering, start, stop):
    """Lower the curvatures, turn slopes of the gaps into r, and list the rows that answer.

    Return the end of the list, which begins at ``start``.
    """
    end = start
    for k in range(start, stop):
        i = rows[k]
        r = pq[k] * gap_slopes[i]
        curvature[i] -= softness * r * gap_slopes[i]
        gap_slopes[i] = r
        answering[end] = i
        end += pq[k] > DECIDED
    return end


@compiled
def _change(before, after, rows, scale, gap_slopes, changed, start, stop):
    """Turn slopes of the gaps into changes of the slopes, and list the rows that have one."""
    end = start
    for k in range(start, stop):
        more = after[k] - before[k]
        gap_slopes[rows[k]] *= scale * more
        changed[end] = rows[k]
        end += abs(more) > DECIDED
    return end


def change_beliefs(
    gradient: Floats,
    before: Floats,
    after: Floats,
    *,
    design: Design,
    loss: Loss,
    scores: Floats,
    unlabeled: Index,
    lam: float,
) -> bool:
    """Let a gradient follow from beliefs to others, by the rows that have changed them.

    Parameters
    ----------
    gradient : array of shape (n_weights,)
        Is changed.
    before, after : arrays of shape (u,)
        Beliefs in the positive label.
    design, loss, scores, unlabeled, lam
        The scores are the same before and after.

    Returns
    -------
    followed : bool
        False if so many have changed that it is better computed afresh.
    """
    if loss.gap_slopes is None:
        return False
    slopes, changed, u = np.empty(len(scores)), np.empty_like(unlabeled), len(unlabeled)
    share = partial(design.workers.share, k=u, work_each=ROW_WORK)
    share(partial(loss.gap_slopes, scores, unlabeled, lam, slopes))
    change = partial(_change, before, after, unlabeled, 0.5 / u, slopes, changed)
    rows = design.rows(_joined(changed, share(lambda a, b: (a, change(a, b)))))
    if rows.work > MAX_CHANGED * design.all_rows.work:
        return False
    if len(rows):
        gradient += design.pull_back(slopes, rows, np.empty(len(gradient)))
    return True


def _joined(listed: Index, parts: list[tuple[int, int]]) -> Index:
    """Close the gaps between parts (start, end) of a list, in place."""
    n = 0
    for start, end in parts:
        listed[n : n + end - start] = listed[start:end]
        n += end - start
    return listed[:n]


def soften(
    here: Linearization,
    curvature: Floats,
    pq: Floats,
    *,
    problem: BinaryProblem,
    scores: Floats,
    unlabeled: Index,
    lam: float,
    temperature: float,
) -> Linearization:
    """Let labels answer: turn the curvature of a weight step into that of the free energy.

    Parameters
    ----------
    here : Linearization
        Of the problem at the scores.
    curvature : array of shape (n_rows,)
        What its product reads; is changed.
    pq : array of shape (u,)
        Beliefs p q of the unlabelled rows at the temperature.
    problem : BinaryProblem
    scores : array of shape (n_rows,)
    unlabeled : array of row indices, ascending
    lam, temperature : float

    Nothing changes where all labels are decided, or the loss does not tell how the gap
    between them changes with a score.
    """
    design, slopes_of_gaps, u = problem.design, problem.loss.gap_slopes, len(unlabeled)
    total = float(pq.sum())
    if slopes_of_gaps is None or not total > DECIDED:
        return here
    softness = 0.5 / (u * temperature)
    answers, answering = np.empty(len(scores)), np.empty_like(unlabeled)
    share = partial(design.workers.share, k=u, work_each=ROW_WORK)
    share(partial(slopes_of_gaps, scores, unlabeled, lam, answers))
    part = partial(_soften, pq, softness, unlabeled, answers, curvature, answering)
    rows = design.rows(_joined(answering, share(lambda a, b: (a, part(a, b)))))
    together = design.pull_back(answers, rows, np.empty(problem.n_weights))

    def product(p: Floats, out: Floats) -> Floats:
        here.product(p, out)
        add(out, softness / total * dot(together, p), together)
        return out

    def scales() -> Floats:
        out = np.empty(problem.n_weights)
        return design.column_scales(np.abs(curvature), problem.rows, out)

    return replace(here, product=product, scales=scales)
