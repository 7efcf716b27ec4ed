"""Words are found in any row, wherever its text is kept."""

import numpy as np
import pytest

from semisvm.labelling import word_index
from semisvm.labelling.word_index import WordIndex

WORDS = ["Straße", "CHEAP", "cheaper", "ab", "b", "\u0130stanbul", "naïve", "x.y", "100%", "日本"]


def tables(n=400, seed=0):
    """Return two columns of random words."""
    rng = np.random.default_rng(seed)
    return [[" ".join(rng.choice(WORDS, rng.integers(0, 6))) for _ in range(n)] for _ in range(2)]


def by_hand(columns, words):
    wanted = words.casefold().split()
    rows = enumerate(zip(*columns, strict=True))
    return [k for k, cells in rows if all(any(w in c.casefold() for c in cells) for w in wanted)]


@pytest.mark.parametrize("piece", [1, 37, 1 << 20])
@pytest.mark.parametrize(
    "words", ["cheap", "CHEAPER b", "strasse", "b ab", "istanbul", "日本 x.y", "y cheap", "nowhere"]
)
def test_all_words_in_any_case(monkeypatch, piece, words):
    monkeypatch.setattr(word_index, "PIECE", piece)
    columns = tables()
    found = WordIndex(lambda: columns).find(words).tolist()
    assert found == by_hand(columns, words)
    assert found or words in ("nowhere", "istanbul")


def test_words_do_not_go_across_cells_or_rows():
    index = WordIndex(lambda: [["ab", "cd"], ["ef", "gh"]])
    for word in ("abef", "efcd", "b", "fc"):
        assert index.find(word).tolist() == ([0] if word == "b" else [])


def test_texts_are_read_once_and_results_are_remembered():
    calls = []

    def columns():
        calls.append(1)
        return [["one two", "two", "three"]]

    index = WordIndex(columns)
    first = index.find("two")
    assert index.find("TWO two") is first
    with pytest.raises(ValueError, match="read-only"):
        first[0] = 2
    for k in range(word_index.REMEMBERED):
        index.find(f"w{k}")
    assert index.find("two") is not first
    assert calls == [1]


def test_no_columns_have_no_words():
    assert WordIndex(list).find("a").tolist() == []
