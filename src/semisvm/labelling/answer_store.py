"""The answers of a labelling session, as a function of its events.

Each person has one answer per row. The label of a row is the one that was settled, or the one that
all who answered agree on. Where they differ, the row is disputed: it keeps the first answer for
what is shown, and has no label to learn from until it is settled.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from semisvm.labelling.records import FILE, LabelingError, Record
from semisvm.text import plain

ANSWER, SKIP, REMOVE, CLASS, UNDO = "answer", "skip", "remove", "class", "undo"
SETTLE = "settle"
CHANGES = (ANSWER, SKIP, REMOVE, CLASS, SETTLE)
"""Kinds of events that can be undone."""
LONGEST_CLASS = 200


@dataclass(frozen=True)
class Event(Record):
    """A change, as it stands in the journal.

    Attributes
    ----------
    seq : int
        Its number; the order of events is that of their numbers.
    kind : {"answer", "skip", "remove", "class", "settle", "undo"}
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
    by : str or None
        Who made it; None where one person works without a name.
    time : str or None
        When it was kept.
    """

    seq: int
    kind: str
    rows: tuple[int, ...] = ()
    value: str | None = None
    of: int | None = None
    facts: dict[str, Any] = field(default_factory=dict)
    by: str | None = None
    time: str | None = None


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
    by, time : str or None
        Of the event.
    """

    seq: int
    value: str | None
    facts: Mapping[str, Any]
    by: str | None = None
    time: str | None = None

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


SETTLED = True
Whose = str | bool | None
"""Whose answer to a row: that of a person, of somebody without a name, or `SETTLED`."""


NONE = "none of these"
"""What somebody says of a row that belongs to no class."""


def said(mark: Mark) -> str | None:
    """Return what a person says of a row: a class, or `NONE`; None of a row that was skipped."""
    return NONE if mark.value is None and mark.facts.get("none") else mark.value


@dataclass
class _Done:
    event: Event
    before: dict[tuple[int, Whose], Mark | None]

    def left(self, whose: Whose) -> int:
        """Return the number of the answer that the change has left there; 0 for none."""
        is_own = whose == whose_of(self.event) and self.event.kind != REMOVE
        return self.event.seq if is_own else 0


