"""What a labelling session returns: plain data, also as JSON; its errors; values of requests.

Values of a request are checked before the session gets them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from semisvm.text import plain


class RefusedError(Exception):
    """A request that is not answered: its status, and a sentence with the reason."""

    def __init__(self, status: int, reason: str) -> None:
        super().__init__(reason)
        self.status = status
        self.reason = reason


class LabelingError(ValueError):
    """A call that cannot be done; the text is a sentence for the person who labels."""


class ChangedError(LabelingError):
    """A row has changed since it was shown."""


MAX_TEXT = 1000
MAX_ROWS = 1000


class Record:
    """Base of the dataclasses that a session returns."""

    def as_json(self) -> dict[str, Any]:
        """Return the fields as dicts, lists, text and numbers."""
        return {item.name: _json(getattr(self, item.name)) for item in fields(self)}  # type: ignore[arg-type]


def _json(value: Any) -> Any:
    if isinstance(value, Record):
        return value.as_json()
    if isinstance(value, (list, tuple)):
        return [_json(item) for item in value]
    return plain(value)


LABEL, SETTLE, FINISH = "label", "settle", "finish"
ROLES = (LABEL, SETTLE, FINISH)
"""What a person may do; each role has the rights of those before it."""


@dataclass(frozen=True)
class Person(Record):
    """Somebody who works at a session.

    Attributes
    ----------
    name : str
        Empty for the only one, who needs no name.
    role : {"label", "settle", "finish"}
    """

    name: str
    role: str = LABEL

    def may(self, right: str) -> bool:
        """Return whether the role includes a right."""
        return ROLES.index(self.role) >= ROLES.index(right)


OWNER = Person("", FINISH)
"""The only person of a session without names."""


class Values:
    """The content of a request: the values of a JSON object, or of the address.

    Parameters
    ----------
    given : mapping
        Names to JSON values, or to texts.
    person : Person, optional
        Whose request it is: by their link, whatever the request says.

    Attributes
    ----------
    by : dict
        The name of the person, for a method of the session; nothing of the only one.
    """

    def __init__(self, given: Mapping[str, Any], person: Person = OWNER) -> None:
        self._given = given
        self.person = person
        self.by: dict[str, str] = {"by": person.name} if person.name else {}

    def _bad(self, name: str, what: str) -> RefusedError:
        return RefusedError(400, f"{name} must be {what}.")

    def integer(self, name: str, default: int | None = None) -> int:
        """Return a whole number that is not negative."""
        value = self._given.get(name, default)
        if isinstance(value, str) and value.isdecimal() and len(value) < 19:
            value = int(value)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**63:
            raise self._bad(name, "a whole number")
        return value

    def optional_integer(self, name: str) -> int | None:
        """Return a whole number, or None where there is none."""
        return None if self._given.get(name) is None else self.integer(name)

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text of bounded length."""
        value = self._given.get(name, default)
        if not isinstance(value, str) or len(value) > MAX_TEXT:
            raise self._bad(name, f"a text of at most {MAX_TEXT} characters")
        return value

    def optional(self, name: str) -> str | None:
        """Return a text, or None where there is none."""
        return None if self._given.get(name) in (None, "") else self.text(name)

    def flag(self, name: str) -> bool:
        """Return true or false; false by default."""
        value = self._given.get(name, False)
        if not isinstance(value, bool):
            raise self._bad(name, "true or false")
        return value

    def integers(self, name: str) -> list[int]:
        """Return a list of whole numbers."""
        value = self._given.get(name)
        if not isinstance(value, list) or not 0 < len(value) <= MAX_ROWS:
            raise self._bad(name, f"a list of 1 to {MAX_ROWS} whole numbers")
        return [Values({name: item}).integer(name) for item in value]


CLUSTER, SOURCE, UNCERTAIN, RANDOM = "cluster", "source", "uncertain", "random"
"""Reasons of a policy to ask for a row."""
CHOSEN, SURE, FILE = "chosen", "sure", "file"
"""Other reasons why a row has an answer: a person found it, confirmed it, or a file had it."""


@dataclass(frozen=True)
class Query(Record):
    """A row to be labelled.

    Attributes
    ----------
    row : int
        From 0.
    reason : {"cluster", "source", "uncertain", "random"}
    words : str
        Why this row, in a sentence.
    number : int
        How many rows were asked for until now, this one included.
    """

    row: int
    reason: str
    words: str
    number: int


