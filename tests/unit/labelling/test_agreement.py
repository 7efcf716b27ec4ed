"""Agreement: equal to scikit-learn's kappa, to published alphas, and with honest intervals."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from mail_sessions import KINDS, session
from semisvm.labelling.agreement import agreement_of, cohen_kappa, krippendorff_alpha
from semisvm.labelling.leases import SECOND
from semisvm.labelling.records import LabelingError

# Krippendorff, Computing Krippendorff's alpha-reliability (2011): examples A, B and C, nominal
PUBLISHED = [
    (["0100000010", "1110010000"], 0.095),
    (["aabbdcccedda", "babbbcccedd" + "d"], 0.692),
    (["1233214" + "12...", "123322412" + "5.3", ".3332342251.", "12332441251."], 0.743),
]


def rows_of(people):
    columns = zip(*people, strict=True)
    return [{str(k): value for k, value in enumerate(column) if value != "."} for column in columns]


def shared(rows):
    return [row for row in rows if len(row) > 1]


@pytest.mark.parametrize(("people", "alpha"), PUBLISHED)
def test_published_alphas(people, alpha):
    rows = rows_of(people)
    classes = sorted({value for row in rows for value in row.values()})
    found = agreement_of(shared(rows), classes, 0, 0)
    assert round(found.alpha.value, 3) == alpha
    assert found.alpha.low < found.alpha.value < found.alpha.high
    # rows with one answer change nothing
    assert agreement_of(rows, classes, 0, 0).alpha.value == pytest.approx(found.alpha.value)


def by_pairs(rows):
    """The definition: pairs of answers of one row, and of all rows, an answer without itself."""
    values = [value for row in rows for value in row.values()]
    observed = [
        (a != b) / (len(row) - 1)
        for row in rows
        for i, a in row.items()
        for j, b in row.items()
        if i != j
    ]
    expected = [a != b for i, a in enumerate(values) for j, b in enumerate(values) if i != j]
    return 1 - (sum(observed) / len(values)) / (sum(expected) / len(expected))


ROWS = st.lists(
    st.dictionaries(st.sampled_from("abcd"), st.sampled_from("xyz"), min_size=2),
    min_size=1,
    max_size=12,
)


@given(ROWS)
@settings(max_examples=50)
def test_alpha_by_its_definition(rows):
    found = agreement_of(rows, ["x", "y", "z"], 0, 0)
    if len({value for row in rows for value in row.values()}) == 1:
        assert found.alpha is None
    else:
        assert found.alpha.value == pytest.approx(by_pairs(rows))
    assert found.agreed.value == np.mean([len(set(row.values())) == 1 for row in rows])


@given(st.lists(st.tuples(st.sampled_from("xyz"), st.sampled_from("xyz")), min_size=1, max_size=30))
@settings(max_examples=50)
def test_kappa_is_that_of_scikit_learn(pairs):
    first, second = zip(*pairs, strict=True)
    (found,) = agreement_of([{"a": a, "b": b} for a, b in pairs], ["x", "y", "z"], 0, 0).pairs
    if len({*first, *second}) == 1:
        assert found.kappa is None
        return
    assert found.kappa.value == pytest.approx(cohen_kappa_score(first, second))
    assert found.agreed == sum(a == b for a, b in pairs)
    assert found.kappa.low < found.kappa.high


@pytest.mark.parametrize(("n", "right"), [(30, 0.95), (100, 0.8), (400, 0.9)])
def test_intervals_hold_the_truth(n, right):
    """Two people who are right independently of each other, three classes."""
    rng = np.random.default_rng(0)
    shares = np.array([0.5, 0.3, 0.2])

    def draw(n):
        truth = rng.choice(3, n, p=shares)
        return [np.where(rng.random(n) < right, truth, rng.choice(3, n)) for _ in range(2)]

    one, other = draw(1_000_000)
    truth = cohen_kappa_score(one, other)
    held = 0
    for _ in range(300):
        a, b = draw(n)
        rows = [{"a": str(x), "b": str(y)} for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        found = agreement_of(rows, ["0", "1", "2"], 0, 0)
        for interval in (found.pairs[0].kappa, found.alpha):
            held += bool(interval.low <= truth <= interval.high)
    assert 0.91 < held / 600 < 0.99


def test_nothing_is_known_without_rows():
    found = agreement_of([], ["x", "y"], 0, 0)
    assert (found.n_rows, found.agreed, found.alpha, found.pairs) == (0, None, None, [])
    assert krippendorff_alpha(np.zeros((0, 2))) is None
    assert cohen_kappa(np.array([[4.0, 0.0], [0.0, 0.0]])) is None


def test_only_rows_that_were_drawn_at_random_count():
    texts = [f"text {k}" for k in range(30)]
    with session(texts=texts, overlap=1.0) as found:
        for by, value in (("a", "spam"), ("b", "ham"), ("c", "ham")):
            found.answer(0, value, by=by)  # found by words
        assert found.agreement().n_rows == 0
        for _ in range(12):
            for by in "ab":
                query = found.ask("browser", by=by)
                value = "spam" if query.row % 2 or (by == "b" and query.row == 4) else "ham"
                found.answer(query.row, value, by=by)
        agreement, store = found.agreement(), found._store
        drawn = [
            row
            for row in store.shared
            if any(mark.reason == SECOND for mark in store.singles(row).values())
        ]
        assert agreement.n_rows == len(drawn) > 5
        assert 0 not in drawn
        assert agreement.n_disputed == len(store.disputed)
        total = found.disagreements().total
        assert total == agreement.n_disputed
        found.settle(0, "ham", by="c")
        assert found.disagreements().total == total - 1
        (row,) = found.disagreements("settled").rows
        assert (row.key, row.settled, row.settled_by) == ("1", "ham", "c")
        assert [(one.by, one.value) for one in row.answers] == [
            ("a", "spam"),
            ("b", "ham"),
            ("c", "ham"),
        ]
        assert found.agreement().n_settled == 1
        with pytest.raises(LabelingError, match="open or settled"):
            found.disagreements("some")


def test_a_report_has_who_labelled_and_how_far_they_agree(tmp_path):
    with session(overlap=1.0) as found:
        assert found.people_sentences() == []
        for _ in range(15):
            for by in "ab":
                query = found.ask("browser", by=by)
                wrong = by == "b" and query.row == 4
                found.answer(query.row, "spam" if wrong else KINDS[query.row], by=by)
        for row in found.disagreements().rows:
            found.settle(row.row, KINDS[row.row], by="a")
        found.report(tmp_path / "report.html")
        shown = (tmp_path / "report.html").read_text(encoding="utf-8")
        for sentence in found.people_sentences():
            assert sentence.split("'")[0] in shown
    first, second, *_ = found.people_sentences()
    assert first.startswith("labelled by a (15 rows) and b (15 rows), from 20")
    assert "drawn at random for two of them" in second
    assert "Krippendorff's alpha" in second
