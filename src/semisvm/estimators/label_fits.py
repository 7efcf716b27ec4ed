"""The fit of one of several labels, over rows that all of them share."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

from semisvm.designs import Design, Floats, Index, Workers, make_design
from semisvm.estimators.base import LinearSemiSupervisedClassifier
from semisvm.hierarchy import flat
from semisvm.loop import Recorder
from semisvm.methods.fold_fits import MOST_UNLABELED, drawn_rows, line_places, used_rows
from semisvm.methods.shares import N_ROUNDS, TOL, Shares
from semisvm.methods.solution import Solution, decoded
from semisvm.multi_labels import LabelTable
from semisvm.partial_labels import PartialLabels
from semisvm.row_weights import checked_weights
from semisvm.validation import check_finite_model


@dataclass(frozen=True)
class Effort:
    """What an estimate of a share may cost: most of the work of a label.

    Attributes
    ----------
    most : int
        Most unlabelled rows that are used.
    tol : float
        Of the models.
    n_rounds : int
        How often models are fitted with the shares found so far.
    """

    most: int = MOST_UNLABELED
    tol: float = TOL
    n_rounds: int = N_ROUNDS


@dataclass(frozen=True)
class Fitted:
    """What the fit of one label found.

    Attributes
    ----------
    solution : Solution
    shares : Shares
    coef, intercept : arrays of shape (1, d) and (1,)
    """

    solution: Solution
    shares: Shares
    coef: Floats
    intercept: Floats


class Shared:
    """What the fits of all labels share: the rows, and a sample of them.

    Parameters
    ----------
    X : CSR matrix or array, ndarray or RowsOnDisk, of shape (n, d)
        Validated rows, or features of a kernel.
    bias : float
    workers : Workers
    effort : Effort
        Of the estimates of the shares.
    merge : bool
        See `make_design`.
    """

    def __init__(self, X: Any, bias: float, workers: Workers, effort: Effort, merge: bool) -> None:
        self.X = X
        self.design = make_design(X, bias, workers, merge=merge)
        self.most, self.tol, self.n_rounds = effort.most, effort.tol, effort.n_rounds
        self._workers = workers
        self._sample: tuple[bytes, Any, Design] | None = None

    @cached_property
    def _places(self) -> Floats:
        return line_places(self.X)

    def used(self, labels: PartialLabels) -> Index:
        """Return the rows for the estimate of the share of one label."""
        scarce = len(labels.unlabeled) <= self.most
        return used_rows(self.X, labels, self.most, None if scarce else self._places)

    def draw(self, used: Index, bias: float) -> tuple[Any, Design]:
        """Return the listed rows and a design of them, for the estimate of a share.

        Labels that are known for the same rows have the same sample.
        """
        key = used.tobytes()
        if self._sample is None or self._sample[0] != key:
            rows = drawn_rows(self.X, used)
            design = self.design if rows is self.X else make_design(rows, bias, self._workers)
            self._sample = (key, rows, design)
        return self._sample[1:]


def fit_label(
    machine: LinearSemiSupervisedClassifier,
    table: LabelTable,
    k: int,
    shared: Shared,
    recorder: Recorder,
    sample_weight: Floats | None,
) -> Fitted:
    """Fit the machine of one label."""
    name, labels, design = table.names.tolist()[k], table.column(k), shared.design
    own = recorder.part(k, table.n_labels, name)
    try:
        weight = checked_weights(sample_weight, shared.X, labels)
        # one note is about all shares
        shares = machine._class_shares(labels, weight, shared.X, Recorder(), shared)
        nodes = flat(labels.classes)
        solution = machine._solve(design, labels, shares.values, weight, nodes, own)
        check_finite_model(solution.w, shared.X, solution.objective)
    except ValueError as error:
        raise ValueError(f"label {name!r}: {error}") from error
    coef, intercept = decoded(design, solution.w)
    if len(coef) == 2:
        # one score per class: their difference is that of the label
        coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
    return Fitted(solution, shares, coef, intercept)
