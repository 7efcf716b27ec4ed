"""Blocks of rows with every vector over them, and the objective over all blocks.

A fit needs less of the data than a vector over all rows. So **blocks** hold rows, and a **driver**
holds weights::

    driver                                blocks b = 1..B (in this process, or remote)
      w, step, gradient   (columns)         X_b and, over its rows: scores, step scores, costs,
      level, threshold, prices (scalars)    curvature, labels or beliefs, active rows

The driver calls **operations**: methods of a block (`OneScoreBlock`, `ManyScoreBlock`) under the
decorator `operation` of `tasks.operations`, which declares what the operation reads, sets and
changes, and how the results of several blocks become one. ``rows.all`` of the driver's view
(`OneScoreRows`, `ManyScoreRows`) has all of them: ``rows.all.linearize()`` returns value, gradient
and number of active rows over all blocks, wherever they are. Results are scalars, vectors over
columns and small tables. To add an operation, write the method and its declaration: there is no
other list of operations, here or in `semisvm.distributed`.

Operations of the weight step set costs, linearize, multiply by the curvature, and follow a step.
Those of label steps come in four groups (two classes; many classes):

- hard labels: a threshold that leaves exactly k rows above it, ties by row number; prices, where
  only the rows near a tie are gathered;
- soft labels: sums whose root is a price, or prices;
- the change of a gradient when a few labels, or beliefs, change (``follow_labels``);
- the curvature of the free energy, the reduced Hessian (``respond``).

Every vector over rows is **derived**: scores follow from weights, labels from the weights at which
they were chosen and a threshold or prices, beliefs from weights, prices and a temperature. So a
method can ``snapshot()`` a few vectors over columns at the end of a round, and ``restore()`` them
in another process. Labels that were switched pair by pair (``max_switches``) are the exception.

Labelled rows are few and have large costs: the driver can read them, for the preconditioner.

Methods that need all rows at once (the hinge and Crammer-Singer losses, pairwise switching of many
classes, linear and integer programs, label means, graphs, L-BFGS, posterior regularisation) call
``rows.single_shard()``. If the rows are in several blocks, it raises an error that explains this
to the user. ``tests/unit/tasks/test_several_blocks.py`` fits TSVM and annealing, with two and many
classes, on blocks that can only be reached by messages, and measures the size of the messages.
"""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
