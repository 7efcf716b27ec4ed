"""A committee of methods, weighed by how well they predict labels that were held out."""

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from semisvm.designs import Floats, thread_count
from semisvm.designs.validation import read_rows
from semisvm.estimators.foreign import ForeignClassifier
from semisvm.estimators.gradient import GradientTSVC
from semisvm.estimators.held_out import partly
from semisvm.estimators.interop import evidence_argument, row_hook, with_callbacks
from semisvm.estimators.laplacian import LaplacianRLSC
from semisvm.estimators.means import MeanSVC
from semisvm.estimators.newton import NewtonSVC
from semisvm.estimators.parameters import ClassPrior, parameters
from semisvm.estimators.scoring import ScoringClassifier, fitting, publish
from semisvm.estimators.stacking import (
    columns,
    learned_weights,
    mean_loss,
    meeting_counts,
    near_shares,
    share_estimate,
    spread,
)
from semisvm.estimators.transductive import TransductiveSVC
from semisvm.labels.evidence import ratios, with_evidence
from semisvm.labels.partial import PartialLabels, encode, resolve_prior
from semisvm.labels.weights import RowWeights, checked_weights
from semisvm.losses.log import probabilities
from semisvm.maps.ensembles import ScoreMap
from semisvm.methods.solution import Solution
from semisvm.solvers.trace import Recorder
from semisvm.validation import check_count, check_same_length, floats

MEMBERS = (
    ("svm", NewtonSVC),
    ("tsvm", TransductiveSVC),
    ("laprls", LaplacianRLSC),
    ("means3vm", MeanSVC),
    ("gradient", GradientTSVC),
)
"""Members by default: methods that use the unlabelled rows in different ways, and one that does
not use them."""
HANDED_ON = ("class_prior", "n_jobs")


@parameters
class SemiSupervisedCommittee(ScoringClassifier):
    r"""A weighted committee of different methods.

    No method is best on all data: graphs suit images, switching and annealing suit text, a gap
    between clusters suits gradient methods. The members of a committee are fitted to the same
    rows, and their scores s_k, each scaled to mean square one, are added up: ::

        p(x) = softmax(sum_k w_k s_k(x)),     w_k >= 0

    The weights are learned from labels that were held out: the labelled rows are split into
    folds, and each fold is scored by members to which it was unlabelled. The weights minimise
    the log-loss of these scores, with a pull to equal weights that decides if labels are few.
    Members with little weight are left out.

    `semisvm.model_selection.choose` makes such a committee, and one member where that is as
    good.

    Parameters
    ----------
    estimators : list of (name, estimator) pairs or None
        Members: estimators of this package or other classifiers, which are fitted to the labelled
        rows unless they take unlabelled ones. None is a supervised SVM, `TransductiveSVC`,
        `LaplacianRLSC`, `MeanSVC` and `GradientTSVC`, with their defaults.
    weights : array-like of shape (K,) or None
        Weights of the members, in their order. None learns them, which takes ``cv`` fits of
        each member in addition to the last one.
    class_prior : None, "estimate", "labels", array of shape (m,) or dict
        Class shares among the unlabelled rows, for all members that use them; None leaves
        each as it is. Shares that members estimate are estimated once, for all of them; with
        two classes the threshold is moved just far enough that the predicted share is within
        two standard errors of the estimate, or a tenth of the rarer class if that is more. If
        shares are given, the intercepts are moved until the predictions of the unlabelled rows
        have them, whatever the members do: a committee of one supervised member is a
        supervised SVM with a threshold.
    cv : int
        Folds of the labelled rows; fewer if labels are fewer. A class with a single label is
        not held out.
    unlabeled : scalar
        Value in y that marks unlabelled rows, in addition to None and NaN. It applies to the
        members too.
    n_jobs : int or None
        Number of threads of each member; None leaves it to the members.
    verbose : int
        Print one line per member.
    callback : callable or None
        Called with each row of the trace; the fit stops when it returns True. The members that
        are known by then make the committee.

    Attributes
    ----------
    estimators_ : list of fitted estimators
        Members with a weight, the largest first.
    names_ : array of shape (k,)
        Their names.
    weights_ : array of shape (k,)
        Their weights; the larger their sum, the surer the committee.
    kernel_map_ : ScoreMap
        The members; the features of a row are their scores.
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the scores, divided by their scale.
    intercept_ : array of shape (1,) or (m,)
        Zero, unless class shares were given, or are estimated and the predictions far off.
    column_weights_ : array of shape (1, d) or (m, d), or None
        Weights of the columns in the members that are linear, added up.
    class_prior_ : array of shape (m,)
        The given shares, or those of the members that use shares, their weighted mean; of the
        labelled rows if none does.
    objective_ : float
        Mean log-loss of the given labels in the last fit.
    n_iter_ : int
        Number of members.

    References
    ----------
    Breiman, Stacked regressions, Machine Learning 24, 1996: weights that are not negative.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from semisvm import LaplacianSVC, NewtonSVC, SemiSupervisedCommittee
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = np.where(np.arange(200) < 20, y, -1)
    >>> members = [("svm", NewtonSVC()), ("lapsvm", LaplacianSVC())]
    >>> model = SemiSupervisedCommittee(members).fit(X, labels)
    >>> bool(model.score(X, y) > 0.97)
    True
    """

    estimators: Sequence[tuple[str, Any]] | None = None
    _: KW_ONLY
    weights: ArrayLike | None = None
    class_prior: ClassPrior = None
    cv: int = 5
    n_jobs: int | None = None

    @with_callbacks
    def fit(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        evidence: Any = None,
    ) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix, RowsOnDisk} of shape (n, d)
        y : array-like of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.
        sample_weight : array-like of shape (n,), optional
            Weights of the rows in the fits of the members, all of which must take them. Labels
            that are held out to weigh the members count once each.
        evidence : array-like, sparse matrix or data frame of shape (n, m), or list of n sets, \
