"""How far people agree: Cohen's kappa of pairs, Krippendorff's alpha of all, and who is overruled.

Both are 1 - D / E, where D is the share of pairs of answers to the same row that differ, and E is
what it would be if answers had nothing to do with rows: for kappa by the class shares of each of
two people, for alpha by those of all answers, without pairing an answer with itself (Krippendorff,
Content analysis, 2004, chapter 11; nominal classes). Intervals are Wilson's for D, with E as it was
found: narrow enough for a decision, and never of width zero.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from semisvm.labelling.answer_store import NONE
from semisvm.labelling.estimates import wilson
from semisvm.labelling.records import (
    Agreement,
    ClassAgreement,
    Confusion,
    Interval,
    PairAgreement,
)

Floats = NDArray[np.float64]
Answers = Mapping[str, str]
"""Person -> class, of one row."""


def cohen_kappa(table: Floats) -> tuple[float, float, float] | None:
    """Return kappa of two people with D and E; None where all answers are of one class.

    Parameters
    ----------
    table : array of shape (m, m)
        How often the first person gave a class and the second another.
    """
    n = table.sum()
    expected = 1.0 - float(table.sum(axis=0) @ table.sum(axis=1)) / n**2
    differ = 1.0 - float(np.trace(table)) / n
    return None if expected <= 0.0 else (1.0 - differ / expected, differ, expected)


def krippendorff_alpha(counts: Floats) -> tuple[float, float, float] | None:
    """Return alpha of any number of people with D and E; None where there is one class only.

    Parameters
    ----------
    counts : array of shape (n, m)
        How many people gave each class to each row; rows with fewer than two answers are left out.
    """
    counts = counts[counts.sum(axis=1) > 1]
    n = counts.sum()
    if not n:
        return None
    of_row, of_class = counts.sum(axis=1), counts.sum(axis=0)
    differ = float((((of_row**2) - (counts**2).sum(axis=1)) / (of_row - 1)).sum() / n)
    expected = 1.0 - float((of_class * (of_class - 1)).sum() / (n * (n - 1)))
    return None if expected <= 0.0 else (1.0 - differ / expected, differ, expected)


def _interval(found: tuple[float, float, float] | None, n: int) -> Interval | None:
    if found is None:
        return None
    value, differ, expected = found
    low, high = wilson(differ * n, n)
    return Interval(value, 1.0 - (1.0 - low) / expected, 1.0 - (1.0 - high) / expected, n)


def _counts(rows: Sequence[Answers], classes: Sequence[str]) -> Floats:
    place = {name: k for k, name in enumerate(classes)}
    counts = np.zeros((len(rows), len(classes)))
    for one, row in zip(counts, rows, strict=True):
        for value in row.values():
            one[place[value]] += 1
    return counts


def agreement_of(
    rows: Sequence[Answers], classes: Sequence[str], disputed: int, settled: int
) -> Agreement:
    """Estimate how far people agree.

    Parameters
    ----------
    rows : sequence of mapping
        Person -> class, of rows that were drawn at random for two people or more.
    classes : sequence of str
    disputed, settled : int
        Rows on which people differ, and that were settled, drawn at random or not.
    """
    counts = _counts(rows, classes)
    n, alpha = len(rows), krippendorff_alpha(counts)
    agreed = None
    if n:
        same = float(np.mean(counts.max(axis=1) == counts.sum(axis=1)))
        agreed = Interval(same, *wilson((1.0 - same) * n, n), n)
    found = []
    for k, name in enumerate(classes):
        part = np.stack([counts[:, k], counts.sum(axis=1) - counts[:, k]], axis=1)
        n_class = int(np.count_nonzero(counts[:, k]))
        if name == NONE and not n_class:
            continue
        found.append(ClassAgreement(name, n_class, _interval(krippendorff_alpha(part), n)))
    return Agreement(
        n, disputed, settled, agreed, _interval(alpha, n), found, _pairs(rows), _confusions(rows)
    )


def _pairs(rows: Sequence[Answers]) -> list[PairAgreement]:
    """Return how far each two people agree, those who agree least first."""
    both: dict[tuple[str, str], list[tuple[str, str]]] = {}
    for row in rows:
        for one, other in combinations(sorted(row), 2):
            both.setdefault((one, other), []).append((row[one], row[other]))
    found = []
    for (one, other), answers in both.items():
        names = sorted({name for pair in answers for name in pair})
        table = np.zeros((len(names), len(names)))
        for a, b in answers:
            table[names.index(a), names.index(b)] += 1
        n, same = len(answers), int(np.trace(table))
        found.append(PairAgreement(one, other, n, same, _interval(cohen_kappa(table), n)))
    return sorted(found, key=lambda pair: (pair.agreed / pair.n, -pair.n))


def _confusions(rows: Sequence[Answers]) -> list[Confusion]:
    """Return which two classes were given to the same row, the most frequent first."""
    found = Counter(pair for row in rows for pair in combinations(sorted(set(row.values())), 2))
    return [Confusion(*pair, count) for pair, count in found.most_common()]
