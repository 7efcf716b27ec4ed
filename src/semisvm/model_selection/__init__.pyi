from semisvm.estimators.class_shares import estimate_prior as estimate_prior
from semisvm.labels.partial import hide_labels as hide_labels
from semisvm.model_selection.audit import Audit as Audit
from semisvm.model_selection.audit import Doubt as Doubt
from semisvm.model_selection.audit import audit_labels as audit_labels
from semisvm.model_selection.calibration import (
    CalibratedPartialClassifier as CalibratedPartialClassifier,
)
from semisvm.model_selection.candidates import Choice as Choice
from semisvm.model_selection.certification import Certificate as Certificate
from semisvm.model_selection.certification import certify as certify
from semisvm.model_selection.comparison_result import Comparison as Comparison
from semisvm.model_selection.method_choice import choose as choose
from semisvm.model_selection.method_comparison import compare as compare
from semisvm.model_selection.metrics import PartialScorer as PartialScorer
from semisvm.model_selection.metrics import partial_scorer as partial_scorer
from semisvm.model_selection.powered_shares import Share as Share
from semisvm.model_selection.powered_shares import (
    prediction_powered_shares as prediction_powered_shares,
)
from semisvm.model_selection.search import AnnealedSVCCV as AnnealedSVCCV
from semisvm.model_selection.search import TransductiveSVCCV as TransductiveSVCCV
from semisvm.model_selection.selection import KMedianSelection as KMedianSelection
from semisvm.model_selection.selection import MarginSelection as MarginSelection
from semisvm.model_selection.selection import RandomSelection as RandomSelection
from semisvm.model_selection.selection import Selection as Selection
from semisvm.model_selection.splits import PartialLabelKFold as PartialLabelKFold
from semisvm.model_selection.splits import TransductiveKFold as TransductiveKFold
from semisvm.model_selection.splits import with_twins as with_twins
from semisvm.model_selection.verdict import Verdict as Verdict
from semisvm.model_selection.weak_labels import WeakLabels as WeakLabels
