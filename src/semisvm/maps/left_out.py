"""Ridge regressions along the directions of rows, and what they say of a row without its own label.

A few labels say more of rows along the latent directions of all rows, labelled or not. The value of
a row that took part is that of a regression without it, in closed form: with leverage h_i,
y_i - (y_i - f_i) / (1 - h_i). The strength of the ridge is that with the least left-out error.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.designs import Floats, Index
from semisvm.maps.latent import N_COMPONENTS, fit_latent

MANY_COLUMNS = 2 * N_COMPONENTS
"""Columns and rows from which latent directions are taken: in fewer columns they add nothing."""
STRENGTHS = (0.03, 0.1, 0.3, 1.0, 3.0)
"""Ridges, in units of the mean square of the rows times the number of labels."""
SMALL = 1e-9


def directions(X: Any) -> Floats:
    """Return rows along their latent directions, or as they are if they have few columns."""
    if min(X.shape) >= MANY_COLUMNS:
        found = fit_latent(X)[1]
    else:
        found = np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
        found = found / (np.sqrt(np.mean(np.square(found).sum(axis=1))) or 1.0)
    return np.column_stack([found, np.ones(len(found))])


@dataclass(frozen=True)
class LeftOutRidge:
    """Ridge regressions on some rows, whose values there are those without the row itself.

    Attributes
    ----------
    Z : array of shape (n, k)
        All rows, by `directions`.
    rows : array of row indices
        Those with a target.
    mass : array of shape (r,) or (1,)
        For how many rows each of these counts. Copies of a row are left out with it.
    """

    Z: Floats
    rows: Index
    mass: Floats

    def values(self, target: Any) -> Floats:
        """Return the values of all rows, (n,), by the ridge with the least left-out error.

        Without a ridge that predicts better than zero they are zero.
        """
        root = np.sqrt(np.broadcast_to(self.mass, self.rows.shape))
        y = np.asarray(target, dtype=np.float64) * root
        U, s, Vt = np.linalg.svd(self.Z[self.rows] * root[:, None], full_matrices=False)
        unit = float(np.sum(s**2) / max(np.count_nonzero(s > SMALL * s.max()), 1))
        best, found = float(y @ y), np.zeros(len(self.Z))
        for strength in STRENGTHS:
            shrunk = s**2 / (s**2 + strength * unit)
            fitted, leverage = U @ (shrunk * (U.T @ y)), (U**2) @ shrunk
            without = y - (y - fitted) / np.maximum(1.0 - leverage, SMALL)
            error = float(np.square(y - without).sum())
            if error < best:
                slopes = np.divide(shrunk, s, out=np.zeros_like(s), where=s > SMALL * s.max())
                best, found = error, self.Z @ (Vt.T @ (slopes * (U.T @ y)))
                counted = root > 0.0
                found[self.rows[counted]] = without[counted] / root[counted]
        return found

    def class_values(self, codes: Index, m: int) -> Floats:
        """Return, per class, the values of the regression of its labels, less their mean, (n, m).

        Parameters
        ----------
        codes : int array of shape (r,)
            Classes of the rows with a target.
        m : int
        """
        each = np.broadcast_to(self.mass, self.rows.shape)
        labels = codes[:, np.newaxis] == np.arange(m)
        means = np.average(labels, axis=0, weights=each)
        return np.stack([self.values(labels[:, k] - means[k]) for k in range(m)], axis=1)
