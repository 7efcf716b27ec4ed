"""How reliable sources of labels are, by the rows whose class is known.

The confusion table of a source has, for each class y, the probabilities C(v | y) of its votes v. It
is counted on the labelled rows and drawn to a table with one accuracy a for all classes, whose
errors follow the frequencies b of the votes (empirical Bayes): ::

    C(v | y) = (N_yv + alpha P(v | y)) / (N_y + alpha),
    P(v | y) = a for v = y, else (1 - a) b_v / sum_{z != y} b_z

The accuracy of a source with few votes is drawn to that of all sources, and alpha maximises the
likelihood of the counts of all sources (Dirichlet-multinomial). Votes are multiplied as if they
were independent, each with a weight: two sources that agree more often than their tables explain,
as copies do, share one vote. With three sources or more, votes on unlabelled rows add to the counts
by the EM algorithm of Dawid and Skene (1979), where all of them together count like the labelled
rows.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln, softmax

from semisvm.designs.base import Floats
from semisvm.labels.partial import UNLABELED_CODE, PartialLabels

STRENGTHS = np.geomspace(1.0, 256.0, 9)
"""Labels that the common table may be worth."""
TO_ALL = 2.0
"""Labels that the accuracy of all sources is worth for that of one."""
ENOUGH_SOURCES = 2.5
"""Sources, copies not counted, from which their agreement shows who is right."""
EM_STEPS = 20
SMALL = 1e-9

Codes = NDArray[np.intp]


@dataclass(frozen=True)
class Reliability:
    """What is known of some sources.

    Attributes
    ----------
    tables : array of shape (s, m, m)
        Probabilities of the votes, a row per class.
    weights : array of shape (s,)
        How much of a vote each source has: 1 if it is independent of the others, 1/2 for each of
        two copies.
    accuracies : array of shape (s,)
        Share of the rows in which the vote is right, by the labelled rows and drawn to that of all.
    shares : array of shape (m,)
        Class shares of the unlabelled rows, by the votes corrected for their errors.
    """

    tables: Floats
    weights: Floats
    accuracies: Floats
    shares: Floats

    def log_likelihoods(self, votes: Codes) -> Floats:
        """Return the logarithms of the probabilities of the votes, (s, n, m); zero without vote."""
        return _logs(self.tables, votes)


def learn_reliability(
    votes: Codes, labels: PartialLabels, mass: Floats | None = None
) -> Reliability:
    """Learn the confusion tables and the weights of sources.

    Parameters
    ----------
    votes : int array of shape (s, n)
        Classes that the sources vote for, -1 without a vote.
    labels : PartialLabels
    mass : array of shape (n,), optional
        For how many rows each row counts, by default one.
    """
    m = len(labels.classes)
    mass = np.ones(len(labels.codes)) if mass is None else mass
    truth = np.eye(m)[labels.codes[labels.labeled]] * mass[labels.labeled, np.newaxis]
    given = votes[:, labels.labeled]
    counts = np.stack([_counts(own, truth) for own in given])
    n, right = counts.sum(axis=(1, 2)), np.einsum("svv->s", counts)
    voting = np.maximum(np.count_nonzero(n), 1)
    # a mean over sources: copies of one are no further evidence
    overall = (right.sum() / voting + TO_ALL / m) / (n.sum() / voting + TO_ALL)
    accuracies = (right + TO_ALL * overall) / (n + TO_ALL)
    common = np.stack([_common(*pair, mass, m) for pair in zip(votes, accuracies, strict=True)])
    strength = _strength(counts, common)
    tables = _drawn(counts, common, strength)
    # each class exists
    shares = (truth.sum(axis=0) + 1.0) / (truth.sum() + m)
    weights = _weights(votes, tables, shares, mass)
    counted = ((votes != UNLABELED_CODE) & (mass > 0.0)).any(axis=0)
    rows = labels.unlabeled[counted[labels.unlabeled]]
    free, each = votes[:, rows], mass[rows, np.newaxis]
    em = free.shape[1] > 0 and weights[n > 0].sum() >= ENOUGH_SOURCES
    for _ in range(EM_STEPS if free.shape[1] else 0):
        p = softmax(np.log(shares) + np.tensordot(weights, _logs(tables, free), 1), axis=1)
        p *= each
        before, shares = shares, (p.sum(axis=0) + 1.0) / (each.sum() + m)
        if em:
            more = np.stack([_counts(own, p) for own in free]) * (truth.sum() / each.sum())
            tables = _drawn(counts + more, common, strength)
        if np.abs(shares - before).max() < SMALL:
            break
    return Reliability(tables, weights, accuracies, shares)


def _counts(votes: Codes, p: Floats) -> Floats:
    """Count votes by class, (m, m), of rows with class probabilities (n, m), times their masses."""
    m, voting = p.shape[1], votes != UNLABELED_CODE
    found: Floats = p[voting].T @ np.eye(m)[votes[voting]]
    return found


def _common(votes: Codes, accuracy: float, mass: Floats, m: int) -> Floats:
    """Return the table with one accuracy for all classes."""
    voting = votes != UNLABELED_CODE
    usual = np.bincount(votes[voting], mass[voting], minlength=m) + 1.0
    wrong = np.tile(usual, (m, 1))
    np.fill_diagonal(wrong, 0.0)
    wrong *= (1.0 - accuracy) / wrong.sum(axis=1, keepdims=True)
    return np.asarray(wrong + accuracy * np.eye(m))


def _drawn(counts: Floats, common: Floats, strength: float) -> Floats:
    found = counts + strength * common
    return np.asarray(found / found.sum(axis=2, keepdims=True))


def _strength(counts: Floats, common: Floats) -> float:
    """Return the strength of the common tables at which the counts are likeliest."""
    a = STRENGTHS[:, np.newaxis, np.newaxis, np.newaxis] * common
    each = gammaln(counts + a) - gammaln(a)
    whole = gammaln(a.sum(axis=-1)) - gammaln((counts + a).sum(axis=-1))
    found = each.sum(axis=(1, 2, 3)) + whole.sum(axis=(1, 2))
    return float(STRENGTHS[int(found.argmax())])


def _weights(votes: Codes, tables: Floats, shares: Floats, mass: Floats) -> Floats:
    """Return the weights of sources: one, divided by the number of sources that they equal."""
    s = len(votes)
    equal = np.eye(s)
    for i in range(s):
        for j in range(i):
            equal[i, j] = equal[j, i] = _dependence(votes[[i, j]], tables[[i, j]], shares, mass)
    return np.asarray(1.0 / equal.sum(axis=1))


def _dependence(votes: Codes, tables: Floats, shares: Floats, mass: Floats) -> float:
    """Return how far two sources agree beyond what their tables explain: 1 for copies."""
    both = (votes != UNLABELED_CODE).all(axis=0) & (mass > 0.0)
    if not both.any():
        return 0.0
    agree = float(np.average(votes[0, both] == votes[1, both], weights=mass[both]))
    independent = float(shares @ (tables[0] * tables[1]).sum(axis=1))
    most = float(shares @ np.minimum(tables[0], tables[1]).sum(axis=1))
    if most - independent < SMALL:
        return 0.0
    return float(np.clip((agree - independent) / (most - independent), 0.0, 1.0))


def _logs(tables: Floats, votes: Codes) -> Floats:
    """Return the logarithms of the probabilities of the votes, (s, n, m)."""
    found = np.zeros((*votes.shape, tables.shape[1]))
    for own, table, codes in zip(found, tables, votes, strict=True):
        voting = codes != UNLABELED_CODE
        own[voting] = np.log(table.T[codes[voting]])
    return found
