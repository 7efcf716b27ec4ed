"""The answers of a labelling session, as a function of its events."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from semisvm.labelling.records import FILE, LabelingError, Record
from semisvm.text import plain

ANSWER, SKIP, REMOVE, CLASS, UNDO = "answer", "skip", "remove", "class", "undo"
CHANGES = (ANSWER, SKIP, REMOVE, CLASS)
"""Kinds of events that can be undone."""
LONGEST_CLASS = 200


@dataclass(frozen=True)
class Event(Record):
    """A change, as it stands in the journal.

    Attributes
    ----------
    seq : int
        Its number; the order of events is that of their numbers.
    kind : {"answer", "skip", "remove", "class", "undo"}
    rows : tuple of int
        From 0.
    value : str or None
        The class.
    of : int or None
        Number of the event that is undone.
    facts : dict
        About the answer: ``reason``, ``client``, ``seen_guess``, ``comment``; ``none`` of a row
        that was skipped since it belongs to no class; ``guess`` and ``scores`` of the
        model that had not seen the row, and ``labels``, to how many it was fitted.
    """

    seq: int
    kind: str
    rows: tuple[int, ...] = ()
    value: str | None = None
    of: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Mark:
    """What is known about a row: an answer, or that it was skipped.

    Attributes
    ----------
    seq : int
        Number of the event; 0 for a label of the file.
    value : str or None
        None for a skipped row.
    facts : dict
        Of the event.
    """

    seq: int
    value: str | None
    facts: Mapping[str, Any]

    @property
    def reason(self) -> str:
        """Why the row was looked at."""
        return str(self.facts.get("reason", FILE))

    @property
    def comment(self) -> str:
        """What was written about the row."""
        return str(self.facts.get("comment", ""))

    @property
    def is_none(self) -> bool:
        """Whether the row belongs to none of the classes."""
        return self.value is None and bool(self.facts.get("none"))


@dataclass
class _Done:
    event: Event
    before: dict[int, Mark | None]


class AnswerStore:
    """Rows with answers, skipped rows, classes, and what can be undone.

    Parameters
    ----------
    given : mapping
        Row -> label of the file.
    classes : iterable of str
        In the order of their keys; those of the given labels are added.

    Attributes
    ----------
    marks : dict
        Row -> `Mark`; rows that are not there are open.
    classes : list of str
    counts : Counter
        Class -> rows with this answer.
    queries : Counter
        Reason -> rows that were answered or skipped for it.
    n_skipped : int
    """

    def __init__(self, given: Mapping[int, str], classes: Iterable[str] = ()) -> None:
        self.marks: dict[int, Mark] = {
            row: Mark(0, value, {"reason": FILE}) for row, value in given.items()
        }
        found = sorted(set(given.values()))
        self.classes: list[str] = []
        self.add_classes([*classes, *found])
        self.counts: Counter[str] = Counter(given.values())
        self.queries: Counter[str] = Counter()
        self.n_skipped = 0
        self._done: list[_Done] = []

    @property
    def n_answered(self) -> int:
        """Number of rows with an answer."""
        return len(self.marks) - self.n_skipped

    def answers(self) -> dict[int, str]:
        """Return row -> answer."""
        return {row: m.value for row, m in self.marks.items() if m.value is not None}

    def rejected(self) -> list[int]:
        """Return the rows that belong to none of the classes."""
        return [row for row, mark in self.marks.items() if mark.is_none]

    def comments(self) -> dict[int, str]:
        """Return row -> comment."""
        return {row: mark.comment for row, mark in self.marks.items() if mark.comment}

    def is_open(self, row: int) -> bool:
        """Return whether a row has neither an answer nor been skipped."""
        return row not in self.marks

    def add_classes(self, classes: Iterable[str]) -> None:
        """Add classes that are not there yet."""
        self.classes += [name for name in dict.fromkeys(classes) if name not in self.classes]

    def apply(self, event: Event) -> None:
        """Make a change."""
        if event.kind == UNDO:
            self._undo(event)
            return
        self._done.append(_Done(event, {row: self.marks.get(row) for row in event.rows}))
        # a journal may be opened with other classes than it was written with
        self.add_classes([] if event.value is None else [event.value])
        for row in event.rows:
            mark = Mark(event.seq, event.value, event.facts)
            self._put(row, None if event.kind == REMOVE else mark)

    def rows_of(self, event: Event) -> tuple[int, ...]:
        """Return the rows that an event changes."""
        if event.kind != UNDO:
            return event.rows
        undone = (done.event.rows for done in self._done if done.event.seq == event.of)
        return next(undone, ())

    def _put(self, row: int, mark: Mark | None) -> None:
        old = self.marks.pop(row, None)
        if old is not None:
            self._count(old, -1)
        if mark is not None:
            self.marks[row] = mark
            self._count(mark, 1)

    def _count(self, mark: Mark, by: int) -> None:
        self.queries[mark.reason] += by
        if mark.value is None:
            self.n_skipped += by
        else:
            self.counts[mark.value] += by

    def last(self, client: str | None = None, until: int = 0) -> Event | None:
        """Return the last change that is not undone.

        Parameters
        ----------
        client : str, optional
            Of one client; by default of all.
        until : int
            Changes up to this number count as those of any client.
        """
        for event in (done.event for done in reversed(self._done)):
            if client is None or event.facts.get("client") == client or event.seq <= until:
                return event
        return None

    def check_undo(self, event: Event) -> None:
        """Refuse to undo what later changes rest on."""
        if event.kind == CLASS and self.counts[str(event.value)]:
            raise LabelingError(
                f"the class {event.value!r} has answers, so it stays. Change them first."
            )
        for row in event.rows:
            mark = self.marks.get(row)
            if (0 if mark is None else mark.seq) != (0 if event.kind == REMOVE else event.seq):
                raise LabelingError(f"row {row + 1} was changed again since, so this stays.")

    def _undo(self, event: Event) -> None:
        place = next((k for k, d in enumerate(self._done) if d.event.seq == event.of), None)
        if place is None:
            return  # of a row that is no longer in the file
        done = self._done.pop(place)
        if done.event.kind == CLASS and done.event.value in self.classes:
            self.classes.remove(done.event.value)
        for row, mark in done.before.items():
            self._put(row, mark)


def event_of(line: Mapping[str, Any], rows: Mapping[str, int]) -> Event | None:
    """Read an event of a journal; None if it is about something else, or about lost rows only.

    Parameters
    ----------
    line : mapping
    rows : mapping
        Identity of a row -> its number.
    """
    if line["kind"] not in (*CHANGES, UNDO):
        return None
    wanted = line.get("rows", [])
    found = tuple(rows[name] for name in wanted if name in rows)
    if wanted and not found:
        return None
    value = line.get("value")
    facts = dict(line.get("facts", {}))
    return Event(line["seq"], line["kind"], found, value, line.get("of"), facts)


def line_of(event: Event, names: list[str]) -> dict[str, Any]:
    """Return an event as a line for a journal, which numbers it.

    Parameters
    ----------
    event : Event
    names : list of str
        Identities of its rows.
    """
    line: dict[str, Any] = {"kind": event.kind}
    if names:
        line |= {"rows": names, "numbers": [row + 1 for row in event.rows]}
    if event.value is not None:
        line["value"] = event.value
    if event.of is not None:
        line["of"] = event.of
    return {**line, "facts": plain(event.facts)} if event.facts else line


def class_names(names: Iterable[str]) -> list[str]:
    """Return names of classes, each once."""
    return list(dict.fromkeys(class_name(name) for name in names))


def class_name(name: str) -> str:
    """Return the name of a class without blanks around it; refuse what is no name."""
    wanted = str(name).strip()
    if not wanted or len(wanted) > LONGEST_CLASS or not wanted.isprintable():
        raise LabelingError(f"A class needs a name of 1 to {LONGEST_CLASS} printable characters.")
    return wanted
