"""Label steps: the labels of the unlabelled rows for given weights.

With costs C (n x m) and class counts n(y), all of them minimise the cost of the labels
under the counts: `exact` to the optimum, `switching` and `greedy` by heuristics of the
literature, `entropic` with T times the entropy subtracted. `switch_pairs`, `top_labels`
and `binary_beliefs` are the same steps for two classes, where scores suffice.
"""

from semisvm.labels.beliefs import (
    binary_beliefs,
    mean_entropy,
    mean_entropy_of,
    mean_kl,
    mean_kl_of,
    mean_soft_cost,
)
from semisvm.labels.entropic import entropic
from semisvm.labels.greedy import greedy
from semisvm.labels.result import LabelStep
from semisvm.labels.switching import switch_pairs, switching, top_labels
from semisvm.labels.transportation import dual_value, exact

__all__ = [
    "LabelStep",
    "binary_beliefs",
    "dual_value",
    "entropic",
    "exact",
    "greedy",
    "mean_entropy",
    "mean_entropy_of",
    "mean_kl",
    "mean_kl_of",
    "mean_soft_cost",
    "switch_pairs",
    "switching",
    "top_labels",
]
