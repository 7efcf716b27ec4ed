"""Label steps: the labels of the unlabelled rows for given weights."""

from semisvm.labels.beliefs import binary_beliefs, mean_entropy, mean_kl
from semisvm.labels.switching import switch_pairs, top_labels

__all__ = ["binary_beliefs", "mean_entropy", "mean_kl", "switch_pairs", "top_labels"]
