r"""Losses of rows with one score a class; they never see the data matrix.

A row with scores s_1..s_m carries a cost B_y for each class it may belong to: for a hard
label one of them is set, for soft labels several. It contributes sum_y B_y xi(s, y).

- one-vs-rest squared hinge: xi(s, y) = 1/2 [ l(s_y) + sum_{z != y} l(-s_z) ],
  l(z) = max(0, 1 - z)^2, or (1 - z)^2 for one-vs-rest least squares;
- maxent: xi(s, y) = log sum_z exp(s_z) - s_y;
- the margin of Crammer and Singer: xi(s, y) = max_z [ (z != y) + s_z ] - s_y.

The functions of the smooth ones are those of `losses.Loss`, for rows of scores; the margin
has a solver of its own, `weights.crammer_singer`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from semisvm.compiling import compiled
from semisvm.designs.base import Floats, Index


@dataclass(frozen=True)
class MultiLoss:
    """A loss as a function of score rows.

    Attributes
    ----------
    name : str
        What users write as ``loss=``.
    costs : scores -> array of shape (n, m)
        xi(s_i, y) for every row and class: the costs of the label steps.
    scale : float
        Share of the margin loss that xi is, where it is one.
    """

    name: str
    costs: Callable[[Floats], Floats]
    scale: float = 1.0


@dataclass(frozen=True, kw_only=True)
class SmoothMultiLoss(MultiLoss):
    """A loss with the derivatives that the Newton solver asks for.

    Attributes
    ----------
    evaluate : (S, B, rows, slope) -> total
        Fill the slopes of the listed rows with respect to their scores.
    apply : (S, B, rows, start, stop, Q) -> None
        Multiply Q[k - start] by the second derivatives of row rows[k].
    along : (S, D, B, rows, t) -> (first, second)
        Derivatives of the total at ``S + t D`` with respect to t.
    """

    evaluate: Callable[[Floats, Floats, Index, Floats], float]
    apply: Callable[[Floats, Floats, Index, int, int, Floats], None]
    along: Callable[[Floats, Floats, Floats, Index, float], tuple[float, float]]


def _square_costs(edge: float, S: Floats) -> Floats:
    wrong = np.where(-edge < S, np.square(1.0 + S), 0.0)
    right = np.where(edge > S, np.square(1.0 - S), 0.0)
    return 0.5 * (wrong.sum(axis=1, keepdims=True) - wrong + right)


@compiled
def _square_evaluate(edge, S, B, rows, slope):
    m = S.shape[1]
    total = 0.0
    for i in rows:
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        for y in range(m):
            s = 0.0
            below = 1.0 - S[i, y]
            if S[i, y] < edge:
                total += B[i, y] * below * below
                s -= B[i, y] * below
            above = 1.0 + S[i, y]
            if S[i, y] > -edge:
                rest = cost - B[i, y]
                total += rest * above * above
                s += rest * above
            slope[i, y] = s
    return 0.5 * total


@compiled
def _square_apply(edge, S, B, rows, start, stop, Q):
    m = S.shape[1]
    for k in range(start, stop):
        i = rows[k]
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        for y in range(m):
            c = 0.0
            if S[i, y] < edge:
                c += B[i, y]
            if S[i, y] > -edge:
                c += cost - B[i, y]
            Q[k - start, y] *= c


@compiled
def _square_along(edge, S, D, B, rows, t):
    m = S.shape[1]
    first = 0.0
    second = 0.0
    for i in rows:
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
        for y in range(m):
            d = D[i, y]
            z = S[i, y] + t * d
            if z < edge:
                first += B[i, y] * (z - 1.0) * d
                second += B[i, y] * d * d
            if z > -edge:
                rest = cost - B[i, y]
                first += rest * (z + 1.0) * d
                second += rest * d * d
    return first, second


def _maxent_costs(S: Floats) -> Floats:
    top = S.max(axis=1, keepdims=True)
    return top + np.log(np.exp(S - top).sum(axis=1, keepdims=True)) - S


def probabilities(S: Floats) -> Floats:
    """Give the softmax of scores (n, m), the probabilities of the maxent model."""
    return np.exp(-_maxent_costs(S))


@compiled
def _softmax(S, D, t, i, p):
    """Fill p with the softmax of S[i] + t D[i]; return the logarithm of its normaliser."""
    m = p.shape[0]
    top = -np.inf
    for y in range(m):
        p[y] = S[i, y] + t * D[i, y]
        top = max(top, p[y])
    total = 0.0
    for y in range(m):
        p[y] = np.exp(p[y] - top)
        total += p[y]
    for y in range(m):
        p[y] /= total
    return top + np.log(total)


@compiled
def _maxent_evaluate(S, B, rows, slope):
    m = S.shape[1]
    p = np.empty(m)
    total = 0.0
    for i in rows:
        normaliser = _softmax(S, S, 0.0, i, p)
        cost = 0.0
        for y in range(m):
            cost += B[i, y]
            total += B[i, y] * (normaliser - S[i, y])
        for y in range(m):
            slope[i, y] = cost * p[y] - B[i, y]
    return total


@compiled
def _maxent_apply(S, B, rows, start, stop, Q):
    m = S.shape[1]
    p = np.empty(m)
    for k in range(start, stop):
        i = rows[k]
        _softmax(S, S, 0.0, i, p)
        cost = 0.0
        mean = 0.0
        for y in range(m):
            cost += B[i, y]
            mean += p[y] * Q[k - start, y]
        for y in range(m):
            Q[k - start, y] = cost * p[y] * (Q[k - start, y] - mean)


@compiled
def _maxent_along(S, D, B, rows, t):
    m = S.shape[1]
    p = np.empty(m)
    first = 0.0
    second = 0.0
    for i in rows:
        _softmax(S, D, t, i, p)
        cost = 0.0
        mean = 0.0
        square = 0.0
        for y in range(m):
            d = D[i, y]
            cost += B[i, y]
            first -= B[i, y] * d
            mean += p[y] * d
            square += p[y] * d * d
        first += cost * mean
        second += cost * (square - mean * mean)
    return first, second


def _one_vs_rest(name: str, edge: float) -> SmoothMultiLoss:
    """Give the sum over classes of a squared loss that ends at the edge, or nowhere."""
    return SmoothMultiLoss(
        name,
        costs=partial(_square_costs, edge),
        evaluate=partial(_square_evaluate, edge),
        apply=partial(_square_apply, edge),
        along=partial(_square_along, edge),
    )


def margin_costs(S: Floats) -> Floats:
    """Give the margin loss of every row and class.

    Parameters
    ----------
    S : array of shape (n, m)

    Returns
    -------
    array of shape (n, m)
    """
    rival = np.full_like(S, -np.inf)
    if S.shape[1] > 1:
        best = S.argmax(axis=1)[:, None]
        rival[:] = np.take_along_axis(S, best, axis=1)
        second = np.partition(S, -2, axis=1)[:, -2:-1]
        np.put_along_axis(rival, best, second, axis=1)
    return np.maximum(0.0, 1.0 + rival - S)


ONE_VS_REST = _one_vs_rest("squared_hinge", 1.0)
LEAST_SQUARES = _one_vs_rest("squared", np.inf)
MAXENT = SmoothMultiLoss(
    "log",
    costs=_maxent_costs,
    evaluate=_maxent_evaluate,
    apply=_maxent_apply,
    along=_maxent_along,
)
MARGIN = MultiLoss("crammer_singer", margin_costs)


def _hinge_costs(S: Floats) -> Floats:
    return HINGE.scale * margin_costs(S)


HINGE = MultiLoss("hinge", _hinge_costs, scale=0.5)
"""Two classes: half the margin loss of scores -f/2 and f/2 is half the hinge of f."""

MULTI_LOSSES: dict[str, MultiLoss] = {
    loss.name: loss for loss in (ONE_VS_REST, LEAST_SQUARES, MAXENT, MARGIN, HINGE)
}

DEFAULT_REGS = {
    ONE_VS_REST.name: 1e-3,
    LEAST_SQUARES.name: 1e-3,
    MAXENT.name: 1e-4,
    MARGIN.name: 1e-4,
    HINGE.name: 1e-3,
}
"""What ``reg=None`` means, by loss; docs/many_classes.md has the measurements."""
