"""Lists of rows: sure guesses, doubts, searches."""

import numpy as np
import pytest

from mail_sessions import KINDS, TEXTS, WORDS, label, mails, session
from semisvm.labelling import LabelingError

MANY_TEXTS, MANY_KINDS = mails(400, seed=1)


@pytest.fixture(scope="module")
def learned():
    """A session with enough answers to find which guesses are sure."""
    with session(MANY_TEXTS) as found:
        label(found, 120, MANY_KINDS)
        found.fit()
        yield found


def test_many_are_confirmed_at_once(learned):
    rows = [item.row for item in learned.sure("spam", count=10).rows]
    assert len(rows) == 10
    assert all(learned.guess(row).value == "spam" for row in rows)
    learned.confirm(rows, "spam")
    assert learned.status().n_answered == 130
    assert not set(rows) & {item.row for item in learned.sure("spam", count=1000).rows}
    with pytest.raises(LabelingError, match="already"):
        learned.confirm(rows[:1], "spam")
    learned.undo()
    assert learned.status().n_answered == 120


def test_sure_rows_come_in_order(learned):
    sure = [item.probability for item in learned.sure(count=1000).rows]
    assert sure == sorted(sure, reverse=True)
    assert [item.row for item in learned.sure(start=5, count=3).rows] == [
        item.row for item in learned.sure(count=8).rows[5:]
    ]
    both = sum(learned.sure(name).total for name in ("spam", "ham"))
    assert both == len(sure) > 50


def test_sure_rows_are_right(learned):
    for name in ("spam", "ham"):
        found = learned.sure(name, count=1000)
        assert np.mean([MANY_KINDS[item.row] == name for item in found.rows]) > 0.9
        assert "So at least 90% of such guesses are right" in found.note


def test_guesses_beside_answers_are_those_without_them(learned):
    doubted = {item.row: item.guess for item in learned.doubts(count=1000).rows}
    listed = learned.search(which="answered", count=1000).rows
    assert len(listed) == 120
    for item in listed:
        assert item.guess == doubted.get(item.row, item.answer)
    row = listed[0].row
    assert (learned.guess(row).seen_answer, learned.guess(row).calibrated) == (True, False)
    row = learned.search(which="open").rows[0].row
    assert (learned.guess(row).seen_answer, learned.guess(row).calibrated) == (False, True)


def test_no_row_is_sure_before_there_are_enough_answers():
    with session() as found:
        assert found.sure("spam").note.startswith("There is no model yet")
        label(found, 20)
        found.fit()
        nothing = found.sure("spam")
        assert (nothing.total, nothing.rows) == (0, [])
        assert nothing.note.startswith("No row can be called sure yet.")
        assert "it takes 22" in nothing.note


def test_lists_that_wait_for_a_check_have_a_note(monkeypatch):
    with session() as found:
        label(found, 12)
        found.fit()
        monkeypatch.setattr(found._learner, "check", lambda: None)
        for listed in (found.sure("spam"), found.doubts()):
            assert (listed.total, listed.note[:30]) == (0, "The answers are being checked.")
        monkeypatch.undo()
        assert "answers right" in found.doubts().note
        assert "it takes 22" in found.sure("ham").note


def test_few_answers_are_not_checked():
    with session() as found:
        assert found.doubts().note.startswith("There is no model yet")
        label(found, 8)
        found.fit()
        assert found.doubts().note.startswith("Answers are checked from 10 on")


def test_no_row_is_sure_if_the_classes_have_nothing_to_do_with_the_texts():
    kinds = np.random.default_rng(5).permutation(MANY_KINDS).tolist()
    with session(MANY_TEXTS) as found:
        label(found, 150, kinds, fit_every=10)
        for name in ("spam", "ham"):
            nothing = found.sure(name)
            assert nothing.total == 0
            assert nothing.note.endswith("it takes 90%.")
        doubts = found.doubts()
        assert doubts.total == 0
        assert doubts.note.startswith("The model cannot judge answers yet.")
        # what is shown beside a row does not claim more
        status = found.status()
        assert status.accuracy.low < 0.6
        shown = [item.probability for item in found.search(which="open", count=250).rows]
        assert max(shown) < 0.8


def test_search_finds_all_words_in_any_case():
    with session() as found:
        rows = [item.row for item in found.search("CHEAP Pills", count=1000).rows]
        assert rows == [k for k, text in enumerate(TEXTS) if "cheap" in text and "pills" in text]
        with pytest.raises(LabelingError, match="which"):
            found.search("", which="some")


def test_lists_of_answered_open_and_skipped_rows():
    with session() as found:
        for row in (7, 3, 5):
            found.answer(row, KINDS[row])
        found.skip(4)

        def rows(words, which):
            return [item.row for item in found.search(words, which, count=1000).rows]

        assert rows("", "answered") == [5, 3, 7]  # the latest first
        assert rows("", "skipped") == [4]
        assert rows("", "open") == [k for k in range(len(TEXTS)) if k not in (3, 4, 5, 7)]
        word = TEXTS[3].split()[0]
        having = [k for k, text in enumerate(TEXTS) if word in text]
        assert rows(word, "all") == having
        assert rows(word, "open") == [k for k in having if k not in (3, 4, 5, 7)]
        assert rows(word, "answered") == [k for k in (5, 3, 7) if k in having]


def test_mistakes_are_found():
    texts, kinds = mails(300, seed=3)
    with session(texts) as found:
        queries = label(found, 60, kinds)
        rows = [query.row for query in queries]
        wrong = set(np.random.default_rng(3).choice(rows, 6, replace=False).tolist())
        for row in wrong:
            found.answer(row, "ham" if kinds[row] == "spam" else "spam")
        found.fit()
        listed = found.doubts(count=100)
        # the guess is that of models that have not seen the answer
        assert all(item.guess != item.answer for item in listed.rows)
        assert all(0.5 <= item.probability <= 1.0 for item in listed.rows)
        assert "of 60 answers right" in listed.note
        doubts = [item.row for item in listed.rows]
        assert len(wrong.intersection(doubts)) >= 4
        assert len(doubts) <= 15
        row = next(row for row in doubts if row in wrong)
        found.answer(row, kinds[row])
        assert row not in [item.row for item in found.doubts(count=100).rows]


def test_the_most_certain_doubt_comes_first():
    rng = np.random.default_rng(0)
    kinds = rng.choice(["a", "b", "c"], 150).tolist()
    own = {"a": ["x", "y", "u"], "b": ["y", "z", "v"], "c": ["z", "x", "w"]}
    texts = [" ".join([*rng.choice(own[kind], 2), *rng.choice(WORDS["ham"], 4)]) for kind in kinds]
    with session(texts, classes=["a", "b", "c"]) as found:
        label(found, 100, kinds)
        found.fit()
        shown = [item.probability for item in found.doubts(count=100).rows]
        assert len(shown) > 5
        assert shown == sorted(shown, reverse=True)


def test_right_answers_are_hardly_doubted():
    with session() as found:
        label(found, 40)
        found.fit()
        assert found.doubts().total <= 4