@dataclass(frozen=True)
class Field(Record):
    """A cell of a row.

    Attributes
    ----------
    name : str
        Of the column.
    kind : {"text", "number", "category", "image", "audio"}
    value : str
        Of an image or recording, what stands in the file; ``LabelingSession.picture`` has the
        image itself.
    """

    name: str
    kind: str
    value: str


@dataclass(frozen=True)
class RowView(Record):
    """A row as a person sees it.

    Attributes
    ----------
    row : int
        From 0.
    key : str
        What identifies it for the user: its key, or its number from 1.
    fields : list of Field
    answer : str or None
    skipped : bool
    reason : str or None
        Why it has an answer: that of its query; "chosen" if a person found it, "sure" if it
        was confirmed, "file" if the label was in the file.
    version : int
        Number of the change that the answer comes from; 0 if there is none.
    """

    row: int
    key: str
    fields: list[Field]
    answer: str | None = None
    skipped: bool = False
    reason: str | None = None
    version: int = 0


@dataclass(frozen=True)
class Guess(Record):
    """What the model predicts for a row.

    Attributes
    ----------
    value : str
    probabilities : dict of float
        By class.
    because : list of (feature, weight)
        What speaks for the guess against the next class, strongest first.
    model_number : int
    calibrated : bool
        Whether the probabilities follow held-out answers: not while there are few of them, nor if
        the model has seen the answer.
    seen_answer : bool
        Whether the model has learned from an answer to this row.
    """

    value: str
    probabilities: dict[str, float]
    because: list[tuple[str, float]]
    model_number: int
    calibrated: bool = False
    seen_answer: bool = False


@dataclass(frozen=True)
class FoundRow(Record):
    """A row of a list, in short.

    Attributes
    ----------
    row : int
    key : str
    text : str
        The beginning of the text of the row.
    answer : str or None
    skipped : bool
    guess : str or None
        Of a row with an answer, that of a model which had not seen the answer.
    probability : float or None
        Of the guess; None until there are enough held-out answers to calibrate it.
    version : int
        As for `RowView`.
    picture : str or None
        Column that has a picture of the row.
    """

    row: int
    key: str
    text: str
    answer: str | None = None
    skipped: bool = False
    guess: str | None = None
    probability: float | None = None
    version: int = 0
    picture: str | None = None


@dataclass(frozen=True)
class Found(Record):
    """A piece of a list of rows.

    Attributes
    ----------
    total : int
        Length of the whole list.
    rows : list of FoundRow
    note : str
        What the list rests on, or why it is empty.
    """

    total: int
    rows: list[FoundRow]
    note: str = ""


@dataclass(frozen=True)
class Interval(Record):
    """An estimate with its 95% interval.

    Attributes
    ----------
    value, low, high : float
    n : int
        Rows that it rests on.
    """

    value: float
    low: float
    high: float
    n: int


@dataclass(frozen=True)
class PersonStatus(Record):
    """What a person has done.

    Attributes
    ----------
    name : str
    n_answered : int
        Rows that the person has answered.
    n_judged : int
        Rows among them that others have answered too.
    n_right : float
        How many of these have the person's answer as their label; half of those on which people
        differ and that are not settled.
    may_come : bool
        Whether the person has a valid link.
    """

    name: str
    n_answered: int
    n_judged: int
    n_right: float
    may_come: bool


@dataclass(frozen=True)
class SingleAnswer(Record):
    """The answer of one person.

    Attributes
    ----------
    by : str
        Empty for somebody without a name.
    value : str
    time : str or None
    """

    by: str
    value: str
    time: str | None


@dataclass(frozen=True)
class Disagreement(Record):
    """A row on which people differ.

    Attributes
    ----------
    row : int
    key : str
    text : str
        The beginning of the text of the row.
    answers : list of SingleAnswer
    version : int
        Number of the change that its label comes from.
    settled : str or None
        The class that was settled.
    settled_by : str or None
    picture : str or None
        Column that has a picture of the row.
    """

    row: int
    key: str
    text: str
    answers: list[SingleAnswer]
    version: int
    settled: str | None = None
    settled_by: str | None = None
    picture: str | None = None


@dataclass(frozen=True)
class DisagreementList(Record):
    """A piece of a list of rows on which people differ.

    Attributes
    ----------
    total : int
        Length of the whole list.
    rows : list of Disagreement
    """

    total: int
    rows: list[Disagreement]


@dataclass(frozen=True)
class Imported(Record):
    """What became of answers that were imported.

    Attributes
    ----------
    n_taken : int
    n_same : int
        Answers that were here already.
    n_differ : int
        Answers that differ from what the same person has answered here, which stays.
    """

    n_taken: int
    n_same: int
    n_differ: int


