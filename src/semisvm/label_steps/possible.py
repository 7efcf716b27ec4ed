"""Whether class counts can be kept where rows cannot have every class."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats, Index
from semisvm.label_steps.transportation import exact
from semisvm.labels.weights import Counts, has_weights

# Part of all mass by which counts may be missed: rounding.
ROUNDING = 1e-9

Forbidden = NDArray[np.bool_]


@dataclass(frozen=True)
class Clash:
    """Rows that are confined to classes with too few rows.

    Attributes
    ----------
    rows : array of positions
    classes : array of classes
        All that these rows may have.
    mass : float
        For how many rows they count.
    room : float
        What the counts of the classes sum to.
    """

    rows: Index
    classes: Index
    mass: float
    room: float


def find_clash(forbidden: Forbidden, counts: Counts, mass: Floats) -> Clash | None:
    """Return rows and classes for which counts cannot be kept; None if they can.

    Counts can be kept if a transportation problem, in which a forbidden class costs one, has cost
    zero. Rows with the same classes are one row there. Where they cannot, there is a set of
    classes to which more rows are confined than it has room for (Hall's condition), and the dual
    prices are lower in it.

    Parameters
    ----------
    forbidden : bool array of shape (n, m)
    counts : array of shape (m,)
        They sum to the mass of all rows.
    mass : array of shape (n,) or (1,)
        For how many rows each row counts.
    """
    if not forbidden.any():
        return None
    kinds, kind = _kinds(forbidden)
    each = np.bincount(kind, mass if has_weights(mass) else None).astype(np.float64)
    # a kind without mass, so that there are several
    costs = np.append(kinds, np.zeros((1, kinds.shape[1])), axis=0).astype(np.float64)
    masses = np.append(each, 0.0)
    nu = exact(costs, counts * (each.sum() / counts.sum()), mass=masses).prices
    cost = float(masses @ (costs - nu).min(axis=1)) + float(counts @ nu)
    if cost <= ROUNDING * each.sum():
        return None
    sets = [np.flatnonzero(nu <= price) for price in np.unique(nu)[:-1]]
    return max((_confined(some, kinds, kind, each, counts) for some in sets), key=_lack)


def nearest_counts(
    forbidden: Forbidden, shares: Floats, counts: Counts, mass: Floats
) -> tuple[Counts, Clash | None]:
    """Move rounded counts to some that can be kept, row by row; and return a clash that stays.

    Parameters
    ----------
    forbidden : bool array of shape (n, m)
    shares : array of shape (m,)
        They can be kept before they are rounded.
    counts : array of shape (m,)
    mass : array of shape (n,) or (1,)
    """
    found, off = counts.copy(), counts - shares * counts.sum()
    clash = find_clash(forbidden, found, mass)
    for _ in range(len(shares)):
        if clash is None:
            break
        outside = np.delete(np.arange(len(shares)), clash.classes)
        more, less = clash.classes[off[clash.classes].argmin()], outside[off[outside].argmax()]
        for change, k in ((1, more), (-1, less)):
            found[k] += change
            off[k] += change
        clash = find_clash(forbidden, found, mass)
    return found, clash


def _kinds(forbidden: Forbidden) -> tuple[Forbidden, Index]:
    """Return the different rows, and which of them each row is."""
    packed = np.ascontiguousarray(np.packbits(forbidden, axis=1))
    keys: NDArray[Any] = packed.view([("", packed.dtype)] * packed.shape[1]).ravel()
    _, first, kind = np.unique(keys, return_index=True, return_inverse=True)
    return forbidden[first], kind.ravel()


def _confined(classes: Index, kinds: Forbidden, kind: Index, mass: Floats, counts: Counts) -> Clash:
    """Return the rows that may have some classes only."""
    others = np.delete(np.arange(kinds.shape[1]), classes)
    inside: Forbidden = np.all(kinds[:, others], axis=1)
    found = np.flatnonzero(inside[kind])
    return Clash(found, classes, float(mass[inside].sum()), float(counts[classes].sum()))


def _lack(clash: Clash) -> float:
    return clash.mass - clash.room


def possible_shares(forbidden: Forbidden, shares: Floats, mass: Floats) -> Floats:
    """Return shares that can be kept: every row has its classes in the proportion of the shares.

    Parameters
    ----------
    forbidden : bool array of shape (n, m)
    shares : array of shape (m,)
    mass : array of shape (n,) or (1,)
    """
    kinds, kind = _kinds(forbidden)
    each = np.bincount(kind, mass if has_weights(mass) else None)
    p = np.where(kinds, 0.0, shares)
    # classes without a share, where a row may have no others
    empty = p.sum(axis=1) == 0.0
    p[empty] = ~kinds[empty]
    p /= p.sum(axis=1, keepdims=True)
    return np.asarray(each @ p / each.sum())
