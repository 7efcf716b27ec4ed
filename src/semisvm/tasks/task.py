"""One score or one per class: which task the rows and the loss make."""

from typing import Any

from semisvm.designs import Design, Floats, Index
from semisvm.labels.hierarchy import Hierarchy
from semisvm.labels.weights import UNIT_WEIGHT, Counts, number_of
from semisvm.losses import Loss
from semisvm.solvers.trace import Recorder
from semisvm.tasks.driver import Codes
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask

Task = TwoClassTask | ManyClassTask


def make_task(
    design: Any,
    labeled: Index,
    unlabeled: Index,
    codes: Codes,
    weight: Floats,
    *,
    counts: Counts,
    hierarchy: Hierarchy,
    loss: Loss,
    reg: float,
    recorder: Recorder,
    one_score: bool = True,
    mass: Floats = UNIT_WEIGHT,
    prior: Floats | None = None,
    evidence: Floats | None = None,
) -> Task:
    """Return a task with one score for two classes, where the loss has that form.

    Parameters
    ----------
    design : Design or DistributedRows
    labeled, unlabeled : arrays of row indices, ascending
    codes : int array of shape (l,)
        Classes of the labelled rows.
    weight : array of shape (l,)
        Weights of the labelled rows, summing to one.
    counts : array of shape (m,)
        Unlabelled rows of every class, by mass.
    hierarchy, loss, reg, recorder
    one_score : bool, default=True
        Whether two classes may be one score.
    mass : array of shape (u,) or (1,)
        For how many rows each unlabelled row counts.
    prior : array of shape (m,), optional
        Class shares, of which the counts are rounded.
    evidence : array of shape (u, m), optional
        What evidence adds to the costs of labels of the unlabelled rows; infinity forbids one.
    """
    one_score = has_one_score(len(counts), hierarchy, loss, one_score)
    if one_score and evidence is not None:
        evidence = evidence[:, 1] - evidence[:, 0]
    if not isinstance(design, Design):
        # rows in parts make blocks where they are
        u = number_of(mass, len(unlabeled))
        given = (labeled, codes, weight, mass, evidence)
        blocks = design.blocks(one_score, loss, hierarchy, u, *given)
        if one_score:
            assert loss.two is not None
            reg, share = reg * loss.reg_of_two, None if prior is None else float(prior[1])
            return TwoClassTask(blocks, counts[1].item(), loss.two, reg, recorder, share)
        assert loss.many is not None
        return ManyClassTask(blocks, counts, loss.many, hierarchy, reg, recorder, prior)
    if one_score:
        return TwoClassTask.of(
            design,
            labeled,
            unlabeled,
            codes == 1,
            weight,
            n_positive=counts[1].item(),
            loss=loss,
            reg=reg,
            recorder=recorder,
            mass=mass,
            share=None if prior is None else float(prior[1]),
            evidence=evidence,
        )
    return ManyClassTask.of(
        design,
        labeled,
        unlabeled,
        codes,
        weight,
        counts=counts,
        loss=loss,
        hierarchy=hierarchy,
        reg=reg,
        recorder=recorder,
        mass=mass,
        prior=prior,
        evidence=evidence,
    )


def has_one_score(n_classes: int, hierarchy: Hierarchy, loss: Loss, one_score: bool) -> bool:
    """Return whether a task has one score rather than one per class.

    Raises
    ------
    ValueError
        If it should have one per class, and the loss has no such form.
    """
    if n_classes == 2 and hierarchy.flat and one_score and loss.two is not None:
        return True
    if loss.many is None:
        raise ValueError(
            f"loss={loss.name!r} is for two classes without a hierarchy, and y has "
            f"{n_classes} classes; use loss='crammer_singer', which is its form for more."
        )
    return False
