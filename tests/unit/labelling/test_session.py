"""A session from the first question to the model, without a page."""

import threading

import numpy as np
import pytest

from mail_sessions import KINDS, TEXTS, WORDS, label, mails, session
from semisvm.labelling import ChangedError, LabelingError, LabelingSession
from waiting import PATIENCE


def test_ask_answer_fit():
    with session() as found:
        queries = label(found, 30, fit_every=5)
        assert len({query.row for query in queries}) == 30
        assert [query.number for query in queries] == list(range(1, 31))
        assert {query.reason for query in queries} == {"cluster", "uncertain", "random"}
        assert all(query.reason == "cluster" for query in queries[:8])
        right = [found.guess(row).value == KINDS[row] for row in range(len(TEXTS))]
        assert np.mean(right) > 0.95
        status = found.status()
        assert (status.n_answered, status.n_skipped, status.model_number) == (30, 0, 6)
        assert [c.count for c in status.classes] == [
            sum(KINDS[q.row] == name for q in queries) for name in ("spam", "ham")
        ]


def test_a_guess_names_words_of_the_row():
    with session() as found:
        label(found, 20)
        found.fit()
        row = next(row for row in range(len(TEXTS)) if found.guess(row).value == "spam")
        guess = found.guess(row)
        assert guess.because[0][0] in WORDS["spam"]
        assert {word for word, _ in guess.because} <= set(TEXTS[row].split())
        assert sum(guess.probabilities.values()) == pytest.approx(1.0)
        assert max(guess.probabilities, key=guess.probabilities.get) == guess.value


def test_no_guess_before_the_first_fit():
    with session() as found:
        assert found.guess(0) is None
        assert found.sure().total == 0
        for learn in (found.learn, found.model):
            with pytest.raises(LabelingError, match="two classes"):
                learn()
        found.fit()
        assert found.status().model_number == 0


def test_a_client_keeps_its_row_and_two_get_different_ones():
    with session() as found:
        first, second = found.ask("a"), found.ask("b")
        assert found.ask("a") == first
        assert second.row != first.row
        found.answer(first.row, "spam", client="a")
        assert found.ask("a").row not in (first.row, second.row)


def test_a_row_that_stays_unanswered_is_given_to_others():
    with session(["the same words", "the same words again"]) as found:
        first = found.ask("a")
        second = found.ask("b")
        assert found.ask("c") is None
        found._queries.clock = lambda: 1e9
        assert found.ask("c").row in (first.row, second.row)


def test_skipped_is_not_unlabelled():
    with session() as found:
        row = found.ask().row
        found.skip(row)
        assert found.ask().row != row
        view = found.view(row)
        assert (view.answer, view.skipped) == (None, True)
        assert found.search(which="skipped").rows[0].row == row
        assert row not in {item.row for item in found.search(which="open", count=1000).rows}
        found.answer(row, "spam")
        assert not found.view(row).skipped
        with pytest.raises(LabelingError, match="has an answer"):
            found.skip(row)


def test_change_remove_and_undo():
    with session() as found:
        found.answer(3, "spam")
        found.answer(3, "ham")
        assert found.view(3).answer == "ham"
        found.remove(3)
        assert found.view(3).answer is None
        assert found.undo().kind == "remove"
        assert found.view(3).answer == "ham"
        found.undo()
        assert found.view(3).answer == "spam"
        found.undo()
        assert found.view(3).answer is None
        assert found.undo() is None
        with pytest.raises(LabelingError, match="no answer"):
            found.remove(3)


def test_undo_after_the_window_was_opened_anew(tmp_path):
    """Windows of an earlier session are gone: any new one can undo their changes."""
    path = tmp_path / "answers.csv"
    with session(answers=path) as found:
        found.answer(1, "spam", client="a")
        found.answer(2, "ham", client="b")
    with session(answers=path) as found:
        found.answer(3, "ham", client="c")
        assert found.undo("d").rows == (2,)
        assert found.undo("c").rows == (3,)
        assert found.undo("c").rows == (1,)
        assert found.undo("c") is None
        assert found.status().n_answered == 0


def test_the_last_change_of_another_window_is_undone_by_its_number():
    with session() as found:
        assert found.last_change() is None
        found.answer(1, "spam", client="a")
        assert found.undo("b") is None
        seen = found.last_change()
        assert seen.rows == (1,)
        found.answer(2, "ham", client="a")
        with pytest.raises(ChangedError, match="Another change was made meanwhile"):
            found.undo("b", number=seen.seq)
        assert found.undo("b", number=found.last_change().seq).rows == (2,)
        assert found.view(1).answer == "spam"


def test_undo_is_of_one_client():
    with session() as found:
        found.answer(1, "spam", client="a")
        found.answer(2, "ham", client="b")
        assert found.undo("a").rows == (1,)
        assert found.view(2).answer == "ham"
        found.answer(1, "spam", client="a")
        found.answer(1, "ham", client="b")
        with pytest.raises(LabelingError, match="changed again"):
            found.undo("a")