def whose_of(event: Event) -> Whose:
    """Return whose answer an event is."""
    return SETTLED if event.kind == SETTLE else event.by


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
        Row -> `Mark`, its label; rows that are not there are open.
    disputed : set of int
        Rows whose answers differ and that are not settled.
    shared : set of int
        Rows that two people or more have answered.
    classes : list of str
    counts : Counter
        Class -> rows with this answer.
    queries : Counter
        Reason -> rows that were answered or skipped for it.
    n_skipped : int
    given_by : Counter
        Person -> rows that they have answered, by name.
    undone : dict
        Request -> the change that it has undone.
    """

    def __init__(self, given: Mapping[int, str], classes: Iterable[str] = ()) -> None:
        self.marks: dict[int, Mark] = {}
        self.disputed: set[int] = set()
        self.shared: set[int] = set()
        self.classes: list[str] = []
        self.counts: Counter[str] = Counter()
        self.queries: Counter[str] = Counter()
        self.n_skipped = 0
        self.given_by: Counter[str] = Counter()
        self.undone: dict[str, Event] = {}
        self._own: dict[int, dict[Whose, Mark]] = {}
        self._done: list[_Done] = []
        for row, value in given.items():
            self._put(row, None, Mark(0, value, {"reason": FILE}))
        self.queries.clear()  # nobody was asked
        self.add_classes([*classes, *sorted(set(given.values()))])

    @property
    def n_answered(self) -> int:
        """Number of rows with an answer."""
        return len(self.marks) - self.n_skipped

    def answers(self) -> dict[int, str]:
        """Return row -> label; disputed rows have none."""
        found = self.disputed
        return {
            row: m.value
            for row, m in self.marks.items()
            if m.value is not None and row not in found
        }

    def singles(self, row: int) -> dict[str | None, Mark]:
        """Return person -> answer, as each has given it."""
        own = self._own.get(row, {})
        found = {by: mark for by, mark in own.items() if not isinstance(by, bool)}
        if len(found) > 1 and None in found and not found[None].seq:
            del found[None]  # a label of the file gives way to the first answer
        return found

    def who(self) -> dict[int, tuple[str, str]]:
        """Return row -> whose label it is, and when it was given; without names, nothing."""
        if not self.given_by:
            return {}
        found = {}
        for row, mark in self.marks.items():
            if mark.value is None or row in self.disputed:
                continue
            by = mark.by or ""
            if row in self.shared and self.settled(row) is not mark:
                singles = self.singles(row).items()
                by = "; ".join(by or "" for by, one in singles if one.value == mark.value)
            found[row] = by, mark.time or ""
        return found

    def settled(self, row: int) -> Mark | None:
        """Return the label that was settled, if any."""
        return self._own.get(row, {}).get(SETTLED)

    def mark_of(self, row: int, by: str | None) -> Mark | None:
        """Return the answer of a person; of somebody without a name, the label of the row.

        A label of the file is everybody's, until somebody corrects it.
        """
        mark = self.marks.get(row)
        if by is None or (mark is not None and not mark.seq):
            return mark
        return self._own.get(row, {}).get(by)

    def marks_of(self, by: str | None) -> dict[int, Mark]:
        """Return row -> `mark_of` for all rows that have one."""
        if by is None:
            return dict(self.marks)
        found = ((row, self.mark_of(row, by)) for row in self.marks)
        return {row: mark for row, mark in found if mark is not None}

    def kind_of_answer(self, row: int) -> str:
        """Return what an answer by somebody without a name is: it overrules those of people."""
        return SETTLE if any(by is not None for by in self.singles(row)) else ANSWER

    def rejected(self, by: str | None = None) -> list[int]:
        """Return the rows that belong to none of the classes, as a person may still change it."""
        if by is not None:
            owns = self._own.items()
            return [r for r, own in owns if by in own and own[by].is_none and SETTLED not in own]
        # every status counts them, and there may be many answers
        return [row for row, mark in self.marks.items() if mark.is_none] if self.n_skipped else []

    def comments(self) -> dict[int, str]:
        """Return row -> comment; of several people, those of all of them."""
        found = {}
        for row, own in self._own.items():
            # who settles a row takes over the facts of its first answer
            texts = dict.fromkeys(mark.comment for mark in own.values() if mark.comment)
            if texts:
                found[row] = "; ".join(texts)
        return found

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
        # a journal may be opened with other classes than it was written with
        self.add_classes([] if event.value is None else [event.value])
        mark = Mark(event.seq, event.value, event.facts, event.by, event.time)
        done = _Done(event, {})
        for row in event.rows:
            for whose in self._changed(event, row):
                done.before[row, whose] = self._own.get(row, {}).get(whose)
                self._put(row, whose, mark if done.left(whose) else None)
        self._done.append(done)

    def _changed(self, event: Event, row: int) -> list[Whose]:
        """Return whose answers to a row an event changes."""
        if event.kind == SETTLE:
            return [SETTLED]
        own = self._own.get(row, {})
        if event.by is None:  # nobody in particular takes back what all have said
            return list(own) if event.kind == REMOVE else [None]
        is_of_file = event.kind == REMOVE and event.by not in own
        return [None if is_of_file else event.by]

    def rows_of(self, event: Event) -> tuple[int, ...]:
        """Return the rows that an event changes."""
        if event.kind != UNDO:
            return event.rows
        undone = (done.event.rows for done in self._done if done.event.seq == event.of)
        return next(undone, ())

    def _put(self, row: int, whose: Whose, mark: Mark | None) -> None:
        own = self._own.setdefault(row, {})
        before = own.pop(whose, None)
        if mark is not None:
            own[whose] = mark
        if isinstance(whose, str):
            is_answer, was_answer = (m is not None and m.value is not None for m in (mark, before))
            self.given_by[whose] += is_answer - was_answer
        if not own:
            del self._own[row]
        singles = list(self.singles(row).values())
        answers = [mark for mark in singles if said(mark) is not None]
        differ = len({said(mark) for mark in answers}) > 1
        (self.disputed.add if differ and SETTLED not in own else self.disputed.discard)(row)
        (self.shared.add if len(answers) > 1 else self.shared.discard)(row)
        first = min(answers or singles, key=lambda mark: mark.seq, default=None)
        self._show(row, own.get(SETTLED, first))

    def _show(self, row: int, mark: Mark | None) -> None:
        """Give a row its label."""
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

    def last(
        self, client: str | None = None, until: int = 0, by: str | None = None
    ) -> Event | None:
        """Return the last change that is not undone.

        Parameters
        ----------
        client : str, optional
            Of one client; by default of all.
        until : int
            Changes up to this number count as those of any client.
        by : str, optional
            Of one person; by default of all.
        """
        for event in (done.event for done in reversed(self._done)):
            is_theirs = by is None or event.by == by
            is_here = client is None or event.facts.get("client") == client or event.seq <= until
            if is_theirs and is_here:
                return event
        return None

    def check_undo(self, event: Event) -> None:
        """Refuse to undo what later changes rest on."""
        if event.kind == CLASS and self.counts[str(event.value)]:
            raise LabelingError(
                f"the class {event.value!r} has answers, so it stays. Change them first."
            )
        done = next(done for done in self._done if done.event.seq == event.seq)
        for row, whose in done.before:
            own = self._own.get(row, {})
            if SETTLED in own and (row, SETTLED) not in done.before:
                raise LabelingError(f"row {row + 1} was settled since, so this stays.")
            mark = own.get(whose)
            if (0 if mark is None else mark.seq) != done.left(whose):
                raise LabelingError(f"row {row + 1} was changed again since, so this stays.")

    def _undo(self, event: Event) -> None:
        place = next((k for k, d in enumerate(self._done) if d.event.seq == event.of), None)
        if place is None:
            return  # of a row that is no longer in the file
        done = self._done.pop(place)
        if done.event.kind == CLASS and done.event.value in self.classes:
            self.classes.remove(done.event.value)
        if "request" in event.facts:
            self.undone[event.facts["request"]] = done.event
        for (row, whose), mark in done.before.items():
            self._put(row, whose, mark)


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
    who = (line.get("by"), line.get("time"))
    return Event(line["seq"], line["kind"], found, value, line.get("of"), facts, *who)


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
    if event.by is not None:
        line["by"] = event.by
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
