"""The hinge max(0, 1 - z) with its corner rounded between 1/2 and 3/2.

The parabola meets both straight lines with their slopes, so Newton's method applies.
"""

from semisvm.losses.base import Loss
from semisvm.losses.linear_tail import many_class_loss, two_class_loss

HALF_WIDTH = 0.5
EDGE, TAIL, SCALE = 1.0 + HALF_WIDTH, 1.0 - HALF_WIDTH, 1.0 / (4.0 * HALF_WIDTH)

ROUNDED_HINGE = Loss(
    "rounded_hinge",
    default_reg=1e-3,
    two=two_class_loss(EDGE, TAIL, SCALE),
    many=many_class_loss(EDGE, TAIL, SCALE),
    margin_of_two=EDGE,
    margin_of_many=2.0 * EDGE,
)
