"""Probabilities where classes are mixed differently than in the rows of the fit."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from semisvm.designs.base import Floats
from semisvm.model_selection.decisions import place_of
from semisvm.validation import check_real

MOST_STEPS = 1_000
TOL = 1e-6
"""Change of the shares at which the estimate has settled."""


@dataclass(frozen=True)
class ClassShift:
    r"""Factors of the probabilities: shares of the classes in new rows over those of the fit.

    If classes only change their shares, and not what their rows look like, then by Bayes' rule ::

        p_new(c | x)  is proportional to  p(c | x) q_c / p_c

    Attributes
    ----------
    factors : array of shape (m,)
        q_c / p_c.
    """

    factors: Floats

    def probabilities(self, p: Floats) -> Floats:
        """Re-weigh probabilities (n, m); rows in which nothing is left keep theirs."""
        found = p * self.factors
        total = found.sum(axis=1, keepdims=True)
        return np.where(total > 0.0, found / np.where(total > 0.0, total, 1.0), p)


def given_shares(classes: NDArray[Any], shares: Mapping[Any, float] | ArrayLike) -> Floats:
    """Return the shares of classes, of sum one, shape (m,).

    Parameters
    ----------
    classes : array of shape (m,)
    shares : mapping of class to share, or array-like of shape (m,)
        A class that a mapping leaves out has share zero.
    """
    found = np.zeros(len(classes))
    pairs = shares.items() if isinstance(shares, Mapping) else enumerate(np.asarray(shares))
    for label, value in pairs:
        named = isinstance(shares, Mapping)
        if not named and label >= len(classes):
            break
        place = place_of("the parameter shares", label, classes) if named else label
        found[place] = check_real(f"the share of {classes[place]!s}", float(value), at_least=0.0)
    if not isinstance(shares, Mapping) and np.shape(shares) != (len(classes),):
        raise ValueError(
            f"the parameter shares needs one share per class, {len(classes)}, got an array of "
            f"shape {np.shape(shares)}."
        )
    if abs(found.sum() - 1.0) > 1e-3:
        raise ValueError(f"the shares of the classes must have sum 1, but it is {found.sum():.6g}.")
    return found / found.sum()


def estimated_shares(p: Floats, known: Floats) -> Floats:
    """Estimate the shares of the classes in rows from their probabilities, by EM.

    The likelihood of the shares has one maximum; EM raises it in every step.

    Parameters
    ----------
    p : array of shape (n, m)
        Probabilities under the shares ``known``.
    known : array of shape (m,)

    Returns
    -------
    shares : array of shape (m,)

    References
    ----------
    Saerens, Latinne and Decaestecker, Adjusting the outputs of a classifier to new a priori
    probabilities, Neural Computation 14, 2002, doi:10.1162/089976602753284446.
    """
    if len(p) == 0:
        raise ValueError("there are no rows from which to estimate shares of classes.")
    shares = np.asarray(known, dtype=np.float64)
    for _ in range(MOST_STEPS):
        before = shares
        shares = ClassShift(before / known).probabilities(p).mean(axis=0)
        if np.abs(shares - before).max() < TOL:
            break
    return shares
