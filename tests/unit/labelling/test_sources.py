"""Weak labels in a session: shown as guesses, and checked where that says most."""

import numpy as np
import pytest

from semisvm.labelling import LabelingSession
from semisvm.labelling.records import CLUSTER, RANDOM, SOURCE
from semisvm.labelling.sources import Doubts, about_sources
from semisvm.tables.errors import DataError

SIZES = (400, 300, 200, 100)


def regions(seed=0):
    """Return rows of four clusters; in the third a source is nearly always wrong."""
    rng = np.random.default_rng(seed)
    region = np.repeat(np.arange(4), SIZES)
    X = np.concatenate([rng.normal(0, 1, (n, 2)) + 12 * k for k, n in enumerate(SIZES)])
    kinds = np.array(["a", "b"])[rng.integers(0, 2, len(X))]
    right = rng.random(len(X)) < np.where(region == 2, 0.1, 0.9)
    votes = np.where(right, kinds, np.where(kinds == "a", "b", "a"))
    return X, region, kinds.tolist(), votes.tolist()


def beliefs(region, votes, kinds, rows):
    """Estimate how often the source is right in each region and for each label."""
    overall = (sum(votes[r] == kinds[r] for r in rows) + 1) / (len(rows) + 2)
    found = {}
    for cell in {(region[r], votes[r]) for r in range(len(votes))}:
        own = [r for r in rows if (region[r], votes[r]) == cell]
        right = sum(votes[r] == kinds[r] for r in own)
        found[cell] = (right + 2 * overall) / (len(own) + 2)
    return found


def error(region, votes, kinds, rows):
    found = beliefs(region, votes, kinds, rows)
    truth = {}
    for cell in found:
        own = [r for r in range(len(votes)) if (region[r], votes[r]) == cell]
        truth[cell] = np.mean([votes[r] == kinds[r] for r in own])
    parts = [abs(found[c] - truth[c]) for c in ((region[r], votes[r]) for r in range(len(votes)))]
    return np.mean(parts)


def test_beliefs_are_surer_than_by_random_rows():
    """After 24 answers, on the mean of eight draws."""
    ours, random = [], []
    for seed in range(8):
        X, region, kinds, votes = regions(seed)
        doubts = Doubts(X, {"llm": dict(enumerate(votes))}, seed)
        answers = {}
        for _ in range(4):
            for row in doubts.find(6, answers, answers):
                answers[row] = kinds[row]
        ours.append(error(region, votes, kinds, list(answers)))
        rows = np.random.default_rng(seed).permutation(len(votes))[:24].tolist()
        random.append(error(region, votes, kinds, rows))
    assert np.mean(ours) < np.mean(random)


def test_large_groups_come_first_and_none_twice():
    X, region, _, votes = regions()
    doubts = Doubts(X, {"llm": dict(enumerate(votes))}, 0)
    rows = doubts.find(30, {}, [])
    assert len(set(rows)) == 30
    assert np.bincount(region[rows[:12]], minlength=4)[0] >= 3
    closed = set(rows)
    assert not closed & set(doubts.find(30, {}, closed))


def test_what_is_known_is_not_asked_again():
    """One cluster was checked thoroughly: the others are asked for."""
    X, region, kinds, votes = regions()
    doubts = Doubts(X, {"llm": dict(enumerate(votes))}, 0)
    answers = {row: kinds[row] for row in range(200)}
    assert 0 not in region[doubts.find(6, answers, answers)]


def test_only_rows_with_a_label_of_a_source():
    X, _, _, votes = regions()
    some = {row: votes[row] for row in range(0, 1000, 50)}
    doubts = Doubts(X, {"llm": some, "rule": {}}, 0)
    assert sorted(doubts.find(100, {}, [])) == sorted(some)


def test_a_sparse_matrix_with_many_columns():
    from scipy import sparse

    X = sparse.random(400, 300, 0.05, format="csr", random_state=0)
    doubts = Doubts(X, {"a": dict.fromkeys(range(400), "x"), "b": {3: "y"}}, 0)
    assert len(doubts.find(5, {3: "x"}, [3])) == 5


@pytest.fixture
def session():
    X, _, kinds, votes = regions()
    table = {"x": X[:, 0], "z": X[:, 1], "llm": votes}
    with LabelingSession(table, weak=["llm"], background=False) as found:
        yield found, kinds, votes


def test_a_session_with_weak_labels(session):
    found, kinds, votes = session
    assert [one.name for one in found.status().classes] == ["a", "b"]
    assert found.status().sources == ["llm: 1,000 weak labels, not checked on random rows yet."]
    reasons = []
    for _ in range(40):
        query = found.ask()
        reasons.append(query.reason)
        assert [field.name for field in found.view(query.row).fields] == ["x", "z"]
        assert found.weak_labels(query.row) == {"llm": votes[query.row]}
        found.answer(query.row, kinds[query.row])
    assert reasons[:8] == [CLUSTER] * 8
    assert set(reasons[8:]) == {SOURCE, RANDOM, CLUSTER}
    assert 5 <= reasons[8:].count(SOURCE) <= 8
    assert reasons[8:].count(RANDOM) > 15
    found.fit()
    names = [str(n) for n in found.model().features.get_feature_names_out()]
    assert not any("llm" in name for name in names)


def test_how_often_a_source_is_right_rests_on_random_rows(session):
    found, kinds, votes = session
    n = right = 0
    while n < 20:
        query = found.ask()
        seen = query.number % 4 == 0  # who sees a guess tends to agree with it
        found.answer(query.row, kinds[query.row], seen_guess=seen)
        if query.reason == RANDOM and not seen:
            n += 1
            right += votes[query.row] == kinds[query.row]
    assert found.status().sources[0].startswith(f"llm: right on {right} of 20 random rows (")


def test_a_session_goes_on_with_and_without_weak_labels(tmp_path):
    X, _, kinds, votes = regions()
    table = {"x": X[:, 0], "z": X[:, 1], "llm": votes}
    place = tmp_path / "answers.csv"
    for number, weak in enumerate([["llm"], [], ["llm"]]):
        options = {"classes": ["a", "b"], "answers": place, "background": False, "weak": weak}
        with LabelingSession(table, **options) as found:
            assert found.status().n_answered == number
            row = found.ask().row
            found.answer(row, kinds[row])


def test_columns_that_are_not_there():
    with pytest.raises(DataError, match="llm"):
        LabelingSession({"x": [1.0, 2.0, 3.0]}, weak=["llm"], background=False)
    with pytest.raises(DataError, match="no columns with names"):
        LabelingSession(np.ones((3, 2)), weak=["llm"], background=False)


def test_nothing_without_sources():
    assert about_sources({}, []) == []
