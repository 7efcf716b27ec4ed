"""Label steps: the labels of the unlabelled rows for given weights.

With costs C (n x m) and class counts n(y), all of them minimise the cost of the labels
under the counts: `exact` and `simplex` to the optimum, `switching` and `greedy` by heuristics
from the literature, `entropic` with T times the entropy subtracted. `switch_pairs`,
`top_labels` and `binary_beliefs` are the same steps for two classes, where scores are enough.
"""

from semisvm.label_steps.beliefs import binary_beliefs, mean_entropy_of, mean_kl_of
from semisvm.label_steps.entropic import entropic
from semisvm.label_steps.simplex import simplex
from semisvm.label_steps.switching import greedy, switch_pairs, switching, top_labels
from semisvm.label_steps.transportation import LabelStep, dual_value, exact

__all__ = [
    "LabelStep",
    "binary_beliefs",
    "dual_value",
    "entropic",
    "exact",
    "greedy",
    "mean_entropy_of",
    "mean_kl_of",
    "simplex",
    "switch_pairs",
    "switching",
    "top_labels",
]
