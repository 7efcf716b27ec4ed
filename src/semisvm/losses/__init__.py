"""Losses of scores; they never see the data matrix. One file per loss, and an entry here."""

from semisvm.losses.base import Loss, ManyClassLoss, Signs, SmoothManyClassLoss, TwoClassLoss
from semisvm.losses.linear_tail import CRAMMER_SINGER, HINGE, HUBER, ROUNDED_HINGE
from semisvm.losses.log import LOG
from semisvm.losses.squared import SQUARED
from semisvm.losses.squared_hinge import SQUARED_HINGE
from semisvm.text import series

__all__ = [
    "CRAMMER_SINGER",
    "HINGE",
    "HUBER",
    "LOG",
    "LOSSES",
    "ROUNDED_HINGE",
    "SMOOTH_LOSSES",
    "SQUARED",
    "SQUARED_HINGE",
    "Loss",
    "ManyClassLoss",
    "Signs",
    "SmoothManyClassLoss",
    "TwoClassLoss",
]

LOSSES: dict[str, Loss] = {
    loss.name: loss
    for loss in (SQUARED_HINGE, HUBER, ROUNDED_HINGE, HINGE, SQUARED, LOG, CRAMMER_SINGER)
}
"""Losses by the name that users pass as ``loss=``."""
SMOOTH_LOSSES = series(repr(name) for name, loss in LOSSES.items() if loss.smooth)
"""Names of those whose fits need not hold all rows together, as a part of messages."""
