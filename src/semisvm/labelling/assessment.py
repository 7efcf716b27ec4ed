"""What the model predicts for rows, and how good it is."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.special import softmax

from semisvm.estimators.registry import get
from semisvm.labelling.answer_store import AnswerStore
from semisvm.labelling.estimates import (
    SURE_ACCURACY,
    SURE_LEVEL,
    VAGUE,
    Gain,
    accuracy_at,
    class_shares,
    fewest_for_sure,
    first_for_sure,
    gain_of,
    is_trial,
    learning_curve,
    lowest_accuracy,
    sure_margin,
    trials_of,
)
from semisvm.labelling.fits import FEWEST_HELD_OUT, Fitted, HeldOut, Index
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import (
    RANDOM,
    UNCERTAIN,
    ClassStatus,
    Guess,
    Interval,
    PersonStatus,
    Status,
)
from semisvm.model_selection.explaining import column_weights, reasons

N_BECAUSE = 8
"""Features that are named with a guess."""
N_KEYS = 9
FEW_TO_CALIBRATE = 8
"""Guesses that were put to the test before probabilities follow them."""
HIGH = 0.9
"""Lower end of the accuracy from which the advice is to stop."""
WIDE = 0.3
"""Width of the interval of the accuracy from which it is hardly known."""
SMALL_GAIN = 0.05
"""Upper end of a gain in accuracy that is too small to go on for."""
MANY_ANSWERS = 500
"""Answers, of which one later one may be left out of the estimates: to make them takes longer than
to save an answer."""
AS_DRAWN = (RANDOM, UNCERTAIN)
"""Reasons of rows that are like any other row with the same margin: drawn at random, or from a
random handful by the margin. Clusters, people and files have reasons of their own."""
NO_MODEL = "There is no model yet: it comes after the first few answers."
CHECKING = "The answers are being checked. Look again in a moment."


class Assessment:
    """Guesses with probabilities, lists of rows, and estimates.

    Parameters
    ----------
    pool : Pool
    store : AnswerStore
    """

    def __init__(self, pool: Pool, store: AnswerStore) -> None:
        self._pool, self._store = pool, store
        self._names = _feature_names(pool)
        self._slope: float | None = None
        self._sure: dict[str, tuple[float, int, int] | None] = {}
        self._held_out: HeldOut | None = None
        self._known: tuple[int, Fitted | None, dict[str, Any]] | None = None

    def update(self, fitted: Fitted, held_out: HeldOut | None) -> None:
        """Adjust probabilities, and what counts as sure, to held-out guesses.

        Parameters
        ----------
        fitted : Fitted
            The last model.
        held_out : HeldOut or None
            Of that model, or of one of the last; None before the first.
        """
        from semisvm.model_selection.calibration import Calibrator

        self._held_out = held_out
        scores, codes = self._tested(fitted, held_out)
        self._slope = None
        if len(codes) >= FEW_TO_CALIBRATE:
            found = Calibrator.fit(scores, codes, len(fitted.classes), "temperature")
            self._slope = float(found.slope[0])
        self._sure = {name: self._sure_from(held_out, name) for name in fitted.classes}

    def _tested(self, fitted: Fitted, held_out: HeldOut | None) -> tuple[Any, Any]:
        """Return scores and answers of rows that the scoring model had not seen.

        Before the first models for that, those that were in force when the answers came.
        """
        if held_out is not None and held_out.classes == fitted.classes and len(held_out):
            places = held_out.of(self._unseen())
            return held_out.scores[places], held_out.codes[places]
        scores, codes = [], []
        for mark in self._store.marks.values():
            scored = mark.facts.get("scores")
            if mark.value is None or not is_trial(mark.facts) or not scored:
                continue
            if set(scored) == set(fitted.classes) and mark.value in scored:
                scores.append([scored[name] for name in fitted.classes])
                codes.append(fitted.classes.index(mark.value))
        return np.array(scores), np.array(codes)

    def _unseen(self, *reasons: str) -> list[int]:
        """Return rows that were answered, for some reasons, without their guess being shown."""
        return [
            row
            for row, mark in self._store.marks.items()
            if mark.value is not None
            and not mark.facts.get("seen_guess")
            and (not reasons or mark.reason in reasons)
        ]

    def _sure_from(self, held_out: HeldOut | None, name: str) -> tuple[float, int, int] | None:
        tested = self._guessed(held_out, name)
        if held_out is None or not len(tested):
            return None
        right = held_out.codes[tested] == held_out.guesses[tested]
        return sure_margin(held_out.margins[tested], right)

    def _guessed(self, held_out: HeldOut | None, name: str) -> Index:
        """Return the places of held-out rows, drawn at random, that were taken for a class."""
        if held_out is None or name not in held_out.classes:
            return np.zeros(0, dtype=np.intp)
        places = held_out.of(self._unseen(*AS_DRAWN))
        return places[held_out.guesses[places] == held_out.classes.index(name)]

    @property
    def is_calibrated(self) -> bool:
        """Whether held-out guesses have shown how far probabilities can be relied on."""
        return self._slope is not None

    def probabilities(self, fitted: Fitted, row: int) -> dict[str, float]:
        """Return the probability of each class."""
        return dict(zip(fitted.classes, self._softmax(fitted.scores[row]), strict=True))

    def _softmax(self, scores: Any) -> list[float]:
        slope = 1.0 if self._slope is None else self._slope
        found: list[float] = softmax(slope * np.asarray(scores, dtype=np.float64)).tolist()
        return found

    def held_out_guess(self, row: int) -> tuple[str, float | None] | None:
        """Return the guess of a model that had not seen the answer, and its probability."""
        held_out = self._held_out
        if held_out is None or row not in held_out.places:
            return None
        scores = held_out.scores[held_out.places[row]]
        best = int(scores.argmax())
        return held_out.classes[best], self._softmax(scores)[best] if self.is_calibrated else None

    def guess(self, fitted: Fitted, row: int) -> Guess:
        """Return the guess for a row, and what speaks for it."""
        probabilities = self.probabilities(fitted, row)
        because = self._because(fitted, row)
        seen = fitted.has_seen(row)
        known = self.is_calibrated and not seen
        return Guess(fitted.guess(row), probabilities, because, fitted.number, known, seen)

    def _because(self, fitted: Fitted, row: int) -> list[tuple[str, float]]:
        """Return the features of a row that speak for its class against the next one."""
        weights, prepared = column_weights(fitted.estimator), self._pool.prepared
        if weights is None or prepared is None:
            return []
        scores = fitted.scores[[row]].astype(np.float64)
        found = reasons(weights, prepared.X[[row]], scores, scores.argmax(axis=1), N_BECAUSE)
        names = self._names
        return [(names[k] if names else f"column {k + 1}", part) for k, part in found[0]]

    def sure(self, fitted: Fitted, marked: list[int], value: str | None) -> Index:
        """Return open rows whose guess is sure, the most certain first, of one class or of all."""
        order = fitted.order[::-1].astype(np.intp)
        limits = np.full(len(fitted.classes), np.inf)
        for k, name in enumerate(fitted.classes):
            found = self._sure.get(name)
            if found is not None and value in (None, name):
                limits[k] = found[0]
        good = fitted.margins >= limits[fitted.scores.argmax(axis=1)]
        good[marked] = False
        return order[good[order]]

    def why_sure(self, fitted: Fitted | None, value: str) -> str:
        """Return which held-out answers call rows of a class sure, or why none is."""
        if fitted is None:
            return NO_MODEL
        if self._is_checking(fitted):
            return CHECKING
        found, tested = self._sure.get(value), self._guessed(self._held_out, value)
        if found is not None:
            _, right, n = found
            return (
                f"Rows as certain as these were guessed right {right} of {n} times, by models that "
                f"had not seen the answer. So at least {SURE_ACCURACY:.0%} of such guesses are "
                f"right, with a confidence of {SURE_LEVEL:.0%}."
            )
        few = fewest_for_sure()
        if len(tested) < few:
            return (
                f"No row can be called sure yet. Of your answers to random and uncertain rows, "
                f"models that had not seen them guessed {len(tested)} as {value}; it takes {few} "
                "to show that such guesses can be relied on."
            )
        held_out = self._held_out
        assert held_out is not None
        n = first_for_sure(len(tested))
        best = tested[np.argsort(-held_out.margins[tested], kind="stable")[:n]]
        right = int(np.count_nonzero(held_out.codes[best] == held_out.guesses[best]))
        return (
            f"No row can be called sure: of the {n} most certain guesses of {value} by models that "
            f"had not seen the answer, {right} were right. That shows an accuracy of at least "
            f"{math.floor(100 * lowest_accuracy(n - right, n))}%; it takes {SURE_ACCURACY:.0%}."
        )

    def _is_checking(self, fitted: Fitted) -> bool:
        """Return whether there are answers to hold out, but no guesses for them yet."""
        return self._held_out is None and fitted.n_labels >= FEWEST_HELD_OUT

    def doubts(self, fitted: Fitted | None, answers: dict[int, str]) -> tuple[list[int], str]:
        """Return answers that held-out guesses contradict, the strongest first; and a sentence.

        Parameters
        ----------
        fitted : Fitted or None
        answers : dict
            Row -> answer, of today: what was changed since is no longer what was doubted.
        """
        held_out = self._held_out
        if fitted is None:
            return [], NO_MODEL
        if self._is_checking(fitted):
            return [], CHECKING
        if held_out is None or not len(held_out):
            return [], (
                f"Answers are checked from {FEWEST_HELD_OUT} on, in classes that have two or more."
            )
        n, right = len(held_out), held_out.n_right
        shown = f"Models that had not seen the answer guess {right} of {n} answers right"
        if right <= held_out.n_of_largest:
            return [], (
                f"The model cannot judge answers yet. {shown}; to guess the most frequent class "
                f"each time is right {held_out.n_of_largest} times."
            )
        same = held_out.classes
        rows = [
            row
            for row in held_out.contradicted()
            if answers.get(row) == same[held_out.codes[held_out.places[row]]]
        ]
        # of several classes, the order of what is shown with them
        rows.sort(key=lambda row: -max(self._softmax(held_out.scores[held_out.places[row]])))
        return rows, f"{shown}. Where they differ, either may be wrong."

    def status(
        self,
        fitted: Fitted | None,
        *,
        version: int,
        fitting: bool,
        fit_error: str | None,
        saved: bool,
        notes: Sequence[str],
        people: Sequence[PersonStatus] = (),
    ) -> Status:
        """Return how far the session is; called under its lock."""
        known = self._estimates(fitted, version)
        store = self._store
        given = sum(1 for mark in store.marks.values() if not mark.seq)
        return Status(
            n_rows=len(self._pool),
            n_answered=store.n_answered,
            n_skipped=store.n_skipped,
            n_given=given,
            classes=self._classes(known["shares"]),
            model_number=0 if fitted is None else fitted.number,
            model_labels=0 if fitted is None else fitted.n_labels,
            method="" if fitted is None else fitted.method,
            method_title="" if fitted is None else get(fitted.method).title,
            fitting=fitting,
            fit_seconds=None if fitted is None else fitted.seconds,
            fit_error=fit_error,
            accuracy=known["accuracy"],
            curve=known["curve"],
            advice=self._advice(known["accuracy"], known["gain"]),
            saved=saved,
            version=version,
            notes=list(notes),
            people=list(people),
            n_disputed=len(store.disputed),
        )

    def _estimates(self, fitted: Fitted | None, version: int) -> dict[str, Any]:
        """Return what follows from all answers; of many, a few later ones may be left out."""
        store = self._store
        if self._known is not None:
            before, of, found = self._known
            if of is fitted and 0 <= version - before <= len(store.marks) // MANY_ANSWERS:
                return found
        trials = trials_of(store.marks.values())
        shares = class_shares(store.marks.values(), store.classes) or {}
        found = {
            "accuracy": None if fitted is None else accuracy_at(trials, fitted.n_labels),
            "gain": None if fitted is None else gain_of(trials, fitted.n_labels),
            "curve": [] if fitted is None else learning_curve(trials, fitted.n_labels),
            "shares": {name: pair for name, pair in shares.items() if pair[1] <= VAGUE},
        }
        self._known = version, fitted, found
        return found

    def _classes(self, shares: dict[str, tuple[float, float]]) -> list[ClassStatus]:
        store = self._store
        return [
            ClassStatus(
                name,
                k + 1 if k < N_KEYS else None,
                store.counts[name],
                *shares.get(name, (None, None)),
            )
            for k, name in enumerate(store.classes)
        ]

    def _advice(self, accuracy: Interval | None, gain: Gain | None) -> str:
        """Return what to do next, by the intervals."""
        store = self._store
        if len(store.marks) == len(self._pool):
            return "Every row has an answer or was skipped."
        if sum(1 for count in store.counts.values() if count) < 2:
            return "Go on: a model needs answers of two classes."
        if accuracy is None:
            return "Go on: more random rows are needed to estimate how accurate the model is."
        if accuracy.low >= HIGH:
            return "You can stop: the model is right on nearly all random rows."
        if gain is not None and gain.low > 0:
            return (
                f"Go on: answers help. Random rows were guessed right {gain.before:.0%} of the "
                f"time up to {gain.n_labels} labels, {gain.since:.0%} since."
            )
        if gain is not None and gain.high < SMALL_GAIN:
            return (
                f"You can stop: the accuracy has risen by less than {SMALL_GAIN * 100:.0f} points "
                f"since {gain.n_labels} labels."
            )
        if accuracy.high - accuracy.low > WIDE:
            return (
                "Go on: the accuracy is hardly known yet. With more answers its interval narrows."
            )
        return (
            "Stop when this accuracy is enough for you. Whether more answers raise it cannot be "
            "seen yet."
        )

    def sentences(self, status: Status) -> list[str]:
        """Describe the model for a report, by the answers of the session."""
        labelled = f"{status.n_answered - status.n_given} rows were labelled in a session"
        found = [f"{labelled}; {status.n_skipped} were skipped."]
        if status.accuracy is not None:
            a = status.accuracy
            found.append(
                f"accuracy {a.value:.1%} ({a.low:.1%} to {a.high:.1%}, 95% interval), from {a.n} "
                "random rows that were answered before the model saw them."
            )
        return found


def _feature_names(pool: Pool) -> list[str]:
    """Return the names of the features; none for a matrix."""
    features = None if pool.prepared is None else pool.prepared.features
    if features is None:
        return []
    texts = [name for name, kind in features.kinds_.items() if kind == "text"]
    # with a single text column it is clear where words come from
    prefix = f"{texts[0]}__" if len(texts) == 1 else ""
    return [str(name).removeprefix(prefix) for name in features.get_feature_names_out()]