optional
            What is known about rows, as in ``TransductiveSVC.fit``, for members that take it. It
            stays known about rows whose labels are held out.

        Returns
        -------
        self : SemiSupervisedCommittee
        """
        with fitting(self):
            self._fit_members(X, y, sample_weight, evidence)
        return self

    @property
    def features_by(self) -> str:
        """Scores of the members, which take the place of a kernel."""
        return "members"

    @property
    def is_exportable(self) -> bool:
        """Whether all members can be written to an ONNX file; of a fitted one, those kept."""
        return not self.not_exportable

    @property
    def not_exportable(self) -> list[str]:
        """Names of the members that cannot be written to an ONNX file."""
        kept = {
            str(name) for name in getattr(self, "names_", [name for name, _ in self._members()])
        }
        return [n for n, one in self._members() if str(n) in kept and not one.is_exportable]

    @property
    def margin_width(self) -> None:
        """None: scores are log-odds, and no row costs nothing."""
        return

    @property
    def keeps_labeled_shares(self) -> bool:
        """Whether members take the labelled fractions as shares."""
        return any(getattr(member, "keeps_labeled_shares", False) for _, member in self._members())

    @property
    def estimators_(self) -> list[Any]:
        """Members with a weight, fitted."""
        check_is_fitted(self)
        return list(self.kernel_map_.members)

    def _members(self) -> list[tuple[str, Any]]:
        """Return the members, not fitted."""
        if self.estimators is None:
            return [(name, kind()) for name, kind in MEMBERS]
        ours = ScoringClassifier
        return [
            (name, member if isinstance(member, ours) else ForeignClassifier(member))
            for name, member in self.estimators
        ]

    @property
    def reads_in_passes(self) -> bool:
        """Whether the fits of all members only make passes over X."""
        return all(member.reads_in_passes for _, member in self._members())

    def _own(self, member: Any) -> Any:
        """Return a copy of a member for labels in which None marks unlabelled rows."""
        parameters: dict[str, Any] = {"unlabeled": None}
        for name in HANDED_ON:
            value = getattr(self, name)
            if value is not None and name in member.get_params(deep=False):
                parameters[name] = value
        return clone(member).set_params(**parameters)

    def _check_parameters(self) -> None:
        check_count("cv", self.cv)
        thread_count(self.n_jobs)
        if self.cv == 1:
            raise ValueError("cv must be 2 or more, got 1: a fold is held out, others train.")
        self._check_members()
        self._given_weights()

    def _check_members(self) -> None:
        try:
            members = self._members()
        except (TypeError, ValueError) as error:
            raise ValueError(
                "estimators must be a list of (name, estimator) pairs or None, got "
                f"{self.estimators!r}."
            ) from error
        if not members:
            raise ValueError("estimators is empty: a committee needs at least one member.")
        names = [name for name, _ in members]
        if len(set(map(str, names))) < len(names):
            raise ValueError(f"two members of the committee have one name: {names}.")
        for _, member in members:
            member._check_parameters()

    def _given_weights(self) -> Floats | None:
        if self.weights is None:
            return None
        found, expected = floats("weights", self.weights), len(self._members())
        if found.shape != (expected,) or not np.isfinite(found).all():
            raise ValueError(f"weights must be {expected} numbers, one per member of estimators.")
        if (found < 0.0).any() or not found.sum() > 0.0:
            raise ValueError("weights must not be negative, and not all zero.")
        return found

    def _fit_members(self, X: Any, y: ArrayLike, sample_weight: Any, evidence: Any) -> None:
        X, labels = read_rows(X, self, in_passes=self.reads_in_passes), encode(y, self.unlabeled)
        check_same_length(X, labels.codes, "y")
        labels = with_evidence(labels, evidence)
        weight = checked_weights(sample_weight, X, labels)
        recorder = Recorder(self.callback, self.verbose, row_hook(self))
        members = [(str(name), self._own(member)) for name, member in self._members()]
        weights = self._given_weights()
        used = [m for k, (_, m) in enumerate(members) if weights is None or weights[k] > 0.0]
        if weight is not None:
            self._refuse_weights(members)
        known = ratios(labels)
        if known is not None and all(evidence_argument(one) is None for _, one in members):
            recorder.note("no member can use the evidence")
        errors = share_estimate(used, X, labels, self.n_jobs, recorder, weight)
        if weights is None:
            weights = learned_weights(members, X, labels, self.cv, self.n_jobs, recorder, weight)
        y = partly(labels, labels.labeled)
        order = [k for k in np.argsort(-weights, kind="stable") if weights[k] > 0.0]
        fitted: list[tuple[str, Any]] = []
        scores: list[Floats] = []
        noted: set[str] = set()
        for level, k in enumerate(order):
            name, member = members[k]
            given = {} if weight is None else {"sample_weight": weight}
            if known is not None and evidence_argument(member) is not None:
                given["evidence"] = known
            fitted.append((name, member.fit(X, y, **given)))
            scores.append(np.asarray(member.decision_function(X), dtype=np.float64))
            new = [note for note in dict.fromkeys(member.trace_.notes) if note not in noted]
            noted.update(new)
            recorder.trace.notes += [f"{name}: {note}" for note in new]
            loss = _log_loss(_sum(scores, weights[order[: level + 1]]), labels)
            facts = {"value": float(weights[k]), "objective": loss, "member": name}
            recorder.add("member", level=level, iteration=0, **facts)
            recorder.level_done()
            if recorder.stopped:
                break
        kept = weights[order[: len(fitted)]]
        self._publish_committee(
            fitted, scores, kept, labels, RowWeights.of(labels, weight), recorder, errors
        )

    def _refuse_weights(self, members: list[tuple[str, Any]]) -> None:
        """Refuse sample weights if a member cannot take them."""
        names = [name for name, member in members if not _takes_weights(member)]
        if names:
            raise ValueError(
                f"the members {names!r} of the committee take no sample_weight. Leave them out, or "
                "fit without weights."
            )

    def _publish_committee(
        self,
        fitted: list[tuple[str, Any]],
        scores: list[Floats],
        weights: Floats,
        labels: PartialLabels,
        rows: RowWeights,
        recorder: Recorder,
        errors: Floats | None,
    ) -> None:
        members = [member for _, member in fitted]
        self.names_ = np.array([name for name, _ in fitted])
        scales = np.array([spread(found) for found in scores])
        n_scores = 1 if len(labels.classes) == 2 else len(labels.classes)
        total = _sum(scores, weights)
        given = self._given_shares(labels)
        prior = _used_shares(members, weights) if given is None else given
        errors = _errors_of(members) if errors is None else errors
        self.intercept_ = self._intercepts(total, prior, errors, labels, rows, recorder)
        total = total + self.intercept_
        codes = (total > 0.0).astype(np.intp) if total.ndim == 1 else total.argmax(axis=1)
        self.weights_ = weights
        self.kernel_map_ = ScoreMap(members)
        self.coef_ = np.kron(weights / scales, np.eye(n_scores))
        solution = Solution(
            weights, _log_loss(total, labels), len(members), True, codes[labels.unlabeled]
        )
        publish(self, labels, prior, solution, recorder)

    def _given_shares(self, labels: PartialLabels) -> Floats | None:
        given = self.class_prior
        if given is None or isinstance(given, str):
            return None
        return resolve_prior(given, labels)

    def _intercepts(
        self,
        scores: Floats,
        prior: Floats,
        errors: Floats,
        labels: PartialLabels,
        rows: RowWeights,
        recorder: Recorder,
    ) -> Floats:
        """Return intercepts that meet given class shares, or come near estimated ones; or zeros."""
        free, names = scores[labels.unlabeled], labels.classes.tolist()
        if rows.n_unlabeled > 0 and self._given_shares(labels) is not None:
            return meeting_counts(free, rows.counts(prior), rows.mass)
        if rows.n_unlabeled > 0 and self._estimates_shares():
            offsets, note = near_shares(free, prior, errors, rows.mass, names)
            if note:
                recorder.note(note)
            return offsets
        return np.zeros(1 if scores.ndim == 1 else scores.shape[1])

    def _estimates_shares(self) -> bool:
        """Whether members with a weight estimate the class shares."""
        kept = {str(name) for name in self.names_}
        own = (self._own(member) for name, member in self._members() if str(name) in kept)
        return any(getattr(member, "shares_are_estimated", False) for member in own)

    @property
    def column_weights_(self) -> Floats | None:
        """Weights of the columns in the members that are linear, added up; None if none is."""
        n_scores = len(self.coef_)
        parts = [
            self.coef_[0, k * n_scores] * member.coef_
            for k, member in enumerate(self.estimators_)
            if member.kernel_map_ is None
        ]
        return np.asarray(np.sum(parts, axis=0)) if parts else None

    def predict_proba(self, X: Any) -> Floats:
        """Return the class probabilities, the softmax of the scores.

        With learned weights they are calibrated on labels that were held out, as well as the
        number of labels allows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)

        Returns
        -------
        p : array of shape (n, m)
            Columns in the order of ``classes_``; each row sums to one.
        """
        return probabilities(columns(self.decision_function(X)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        takes = [get_tags(member).input_tags.sparse for _, member in self._members()]
        tags.input_tags.sparse = all(takes)
        return tags


def _takes_weights(member: Any) -> bool:
    takes = has_fit_parameter(member, "sample_weight")
    return bool(takes and getattr(member, "takes_weights", True))


def _used_shares(members: Sequence[Any], weights: Floats) -> Floats:
    """Return the class shares of the members that use some; else the labelled fractions."""
    using = [k for k, m in enumerate(members) if "class_prior" in m.get_params(deep=False)]
    kept = using or list(range(len(members)))
    return np.average([members[k].class_prior_ for k in kept], axis=0, weights=weights[kept])


def _errors_of(members: Sequence[Any]) -> Floats:
    """Return the standard errors of the class shares that members estimated themselves."""
    using = [m for m in members if "class_prior" in m.get_params(deep=False)]
    none = np.zeros(len(members[0].classes_))
    return np.max([none, *(getattr(m, "class_prior_std_", none) for m in using)], axis=0)


def _log_loss(scores: Floats, labels: PartialLabels) -> float:
    """Compute the mean log-loss of the given labels."""
    return mean_loss(scores[labels.labeled], labels.codes[labels.labeled])


def _sum(scores: Sequence[Floats], weights: Floats) -> Floats:
    """Add up scores, each scaled to mean square one."""
    parts = [w * found / spread(found) for found, w in zip(scores, weights, strict=True)]
    return np.asarray(np.sum(parts, axis=0))
