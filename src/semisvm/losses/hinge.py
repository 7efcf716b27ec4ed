"""The hinge l(o) = max(0, 1 - o), for two classes; its form for more is `crammer_singer`.

It is not smooth: its weight step is that of `crammer_singer` with scores -o/2 and o/2.
"""

import numpy as np

from semisvm.designs.base import Floats
from semisvm.losses.base import Loss, TwoClassLoss


def _values(o: Floats) -> Floats:
    return np.maximum(1.0 - o, 0.0)


HINGE = Loss("hinge", default_reg=1e-3, two=TwoClassLoss(_values), margin_of_two=1.0)