def test_classes_are_added_and_taken_back():
    with session(classes=[]) as found:
        with pytest.raises(LabelingError, match="no class 'spam'"):
            found.answer(0, "spam")
        found.add_class(" spam ")
        with pytest.raises(LabelingError, match="already"):
            found.add_class("spam")
        for name in ("", " ", "a\nb", "x" * 300):
            with pytest.raises(LabelingError, match="printable"):
                found.add_class(name)
        assert found.undo().kind == "class"
        assert found.status().classes == []


def test_a_class_with_answers_is_not_taken_back():
    with session(classes=["ham"]) as found:
        found.add_class("spam", client="a")
        found.answer(0, "spam", client="b")
        with pytest.raises(LabelingError, match="has answers"):
            found.undo("a")


def test_a_row_that_changed_meanwhile_is_not_overwritten():
    with session() as found:
        seen = found.view(2).version
        assert seen == 0
        found.answer(2, "ham", version=seen)
        for change in (
            lambda: found.answer(2, "spam", version=seen),
            lambda: found.skip(2, version=seen),
            lambda: found.remove(2, version=seen),
        ):
            with pytest.raises(ChangedError, match="Row 3 was answered 'ham' meanwhile"):
                change()
        assert found.view(2).answer == "ham"
        now = found.view(2).version
        assert now == found.search(which="answered").rows[0].version
        found.remove(2, version=now)
        with pytest.raises(ChangedError, match="has no answer any more"):
            found.answer(2, "spam", version=now)
        found.skip(2, version=0)
        with pytest.raises(ChangedError, match="was skipped"):
            found.answer(2, "spam", version=0)
        # a careless user
        assert found.answer(2, "spam").value == "spam"


def test_progress_while_a_model_that_is_right_learns():
    texts, kinds = mails(400, seed=1)
    with session(texts) as found:
        shown_advice = []
        for _ in range(10):
            label(found, 10, kinds, fit_every=5)
            status = found.status()
            if status.accuracy is not None:
                assert status.accuracy.value > 0.99
                end = status.curve[-1]
                assert (end.n_labels, end.accuracy) == (status.model_labels, status.accuracy.value)
            shown_advice.append(status.advice)
        assert "more random rows" in shown_advice[0]
        assert "can stop" in shown_advice[-1]


@pytest.mark.parametrize("row", [-1, 120, "3", None, 1.5])
def test_unknown_rows(row):
    with session() as found:
        for call in (found.view, found.skip, found.remove, found.guess):
            with pytest.raises(LabelingError, match="no row"):
                call(row)
        with pytest.raises(LabelingError, match="no row"):
            found.answer(row, "spam")
        assert found.status().n_answered == 0


def test_all_rows_answered():
    with session(TEXTS[:10]) as found:
        label(found, 10)
        assert found.ask() is None
        assert "Every row" in found.status().advice


def test_everything_is_json():
    import json

    with session() as found:
        label(found, 20)
        found.fit()
        found.skip(found.ask().row)
        shown = [found.status(), found.view(0), found.guess(0), found.ask(), found.sure(count=2)]
        shown += [found.doubts(), found.undo(), found.search("cheap")]
        for item in shown:
            json.dumps(item.as_json(), allow_nan=False)


def test_labels_of_the_file_are_given():
    kinds = [kind if row % 10 == 0 else "" for row, kind in enumerate(KINDS)]
    with LabelingSession({"body": TEXTS, "kind": kinds}, label="kind", background=False) as found:
        status = found.status()
        assert status.n_given == status.n_answered == 12
        assert [c.name for c in status.classes] == ["ham", "spam"]
        assert found.view(0).reason == "file"
        assert [field.name for field in found.view(0).fields] == ["body"]
        found.fit()
        assert found.status().model_labels == 12


def test_answers_from_many_threads_are_all_kept(tmp_path):
    path = tmp_path / "answers.csv"

    def work(client):
        for _ in range(20):
            query = found.ask(client)
            found.answer(query.row, KINDS[query.row], client=client)

    with session(answers=path, background=True, every=3) as found:
        threads = [threading.Thread(target=work, args=(f"c{k}",)) for k in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found.status().n_answered == 100
    with session(answers=path) as again:
        assert again.status().n_answered == 100
        assert all(again.view(i).answer in (None, KINDS[i]) for i in range(len(TEXTS)))


def test_the_background_learns_by_itself():
    with session(background=True) as found:
        found.wait()
        label(found, 20)
        assert found.wait(PATIENCE)
        status = found.status()
        assert status.model_number >= 1
        assert not status.fitting
        assert status.fit_error is None
        # which rows were asked depends on when the first models were there
        right = [found.guess(row).value == KINDS[row] for row in range(len(TEXTS))]
        assert np.mean(right) > 0.85


def test_a_failed_fit_is_reported_and_the_next_row_comes():
    with session(background=True, reg=-1.0) as found:
        label(found, 10)
        assert found.wait(PATIENCE)
        assert "reg" in found.status().fit_error
        assert found.ask() is not None
