"""Huber's loss for classification: the squared hinge, linear below -1.

A row on the wrong side of the opposite margin pulls no harder than one at that margin, so a
wrong label does less harm. It is what scikit-learn calls "modified_huber".
"""

from semisvm.losses.base import Loss
from semisvm.losses.linear_tail import many_class_loss, two_class_loss

EDGE, TAIL, SCALE = 1.0, -1.0, 1.0

HUBER = Loss(
    "huber",
    default_reg=1e-3,
    two=two_class_loss(EDGE, TAIL, SCALE),
    many=many_class_loss(EDGE, TAIL, SCALE),
    margin_of_two=EDGE,
    margin_of_many=2.0 * EDGE,
)
