"""What a model learns from answers of several people."""

import numpy as np
import pytest

from mail_sessions import KINDS, label, mails, session
from semisvm.labelling.answer_store import AnswerStore, Event
from semisvm.labelling.reliability import Training, doubtful, judged, sources_of, training_of


def store_of(answers, classes=("x", "y")):
    """Answers as (row, person, class), settled ones as (row, None, class)."""
    store = AnswerStore({}, classes)
    for seq, (row, by, value) in enumerate(answers, 1):
        kind = "answer" if by else "settle"
        store.apply(Event(seq, kind, (row,), value, by=by))
    return store


def test_without_shared_rows_every_answer_is_a_label():
    store = store_of([(k, "ab"[k % 2], "xy"[k % 2]) for k in range(6)])
    assert training_of(store) == Training(store.answers())
    assert judged(store) == {}


def overruled(n_wrong, n_right=5):
    """Person b is right in some rows that a has answered too, and was overruled in others."""
    answers = [(row, by, "xy"[row % 2]) for row in range(n_right) for by in "ab"]
    for row in range(n_right, n_right + n_wrong):
        answers += [(row, "a", "x"), (row, "b", "y"), (row, None, "x")]
    return [*answers, (90, "b", "x"), (91, "b", "y"), (92, "a", "y")]


def test_who_is_often_overruled_gives_votes():
    few, many = store_of(overruled(1)), store_of(overruled(9))
    assert judged(many) == {"a": (14, 14.0), "b": (14, 5.0)}
    assert (doubtful(few), doubtful(many)) == (set(), {"b"})
    assert training_of(few) == Training(few.answers())
    found = training_of(many)
    # settled and agreed rows are labels, and so are those of the other person
    assert set(found.labels) == {*range(14), 92}
    assert found.votes["b"][90] == "x"
    assert found.votes["b"][9] == "y"
    assert 92 not in found.votes["a"]


def test_a_class_of_doubtful_answers_only_stays():
    store = store_of([*overruled(9), (93, "b", "z")], ("x", "y", "z"))
    found = training_of(store)
    assert found.labels[93] == "z"
    assert 90 not in found.labels


def test_rows_on_which_people_differ_are_votes():
    store = store_of([(0, "a", "x"), (0, "b", "y"), (1, "a", "x"), (2, "a", "y")])
    assert training_of(store) == Training({1: "x", 2: "y"}, {"a": {0: "x"}, "b": {0: "y"}})


def test_sources_have_the_classes_of_the_labels():
    labels = np.array([1, None, 2, None], dtype=object)
    weak = sources_of({"a": {1: "1", 2: "2"}}, 4, labels)
    assert weak.votes == {"a": [None, 1, 2, None]}
    assert weak.fit(labels).accuracy_ > 0.5


def test_one_person_or_none_with_a_name_trains_the_same_model():
    fitted = []
    for by in (None, "a"):
        with session() as found:
            for _ in range(20):
                query = found.ask("browser", by=by)
                found.answer(query.row, KINDS[query.row], by=by)
            found.fit()
            fitted.append(found._learner.fitted)
    assert np.array_equal(fitted[0].scores, fitted[1].scores)
    assert fitted[0].answers == fitted[1].answers
    assert fitted[1].votes == {}


def test_a_session_learns_from_votes():
    texts, kinds = mails(200, seed=3)
    other = {"spam": "ham", "ham": "spam"}
    with session(texts=texts) as found:
        label(found, 20, kinds)
        rows = [row for row in range(200) if found._store.is_open(row)]
        for k, row in enumerate(rows[:80]):
            found.answer(row, other[kinds[row]], by="bad")
            if k % 4 == 0:
                found.answer(row, kinds[row], by="good")
                found.settle(row, kinds[row], by="good")
        found.fit()
        fitted = found._learner.fitted
        assert set(fitted.votes) == {"bad", "good"}
        guesses = [fitted.guess(row) == kinds[row] for row in rows[80:]]
        assert np.mean(guesses) > 0.9
        unlabelled = rows[1]
        assert unlabelled not in fitted.answers
        assert fitted.has_seen(unlabelled)
        assert found.guess(unlabelled).seen_answer
        assert found._learner.is_current
        assert found.status().people[0].n_right == 0.0
        # a method without evidence learns from all answers
        found._learner._method = "svm"
        found.fit()
        assert found._learner.fitted.votes == {}
        assert unlabelled in found._learner.fitted.answers


def test_no_model_while_people_differ_about_everything():
    with session() as found:
        for row in range(4):
            found.answer(row, "spam", by="a")
            found.answer(row, "ham", by="b")
        found.answer(5, "ham", by="a")
        found.answer(6, "ham", by="a")
        found.fit()
        assert found._learner.fitted is None
        with pytest.raises(ValueError, match="two classes"):
            found.model()
