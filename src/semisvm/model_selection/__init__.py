"""Choosing parameters and trusting the result, when few of the rows have labels.

The public names are imported when they are first used. `splits` deals labelled rows to folds, and
`crossfit` scores each by a model that did not see its label.

A comparison fits methods that are given on the same folds: `comparing` runs it, `comparison` is its
result, `verdict` has its sentences. A choice finds the method: `choice` lists what is tried and
what was chosen, `successive_halving` drops candidates early, `cross_validation` weighs those that
are left, and `choosing` has the function on top, `choose`. `search` follows a path of two
parameters of one method.
"""

from semisvm._lazy import attach

__getattr__, __dir__, __all__ = attach(__name__)
