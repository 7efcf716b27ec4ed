"""Data matrices behind one small interface: scores, pull-back, curvature, column scales.

A block in this process computes its products with a `Design`. Four of them, over a list of rows,
are enough:

scores(w, rows, out)
    ``out[i] = x_i . w``: outputs, and the change of outputs along a step.
pull_back(v, rows, out)
    ``out = sum v_i x_i``: gradients.
curvature(p, c, rows, out)
    ``out = sum c_i (x_i . p) x_i``, each row read once: products with the Hessian.
column_scales(c, rows, out)
    ``out = sum c_i x_i**2``, column by column: rescaling in conjugate gradients.

Everything else has a default made of these: ``scores_many``, ``pull_back_many`` and
``curvature_many`` for one score per class, ``few_scores``, ``add_few`` and ``gram`` for the
labelled rows. A design overrides what it can do faster. ``rows(index)`` prepares a list of rows.
``encode(coef, intercept)`` and ``decode(w)`` translate between the user's columns and the design's
own, which it may reorder; columns without entries may be left out. The constant feature of the
intercept is implied by ``bias`` and is the last entry of w. ``matrix(index)`` returns rows as a
matrix for external solvers, such as those of linear programs; ``sweep`` runs a kernel over the rows
in order, for dual ascent.

X may be `RowsOnDisk`: `StoredCsrDesign` runs the kernels of the sparse design on memory maps, whose
columns were numbered by frequency when they were written. Estimators that need only products set
``_only_passes``; for all others the rows are loaded.

A loss, on the other side, sees only scores and costs (see `semisvm.losses.base`). With L losses and
D kinds of data there are L + D things to write and test, not L x D, and each solver is written
once.
"""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
