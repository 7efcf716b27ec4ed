"""Several people at one session: links, single answers, rows that two of them get."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mail_sessions import KINDS, TEXTS, session
from semisvm.labelling import ChangedError, LabelingError, LabelingSession
from semisvm.labelling.answer_store import AnswerStore, Event
from semisvm.labelling.leases import EXPIRES, SECOND
from semisvm.labelling.people import People, cookie_of, read_people
from semisvm.labelling.records import FINISH, LABEL, SETTLE, SOURCE, Person
from semisvm.tables import Table, join_answers


def people_of(text):
    return [(person.name, person.role) for person in read_people(text)]


def test_names_numbers_and_roles():
    assert people_of("anna, ben") == [("anna", FINISH), ("ben", LABEL)]
    assert people_of("2") == [("person 1", FINISH), ("person 2", LABEL)]
    assert people_of("anna,ben:settle") == [("anna", FINISH), ("ben", SETTLE)]
    assert people_of("anna,ben:finish") == [("anna", LABEL), ("ben", FINISH)]
    assert people_of("anna:label") == [("anna", LABEL)]


def test_who_comes_later_or_gets_a_new_link_gains_no_rights():
    anna = Person("anna", FINISH)
    assert read_people("ben", [anna, Person("carl")]) == [Person("ben")]
    assert read_people("anna", [Person("carl")]) == [anna]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("0", "1 to 1000"),
        ("a,,b", "needs a name"),
        ("a,a", "two people named 'a'"),
        ("a:boss", "label, settle, finish"),
        ("a\nb", "printable"),
        ("x" * 61, "60"),
    ],
)
def test_bad_names(given, words):
    with pytest.raises(LabelingError, match=words):
        read_people(given)


def test_a_link_is_known_by_a_hash_and_can_be_revoked():
    lines = []
    people = People(lines.append)
    token, other = people.invite(Person("a")), people.invite(Person("b", FINISH))
    assert token not in json.dumps(lines)
    assert cookie_of(token) not in json.dumps(lines)
    again = People(lambda line: None)
    for line in lines:
        again.replay(line)
    assert again.of_cookie(cookie_of(token)) == Person("a")
    assert again.of_cookie(cookie_of(other)) == Person("b", FINISH)
    assert again.of_cookie(token) is None
    people.revoke("a")
    again.replay(lines[-1])
    for known in (people, again):
        assert known.of_cookie(cookie_of(token)) is None
        assert [person.name for person in known] == ["b"]
    with pytest.raises(LabelingError, match="'a' has no link"):
        people.revoke("a")
    assert people.of_cookie(cookie_of(people.invite(Person("a")))) == Person("a")


def store_of(*events, given=None):
    store = AnswerStore(given or {}, ["x", "y"])
    for seq, (kind, by, value, *more) in enumerate(events, 1):
        rows = (0,) if kind != "undo" else ()
        store.apply(Event(seq, kind, rows, value, *more, by=by))
    return store


def test_who_differ_have_no_label_until_it_is_settled():
    both = ("answer", "a", "x"), ("answer", "b", "y")
    assert store_of(both[0]).answers() == {0: "x"}
    store = store_of(*both)
    assert (store.answers(), store.disputed, store.marks[0].value) == ({}, {0}, "x")
    store = store_of(*both, ("settle", "c", "y"))
    assert (store.answers(), store.disputed) == ({0: "y"}, set())
    assert {by: mark.value for by, mark in store.singles(0).items()} == {"a": "x", "b": "y"}
    assert store.who() == {0: ("c", "")}
    store = store_of(*both, ("answer", "b", "x"))
    assert (store.answers(), store.disputed, store.counts["x"]) == ({0: "x"}, set(), 1)
    assert store.who() == {0: ("a; b", "")}


def test_a_label_of_the_file_gives_way_to_any_person():
    store = store_of(("answer", "a", "x"), given={0: "y"})
    assert (store.answers(), store.disputed) == ({0: "x"}, set())
    store = store_of(("answer", "a", "x"), ("undo", "a", None, 1), given={0: "y"})
    assert store.answers() == {0: "y"}
    assert store_of(("remove", "a", None), given={0: "y"}).answers() == {}


def snapshot(store):
    own = {
        row: {by: (m.value, m.seq) for by, m in store.singles(row).items()} for row in store.marks
    }
    settled = {row: store.settled(row).value for row in store.marks if store.settled(row)}
    marks = {row: (mark.value, mark.seq) for row, mark in store.marks.items()}
    counts = {name: n for name, n in [*store.counts.items(), *store.given_by.items()] if n}
    return own, settled, marks, counts, store.disputed, store.shared, store.n_skipped


STEPS = st.tuples(
    st.sampled_from(["answer", "answer", "skip", "remove", "settle", "undo"]),
    st.sampled_from(["a", "b", "c"]),
    st.integers(0, 2),
    st.sampled_from(["x", "y"]),
)


@given(st.lists(STEPS, max_size=20))
@settings(max_examples=60)
def test_any_order_of_changes(steps):
    """What is undone leaves no trace, and counts are those of the rows."""
    store, kept = AnswerStore({2: "x"}, ["x", "y"]), []
    for seq, (kind, by, row, value) in enumerate(steps, 1):
        if kind == "undo":
            last = store.last(by=by)
            if last is None:
                continue
            try:
                store.check_undo(last)
            except LabelingError:
                continue
            store.apply(Event(seq, "undo", of=last.seq, by=by))
            kept = [event for event in kept if event.seq != last.seq]
            continue
        if kind != "settle" and store.settled(row):
            continue
        if kind == "remove" and store.mark_of(row, by) is None:
            continue
        event = Event(seq, kind, (row,), value if kind in ("answer", "settle") else None, by=by)
        store.apply(event)
        kept.append(event)
    again = AnswerStore({2: "x"}, ["x", "y"])
    for event in kept:
        again.apply(event)
    assert snapshot(store) == snapshot(again)
    values = Counter(mark.value for mark in store.marks.values() if mark.value)
    assert values == Counter({name: n for name, n in store.counts.items() if n})
    for row in range(3):
        said = {mark.value for mark in store.singles(row).values() if mark.value}
        assert (row in store.disputed) == (len(said) > 1 and store.settled(row) is None)


def test_nobody_changes_the_answer_of_another():
    with session() as found:
        found.answer(0, "spam", by="a")
        with pytest.raises(LabelingError, match="no answer of yours"):
            found.remove(0, by="b")
        assert found.undo(by="b") is None
        assert found.view(0, by="b").answer is None
        found.answer(0, "ham", by="b", version=0)
        assert (found.view(0, by="a").answer, found.view(0, by="b").answer) == ("spam", "ham")
        with pytest.raises(ChangedError):
            found.answer(0, "ham", by="a", version=0)
        assert found.search(which="answered", by="a").rows[0].answer == "spam"
        found.settle(0, "ham", by="c")
        for change in (found.remove, found.skip):
            with pytest.raises(LabelingError, match="settled as 'ham'"):
                change(0, by="a")
        with pytest.raises(LabelingError, match="was settled since"):
            found.undo(by="b")
        with pytest.raises(LabelingError, match="do not differ"):
            found.settle(1, "ham", by="c")
        assert found.undo(by="c").kind == "settle"
        assert found.status().n_disputed == 1


def test_a_request_undoes_once():
    with session() as found:
        found.answer(0, "spam", by="a")
        found.answer(1, "spam", by="a")
        undone = found.undo(by="a", request="r")
        assert found.undo(by="a", request="r") == undone
        assert found.status().n_answered == 1
        assert found.undo(by="a", request="s").rows == (0,)


def test_everything_is_there_after_a_restart(tmp_path):
    answers = tmp_path / "a.csv"
    with session(answers=answers, overlap=0.3) as found:
        found.people.invite(Person("a"))
        found.keep_port(1234)
        found.answer(0, "spam", by="a")
        found.answer(0, "ham", by="b")
        found.answer(1, "ham", by="b")
        found.settle(0, "ham", by="c")
        found.answer(2, "ham", by="b")
        found.answer(2, "spam", by="a")
        before = snapshot(found._store)
    with session(answers=answers) as found:
        assert snapshot(found._store) == before
        assert [person.name for person in found.people] == ["a"]
        assert (found.port, found._store.setup["overlap"]) == (1234, 0.3)
        assert found.status().notes == []
        # somebody without a name decides for all
        found.answer(2, "ham")
        assert found._store.settled(2).value == "ham"
    lines = answers.read_text().splitlines()
    assert lines[0].endswith(",semisvm_by,semisvm_time")
    assert [line.split(",")[1] for line in lines[1:]] == ["ham", "ham", "ham"]
    assert [line.split(",")[3] for line in lines[1:]] == ["c", "b", ""]


def test_one_person_without_a_name_leaves_what_they_always_left(tmp_path):
    answers = tmp_path / "a.csv"
    with session(answers=answers) as found:
        found.answer(0, "spam")
        found.skip(1)
        found.undo()
    journal = (tmp_path / "a.csv.journal").read_text()
    assert '"by"' not in journal
    assert answers.read_text().splitlines()[0] == "semisvm_row,label,semisvm_check"


def test_exports_say_who_and_when(tmp_path):
    with session(texts=["a", "b", "c"], overlap=1.0) as found:
        found.answer(0, "spam", by="a")
        found.answer(0, "ham", by="b")
        found.settle(0, "ham", by="a")
        found.answer(1, "spam", by="b")
        found.skip(2, by="b")
        found.export(tmp_path / "all.csv")
        found.export_single_answers(tmp_path / "single.csv")
    rows = [line.split(",") for line in (tmp_path / "all.csv").read_text().splitlines()]
    assert rows[0] == ["body", "label", "semisvm_by", "semisvm_time"]
    assert [row[1:3] for row in rows[1:]] == [["ham", "a"], ["spam", "b"], ["", ""]]
    assert all(row[3].startswith("20") for row in rows[1:3])
    rows = [line.split(",") for line in (tmp_path / "single.csv").read_text().splitlines()]
    assert [[row[0], row[1], row[2], row[4]] for row in rows[1:]] == [
        ["1", "spam", "a", "answer"],
        ["1", "ham", "b", "answer"],
        ["1", "ham", "a", "settled"],
        ["2", "spam", "b", "answer"],
        ["3", "", "b", "skipped"],
    ]


# --- which rows


def work(found, steps, people, kinds=KINDS):
    for k in range(steps):
        by = people[k % len(people)]
        query = found.ask("browser", by=by)
        if query is None:
            break
        yield by, query
        found.answer(query.row, kinds[query.row], by=by)


def test_nobody_gets_the_row_of_another_by_chance():
    with session() as found:
        for _ in range(20):
            queries = [found.ask("browser", by=by) for by in "abc"]
            assert len({query.row for query in queries}) == 3
            for by, query in zip("abc", queries, strict=True):
                found.answer(query.row, "spam", by=by)
        assert found._store.shared == set()


def test_a_closed_browser_gives_its_row_back():
    with session(texts=["a", "b"]) as found:
        now = [0.0]
        found._queries.clock = lambda: now[0]
        first, second = found.ask("1", by="a"), found.ask("2", by="b")
        assert found.ask("3", by="c") is None
        now[0] += 0.9 * EXPIRES
        found.renew("1", by="a")
        now[0] += 0.2 * EXPIRES
        assert found.ask("3", by="c").row == second.row
        assert found.ask("1", by="a").row == first.row
        assert found.ask("2", by="b") is None


def test_a_share_of_the_rows_goes_to_two_people():
    texts = [f"text {k}" for k in range(400)]
    with session(texts=texts, overlap=0.25) as found:
        seconds = Counter()
        for by, query in work(found, 1000, "abc", ["spam"] * 400):
            seconds[by] += query.reason == SECOND
        store = found._store
        assert all(len(store.singles(row)) == 2 for row in store.shared)
        assert len(store.marks) == 400
        assert abs(len(store.shared) / 400 - 0.25) < 0.07
        assert min(seconds.values()) > 10
        assert found.ask("browser", by="a") is None
        rows = list(store.shared)
    assert abs(sum(rows) / len(rows) - 200) < 40  # anywhere in the file


def test_one_person_alone_is_not_asked_twice():
    with session(overlap=1.0) as found:
        assert all(query.reason != SECOND for _, query in work(found, 30, "a"))


def test_a_row_that_was_looked_for_is_not_given_to_a_second_person():
    with session(texts=["a", "b"], overlap=1.0) as found:
        found.answer(0, "spam", by="a")  # not asked for
        query = found.ask("1", by="a")
        found.answer(query.row, "spam", by="a")
        query = found.ask("2", by="b")
        assert (query.row, query.reason) == (1, SECOND)
        assert "random" in query.words
        found.answer(query.row, "ham", by="b")
        assert found.ask("2", by="b") is None


def test_bad_overlap():
    with pytest.raises(LabelingError, match="between 0 and 1"):
        LabelingSession({"body": ["a"]}, overlap=1.5)


def test_a_damaged_journal_ends_links(tmp_path):
    """The line that is missing may have revoked one."""
    answers = tmp_path / "a.csv"
    with session(answers=answers) as found:
        token = found.people.invite(Person("a"))
        found.people.invite(Person("b"))
        found.people.revoke("a")
        found.answer(0, "spam", by="b")
    journal = tmp_path / "a.csv.journal"
    content = journal.read_bytes()
    journal.write_bytes(content.replace(b'"revoked"', b'"revokee"'))
    with session(answers=answers) as found:
        assert found.people.of_cookie(cookie_of(token)) is None
        assert len(found.people) == 0
        assert any("2 links ended" in note for note in found.status().notes)
        assert found.view(0, by="b").answer == "spam"
        found.people.invite(Person("b"))
    with session(answers=answers) as found:
        assert [person.name for person in found.people] == ["b"]


def test_the_file_of_answers_is_read_and_may_be_edited(tmp_path):
    answers = tmp_path / "a.csv"
    with session(answers=answers) as found:
        found.answer(0, "spam", by="a")
        found.answer(1, "spam", by="a")
        found.answer(2, "ham", by="a")
        found.answer(2, "spam", by="b")
    data = Table({"body": list(TEXTS)}, path="mail.csv")
    joined = join_answers(data, [answers]).data.labels.tolist()
    assert joined[:3] == ["spam", "spam", None]
    lines = answers.read_text().splitlines(keepends=True)
    answers.write_text("".join([lines[0], lines[1].replace("spam", "ham"), *lines[3:]]))
    with session(answers=answers) as found:
        assert "1 answers were taken" in found.status().notes[0]
        # who edits the file decides for all, and what each has said stays
        assert found._store.answers() == {0: "ham"}
        assert found._store.singles(0)["a"].value == "spam"
        assert found._store.is_open(1)
        assert found._store.disputed == {2}


def test_none_of_these_differs_from_a_class():
    none = {"none": True}
    with session(texts=["a", "b", "c"]) as found:
        store = found._store
        for row in range(2):
            found._record(Event(0, "skip", (row,), facts=none, by="a"))
        found.skip(2, by="a")
        for row in range(3):
            found.answer(row, "spam", by="b")
        assert store.disputed == {0, 1}
        assert store.answers() == {2: "spam"}  # a row that was skipped has the other answer
        shown = found.disagreements().rows[0]
        assert [(one.by, one.value) for one in shown.answers] == [
            ("a", "none of these"),
            ("b", "spam"),
        ]
        found.settle(0, "none of these", by="c")
        found.settle(1, "spam", by="c")
        assert store.answers() == {1: "spam", 2: "spam"}
        assert found.disagreements("settled").rows[1].settled == "none of these"
        people = {one.name: (one.n_judged, one.n_right) for one in found.status().people}
        assert people == {"a": (2, 1.0), "b": (2, 1.0)}
        assert found.undo(by="c").kind == "settle"
        assert store.disputed == {1}


def test_two_people_get_rows_of_every_kind():
    data = {"body": TEXTS, "llm": KINDS}
    with LabelingSession(data, weak=["llm"], overlap=1.0, background=False) as found:
        first = {}
        for number in range(40):  # "none of these" is an answer too
            query = found.ask("1", by="a")
            if query.reason == SECOND:
                continue
            first[query.row] = query.reason
            if number % 3:
                found.answer(query.row, KINDS[query.row], by="a")
            else:
                found.skip(query.row, none=True, by="a")
        seconds = set()
        for _ in range(2 * len(first)):
            query = found.ask("2", by="b")
            if query.reason == SECOND:
                seconds.add(query.row)
            found.answer(query.row, "ham", by="b")
        assert seconds == set(first)
        assert SOURCE in set(first.values())
        assert found.agreement().n_rows == len(first)


def test_doubts_are_about_what_a_person_can_change():
    with session() as found:
        for row in range(60):
            wrong = row in (0, 1, 2)
            value = {"spam": "ham", "ham": "spam"}[KINDS[row]] if wrong else KINDS[row]
            found.answer(row, value, by="anna")
        found.answer(1, KINDS[1], by="ben")
        found.settle(1, found.view(1, by="anna").answer, by="ben")
        found.skip(2, by="ben")
        found.fit()
        assert {0, 2} <= {item.row for item in found.doubts(count=100, by="anna").rows}
        assert 1 not in {item.row for item in found.doubts(count=100, by="anna").rows}
        assert found.doubts(count=100, by="ben").total == 0
