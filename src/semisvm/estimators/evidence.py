"""Machines that take evidence about unlabelled rows into account; see `semisvm.labels.evidence`."""

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from semisvm.designs import Floats, Index
from semisvm.estimators.base import LinearSemiSupervisedClassifier, pivot_candidates
from semisvm.estimators.interop import with_callbacks
from semisvm.estimators.label_noise import check_noise, noise_rates, take_back
from semisvm.estimators.parameters import ClassesParameters, EvidenceParameters, parameters
from semisvm.label_steps.possible import Clash, find_clash, nearest_counts, possible_shares
from semisvm.labels.evidence import evidence_costs
from semisvm.labels.partial import PartialLabels
from semisvm.labels.weights import Counts, RowWeights
from semisvm.methods.loop import LOOSE_TOL
from semisvm.methods.shares import Shares
from semisvm.methods.supervised import first_state, from_shares
from semisvm.solvers import State
from semisvm.solvers.trace import Recorder
from semisvm.tasks.task import Task
from semisvm.tasks.two_classes import TwoClassTask
from semisvm.validation import check_real

EVIDENCE_WEIGHT = 0.2
"""Weight of evidence by default: it decides where rows are close to the boundary, and the boundary
where it is at odds with the rows. docs/evidence.md has the reasons."""
# Rows that a message lists.
MOST_LISTED = 5


@parameters
class TakesEvidence(EvidenceParameters, LinearSemiSupervisedClassifier):
    """Base of the machines that take evidence."""

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
        evidence : array-like, sparse matrix or data frame of shape (n, m), or list of n sets, \
optional
            What is known about unlabelled rows: probabilities of the classes, up to a factor per
            row, in the order of the sorted classes, or as columns with the names of the classes;
            or sets of classes that are possible. A class of probability zero is not chosen for
            the row. A row of NaN or of equal numbers, an empty set and None carry nothing. What it
            has about labelled rows is not used.
        """
        return self._fit_all(X, y, sample_weight, evidence)

    def _check_shared_parameters(self) -> None:
        super()._check_shared_parameters()
        if self.evidence_weight is not None:
            check_real("evidence_weight", self.evidence_weight, at_least=0)
        check_noise(self.label_noise)

    def _noise_rates(self, labels: PartialLabels) -> Floats | None:
        return noise_rates(self.label_noise, labels)

    def _doubted(
        self,
        labels: PartialLabels,
        features: Any,
        rates: Floats | None,
        weight: Floats | None,
        recorder: Recorder,
    ) -> PartialLabels:
        if rates is None:
            return labels
        found, taken = take_back(labels, features, rates, pivot_candidates(labels), weight)
        if len(taken):
            recorder.note(
                f"label_noise: {len(taken)} of {len(labels.labeled)} labels count as evidence "
                f"only, because the others contradict them ({_listed(taken)})"
            )
        return found

    def _evidence_costs(self, labels: PartialLabels) -> Floats | None:
        weight = EVIDENCE_WEIGHT if self.evidence_weight is None else float(self.evidence_weight)
        return evidence_costs(labels, weight)

    def _possible_shares(
        self, shares: Shares, labels: PartialLabels, weights: RowWeights, recorder: Recorder
    ) -> Shares:
        costs = self._evidence_costs(labels)
        if costs is None:
            return shares
        forbidden = costs == np.inf
        clash = find_clash(forbidden, shares.values * weights.n_unlabeled, weights.mass)
        if clash is None or clash.mass - clash.room < 1.0:
            # less than a row is a matter of rounding
            return shares
        if not (self.shares_are_estimated or self.keeps_labeled_shares):
            raise ValueError(_message(clash, labels))
        recorder.note(
            "the class shares were moved: by the evidence some rows cannot have the classes that "
            "they would need"
        )
        return Shares(possible_shares(forbidden, shares.values, weights.mass), shares.errors)

    def _counts(
        self, prior: Floats, labels: PartialLabels, weights: RowWeights, costs: Floats | None
    ) -> tuple[Floats, Counts]:
        counts = weights.counts(prior)
        if costs is None:
            return prior, counts
        forbidden = costs == np.inf
        if find_clash(forbidden, counts, weights.mass) is None:
            return prior, counts
        if find_clash(forbidden, prior * weights.n_unlabeled, weights.mass) is not None:
            # where rows were held out, they may not have the shares of the others
            prior = possible_shares(forbidden, prior, weights.mass)
            counts = weights.counts(prior)
        if not weights.whole:
            return prior, counts
        counts, clash = nearest_counts(forbidden, prior, counts, weights.mass)
        if clash is not None:
            raise ValueError(_message(clash, labels))
        return prior, counts


@parameters
class EvidenceClassifier(ClassesParameters, TakesEvidence):
    """Base of the machines whose label step takes evidence, and classes without a label."""

    def _start(self, task: Task, start: Floats | None, lam: float) -> tuple[State, bool]:
        """Return the first weights, and whether they come from labelled rows of every class."""
        m = 2 if isinstance(task, TwoClassTask) else len(task.counts)
        whole = bool(np.bincount(task.rows.labeled_codes(), minlength=m).all())
        if start is not None or whole:
            return first_state(task, start, self.tol), True
        return from_shares(task, lam, LOOSE_TOL), False


def _message(clash: Clash, labels: PartialLabels) -> str:
    """Describe which rows cannot have classes in such numbers."""
    rows: Index = labels.unlabeled[clash.rows]
    names = " or ".join(repr(label) for label in labels.classes[clash.classes].tolist())
    return (
        f"evidence and class shares are at odds: {len(rows)} of the {len(labels.unlabeled)} "
        f"unlabelled rows ({_listed(rows)}) can only have {names}, and by the "
        f"class shares only {clash.room:.0f} rows do. Set class_prior to None, which follows "
        "the evidence, or to other shares, or let these rows have other classes."
    )


def _listed(rows: Index) -> str:
    """List some rows."""
    listed = ", ".join(str(row) for row in rows[:MOST_LISTED].tolist())
    return f"rows {listed}{', ...' if len(rows) > MOST_LISTED else ''}"
