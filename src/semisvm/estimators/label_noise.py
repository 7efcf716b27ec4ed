"""Labels that may be wrong, as evidence about the rows that have them.

A label c_i that is wrong with probability e_i is evidence about its row. With class shares r: ::

    q_i(c_i) = 1 - e_i,        q_i(y) = e_i r_y / sum_{z != c_i} r_z

What the other labels say of the row are ridge regressions s_i of the labels along the directions
of all rows, in which its own label has no part. If P(y | x) ~ r_y exp(a s_y), then ::

    P(y | x_i, c_i) ~ q_i(y) exp(a s_iy)
    P(c_i | x_i) ~ sum_y q_i(y) exp(a s_iy) / sum_z r_z exp(a s_iz)

The second line is the likelihood of the slope a >= 0, which is drawn to zero. Where labels say
nothing of each other it is zero, and no label is in doubt. A label that is less probable than
`TRUSTED` is taken back: the row becomes an unlabelled one, with the evidence q_i.

Soft labels, or weights by these probabilities, gained less: with more columns than labelled rows a
machine fits any label, whatever its weight is.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax

from semisvm.designs import Floats, Index
from semisvm.designs.validation import take_rows
from semisvm.labels.partial import PartialLabels
from semisvm.labels.weights import masses
from semisvm.maps.left_out import LeftOutRidge, directions
from semisvm.validation import check_real, floats

TRUSTED = 0.35
"""Probability of a label below which it is taken back. Below one half, since a label that is taken
back by mistake costs more than one that stays."""
SPREAD, STEEPEST = 5.0, 50.0
"""Standard deviation of the slope before any label was seen, and its bound."""


def check_noise(label_noise: Any) -> None:
    """Raise ValueError for what cannot be rates of wrong labels, whatever the labels are."""
    if isinstance(label_noise, Mapping):
        for label, rate in label_noise.items():
            check_rate(f"label_noise[{label!r}]", rate)
    elif label_noise is not None and np.ndim(label_noise) == 0:
        check_rate("label_noise", label_noise)


def check_rate(name: str, value: Any) -> float:
    """Return a rate of wrong labels."""
    if not check_real(name, value, at_least=0) < 1.0:
        raise ValueError(f"{name} must be at least 0 and below 1, got {value!r}.")
    return float(value)


def noise_rates(label_noise: Any, labels: PartialLabels) -> Floats | None:
    """Return the probability that the label of each row is wrong, (n,); None if all are right.

    Parameters
    ----------
    label_noise : float, mapping of class to float, array-like of shape (n,) or None
        Classes that a mapping does not name have no wrong labels.
    labels : PartialLabels
    """
    if label_noise is None:
        return None
    rates = np.zeros(len(labels.codes))
    if isinstance(label_noise, Mapping):
        classes = labels.classes.tolist()
        unknown = [label for label in label_noise if label not in classes]
        if unknown:
            raise ValueError(
                f"label_noise names unknown classes {unknown!r}; the classes are {classes!r}."
            )
        each = np.array([label_noise.get(label, 0.0) for label in classes], dtype=np.float64)
        rates[labels.labeled] = each[labels.codes[labels.labeled]]
    elif np.ndim(label_noise) == 0:
        rates[labels.labeled] = float(label_noise)
    else:
        given = floats("label_noise", label_noise)
        if given.shape != rates.shape:
            raise ValueError(
                f"label_noise must have one rate per row, shape {rates.shape}, got shape "
                f"{given.shape}. Where folds leave rows out, give a number or rates by class."
            )
        rates[labels.labeled] = given[labels.labeled]
        wrong = np.flatnonzero(~((rates >= 0.0) & (rates < 1.0)))
        if len(wrong):
            raise ValueError(
                "label_noise must hold probabilities, at least 0 and below 1; that of row "
                f"{wrong[0]} is {rates[wrong[0]]}."
            )
    return rates if rates.any() else None


def take_back(
    labels: PartialLabels, X: Any, rates: Floats, used: Index, weight: Floats | None = None
) -> tuple[PartialLabels, Index]:
    """Turn labels that are probably wrong into evidence; return the labels, and these rows.

    A class keeps the most probable one of its labels.

    Parameters
    ----------
    labels : PartialLabels
    X : validated rows, or features of a kernel
    rates : array of shape (n,)
        Probabilities that labels are wrong.
    used : array of row indices, ascending
        The labelled rows, and those that show the directions of the rows besides.
    weight : array of shape (n,), optional
        Sample weights. Labels of weight zero have no part.
    """
    each = np.ones(len(rates)) if weight is None else weight
    rows = labels.labeled[each[labels.labeled] > 0.0]
    mass = np.broadcast_to(masses(each[rows])[0], rows.shape)
    codes = labels.codes[rows].astype(np.intp)
    q = _evidence(codes, rates[rows], mass, len(labels.classes))
    fit = LeftOutRidge(directions(take_rows(X, used)), np.searchsorted(used, rows), mass)
    scores = fit.class_values(codes, len(labels.classes))[fit.rows]
    own = _posterior(scores, q, mass)[np.arange(len(rows)), codes]
    doubted = own < TRUSTED
    for k in np.unique(codes):
        of_class = np.flatnonzero(codes == k)
        if doubted[of_class].all():
            doubted[of_class[own[of_class].argmax()]] = False
    taken = rows[doubted]
    if not len(taken):
        return labels, taken
    found = labels.without(taken)
    shape = (len(labels.codes), len(labels.classes))
    against = np.zeros(shape) if found.evidence is None else found.evidence.copy()
    against[taken] += np.log(q[doubted].max(axis=1, keepdims=True) / q[doubted])
    against[taken] -= against[taken].min(axis=1, keepdims=True)
    return replace(found, evidence=against), taken


def _evidence(codes: Index, rates: Floats, mass: Floats, m: int) -> Floats:
    """Return the probabilities of the classes by the label alone, (l, m)."""
    shares = np.bincount(codes, mass, minlength=m) + 1.0
    q = np.tile(shares, (len(codes), 1))
    own = np.arange(len(codes))
    q[own, codes] = 0.0
    q *= (rates / q.sum(axis=1))[:, np.newaxis]
    q[own, codes] = 1.0 - rates
    return q


def _posterior(scores: Floats, q: Floats, mass: Floats) -> Floats:
    """Return the probabilities of the classes by all labels, (l, m)."""
    with np.errstate(divide="ignore"):
        log_q, log_shares = np.log(q), np.log(np.average(q, axis=0, weights=mass))

    def loss(slope: float) -> float:
        s = slope * scores
        fits = logsumexp(s + log_q, axis=1) - logsumexp(s + log_shares, axis=1)
        return float(0.5 * (slope / SPREAD) ** 2 - mass @ fits)

    slope = minimize_scalar(loss, bounds=(0.0, STEEPEST), method="bounded").x
    return np.asarray(softmax(slope * scores + log_q, axis=1))
