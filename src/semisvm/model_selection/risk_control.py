"""Exact tests of the errors among the rows that are not in a random sample."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from semisvm.designs.base import Floats, Index

STEPS = 100
"""Numbers of rows that are tested, at most."""
NEARLY_ALL = 3.0
"""Standard deviations by which the sample may have more rows than usual among those of a test. With
yet more the test does not reject."""
FRACTION = 0.25
"""The first test is one that likely succeeds if the share of errors is this part of the bound."""
LIKELY = 0.5
"""With 0.8 fewer rows were certified where errors are frequent (`python -m benchmarks certify`).
Both numbers decide how many rows are certified, not whether the bound holds."""
ROUNDING = 1e-9
"""Of ``error`` times a number of rows, which is not 12 for 0.06 times 200."""


def few_errors(n_rows: Index, n_wrong: Index, n_sample: Index, most: int) -> Floats:
    """Compute the probabilities of at most 0, 1, ... errors in samples, shape (s, most + 1).

    They are those of the hypergeometric distribution, summed from its first terms.

    Parameters
    ----------
    n_rows, n_wrong, n_sample : int arrays of shape (s,)
        Rows, wrong ones among them, and rows drawn.
    most : int
    """
    j = np.arange(most + 1)
    rows, wrong, drawn = (np.asarray(counts)[:, None] for counts in (n_rows, n_wrong, n_sample))
    right, rest = rows - wrong, drawn - j
    possible = (j <= wrong) & (rest >= 0) & (rest <= right)
    with np.errstate(invalid="ignore"):
        terms = _choose(wrong, j) + _choose(right, rest) - _choose(rows, drawn)
        return np.minimum(np.cumsum(np.where(possible, np.exp(terms), 0.0), axis=1), 1.0)


def _choose(n: NDArray[Any], k: NDArray[Any]) -> Floats:
    """Compute the logarithm of the number of ways to draw k of n."""
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


@dataclass(frozen=True)
class Bound:
    """At most a share ``error`` of the rows that are not in a sample is to be wrong.

    Attributes
    ----------
    n, size : int
        All rows, and those of the sample.
    error : float
    level : float
        Probability of exceeding it.
    """

    n: int
    size: int
    error: float
    level: float

    def most_drawn(self, n_rows: Index) -> Index:
        """Return how many of some rows are in the sample, at most and nearly always."""
        share = n_rows / self.n
        variance = self.size * share * (1.0 - share) * (self.n - self.size) / max(self.n - 1, 1)
        most = np.ceil(self.size * share + NEARLY_ALL * np.sqrt(variance)).astype(np.intp)
        return np.minimum(np.minimum(most, self.size), n_rows)

    def too_many(self, n_rows: Index) -> Index:
        """Return the smallest number of wrong rows that may exceed the bound.

        It does not depend on the sample, as a fixed sequence of tests requires.
        """
        left = n_rows - self.most_drawn(n_rows)
        return np.minimum(np.floor(self.error * left + ROUNDING).astype(np.intp) + 1, n_rows)

    def p_values(self, n_rows: Index, n_sample: Index, n_errors: Index) -> Floats:
        """Compute the probability of so few errors if too many rows were wrong, shape (s,)."""
        if len(n_rows) == 0:
            return np.empty(0)
        found = few_errors(n_rows, self.too_many(n_rows), n_sample, int(n_errors.max()))
        usual = n_sample <= self.most_drawn(n_rows)
        return np.where(usual, found[np.arange(len(n_rows)), n_errors], 1.0)

    def allowed_errors(self, n_rows: Index, n_sample: Index) -> Index:
        """Return the largest number of errors with which each test rejects, -1 if there is none."""
        # twice the number that is expected is more than any test allows
        most = int(2.0 * self.error * n_sample.max(initial=0)) + 1
        found = few_errors(n_rows, self.too_many(n_rows), n_sample, most)
        return np.asarray((found <= self.level).sum(axis=1) - 1, dtype=np.intp)

    def certified_steps(self, n_rows: Index, n_sample: Index, n_errors: Index) -> int:
        """Count the tests that reject before the first that does not.

        Parameters
        ----------
        n_rows, n_sample, n_errors : int arrays of shape (s,)
            Of each step: rows, those in the sample, and wrong ones among these.
        """
        rejected = self.p_values(n_rows, n_sample, n_errors) <= self.level
        return int(np.argmin(np.append(rejected, False)))

    def planned_steps(self) -> Index:
        """Choose the numbers of rows to test, by the size of the sample alone.

        The first is one at which the test likely rejects if a quarter of ``error`` is the share of
        wrong rows; if there is none, the first at which it can reject if no row is wrong.
        """
        n, size = self.n, self.size
        grid = np.unique(np.ceil(n * np.arange(1, STEPS + 1) / STEPS).astype(np.intp))
        if size == 0:
            return grid[:0]
        usual = np.round(grid * size / n).astype(np.intp)
        least = np.maximum(usual - (self.most_drawn(grid) - usual) // 3, 0)
        testable = self.p_values(grid, least, np.zeros_like(grid)) <= self.level
        few = np.round(FRACTION * self.error * grid).astype(np.intp)
        allowed = self.allowed_errors(grid, usual)
        power = few_errors(grid, few, usual, max(int(allowed.max()), 0))
        likely = testable & (power[np.arange(len(grid)), np.maximum(allowed, 0)] >= LIKELY)
        first = np.flatnonzero(likely if likely.any() else testable)
        return grid[first[0] :] if len(first) else grid[:0]


def fewest_labels(n: int, error: float, level: float) -> int:
    """Return the size of the smallest sample that can certify anything of n rows."""
    low, high = 1, n
    while low < high:
        size = (low + high) // 2
        bound, none = Bound(n, size, error, level), np.zeros(1, dtype=np.intp)
        rejects = bound.p_values(np.array([n]), np.array([size]), none)[0] <= level
        low, high = (low, size) if rejects else (size + 1, high)
    return low
