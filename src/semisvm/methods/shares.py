r"""Estimating the shares of the classes among the unlabelled rows.

With l labels drawn at random, the labelled fraction f_k misses a share pi_k by about
sqrt(pi_k (1 - pi_k) / l): 11% for two classes and 20 labels. Two more sources help.

*Classes are often of similar size.* The counts c of the labels are a draw from shares that
are themselves a draw from a symmetric Dirichlet distribution, whose concentration a is
unknown, with a nearly flat prior for log a. Counts as even as those of equal shares
speak for a large a, uneven ones for a small a; the shares are the mean over a of the
posterior modes ::

    q_k = sum_a p(a | c) (c_k + s) / (l + m s),    s = max(a - 1, 0)

*Labels picked class by class.* "Ten of each" shows nothing about the shares. If t classes have
exactly the largest count k, this would be the chance of it in a random draw from equal shares, at
which it is most likely: ::

    C(m, t) (t k)! / (k!^t t^(t k))

Where it is below 1%, the labels were picked by class: q is then equal shares, worth one label per
class, and the unlabelled rows decide.

*The unlabelled rows.* Supervised and transductive models are fitted to two of three folds
of the labels; the rows of the third stay in the data as unlabelled rows. The scores of both
models, which did not see the label, are calibrated together: one slope per model, one offset
per class. The scores of an unlabelled row are then likelihoods of the classes, L_k(x), and
the shares maximise ::

    E mean_x log(sum_k pi_k L_k(x)) + N sum_k q_k log pi_k

(Saerens, Latinne and Decaestecker, 2002; Alexandari, Kundaje and Shrikumar, 2020), found by
Newton's method. N labels are behind q, at most 2 l. E is what the scores are
worth, in labels: E = l / (2 e), where e is the error rate of the held-out scores. What is
known of the errors limits what they show, so more unlabelled rows do not make E larger. The
transductive models are fitted again with the shares found, from the weights found. The
curvature at the maximum gives standard errors; they are widened to what was measured.

The shares wanted are those of the u rows at hand, which vary by pi (1 - pi) / u around
those of the distribution. So N is replaced by N u / (N + u): one unlabelled row follows its
own scores.

*Doubt.* Shares that are off do harm where unlabelled rows have little to give. So where the
transductive models make no fewer errors on the held-out rows than the supervised ones, and
these fewer than guesses, the shares move towards the fractions p that a supervised model of
all labels predicts, by at most half a standard error of every class: ::

    pi + t (p - pi),    t = min(1, min_k se_k / (2 |p_k - pi_k|))

Shares in this range are about as likely; these contradict the supervised model least.

*Weights.* A row of weight two counts like two rows in every sum above, and a row of weight zero
not at all. It is held out as a whole, where two equal rows may fall into different folds.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy.special import gammaln, softmax

from semisvm.designs import Design, Floats, Index, Workers, make_design, thread_count
from semisvm.designs.validation import is_sparse
from semisvm.labels.partial import PartialLabels
from semisvm.labels.weights import masses
from semisvm.losses import SQUARED_HINGE, Loss
from semisvm.methods.fold_fits import (
    Fold,
    Models,
    drawn_rows,
    fit_folds,
    make_folds,
    supervised_fractions,
    used_rows,
)
from semisvm.tasks.driver import Codes

# The second round fits with the shares of the first: scores depend on the shares of a fit.
N_ROUNDS = 2
# The shares are known to a few parts in a hundred: tighter models would not improve them.
TOL = 1e-2
MAX_ITER = 200
# Concentrations from shares of which most are tiny to equal shares.
CONCENTRATIONS = np.geomspace(0.1, 1000.0, 41)
# Large ones are a little less likely: some classes are rarer than few labels show.
EVENNESS = -0.25
# Even counts may be worth more labels than there are, but not more than this many times.
MOST_STRENGTH = 2.0
# Chance of counts this even in a random draw, below which labels were picked class by class.
PICKED = 0.01
# What is then known of the shares, in labels of each class.
PICKED_STRENGTH = 1.0
# E of the docstring is WORTH l / e.
WORTH = 0.5
# Sum of the slopes before any row was held out; a unit of a logarithm is worth one row.
SLOPE_OF_TWO, SLOPE_OF_MANY = 2.0, 4.0
# How much larger the squared errors of shares were than the curvature at the maximum gives.
OPTIMISM = 3.0
# How far doubtful shares may move, in standard errors.
LEEWAY = 0.5
# Of the gain that a step promises, relative to the value.
NEWTON_TOL = 1e-10
NEWTON_STEPS = 100
SHORTEST_STEP = 1e-10
LEAST_GAIN = 1e-4


Quadratic = tuple[float, Floats, Floats]
"""A function near a point: its value, its gradient, and a curvature that is positive definite."""


@dataclass(frozen=True)
class Shares:
    """Class shares and how sure they are.

    Attributes
    ----------
    values : array of shape (m,)
        They sum to one.
    errors : array of shape (m,)
        Standard errors.
    doubtful : bool
        Whether held-out labels did not speak for transductive models, so that the shares were
        moved towards those that a supervised model predicts.
    """

    values: Floats
    errors: Floats
    doubtful: bool = False


class Sampling(Protocol):
    """Rows for the estimates of several shares, and how tightly their models are solved."""

    tol: float
    n_rounds: int

    def used(self, labels: PartialLabels) -> Index:
        """Return the rows that are used for some labels, ascending; see `used_rows`."""
        ...

    def draw(self, used: Index, bias: float) -> tuple[Any, Design]:
        """Return the listed rows, and a design of them."""
        ...


def sampled_shares(fractions: Floats, n_labels: float) -> Shares:
    """Return the fractions among labels drawn at random as shares."""
    return Shares(fractions, np.sqrt(fractions * (1.0 - fractions) / n_labels))


@dataclass(frozen=True)
class Evidence:
    """Likelihoods of the classes in the unlabelled rows, and what they are worth.

    Attributes
    ----------
    likelihoods : array of shape (n, m)
        Up to a factor per row.
    weights : array of shape (n,)
        Of the rows, summing to one.
    worth : float
        In labels.
    """

    likelihoods: Floats
    weights: Floats
    worth: float


def estimate_shares(
    X: Any,
    labels: PartialLabels,
    *,
    weight: Floats | None = None,
    loss: Loss = SQUARED_HINGE,
    reg: float | None = None,
    bias: float = 1.0,
    tol: float = TOL,
    max_iter: int = MAX_ITER,
    n_jobs: int | None = None,
    sampling: Sampling | None = None,
) -> Shares:
    """Estimate the shares of the classes among the unlabelled rows.

    Parameters
    ----------
    X : CSR matrix or array, ndarray, RowsOnDisk or DistributedRows, of shape (n, d)
        Validated rows, or features of a kernel. Of remote rows, those that are used
        are brought into memory: the labelled ones and at most 5,000 others. If the labelled ones
        are too many for that, their fractions are returned.
    labels : PartialLabels
    weight : array of shape (n,), optional
        Sample weights.
    loss, reg, bias, tol, max_iter, n_jobs
        Of the transductive models; ``reg=None`` is the default of the loss.
    sampling : Sampling, optional
        Where the rows that are used come from, if several estimates share them.
    """
    mass = row_masses(labels, weight)
    codes, m = labels.codes[labels.labeled], len(labels.classes)
    counts = np.bincount(codes, mass[labels.labeled] > 0.0, minlength=m)
    prior, strength = shrunk_fractions(np.bincount(codes, mass[labels.labeled], minlength=m))
    n_unlabeled = float(mass[labels.unlabeled].sum())
    used = used_rows(X, labels) if sampling is None else sampling.used(labels)
    used = used[mass[used] > 0.0]
    here = is_sparse(X) or isinstance(X, np.ndarray)
    if n_unlabeled == 0 or counts.max() < 2 or not (here or X.can_load(used)):
        # a gigabyte of labelled rows: their fractions have no error to speak of
        return sampled_shares(prior, strength)
    # the shares of u rows at hand vary around those of their distribution: N u / (N + u)
    strength = strength * n_unlabeled / (strength + n_unlabeled)
    shares = sampled_shares(prior, strength)
    with Workers(thread_count(n_jobs)) as workers:
        if sampling is None:
            rows = drawn_rows(X, used)
            # nothing merged: the same estimate wherever the rows come from, and no further copy
            design = make_design(rows, bias, workers)
        else:
            rows, design = sampling.draw(used, bias)
        some = PartialLabels(labels.classes, labels.codes[used])
        empty = np.zeros((len(used), 2, len(prior)))
        folds, order = make_folds(rows, some)
        held = [Fold(fold, None, empty.copy()) for fold in folds]
        some_weight, mass = None if weight is None else weight[used], mass[used]
        strong = loss.default_reg if reg is None else float(reg)
        models = Models(loss, strong, tol, max_iter, order, some_weight)
        for _ in range(N_ROUNDS if sampling is None else sampling.n_rounds):
            fit_folds(held, workers, rows, design, some, shares.values, models)
            shares = explaining_shares(_evidence(held, some, mass, shares.values), prior, strength)
        if _in_doubt(held, some, mass):
            shares = moved(shares, supervised_fractions(rows, design, some, models))
    return shares


def row_masses(labels: PartialLabels, weight: Floats | None) -> Floats:
    """Return for how many rows each row counts, labelled and unlabelled rows by themselves."""
    mass = np.ones(len(labels.codes))
    if weight is not None:
        for rows in (labels.labeled, labels.unlabeled):
            mass[rows] = masses(weight[rows])[0]
    return mass


def shrunk_fractions(counts: Any) -> tuple[Floats, float]:
    """Return shares that are as near to equal ones as the counts of the labels allow.

    Parameters
    ----------
    counts : int array of shape (m,)

    Returns
    -------
    shares : array of shape (m,)
    strength : float
        How many labels the shares are worth.
    """
    c, a = np.asarray(counts, dtype=np.float64), CONCENTRATIONS[:, np.newaxis]
    m, total = len(c), c.sum()
    if chance_of_ties(c) < PICKED:
        return np.full(m, 1.0 / m), min(PICKED_STRENGTH * m, total)
    evidence = gammaln(m * a) - gammaln(total + m * a)
    evidence = evidence.ravel() + np.sum(gammaln(c + a) - gammaln(a), axis=1)
    posterior = softmax(evidence + EVENNESS * np.log(CONCENTRATIONS))
    more = np.maximum(a - 1.0, 0.0)
    shares = posterior @ ((c + more) / (total + m * more))
    strength = float(posterior @ np.minimum(total + m * more, MOST_STRENGTH * total).ravel())
    return np.asarray(shares / shares.sum(), dtype=np.float64), strength


def chance_of_ties(counts: Floats) -> float:
    """Bound the chance that so many classes share the largest count in a random draw.

    Parameters
    ----------
    counts : array of shape (m,)
        Numbers of labels.
    """
    m, k = len(counts), float(counts.max())
    t = int(np.count_nonzero(counts == k))
    classes = gammaln(m + 1) - gammaln(t + 1) - gammaln(m - t + 1)
    ties = gammaln(t * k + 1) - t * gammaln(k + 1) - t * k * np.log(t)
    return float(np.exp(min(classes + ties, 0.0)))


def _evidence(folds: list[Fold], labels: PartialLabels, mass: Floats, shares: Floats) -> Evidence:
    """Calibrate on the held-out rows, and compute the likelihoods of the unlabelled rows.

    The scores of a model stand for posteriors at the shares it was fitted with.
    """
    held = np.concatenate([fold.scores[fold.rows] for fold in folds])
    rows = np.concatenate([fold.rows for fold in folds])
    codes, each = labels.codes[rows], mass[rows]
    # Bayes: posteriors at the shares of the fit become those at the fractions of the held-out
    # rows by adding the logarithm of their ratio; half a row per class keeps it finite
    seen = np.bincount(codes, each, minlength=len(shares)) + 0.5
    shift = np.log(seen / seen.sum() / shares)
    slopes, offsets = calibrate(held, codes, shift, each)
    wrong = (_mixed(slopes, held) + offsets + shift).argmax(axis=1) != codes
    # Laplace's rule: few held-out rows without an error do not make the scores infinitely sure
    error = (each[wrong].sum() + 1.0) / (each.sum() + 2.0)
    logs = np.concatenate([_mixed(slopes, fold.scores[labels.unlabeled]) for fold in folds])
    # posteriors divided by the shares of the fit are likelihoods, up to a factor per row
    logs += offsets - np.log(shares)
    # an unlabelled row occurs once per fold, with the models of that fold; together it counts once
    parts = np.array([mass[fold.rows].sum() for fold in folds]) / each.sum()
    free = mass[labels.unlabeled]
    return Evidence(
        np.exp(logs - logs.max(axis=1, keepdims=True)),
        np.outer(parts, free / free.sum()).ravel(),
        WORTH * float(mass[labels.labeled].sum()) / error,
    )


def _mixed(slopes: Floats, scores: Floats) -> Floats:
    """Add up the scores of several models, (n, f, m), each times its slope."""
    total: Floats = np.einsum("f,nfm->nm", slopes, scores)
    return total


def calibrate(
    scores: Floats, codes: Codes, shift: Floats, mass: Floats | None = None
) -> tuple[Floats, Floats]:
    """Find slopes and offsets with which scores are log-probabilities, up to a shift.

    Parameters
    ----------
    scores : array of shape (n, f, m)
        Of f models.
    codes : int array of shape (n,)
    shift : array of shape (m,)
        Added to the scores; offsets are drawn to zero.
    mass : array of shape (n,), optional
        For how many rows each of them counts; by default one.

    Returns
    -------
    slopes : array of shape (f,)
        Positive.
    offsets : array of shape (m,)
    """
    f, m = scores.shape[1:]
    mass = np.ones(len(scores)) if mass is None else mass
    usual = np.log((SLOPE_OF_TWO if m == 2 else SLOPE_OF_MANY) / f)
    start = np.append(np.full(f, usual), np.zeros(m))
    by_model = np.ascontiguousarray(scores.transpose(1, 0, 2))

    def fit(parameters: Floats) -> Quadratic:
        return _calibration(parameters, usual, by_model, codes, shift, mass)

    # a step may go too far for exponentials
    with np.errstate(over="ignore", invalid="ignore"):
        found = _minimize(fit, start)
    return np.exp(found[:f]), found[f:]


def _calibration(
    parameters: Floats, usual: float, scores: Floats, codes: Codes, shift: Floats, mass: Floats
) -> Quadratic:
    """Compute the loss of log-slopes (f,) and offsets (m,), with its derivatives.

    Here scores have the shape (f, n, m).
    """
    f, rows = len(scores), np.arange(len(codes))
    log_slopes, offsets = parameters[:f], parameters[f:]
    away, parts = log_slopes - usual, scores * np.exp(log_slopes)[:, np.newaxis, np.newaxis]
    logs = parts.sum(axis=0) + offsets + shift
    logs -= logs.max(axis=1, keepdims=True)
    p = np.exp(logs)
    total = p.sum(axis=1, keepdims=True)
    p /= total
    value = mass @ (np.log(total[:, 0]) - logs[rows, codes])
    value += 0.5 * (offsets @ offsets + away @ away)
    weighted = p * mass[:, np.newaxis]
    excess = weighted.copy()
    excess[rows, codes] -= mass
    flat = parts.reshape(f, -1)
    in_slopes = flat @ excess.ravel()
    gradient = np.concatenate([in_slopes + away, excess.sum(axis=0) + offsets])
    spread = (parts - (p * parts).sum(axis=2, keepdims=True)) * weighted
    curvature = np.eye(len(parameters))
    curvature[:f, :f] += spread.reshape(f, -1) @ flat.T
    # slopes are exponentials: their own curvature is kept only where it is positive, so that the
    # whole stays positive definite and Newton's step descends
    curvature[:f, :f] += np.diag(np.maximum(in_slopes, 0.0))
    curvature[:f, f:] = spread.sum(axis=1)
    curvature[f:, :f] = curvature[:f, f:].T
    curvature[f:, f:] += np.diag(weighted.sum(axis=0)) - p.T @ weighted
    return float(value), gradient, curvature


def _minimize(fit: Callable[[Floats], Quadratic], start: Floats) -> Floats:
    """Minimise a function of few parameters by Newton's method; steps are halved as needed."""
    x, (value, gradient, curvature) = start, fit(start)
    for _ in range(NEWTON_STEPS):
        step = -np.linalg.solve(curvature, gradient)
        slope = float(gradient @ step)
        if -slope <= NEWTON_TOL * (1.0 + abs(value)):
            break
        t, ahead = 1.0, fit(x + step)
        # a value that is no number is too far away
        while not ahead[0] <= value + LEAST_GAIN * t * slope:
            t *= 0.5
            if t < SHORTEST_STEP:
                # no further descent in double precision
                return x
            ahead = fit(x + t * step)
        x, (value, gradient, curvature) = x + t * step, ahead
    return x


