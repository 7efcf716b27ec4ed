"""Rows that were shown and have no answer yet: one per browser, until it is answered or given back.

A row is leased, not locked. It stays with a browser as long as that is heard of, so two people
never get the same row by chance; of a browser that was closed it comes back after a while.

Of several people, a share of the rows, drawn by chance, goes to two of them, so that how far they
agree on these rows is an estimate for all.
"""

import time
from collections.abc import Callable

import numpy as np

from semisvm.labelling.answer_store import AnswerStore, said
from semisvm.labelling.policy import WORDS, Policy
from semisvm.labelling.records import Query

EXPIRES = 600.0
"""Seconds for which a row is kept for a browser that is not heard of."""
SECOND = "second"
"""Reason to ask for a row that somebody else has answered."""
WHY_SECOND = "It was drawn at random from the rows that two people answer."

Holder = tuple[str | None, str | None]
"""Whose row it is: the person and the browser."""


class Leases:
    """Gives rows to browsers.

    Parameters
    ----------
    policy : Policy
    store : AnswerStore
    overlap : float
        Share of the rows that go to two people.
    rng : Generator
        Draws these rows.
    """

    def __init__(
        self, policy: Policy, store: AnswerStore, overlap: float, rng: np.random.Generator
    ) -> None:
        self._policy, self._store = policy, store
        n = policy.n_rows
        order = rng.permutation(n)
        self._doubles: list[int] = order[rng.random(n) < overlap].tolist() if overlap else []
        self._out: dict[Holder, tuple[Query, float]] = {}
        self._had_second: set[str] = set()
        # not the time of day, which may jump
        self.clock: Callable[[], float] = time.monotonic

    def ask(self, client: str | None, by: str | None = None) -> Query | None:
        """Return the row of a browser, or the next one; None if no row is left."""
        self._forget_old()
        kept = self._out.pop((by, client), None)
        query = self._next(by) if kept is None else kept[0]
        if query is not None:
            self._out[by, client] = query, self.clock()
        return query

    def renew(self, client: str | None, by: str | None = None) -> None:
        """Keep a row longer: its browser was heard of."""
        kept = self._out.get((by, client))
        if kept is not None:
            self._out[by, client] = kept[0], self.clock()

    def reason_of(self, row: int, by: str | None = None) -> str | None:
        """Return why a row was shown to a person; None if it was not."""
        rows = ((holder, query) for holder, (query, _) in self._out.items() if query.row == row)
        return next((query.reason for holder, query in rows if holder[0] == by), None)

    def _next(self, by: str | None) -> Query | None:
        waiting = [query for query, _ in self._out.values()]
        taken = {query.row for query in waiting}
        number = len(self._store.marks) + len(waiting) + 1
        # in turns with rows that nobody has answered
        second = None if by is None or by in self._had_second else self._second(by, taken)
        if second is None:
            queries = dict(self._store.queries)
            for query in waiting:
                queries[query.reason] = queries.get(query.reason, 0) + 1
            found = self._policy.next(
                queries,
                len(self._store.classes),
                lambda row: row not in taken and self._store.is_open(row),
            )
            if found is not None:
                self._had_second.discard(by or "")
                row, reason = found
                return Query(row, reason, WORDS[reason], number)
            second = None if by is None else self._second(by, taken)
        if second is None:
            return None
        self._had_second.add(str(by))
        return Query(second, SECOND, WHY_SECOND, number)

    def _second(self, by: str, taken: set[int]) -> int | None:
        """Return a row for which the answer of another person is wanted."""
        marks = self._store.marks
        for row in self._doubles:
            if row in marks and row not in taken and self._wants_second(row, by):
                return row
        return None

    def _wants_second(self, row: int, by: str) -> bool:
        singles = self._store.singles(row)
        first = next(iter(singles.values()), None)
        if first is None or len(singles) > 1 or by in singles or self._store.settled(row):
            return False
        # rows that somebody looked for are not as others are
        return first.by is not None and said(first) is not None and first.reason in WORDS

    def _forget_old(self) -> None:
        now = self.clock()
        self._out = {
            (by, client): (query, since)
            for (by, client), (query, since) in self._out.items()
            if now - since < EXPIRES and self._is_due(query, by)
        }

    def _is_due(self, query: Query, by: str | None) -> bool:
        if query.reason == SECOND:
            return self._wants_second(query.row, str(by))
        return self._store.is_open(query.row)
