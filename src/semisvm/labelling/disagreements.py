"""Rows on which people differ, and how far they agree."""

from typing import Any

from semisvm.labelling.agreement import agreement_of
from semisvm.labelling.answer_store import NONE, said
from semisvm.labelling.leases import SECOND
from semisvm.labelling.pool import Pool
from semisvm.labelling.records import (
    Agreement,
    Disagreement,
    DisagreementList,
    LabelingError,
    PersonStatus,
    SingleAnswer,
)
from semisvm.labelling.reliability import judged
from semisvm.labelling.saved_answers import SavedAnswers
from semisvm.text import counted, series

OPEN, SETTLED = "open", "settled"
MANY = 100
"""Shared rows, of which one later one may be left out of what is shown of people."""


class Disagreements:
    """What a session shows of several people."""

    _lock: Any
    _pool: Pool
    _store: SavedAnswers
    _judged: tuple[int, dict[str, tuple[int, float]]] = (-1, {})

    def disagreements(self, which: str = OPEN, start: int = 0, count: int = 20) -> DisagreementList:
        """Return rows on which people differ, with the answer of each.

        Parameters
        ----------
        which : {"open", "settled"}
        start, count : int
            The piece of the list to return; the earliest come first, of settled ones the latest.
        """
        if which not in (OPEN, SETTLED):
            raise LabelingError(f"which must be {OPEN} or {SETTLED}, not {which!r}.")
        with self._lock:
            store = self._store
            if which == OPEN:
                rows = sorted(store.disputed, key=lambda row: store.marks[row].seq)
            else:
                rows = [row for row in store.shared if store.settled(row) is not None]
                rows.sort(key=lambda row: -store.marks[row].seq)
            piece = rows[max(0, start) : max(0, start) + max(0, count)]
            found = [(row, store.marks[row], store.singles(row)) for row in piece]
        shown = []
        for row, mark, singles in found:
            answers = [
                SingleAnswer(by or "", str(said(one)), one.time)
                for by, one in singles.items()
                if said(one) is not None
            ]
            shown.append(
                Disagreement(
                    row,
                    self._pool.name_of(row),
                    self._pool.summary(row),
                    answers,
                    mark.seq,
                    None if which == OPEN else said(mark),
                    mark.by if which == SETTLED else None,
                    self._pool.picture_of(row),
                )
            )
        return DisagreementList(len(rows), shown)

    def agreement(self) -> Agreement:
        """Return how far people agree, by the rows that were drawn at random for two of them."""
        with self._lock:
            store = self._store
            answered = {row: _answers(store.singles(row)) for row in store.shared}
            rows = [
                {by: str(said(mark)) for by, mark in marks.items()}
                for marks in answered.values()
                if any(mark.reason == SECOND for mark in marks.values())
            ]
            settled = sum(store.settled(row) is not None for row in store.shared)
            classes = dict.fromkeys([*store.classes, NONE])
            return agreement_of(rows, list(classes), len(store.disputed), settled)

    def people_status(self) -> list[PersonStatus]:
        """Return what each person has done, in the order of their links."""
        with self._lock:
            store = self._store
            counts = store.given_by
            names = dict.fromkeys([*(person.name for person in store.people), *counts])
            if not names:
                return []
            before, known = self._judged
            if store.version - before > len(store.shared) // MANY:
                known = judged(store)
                self._judged = store.version, known
            return [
                PersonStatus(
                    name,
                    counts[name],
                    *known.get(name, (0, 0.0)),
                    store.people.get(name) is not None,
                )
                for name in names
            ]

    def people_sentences(self) -> list[str]:
        """Describe for a report who has labelled, when, and how far they agree."""
        people = [one for one in self.people_status() if one.n_answered]
        if not people:
            return []
        with self._lock:
            marks = self._store.marks.values()
            times = sorted(mark.time for mark in marks if mark.by and mark.time)
        named = series(f"{one.name} ({counted(one.n_answered, 'row')})" for one in people)
        when = f", from {times[0]} to {times[-1]}" if times else ""
        found = [f"labelled by {named}{when}."]
        agreement = self.agreement()
        if agreement.n_rows and agreement.agreed is not None:
            same, alpha = agreement.agreed, agreement.alpha
            text = (
                f"people agree on {same.value:.0%} of {counted(agreement.n_rows, 'row')} drawn at "
                f"random for two of them ({same.low:.0%} to {same.high:.0%}, 95% interval)"
            )
            if alpha is not None:
                ends = f"({alpha.low:.2f} to {alpha.high:.2f})"
                text += f", Krippendorff's alpha {alpha.value:.2f} {ends}"
            found.append(f"{text}.")
        if agreement.n_settled or agreement.n_disputed:
            found.append(
                f"people differed on {counted(agreement.n_settled, 'row')} that have a label since "
                f"it was settled, and on {agreement.n_disputed:,} that have none."
            )
        return found


def _answers(singles: Any) -> dict[str, Any]:
    return {by or "": mark for by, mark in singles.items() if said(mark) is not None}
