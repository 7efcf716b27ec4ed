"""The methods under test, with the settings that the benchmarks share."""

from typing import Any

from papers.data import PartlyLabeled
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC

REG = 1e-3
UNLABELED_WEIGHT = 1.0

METHODS = {"SVM": NewtonSVC, "TSVM": TransductiveSVC, "DA": AnnealedSVC}
SEMI_SUPERVISED = ("TSVM", "DA")


def fitted(name: str, problem: PartlyLabeled, **parameters: Any) -> Any:
    """Fit a method; it is told the true class prior where that is known."""
    if name in SEMI_SUPERVISED:
        parameters |= {"class_prior": problem.prior, "unlabeled_weight": UNLABELED_WEIGHT}
    return METHODS[name](reg=REG, **parameters).fit(problem.X, problem.labels)
