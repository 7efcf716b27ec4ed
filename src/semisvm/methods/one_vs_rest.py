"""Many classes as two-class problems: each class against the rest, over the same rows."""

from semisvm.losses import Loss
from semisvm.objectives.many_classes import ManyClassTask
from semisvm.objectives.two_classes import TwoClassTask


def one_vs_rest(task: ManyClassTask, loss: Loss) -> list[TwoClassTask]:
    """Return the two-class problems of all classes; they share the design."""
    return [_against_rest(task, y, loss) for y in range(len(task.counts))]


def _against_rest(task: ManyClassTask, y: int, loss: Loss) -> TwoClassTask:
    block = task.rows.in_one_place()
    return TwoClassTask.of(
        block.design,
        block.labeled,
        block.unlabeled,
        block.codes == y,
        block.weight,
        n_positive=task.counts[y].item(),
        loss=loss,
        reg=task.reg,
        recorder=task.recorder.part(y, len(task.counts)),
        mass=block.mass,
        share=float(task.shares[y]) if task.n_unlabeled else None,
    )