@dataclass(frozen=True)
class ClassAgreement(Record):
    """How far people agree on one class against the others.

    Attributes
    ----------
    name : str
    n : int
        Rows to which somebody gave this class.
    alpha : Interval or None
        None where nobody, or everybody, gave it.
    """

    name: str
    n: int
    alpha: Interval | None


@dataclass(frozen=True)
class PairAgreement(Record):
    """How far two people agree.

    Attributes
    ----------
    one, other : str
    n : int
        Rows that both have answered.
    agreed : int
        Rows among them with the same answer.
    kappa : Interval or None
        Cohen's; None where both gave one class only.
    """

    one: str
    other: str
    n: int
    agreed: int
    kappa: Interval | None


@dataclass(frozen=True)
class Confusion(Record):
    """Two classes that were given to the same row.

    Attributes
    ----------
    one, other : str
    n : int
        How many rows.
    """

    one: str
    other: str
    n: int


@dataclass(frozen=True)
class Agreement(Record):
    """How far people agree on rows that were drawn at random.

    Attributes
    ----------
    n_rows : int
        Rows drawn at random that two people or more have answered.
    n_disputed, n_settled : int
        Rows on which people differ, and rows that were settled, drawn at random or not.
    agreed : Interval or None
        Share of the rows on which all answers are the same; None without rows.
    alpha : Interval or None
        Krippendorff's; None without rows or with one class only.
    classes : list of ClassAgreement
    pairs : list of PairAgreement
        Those who agree least first.
    confusions : list of Confusion
        The most frequent first.
    """

    n_rows: int
    n_disputed: int
    n_settled: int
    agreed: Interval | None
    alpha: Interval | None
    classes: list[ClassAgreement]
    pairs: list[PairAgreement]
    confusions: list[Confusion]


@dataclass(frozen=True)
class ClassStatus(Record):
    """A class so far.

    Attributes
    ----------
    name : str
    key : int or None
        1 to 9 for the first nine classes.
    count : int
        Rows with this label.
    share : float or None
        Estimated share among all rows; None while it is hardly known.
    share_std : float or None
        Its standard error.
    """

    name: str
    key: int | None
    count: int
    share: float | None = None
    share_std: float | None = None


@dataclass(frozen=True)
class CurvePoint(Record):
    """Accuracy of the models with about so many labels."""

    n_labels: int
    accuracy: float
    low: float
    high: float


@dataclass(frozen=True)
class Status(Record):
    """How far a session is.

    Attributes
    ----------
    n_rows, n_answered, n_skipped : int
    n_given : int
        Answers that were in the file already.
    classes : list of ClassStatus
    model_number : int
        0 before the first fit.
    model_labels : int
        Labels that the model was fitted to.
    method : str
        Of the model.
    method_title : str
        Its name in words.
    fitting : bool
    fit_seconds : float or None
        Of the last fit.
    fit_error : str or None
        Why the last fit failed, or why there is none.
    accuracy : Interval or None
        Of the model, from random rows that were answered before it saw them.
    curve : list of CurvePoint
        It ends with ``accuracy``, if that is known.
    advice : str
        What to do next, in a sentence.
    saved : bool
        Whether all answers are on the disk; False for a session in memory.
    version : int
        Rises with every change.
    notes : list of str
        About the data and the journal.
    people : list of PersonStatus
        Empty where one person works without a name.
    n_disputed : int
        Rows on which people differ.
    sources : list of str
        How often the weak labels of each source are right.
    n_none : int
        Skipped rows that belong to none of the classes.
    """

    n_rows: int
    n_answered: int
    n_skipped: int
    n_given: int
    classes: list[ClassStatus]
    model_number: int
    model_labels: int
    method: str
    method_title: str
    fitting: bool
    fit_seconds: float | None
    fit_error: str | None
    accuracy: Interval | None
    curve: list[CurvePoint]
    advice: str
    saved: bool
    version: int
    notes: list[str] = field(default_factory=list)
    people: list[PersonStatus] = field(default_factory=list)
    n_disputed: int = 0
    sources: list[str] = field(default_factory=list)
    n_none: int = 0


@dataclass(frozen=True)
class Picture(Record):
    """An image or recording of a row.

    Attributes
    ----------
    media_type : str
        Such as "image/png" or "audio/wav".
    content : bytes
    """

    media_type: str
    content: bytes
