"""Rows that were asked for and have no answer yet."""

import time
from collections.abc import Callable

from semisvm.labelling.book import Book
from semisvm.labelling.policy import WORDS, Policy
from semisvm.labelling.records import Query

EXPIRES = 600.0
"""Seconds for which a row is kept for the client that was asked for it."""


class Queries:
    """One row per client, until it is answered or skipped, or the client is gone.

    Parameters
    ----------
    policy : Policy
    book : Book
    """

    def __init__(self, policy: Policy, book: Book) -> None:
        self._policy, self._book = policy, book
        self._out: dict[str | None, tuple[Query, float]] = {}
        # not the time of day, which may jump
        self.clock: Callable[[], float] = time.monotonic

    def ask(self, client: str | None) -> Query | None:
        """Return the row of a client, or the next one; None if no row is left."""
        self._forget_old()
        kept = self._out.pop(client, None)
        query = self._next() if kept is None else kept[0]
        if query is not None:
            self._out[client] = query, self.clock()
        return query

    def reason_of(self, row: int) -> str | None:
        """Return why somebody is asked for a row; None if nobody is."""
        return next((query.reason for query, _ in self._out.values() if query.row == row), None)

    def _next(self) -> Query | None:
        waiting = [query for query, _ in self._out.values()]
        taken = {query.row for query in waiting}
        asked = dict(self._book.asked)
        for query in waiting:
            asked[query.reason] = asked.get(query.reason, 0) + 1
        found = self._policy.next(
            asked,
            len(self._book.classes),
            lambda row: row not in taken and self._book.is_open(row),
        )
        if found is None:
            return None
        row, reason = found
        return Query(row, reason, WORDS[reason], len(self._book.marks) + len(waiting) + 1)

    def _forget_old(self) -> None:
        now = self.clock()
        self._out = {
            client: (query, since)
            for client, (query, since) in self._out.items()
            if now - since < EXPIRES and self._book.is_open(query.row)
        }
