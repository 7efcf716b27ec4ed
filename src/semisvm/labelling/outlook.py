"""What the model says about rows, and how good it is."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from semisvm.labelling.book import Book
from semisvm.labelling.estimates import (
    Trial,
    accuracy_at,
    class_shares,
    fit_curve,
    is_trial,
    learning_curve,
    trials_of,
)
from semisvm.labelling.learning import Fitted
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import ClassStatus, Guess, Interval, Status
from semisvm.trust.explaining import column_weights, reasons

N_BECAUSE = 8
"""Features that are named with a guess."""
N_KEYS = 9
FEW_TO_CALIBRATE = 8
"""Guesses that were put to the test before probabilities follow them."""
POINT = 0.01
ENOUGH_TRIALS = 10
"""Trials before the advice to stop may be given."""
SURE_TRIALS = 20
"""Trials before it may be given because nothing is wrong: the accuracy is 84% or more then."""


class Outlook:
    """Guesses with probabilities, lists of rows, and estimates.

    Parameters
    ----------
    pool : Pool
    book : Book
    """

    def __init__(self, pool: Pool, book: Book) -> None:
        self._pool, self._book = pool, book
        self._names = _feature_names(pool)
        self._slope = 1.0
        self._known: tuple[Any, dict[str, Any]] | None = None

    def see(self, fitted: Fitted) -> None:
        """Adjust the probabilities to what the answers said about guesses so far."""
        from semisvm.model_selection.calibration import Calibrator

        scores, codes = [], []
        for mark in self._book.marks.values():
            told = mark.facts.get("scores")
            if mark.value is None or not is_trial(mark.facts) or not told:
                continue
            if set(told) == set(fitted.classes) and mark.value in told:
                scores.append([told[name] for name in fitted.classes])
                codes.append(fitted.classes.index(mark.value))
        self._slope = 1.0
        if len(codes) >= FEW_TO_CALIBRATE:
            found = Calibrator.fit(
                np.array(scores), np.array(codes), len(fitted.classes), "temperature"
            )
            self._slope = float(found.slope[0])

    def probabilities(self, fitted: Fitted, row: int) -> dict[str, float]:
        """Return the probability of each class."""
        z = self._slope * fitted.scores[row].astype(np.float64)
        e = np.exp(z - z.max())
        return dict(zip(fitted.classes, (e / e.sum()).tolist(), strict=True))

    def guess(self, fitted: Fitted, row: int) -> Guess:
        """Return the guess for a row, and what speaks for it."""
        probabilities = self.probabilities(fitted, row)
        because = self._because(fitted, row)
        return Guess(fitted.guess(row), probabilities, because, fitted.number)

    def _because(self, fitted: Fitted, row: int) -> list[tuple[str, float]]:
        """Return the features of a row that speak for its class against the next one."""
        weights, prepared = column_weights(fitted.estimator), self._pool.prepared
        if weights is None or prepared is None:
            return []
        scores = fitted.scores[[row]].astype(np.float64)
        found = reasons(weights, prepared.X[[row]], scores, scores.argmax(axis=1), N_BECAUSE)
        return [(self._name(k), part) for k, part in found[0]]

    def _name(self, k: int) -> str:
        return self._names[k] if self._names else f"column {k + 1}"

    def sure(self, fitted: Fitted, marked: list[int], value: str | None) -> Any:
        """Return open rows, the most certain first, of one guess or of all."""
        order = fitted.order[::-1]
        free = np.ones(len(order), dtype=bool)
        free[marked] = False
        if value is not None:
            if value not in fitted.classes:
                return order[:0]
            free &= fitted.scores.argmax(axis=1) == fitted.classes.index(value)
        return order[free[order]]

    def status(
        self,
        fitted: Fitted | None,
        *,
        version: int,
        fitting: bool,
        fit_error: str | None,
        saved: bool,
        notes: Sequence[str],
    ) -> Status:
        """Return how far the sitting is; called under its lock."""
        known = self._estimates(fitted, version)
        book = self._book
        given = sum(1 for mark in book.marks.values() if not mark.seq)
        return Status(
            n_rows=len(self._pool),
            n_answered=book.n_answered,
            n_skipped=book.n_skipped,
            n_given=given,
            classes=known["classes"],
            model_number=0 if fitted is None else fitted.number,
            model_labels=0 if fitted is None else fitted.n_labels,
            method="" if fitted is None else fitted.method,
            fitting=fitting,
            fit_seconds=None if fitted is None else fitted.seconds,
            fit_error=fit_error,
            accuracy=known["accuracy"],
            curve=known["curve"],
            more_labels=known["more_labels"],
            advice=known["advice"],
            saved=saved,
            version=version,
            notes=list(notes),
        )

    def _estimates(self, fitted: Fitted | None, version: int) -> dict[str, Any]:
        if self._known is not None and self._known[0] == version:
            return self._known[1]
        book = self._book
        trials = trials_of(book.marks.values())
        accuracy = None if fitted is None else accuracy_at(trials, fitted.n_labels)
        more = None if fitted is None else _more_labels(trials, fitted.n_labels, accuracy)
        found = {
            "classes": self._classes(),
            "accuracy": accuracy,
            "curve": learning_curve(trials),
            "more_labels": more,
            "advice": self._advice(fitted, accuracy, more),
        }
        self._known = version, found
        return found

    def _classes(self) -> list[ClassStatus]:
        book = self._book
        shares = class_shares(book.marks.values(), book.classes) or {}
        return [
            ClassStatus(
                name,
                k + 1 if k < N_KEYS else None,
                book.counts[name],
                *shares.get(name, (None, None)),
            )
            for k, name in enumerate(book.classes)
        ]

    def _advice(self, fitted: Fitted | None, accuracy: Interval | None, more: int | None) -> str:
        book = self._book
        if len(book.marks) == len(self._pool):
            return "Every row has an answer or was skipped."
        if sum(1 for count in book.counts.values() if count) < 2:
            return "Go on: a model needs answers of two classes."
        if fitted is None or accuracy is None or accuracy.n < ENOUGH_TRIALS:
            return "Go on: more random rows are needed to say how accurate the model is."
        if more is None and accuracy.n < SURE_TRIALS:
            return "Go on: no random row was guessed wrong yet, but they are few."
        if more is None:
            return "You can stop: the model is right on nearly all random rows."
        if more >= fitted.n_labels:
            return f"You can stop: one more point of accuracy would take about {more} more answers."
        return f"Go on: one more point of accuracy takes about {more} more answers."

    def sentences(self, status: Status) -> list[str]:
        """Say in a report what the sitting knows about the model."""
        asked = f"{status.n_answered - status.n_given} rows were labelled in a sitting"
        found = [f"{asked}; {status.n_skipped} were skipped."]
        if status.accuracy is not None:
            a = status.accuracy
            found.append(
                f"accuracy {a.value:.1%} ({a.low:.1%} to {a.high:.1%}, 95% interval), from {a.n} "
                "random rows that were answered before the model saw them."
            )
        return found


def _more_labels(trials: Sequence[Trial], n_labels: int, accuracy: Interval | None) -> int | None:
    """Return how many more labels one more point takes; None if there is none to gain."""
    if accuracy is not None and accuracy.value > 1 - POINT:
        return None
    law = fit_curve(trials, n_labels)
    return None if law is None else law.more_labels(POINT)


def _feature_names(pool: Pool) -> list[str]:
    """Return the names of the features; none for a matrix."""
    features = None if pool.prepared is None else pool.prepared.features
    if features is None:
        return []
    texts = [name for name, kind in features.kinds_.items() if kind == "text"]
    # of a single text column the reader knows where words come from
    prefix = f"{texts[0]}__" if len(texts) == 1 else ""
    return [str(name).removeprefix(prefix) for name in features.get_feature_names_out()]
