r"""The margin loss of Crammer and Singer, xi(s, y) = max_z [ (z != y) + s_z ] - s_y.

It is not smooth: `solvers.crammer_singer` solves its weight step in the dual.
"""

import numpy as np

from semisvm.designs.base import Floats
from semisvm.losses.base import Loss, ManyClassLoss


def margin_costs(S: Floats) -> Floats:
    """Compute the margin loss for all rows and classes.

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


CRAMMER_SINGER = Loss(
    "crammer_singer",
    default_reg=1e-4,
    many=ManyClassLoss(margin_costs),
    margin_of_two=1.0,
    margin_of_many=1.0,
)
