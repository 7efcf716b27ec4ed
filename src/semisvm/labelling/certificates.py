"""Rows that may take the label of the model: the end of a session.

`semisvm.model_selection.certify` needs labels of random rows that the model has not seen, looks at
them once, and fixes their number before. A session has random rows, but its models learn from all
answers, and a person looks again and again. So there are looks at fixed numbers of random rows,
each `FACTOR` times the last. The rows of a look are the first ones of the order in which random
rows are drawn. Its model learns from all other answers that were there by then, so it does not
change until the next look. Look k has the part 1 / (k (k + 1)) of the probability of a wrong bound:
all of these are at most one together.

Random rows that have no label, or were answered after the guess was shown, count as errors: to
leave them out would leave out hard ones.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from semisvm.labelling.answer_store import Mark
from semisvm.labelling.fits import fit_answers
from semisvm.labelling.policy import Policy
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import RANDOM, SURE, LabelingError, Record
from semisvm.model_selection.certification import Certificate, certify
from semisvm.model_selection.risk_control import fewest_labels
from semisvm.text import counted, series

FACTOR = 1.5
UNKNOWN = ""
"""Stands for the answer of a random row that counts as an error; no class is called so."""


@dataclass(frozen=True)
class Look:
    """A number of random rows at which rows are certified.

    Attributes
    ----------
    number : int
        From 1.
    size : int
        Random rows.
    level : float
        Probability of a wrong bound.
    """

    number: int
    size: int
    level: float


def looks(n_rows: int, n_random: int, error: float, confidence: float) -> tuple[Look | None, int]:
    """Return the last look that so many random rows suffice for, and the size of the next one.

    Parameters
    ----------
    n_rows, n_random : int
        All rows of the session, and the random ones with an answer or skipped.
    error, confidence : float
    """
    risk, last, number = 1.0 - confidence, None, 1
    # fewer cannot certify a row, even if none of them is wrong
    first = FACTOR * fewest_labels(n_rows, error, risk / 2)
    while (size := math.ceil(first * FACTOR ** (number - 1))) <= n_random:
        last = Look(number, size, risk / (number * (number + 1)))
        number += 1
    return last, size


@dataclass(frozen=True)
class CertifiedRows(Record):
    """Rows whose predicted label may be taken.

    Attributes
    ----------
    error, confidence : float
        With this confidence, at most a share ``error`` of the certified rows is predicted wrongly.
    n_rows : int
        Rows that could be certified.
    n_certified : int
    n_answered : int
        Certified rows that have an answer by now.
    n_random, n_errors : int
        Random rows of the look, and how many of them count as errors.
    wanted : int
        Random labels until the next look.
    labels : dict
        Certified row without an answer -> predicted label.
    sentences : list of str
    """

    error: float
    confidence: float
    n_rows: int
    n_certified: int
    n_answered: int
    n_random: int
    n_errors: int
    wanted: int
    labels: dict[int, str]
    sentences: list[str]


class Certifier:
    """Certifies rows of a session.

    Parameters
    ----------
    pool : Pool
    policy : Policy
        Which drew the random rows.
    method : str
        Method of the models. It is the one that the session began with: a choice by held-out
        answers has seen the random rows.
    parameters : dict
    """

    def __init__(
        self, pool: Pool, policy: Policy, method: str, parameters: Mapping[str, Any]
    ) -> None:
        self._pool, self._policy = pool, policy
        self._method, self._parameters = method, dict(parameters)
        self._last: tuple[Any, Certificate] | None = None

    def certify(self, marks: Mapping[int, Mark], error: float, confidence: float) -> CertifiedRows:
        """Find the rows that may take the label of the model.

        Parameters
        ----------
        marks : mapping
            Row -> its answer, or that it was skipped.
        error, confidence : float
        """
        if self._pool.prepared is None:
            raise LabelingError(str(self._pool.why_no_features))
        drawn = [row for row in self._policy.in_random_order(marks) if _is_random(marks[row])]
        given = sum(mark.value is not None and not mark.seq for mark in marks.values())
        n_rows = len(self._pool) - given
        look, following = looks(n_rows, len(drawn), error, confidence)
        wanted = following - len(drawn)
        if look is None:
            return self._nothing_yet(error, confidence, n_rows, len(drawn), wanted)
        sample = drawn[: look.size]
        found = self._look(marks, sample, error, 1.0 - look.level)
        pairs = zip(found.rows.tolist(), found.labels.tolist(), strict=True)
        labels = {row: str(label) for row, label in pairs if row not in marks}
        sentences = _sentences(found, marks, sample, confidence, len(labels), following, wanted)
        counts = (found.n_unlabeled, len(found.rows), len(found.rows) - len(labels))
        about = (look.size, found.n_errors, wanted)
        return CertifiedRows(error, confidence, *counts, *about, labels, sentences)

    def _nothing_yet(
        self, error: float, confidence: float, n_rows: int, n_random: int, wanted: int
    ) -> CertifiedRows:
        more = counted(wanted, "more random label")
        reason = f"{more} will show which rows can be; there are {n_random:,}."
        if n_random + wanted >= n_rows:
            reason = "there are too few rows for this bound, so answer all of them."
        words = f"No row is certified at {100 * error:.3g}% yet: {reason}"
        return CertifiedRows(error, confidence, n_rows, 0, 0, n_random, 0, wanted, {}, [words])

    def _look(
        self, marks: Mapping[int, Mark], sample: list[int], error: float, confidence: float
    ) -> Certificate:
        moment, drawn = max(marks[row].seq for row in sample), set(sample)
        known = {
            row: mark.value
            for row, mark in marks.items()
            if mark.value is not None
            and mark.seq <= moment
            and row not in drawn
            # these were chosen by certainty: without them the most certain rows would be rare
            and mark.reason != SURE
        }
        truth = {row: _true_label(marks[row]) for row in sample}
        wanted = (error, confidence, known, truth)
        if self._last is None or self._last[0] != wanted:
            self._last = wanted, self._new(known, truth, error, confidence)
        return self._last[1]

    def _new(
        self, known: dict[int, str], truth: dict[int, str], error: float, confidence: float
    ) -> Certificate:
        prepared = self._pool.prepared
        assert prepared is not None
        if len(set(known.values())) < 2:
            raise LabelingError(
                "Rows cannot be certified: besides the random rows, which check the model, there "
                "are no answers of two classes for it to learn from."
            )
        model = fit_answers(prepared, known, None, self._method, self._parameters).estimator
        y = np.full(len(self._pool), None, dtype=object)
        for row, value in {**known, **truth}.items():
            y[row] = value
        about: dict[str, Any] = {"error": error, "confidence": confidence, "unlabeled": None}
        try:
            return certify(model, prepared.X, y, sample=list(truth), **about)
        except ValueError as reason:
            raise LabelingError(
                "Nothing is certified by this look: the random rows differ from the others by more "
                "than chance, or other answers, would explain. The next look has more of them."
            ) from reason


def _is_random(mark: Mark) -> bool:
    return bool(mark.seq) and mark.reason == RANDOM


def _true_label(mark: Mark) -> str:
    return UNKNOWN if mark.value is None or mark.facts.get("seen_guess") else mark.value


def _sentences(
    found: Certificate,
    marks: Mapping[int, Mark],
    sample: list[int],
    confidence: float,
    n_left: int,
    following: int,
    wanted: int,
) -> list[str]:
    n, bound = len(found.rows), f"{100 * found.error:.3g}%"
    sentences = [f"{n:,} of {found.n_unlabeled:,} rows are certified at {bound}."]
    if n:
        sentences.append(
            f"At most {bound} of their predicted labels are wrong, with {confidence:.0%} "
            "confidence."
        )
    if n > n_left:
        sentences.append(f"{n - n_left:,} of them have an answer by now.")
    share = f"{found.n_errors:,} of {counted(found.n_sample, 'random row')}"
    sentences.append(f"The model, which had not seen them, is wrong on {share}.")
    unknown = sum(_true_label(marks[row]) == UNKNOWN for row in sample)
    if unknown:
        sentences.append(
            f"{unknown:,} of these count as wrong: skipped, none of the classes, disputed, or "
            "answered after the guess was shown."
        )
    without = [str(c.name) for c in found.classes if c.n_rows and not c.n_certified]
    if n and without:
        sentences.append(f"Nothing is certified of: {series(without)}.")
    more, rows = zip((0, n), *found.outlook, strict=True)
    gain = round(float(np.interp(following - found.n_sample, more, rows))) - n
    labels = counted(wanted, "more random label")
    sentences.append(
        f"{labels} would certify about {gain:,} more."
        if gain > 0
        else f"The next look is after {labels}."
    )
    return sentences
