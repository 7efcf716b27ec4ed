"""Whether new rows look like those that the model was fitted to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.base import Floats
from semisvm.designs.validation import is_sparse, row_squares, take_rows

SAMPLE = 4_000
"""Rows that are looked at, at most."""
FEWEST = 20
"""Rows below which nothing is typical."""
OUTSIDE = 0.05
"""Share of rows like those of the fit that are beyond its limits."""
MANY = 0.15
"""Share of rows beyond a limit that is worth a warning."""
CHANCE = 1e-3
"""How rarely rows like those of the fit may cause one."""
FAR_SHARE = 0.2
"""Difference of shares that is worth a warning, of 2 arcsin(sqrt(share)): 50% and 60%."""


def some_rows(n: int, most: int = SAMPLE) -> NDArray[np.intp]:
    """Return up to so many rows of n, evenly spaced."""
    return np.unique(np.linspace(0, n - 1, min(n, most)).astype(np.intp))


@dataclass(frozen=True)
class Limit:
    """Values of a measure that are usual among the rows of the fit.

    Attributes
    ----------
    usual : float
        Their mean.
    most : float
        The value that 95% of them do not exceed.
    n_rows : int
        Rows from which this is known.
    """

    usual: float
    most: float
    n_rows: int

    @classmethod
    def of(cls, values: Floats) -> "Limit":
        """Learn from the values of rows."""
        place = min(int(np.ceil((1 - OUTSIDE) * (len(values) + 1))), len(values)) - 1
        return cls(float(values.mean()), float(np.sort(values)[place]), len(values))

    def exceeded(self, values: Floats) -> bool:
        """Return whether far more values are beyond the limit than chance explains."""
        from scipy.stats import binom  # takes long to import

        n_beyond, n = int(np.count_nonzero(values > self.most)), len(values)
        # the limit is itself known from a few rows only
        share = OUTSIDE + 2.0 * float(np.sqrt(OUTSIDE * (1 - OUTSIDE) / self.n_rows))
        return n_beyond >= MANY * n and bool(binom.sf(n_beyond - 1, n, share) < CHANCE)


@dataclass(frozen=True)
class Unlikeness:
    """How unlike the rows of a fit some rows are.

    Attributes
    ----------
    distance : array of shape (n,)
        From the centre of the rows of the fit, in units of their mean distance from it.
    unknown : array of shape (n,), or None
        Share of the words and categories of a row, or of its entries, that the fit did not have.
    far, strange : bool
        Whether far more rows have a large distance, or much that is unknown, than rows like those
        of the fit would have.
    usual_unknown : float
        Mean share of what is unknown in a row like those of the fit.
    words : str
        What is unknown.
    shares : str, optional
        What is unusual about the predicted classes (`unusual_shares`).
    """

    distance: Floats
    unknown: Floats | None
    far: bool
    strange: bool
    usual_unknown: float = 0.0
    words: str = "words"
    shares: str | None = None

    def sentences(self) -> list[str]:
        """Return sentences about what is unusual; none if nothing is."""
        found = []
        if self.strange and self.unknown is not None:
            found.append(
                f"the rows look unlike the training rows: {self.unknown.mean():.0%} of their "
                f"{self.words} are unknown to the model ({self.usual_unknown:.0%} in rows like the "
                "training rows). Predictions for them are less certain than they look."
            )
        if self.far:
            found.append(
                f"the rows look unlike the training rows: they are {np.mean(self.distance):.1f} "
                "times as far from the centre of the training rows as these are. Are the columns "
                "and their units the same? Predictions for them are less certain than they look."
            )
        return found if self.shares is None else [*found, self.shares]


@dataclass(frozen=True)
class Familiarity:
    """What rows of the fit look like.

    Half of a sample of them gives the centre, the other half shows how far rows like them are from
    it, so that the limits hold for rows that come later.

    Attributes
    ----------
    centre : float32 array of shape (d,)
    distance : Limit
        Of the distance from the centre.
    unknown : Limit, optional
        Of the share of words, categories or entries that were not in the fit.
    seen : bool array of shape (d,), optional
        Columns of a sparse matrix that are not zero in all rows of the first half.
    """

    centre: NDArray[np.float32]
    distance: Limit
    unknown: Limit | None = None
    seen: NDArray[np.bool_] | None = None

    @classmethod
    def fit(cls, X: Any, unknown: Floats | None = None) -> "Familiarity | None":
        """Learn from a sample of the rows of a fit; None if they are too few.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        unknown : array of shape (n,), optional
            Share of the words and categories of a row that the other rows do not have.
        """
        if X.shape[0] < FEWEST:
            return None
        first, second = (take_rows(X, np.arange(k, X.shape[0], 2)) for k in (0, 1))
        with np.errstate(over="ignore"):
            centre = np.asarray(first.mean(axis=0), dtype=np.float32).ravel()
        if not np.isfinite(centre).all():
            return None  # values beyond single precision
        seen, limit = None, None
        if unknown is not None:
            limit = Limit.of(unknown)
        elif is_sparse(X):
            seen = np.bincount(first.indices, minlength=X.shape[1]) > 0
            limit = Limit.of(_unseen(second, seen))
        return cls(centre, Limit.of(_distances(second, centre)), limit, seen)

    def measure(self, X: Any, unknown: Floats | None = None) -> tuple[Floats, Floats | None]:
        """Measure distances and unknown shares of rows, both of shape (n,), for `judge`.

        Parameters
        ----------
        X : array or CSR matrix of shape (n, d)
        unknown : array of shape (n,), optional
            Share of the words and categories of a row that the fit did not have.
        """
        if self.seen is not None:
            unknown = _unseen(sparse.csr_matrix(X), self.seen)
        return _distances(X, self.centre), None if self.unknown is None else unknown

    def judge(self, measured: Sequence[tuple[Floats, Floats | None]]) -> Unlikeness:
        """Compare pieces of data, as `measure` returned them, with the rows of the fit."""
        distance = np.concatenate([far for far, _ in measured])
        shares = [share for _, share in measured if share is not None]
        unknown, limit = np.concatenate(shares) if shares else None, self.unknown
        return Unlikeness(
            distance / (self.distance.usual or 1.0),
            unknown,
            self.distance.exceeded(distance),
            limit is not None and unknown is not None and limit.exceeded(unknown),
            0.0 if limit is None else limit.usual,
            "words and categories" if self.seen is None else "entries",
        )


def unusual_shares(known: Mapping[Any, int], found: Mapping[Any, int]) -> str | None:
    r"""Return a sentence if predicted classes are mixed differently than in the fit, or None.

    With h = 2 arcsin(sqrt(share)), whose standard error is 1 / sqrt(rows) for any share, the
    difference of a class must be beyond chance, and at least as large as that of 50% and 60%.

    Parameters
    ----------
    known : mapping of classes to counts
        Predictions for the unlabelled rows of the fit.
    found : mapping of classes to counts
        Predictions for other rows.
    """
    from scipy.stats import norm  # takes long to import

    n_known, n_found = sum(known.values()), sum(found.values())
    if min(n_known, n_found) < FEWEST or not known:
        return None
    error = float(np.sqrt(1.0 / n_known + 1.0 / n_found))
    least = max(FAR_SHARE, error * float(norm.isf(0.5 * CHANCE / len(known))))
    names = list(known)
    before = np.array([known[name] / n_known for name in names])
    now = np.array([found.get(name, 0) / n_found for name in names])
    apart = 2.0 * np.abs(np.arcsin(np.sqrt(now)) - np.arcsin(np.sqrt(before)))
    # of two classes, whose differences are equal, the one that has become more frequent
    worst = int(np.lexsort((now - before, np.round(apart, 9)))[-1])
    if apart[worst] <= least:
        return None
    return (
        f"{now[worst]:.0%} of these rows are predicted to be {names[worst]!r}, but "
        f"{before[worst]:.0%} of the unlabelled training rows were. Unless the classes really are "
        "mixed differently here, the model does not suit these rows: check some of the predictions."
    )


def _distances(X: Any, centre: NDArray[np.float32]) -> Floats:
    middle = centre.astype(np.float64)
    squares = row_squares(X) - 2.0 * np.asarray(X @ middle).ravel() + middle @ middle
    return np.sqrt(np.maximum(squares, 0.0))


def _unseen(X: Any, seen: NDArray[np.bool_]) -> Floats:
    """Compute the share of the entries of each row that are in columns not seen before."""
    new = sparse.csr_matrix((~seen[X.indices], X.indices, X.indptr), shape=X.shape, dtype=float)
    total = np.diff(X.indptr)
    return np.asarray(new.sum(axis=1)).ravel() / np.maximum(total, 1)
