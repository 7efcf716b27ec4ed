"""Choosing parameters and trusting the result, when few of the rows have labels.

The public names are imported when they are first used.
"""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.labels.partial import hide_labels
    from semisvm.model_selection.audit import Audit, Doubt, audit_labels
    from semisvm.model_selection.calibration import CalibratedPartialClassifier
    from semisvm.model_selection.choice import Choice
    from semisvm.model_selection.choosing import choose
    from semisvm.model_selection.comparing import compare
    from semisvm.model_selection.comparison import Comparison
    from semisvm.model_selection.priors import estimate_prior
    from semisvm.model_selection.scoring import PartialScorer, partial_scorer
    from semisvm.model_selection.search import AnnealedSVCCV, TransductiveSVCCV
    from semisvm.model_selection.selection import (
        KMedianSelection,
        MarginSelection,
        RandomSelection,
        Selection,
    )
    from semisvm.model_selection.splits import PartialLabelKFold, TransductiveKFold, with_twins
    from semisvm.model_selection.verdict import Verdict

_HOMES = {
    "KMedianSelection": "semisvm.model_selection.selection",
    "MarginSelection": "semisvm.model_selection.selection",
    "RandomSelection": "semisvm.model_selection.selection",
    "Selection": "semisvm.model_selection.selection",
    "Audit": "semisvm.model_selection.audit",
    "Doubt": "semisvm.model_selection.audit",
    "audit_labels": "semisvm.model_selection.audit",
    "estimate_prior": "semisvm.model_selection.priors",
    "AnnealedSVCCV": "semisvm.model_selection.search",
    "TransductiveSVCCV": "semisvm.model_selection.search",
    "CalibratedPartialClassifier": "semisvm.model_selection.calibration",
    "Choice": "semisvm.model_selection.choice",
    "Comparison": "semisvm.model_selection.comparison",
    "Verdict": "semisvm.model_selection.verdict",
    "choose": "semisvm.model_selection.choosing",
    "compare": "semisvm.model_selection.comparing",
    "PartialLabelKFold": "semisvm.model_selection.splits",
    "PartialScorer": "semisvm.model_selection.scoring",
    "TransductiveKFold": "semisvm.model_selection.splits",
    "hide_labels": "semisvm.labels.partial",
    "partial_scorer": "semisvm.model_selection.scoring",
    "with_twins": "semisvm.model_selection.splits",
}

__all__ = [
    "AnnealedSVCCV",
    "Audit",
    "CalibratedPartialClassifier",
    "Choice",
    "Comparison",
    "Doubt",
    "KMedianSelection",
    "MarginSelection",
    "PartialLabelKFold",
    "PartialScorer",
    "RandomSelection",
    "Selection",
    "TransductiveKFold",
    "TransductiveSVCCV",
    "Verdict",
    "audit_labels",
    "choose",
    "compare",
    "estimate_prior",
    "hide_labels",
    "partial_scorer",
    "with_twins",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
