"""What answers of several people are worth to the model.

Where two people agree, or a label was settled, it is known who was right. A person who was right
often enough is believed: each of their answers is a label. Answers of others, and answers that
differ, are no labels but votes, which `semisvm.WeakLabels` turns into evidence: how far to trust
each person is learnt from the rows whose label is known.
"""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

from semisvm.labelling.answer_store import AnswerStore, Mark, said

USUAL, WORTH = 0.9, 10.0
"""The share of right answers of a person of whom nothing is known, and how many rows that is
worth."""
LEAST = 0.8
"""Share of right answers from which an answer is a label. Beside 50 labels that were right, 60 of a
person who is right in 60, 70 or 80% made models worse than as evidence, by 7, 4 and 1 points, and
better by 1 at 90% (mean of text1_pcmac, wdbc and australian, four draws)."""


@dataclass(frozen=True)
class Training:
    """What a model learns from.

    Attributes
    ----------
    labels : dict of str
        Row -> class.
    votes : dict of dict
        Person -> row -> class, of rows without a label, and of those that show who is right.
    """

    labels: dict[int, str]
    votes: dict[str, dict[int, str]] = field(default_factory=dict)


def judged(store: AnswerStore) -> dict[str, tuple[int, float]]:
    """Return for each person the rows that others have answered too, and how many were right.

    Of answers that differ and were not settled each counts as half right.
    """
    n: Counter[str] = Counter()
    right: Counter[str] = Counter()
    for row in store.shared:
        label = said(store.marks[row])
        for by, mark in _named(store, row).items():
            n[by] += 1
            right[by] += 0.5 if row in store.disputed else float(said(mark) == label)  # type: ignore[assignment]
    return {by: (count, float(right[by])) for by, count in n.items()}


def _named(store: AnswerStore, row: int) -> dict[str, Mark]:
    singles = store.singles(row)
    return {by or "": mark for by, mark in singles.items() if said(mark) is not None}


def doubtful(store: AnswerStore) -> set[str]:
    """Return the people whose answers are no labels by themselves."""
    known = judged(store).items()
    return {by for by, (n, right) in known if (right + WORTH * USUAL) / (n + WORTH) < LEAST}


def training_of(store: AnswerStore) -> Training:
    """Return labels, and votes of people who differ or were often wrong.

    A class that only such people have given keeps their answers as labels.
    """
    labels, few = store.answers(), doubtful(store)
    if not store.disputed and not few:
        return Training(labels)
    weak = {
        row for row in labels if few and row not in store.shared and set(_named(store, row)) & few
    }
    sure = {row: value for row, value in labels.items() if row not in weak}
    known = set(sure.values())
    labels = {row: value for row, value in labels.items() if row in sure or value not in known}
    votes: dict[str, dict[int, str]] = {}
    for row in sorted(weak | store.shared):
        for by, mark in _named(store, row).items():
            if mark.value in known:
                votes.setdefault(by, {})[row] = str(mark.value)
    return Training(labels, votes)


def sources_of(votes: dict[str, dict[int, str]], n_rows: int, labels: Any) -> Any:
    """Return votes as `semisvm.WeakLabels`, with classes as they are in the labels.

    Parameters
    ----------
    votes : dict of dict
    n_rows : int
    labels : array of shape (n,)
        As `semisvm.labelling.fits.labels_of` returns them.
    """
    from semisvm.model_selection.weak_labels import WeakLabels

    as_label = {str(label): label for label in labels.tolist() if label is not None}
    columns = {}
    for by, given in votes.items():
        column: list[Any] = [None] * n_rows
        for row, value in given.items():
            column[row] = as_label[value]
        columns[by] = column
    return WeakLabels(columns, unlabeled=None)
