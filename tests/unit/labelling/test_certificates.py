"""Rows that a session certifies: only random ones count, each once, at sizes that are fixed."""

import csv

import numpy as np
import pytest

from mail_sessions import session as mail_session
from semisvm.labelling import LabelingError, LabelingSession
from semisvm.labelling.certificates import looks
from semisvm.labelling.records import RANDOM, SURE

N = 600


def blobs(noise=0.0, seed=0):
    """Return rows of two clusters, and their kinds, some of which are those of the other."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, N)
    X = rng.normal(0, 1, (N, 3)) + 6.0 * codes[:, None]
    codes = np.where(rng.random(N) < noise, 1 - codes, codes)
    return X, [("left", "right")[k] for k in codes]


def answered(n, noise=0.0, **options):
    """Return a session with n random rows answered, and the true kinds."""
    X, kinds = blobs(noise)
    session = LabelingSession(X, classes=["left", "right"], background=False, **options)
    found = 0
    while found < n:
        query = session.ask()
        session.answer(query.row, kinds[query.row])
        found += query.reason == RANDOM
    return session, kinds


def test_looks_are_at_fixed_sizes_and_share_the_risk():
    last, following = looks(5000, 0, 0.05, 0.95)
    assert last is None
    found = []
    while following < 2500:
        last, after = looks(5000, following, 0.05, 0.95)
        assert last.size == following
        assert looks(5000, after - 1, 0.05, 0.95)[0] == last
        found, following = [*found, last], after
    assert [one.number for one in found] == list(range(1, len(found) + 1))
    assert sum(one.level for one in found) < 0.05
    assert 1.3 < found[-1].size / found[-2].size < 1.6


def test_nothing_before_there_are_enough_random_rows():
    session, _ = answered(20)
    found = session.certify(0.1)
    assert (found.n_certified, found.labels) == (0, {})
    assert found.n_random == 20
    (sentence,) = found.sentences
    assert sentence.startswith(f"No row is certified at 10% yet: {found.wanted} more random labels")


def test_certified_rows_are_right_as_often_as_is_said():
    session, kinds = answered(160)
    found = session.certify(0.1)
    assert found.n_certified > 300
    wrong = np.mean([kinds[row] != label for row, label in found.labels.items()])
    assert wrong <= 0.1
    answers = {row for row in range(N) if session.view(row).answer is not None}
    assert not answers & set(found.labels)
    assert found.sentences[0].endswith(f"of {found.n_rows} rows are certified at 10%.")


def test_nothing_is_certified_if_the_model_is_often_wrong():
    session, _ = answered(160, noise=0.3)
    found = session.certify(0.1)
    assert found.n_certified == 0
    assert found.n_errors > 20


def test_the_same_look_is_not_taken_twice():
    """More answers before the next look change nothing but which rows are still open."""
    session, kinds = answered(100)
    first = session.certify(0.1)
    before = session._certifier._last[1]
    assert first.n_random <= 100
    query = session.ask()
    session.answer(query.row, kinds[query.row])
    again = session.certify(0.1)
    assert session._certifier._last[1] is before
    assert (again.n_certified, again.n_errors) == (first.n_certified, first.n_errors)
    assert set(again.labels) <= set(first.labels)


def test_corrected_answers_keep_their_place():
    session, kinds = answered(100)
    sample = set(session._certifier._last[0][3]) if session.certify(0.1) else set()
    row = min(sample)
    other = "left" if kinds[row] == "right" else "right"
    session.answer(row, other)
    found = session.certify(0.1)
    assert set(session._certifier._last[0][3]) == sample
    assert found.n_errors == 1


def test_rows_that_were_skipped_or_whose_guess_was_seen_count_as_errors():
    X, kinds = blobs()
    session = LabelingSession(X, classes=["left", "right"], background=False)
    n = skipped = seen = 0
    while n < 100:
        query = session.ask()
        if query.reason == RANDOM and n % 20 == 5:
            session.skip(query.row)
            skipped += 1
        else:
            shown = query.reason == RANDOM and n % 20 == 10
            session.answer(query.row, kinds[query.row], seen_guess=shown)
            seen += shown
        n += query.reason == RANDOM
    found = session.certify(0.2)
    assert found.n_errors >= 2
    assert any("count as wrong" in sentence for sentence in found.sentences)


def test_confirmed_rows_are_no_reason_to_certify_less():
    """The model learns without them, and they stay among the rows that are certified."""
    session, kinds = answered(100)
    before = session.certify(0.1)
    rows = [row for row in list(before.labels)[:100] if kinds[row] == before.labels[row]]
    for value in ("left", "right"):
        own = [row for row in rows if kinds[row] == value]
        session.confirm(own, value)
        assert session.view(own[0]).reason == SURE
    after = session.certify(0.1)
    assert after.n_certified == before.n_certified
    assert after.n_answered == before.n_answered + len(rows)
    assert f"{after.n_answered} of them have an answer by now." in after.sentences


def test_the_file_of_certified_labels(tmp_path):
    session, _ = answered(160)
    session.export_certified(tmp_path / "certified.csv", 0.1)
    with open(tmp_path / "certified.csv", newline="") as stream:
        lines = list(csv.DictReader(stream))
    found = {int(line["semisvm_row"]) - 1: line["label"] for line in lines}
    assert found == session.certify(0.1).labels


@pytest.mark.parametrize(("error", "confidence"), [(0.0, 0.95), (1.5, 0.95), (0.1, 1.0)])
def test_bounds_that_are_none(error, confidence):
    session, _ = answered(2)
    with pytest.raises(ValueError, match="above 0 and below 1"):
        session.certify(error, confidence)


def test_pictures_alone_certify_nothing():
    table = {"photo": ["a.png", "b.png", "c.png"]}
    session = LabelingSession(table, classes=["a", "b"], background=False)
    with pytest.raises(LabelingError, match="nothing to learn from"):
        session.certify()


def test_rows_on_which_people_differ_count_as_wrong():
    found, kinds = answered(160)
    other = {"left": "right", "right": "left"}
    before = found.certify(0.1)
    rows = [row for row, mark in found._store.marks.items() if mark.reason == RANDOM][:20]
    for row in rows:
        found.answer(row, other[kinds[row]], by="b")
    assert found._store.disputed == set(rows)
    assert found.certify(0.1).n_certified < before.n_certified
    for row in rows:
        found.settle(row, kinds[row], by="c")
    after = found.certify(0.1)
    assert (after.n_random, after.n_errors) == (before.n_random, before.n_errors)
    assert after.n_certified > 400


def test_a_look_does_not_change_when_a_row_of_it_is_settled(monkeypatch):
    with mail_session() as found:
        for row in (0, 1):
            found.answer(row, "spam", by="anna")
            found.answer(row, "ham", by="ben")
        found.answer(2, "ham", by="anna")
        found.settle(0, "ham", by="anna")
        seen = {}
        monkeypatch.setattr(found._certifier, "certify", lambda marks, *_: seen.update(marks))
        found.certify()
        assert seen[0].seq < seen[2].seq
        assert [seen[row].value for row in (0, 1, 2)] == ["ham", None, "ham"]