def explaining_shares(evidence: Evidence, prior: Floats, strength: float) -> Shares:
    """Find the shares that explain the unlabelled rows and are near to a prior.

    Parameters
    ----------
    evidence : Evidence
    prior : array of shape (m,)
    strength : float
        What the prior is worth, in labels.
    """
    L, weights, worth = evidence.likelihoods, evidence.weights, evidence.worth

    def fit(shares: Floats) -> Quadratic:
        """Compute minus the log-likelihood, plus a price of the sum of the shares."""
        # No constraint is needed. The likelihood is homogeneous: scaling all shares by t adds
        # (worth + strength) log t, so with this price the minimum over t is where they sum to one.
        if not (shares > 0.0).all():
            return np.inf, shares, np.eye(len(shares))
        mixed = L @ shares
        relative = L / mixed[:, np.newaxis]
        likely = worth * (weights @ np.log(mixed)) + strength * (prior @ np.log(shares))
        value = (worth + strength) * shares.sum() - likely
        gradient = worth + strength - worth * (weights @ relative) - strength * prior / shares
        curvature = worth * (relative.T @ (weights[:, np.newaxis] * relative))
        return float(value), gradient, curvature + strength * np.diag(prior / shares**2)

    found = _minimize(fit, prior)
    return Shares(found / found.sum(), _standard_errors(fit(found)[2] / OPTIMISM))


