"""Blocks of rows with every vector over them, and the objective over all blocks.

A fit needs less of the data than a vector over all rows. So **blocks** hold rows, and a **driver**
holds weights::

    driver                                blocks b = 1..B (in this process, or remote)
      w, step, gradient   (columns)         X_b and, over its rows: scores, step scores, costs,
      level, threshold, prices (scalars)    curvature, labels or beliefs, active rows

The driver (`tasks.driver.Rows`, with `one_score_driver` and `many_scores_driver`) calls the same
operation of all blocks, by the name of a method, and adds the results in the order of the blocks.
Results are scalars, vectors over columns and small tables. `OneScoreBlock` and `ManyScoreBlock`
share the operations of the weight step:

score(w)
    Recompute the scores.
set_given_costs(), set_label_costs(lam), set_belief_costs(lam)
    Set the costs of the given labels only, or also those of the labels or beliefs of the
    unlabelled rows.
linearize()
    Value, gradient, number of active rows.
curvature(p)
    The product of the curvature with p.
column_scales(), labeled_curvature()
    The diagonal of the curvature; the curvature of the labelled rows.
set_direction(step)
    Compute the scores of a step.
along(times)
    First and second derivative at several lengths of the step.
advance(t), move(t)
    Move along the step. `advance` returns the value and, if few rows change sides, the change of
    the gradient.
losses()
    Loss of the given and of the chosen labels.
release()
    Free memory that only a weight step needs.

Label steps have operations of their own (two classes; many classes):

- hard labels: ``count_above``, ``outputs``, ``few_outputs``, ``weighed_outputs``, ``cut`` for a
  threshold that leaves exactly k rows above it, ties by row number; ``sample``, ``assign``,
  ``near``, ``relabel`` for prices, where only the rows near a tie are gathered;
- soft labels: ``soften``, ``gap_range``; ``gibbs``, ``second_moments``: sums whose root is a
  price, or prices;
- the change of a gradient when a few labels change: ``follow_labels``, ``mark_labels``,
  ``follow_beliefs``; ``follow_labels``;
- the curvature of the free energy, the reduced Hessian: ``respond``; ``respond``, then ``answer``
  and ``answered`` per product;
- when to stop, and to take a step back: ``entropy``, ``divergence``, ``restore_beliefs``.

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