def _in_doubt(folds: list[Fold], labels: PartialLabels, mass: Floats) -> bool:
    """Return whether held-out rows favour the supervised models over the transductive ones.

    Supervised models make no more errors than transductive ones, and fewer than guesses.
    """
    held = np.concatenate([fold.scores[fold.rows] for fold in folds])
    rows = np.concatenate([fold.rows for fold in folds])
    codes, each, m = labels.codes[rows], mass[rows], len(labels.classes)
    # errors of the two models, in the order of `Fold.scores`: supervised, transductive
    wrong = each @ (held.argmax(axis=2) != codes[:, np.newaxis])
    return bool(wrong[0] <= wrong[1] and m * wrong[0] < (m - 1) * each.sum())


def moved(shares: Shares, fractions: Floats) -> Shares:
    """Move doubtful shares towards fractions, by at most `LEEWAY` standard errors.

    Parameters
    ----------
    shares : Shares
    fractions : array of shape (m,)
        They sum to one.
    """
    way = fractions - shares.values
    far = np.abs(way) > LEEWAY * shares.errors
    part = float(np.min(LEEWAY * shares.errors[far] / np.abs(way[far]), initial=1.0))
    return Shares(shares.values + part * way, shares.errors, doubtful=True)


def _standard_errors(information: Floats) -> Floats:
    """Invert the information about shares that sum to one."""
    covariance = np.linalg.inv(information)
    # the inverse, conditioned on errors that sum to zero: a projection along its row sums
    ones = covariance.sum(axis=0)
    covariance -= np.outer(ones, ones) / ones.sum()
    return np.sqrt(np.maximum(np.diag(covariance), 0.0))
