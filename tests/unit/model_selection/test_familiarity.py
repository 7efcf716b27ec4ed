"""Rows like those of a fit raise no alarm, others do."""

import math

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import scale

import semisvm
from problems import sparse_text, two_blobs
from semisvm import Model, NewtonSVC, train
from semisvm.model_selection.familiarity import (
    CHANCE,
    FEWEST,
    MANY,
    OUTSIDE,
    Familiarity,
    Limit,
    some_rows,
    unusual_shares,
)
from semisvm.tables import ColumnFeatures, MatrixData, Table
from semisvm.tables.labels import objects


def texts(rng, n, first=0, n_words=400):
    """Texts of words whose frequencies fall, as those of languages do."""
    places = np.minimum(rng.zipf(1.4, (n, 12)), n_words)
    return [" ".join(f"word{first + k}" for k in row) for row in places.tolist()]


def fitted_mail(rng, n=300):
    table = {"text": texts(rng, n), "size": rng.random(n), "kind": ["a", "b", "c"] * (n // 3)}
    labels = objects([str(i % 2) if i < 30 else None for i in range(n)])
    return train(Table(table, labels), "svm")


def test_texts_like_those_of_the_fit_are_no_news():
    rng = np.random.default_rng(0)
    model = fitted_mail(rng)
    same = {"text": texts(rng, 200), "size": rng.random(200), "kind": ["a", "b"] * 100}
    found = model.unlike(same)
    assert found.sentences() == []
    assert found.distance.shape == found.unknown.shape == (200,)


def test_texts_in_another_language():
    rng = np.random.default_rng(0)
    model = fitted_mail(rng)
    other = {"text": texts(rng, 200, first=1000), "size": rng.random(200), "kind": ["a"] * 200}
    found = model.unlike(other)
    assert found.strange
    assert "unknown to the model" in found.sentences()[0]
    # one row is no evidence, a few are
    assert not model.unlike({name: cells[:1] for name, cells in other.items()}).strange
    assert model.unlike({name: cells[:5] for name, cells in other.items()}).strange


def test_new_categories_count_as_unknown():
    rng = np.random.default_rng(0)
    table = {"kind": ["a", "b", "c", "rare"] + ["a", "b"] * 100, "size": rng.random(204)}
    features = ColumnFeatures(categorical=["kind"]).fit(table)
    shares = features.unknown_shares(Table({"kind": ["a", "new", "rare", ""], "size": [1.0] * 4}))
    assert shares.tolist() == [0.0, 1.0, 1.0, 0.0]
    numbers = ColumnFeatures().fit({"size": rng.random(50)})
    assert numbers.unknown_shares(Table({"size": [1.0]})) is None


def test_words_count_as_known_only_without_the_row_itself():
    """A row of a fit is judged as if it came later."""
    table = Table({"text": ["one two", "one two", "one three three", "three one"]})
    features = ColumnFeatures(text=["text"], min_df=2).fit(table)
    assert features.unknown_shares(table).tolist() == [0.0, 0.0, 0.0, 0.0]
    # "two" and "three" are in two rows, so in one other row, which is too few
    expected = [1 / 2, 1 / 2, 2 / 3, 1 / 2]
    np.testing.assert_allclose(features.unknown_shares(table, len(table)), expected)


def test_units_that_have_changed():
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    rows = rng.permutation(len(y))
    labels = objects([int(y[i]) if k < 60 else None for k, i in enumerate(rows[:300])])
    model = train(MatrixData(X[rows[:300]], labels), "tsvm")
    assert model.unlike(MatrixData(X[rows[300:]])).sentences() == []
    assert "times as far" in model.unlike(X[rows[300:]] * 2.54).sentences()[0]


def test_alarms_are_rare_for_rows_of_the_same_kind():
    """Half of a set against the other half, again and again."""
    alarms = 0
    for X in (scale(load_breast_cancer().data), load_digits().data, sparse_text(600)[0]):
        for seed in range(30):
            rows = np.random.default_rng(seed).permutation(X.shape[0])
            known = Familiarity.fit(X[rows[: len(rows) // 2]])
            alarms += bool(known.judge([known.measure(X[rows[len(rows) // 2 :]])]).sentences())
    assert alarms <= 2


def test_other_topics_are_seen(dataset):
    """Newsgroups about computers, against those about politics and religion."""
    X, y = dataset("20news_tfidf")
    rng = np.random.default_rng(0)
    about_computers = rng.permutation(np.flatnonzero((y >= 1) & (y <= 5)))
    known = Familiarity.fit(X[about_computers[:2000]])
    same = known.judge([known.measure(X[about_computers[2000:]])])
    other = known.judge([known.measure(X[np.flatnonzero(y >= 16)])])
    assert same.sentences() == []
    assert "entries are unknown" in other.sentences()[0]


def test_columns_that_were_empty_in_the_fit():
    X = sparse.random(200, 50, 0.2, format="csr", random_state=0)
    known = Familiarity.fit(sparse.hstack([X, sparse.csr_matrix((200, 50))]).tocsr())
    moved = sparse.hstack([sparse.csr_matrix((200, 50)), X]).tocsr()
    assert known.judge([known.measure(moved)]).strange


def test_pieces_are_judged_together():
    X = two_blobs(200)[0]
    known = Familiarity.fit(X)
    # one row is far off in each of many pieces
    pieces = [known.measure(X[k : k + 10] + 3.0 * (np.arange(10) < 3)[:, None]) for k in range(90)]
    assert not known.judge(pieces[:1]).far
    assert known.judge(pieces).far


def test_few_rows_give_no_warning():
    X, y = two_blobs(FEWEST - 1)
    assert Familiarity.fit(X) is None
    assert Model.of(NewtonSVC().fit(X, y)).unlike(X) is None


def test_limits():
    limit = Limit.of(np.arange(1.0, 101.0))
    assert (limit.most, limit.usual, limit.n_rows) == (96.0, 50.5, 100)
    assert not limit.exceeded(np.arange(1.0, 101.0))
    assert limit.exceeded(np.full(10, 97.0))
    assert some_rows(10, 4).tolist() == [0, 3, 6, 9]
    assert some_rows(3).tolist() == [0, 1, 2]


def test_rows_on_the_disk(tmp_path):
    X, y = two_blobs(300)
    labels = objects([int(y[i]) if i < 40 else None for i in range(300)])
    semisvm.write_rows(tmp_path / "r.rows", X)
    rows = semisvm.open_rows(tmp_path / "r.rows")
    model = train(MatrixData(rows, labels), "svm")
    assert model.unlike(MatrixData(rows)).sentences() == []
    assert model.unlike(MatrixData(X + 20.0)).far


@pytest.mark.parametrize("n", [0, 1])
def test_no_rows(n):
    X = two_blobs(60)[0]
    known = Familiarity.fit(X)
    assert known.judge([known.measure(X[:n])]).sentences() == []


def fewest_beyond(limit, n):
    """Return how many of n rows beyond a limit are too many."""
    return next(k for k in range(n) if limit.exceeded(np.arange(n) < k))


def test_as_many_rows_as_chance_does_not_explain_are_too_many():
    n, known = 30, Limit(0.0, 0.5, 10**12)

    def chance(k):
        """That k rows or more of n are outside."""
        terms = (math.comb(n, i) * OUTSIDE**i * (1 - OUTSIDE) ** (n - i) for i in range(k, n + 1))
        return sum(terms)

    k = fewest_beyond(known, n)
    assert chance(k) < CHANCE <= chance(k - 1)
    assert k - 1 >= MANY * n
    # a limit that is known from few rows is itself uncertain
    assert fewest_beyond(Limit(0.0, 0.5, FEWEST), n) > k


def test_rows_of_the_same_source_hardly_ever_have_unusual_shares():
    rng = np.random.default_rng(0)
    alarms = 0
    for _ in range(2000):
        shares = rng.dirichlet(np.full(rng.integers(2, 6), 0.7))
        before, now = (rng.multinomial(n, shares) for n in rng.integers(20, 500, 2))
        alarms += unusual_shares(dict(enumerate(before)), dict(enumerate(now))) is not None
    assert alarms <= 2000 * 3 * CHANCE


@pytest.mark.parametrize(
    ("before", "now", "message"),
    [
        ((600, 400), (900, 100), "90% of these rows are predicted to be 'a', but 60% of"),
        ((600, 400), (570, 430), None),  # within chance
        ((60_000, 40_000), (58_000, 42_000), None),  # beyond chance, but not far
        ((980, 20), (920, 80), "8% of these rows are predicted to be 'b', but 2% of"),
        ((50, 50), (19, 0), None),  # too few
        ((50, 50), (20, 0), "100% of these rows are predicted to be 'a', but 50% of"),
        ((1000, 0), (0, 1000), "100% of these rows are predicted to be 'b', but 0% of"),
    ],
)
def test_unusual_shares(before, now, message):
    found = unusual_shares(*(dict(zip("ab", counts, strict=True)) for counts in (before, now)))
    assert found is None if message is None else found.startswith(message)


def test_predicted_classes_of_a_model_are_compared_with_those_of_its_fit():
    X, y = two_blobs(400, 3, gap=4.0)
    model = train(
        MatrixData(X, objects([str(y[i]) if i < 40 else None for i in range(400)])), "svm"
    )
    assert model.unlike(X).sentences() == []
    found = model.unlike(X[y == 1])
    assert "of these rows are predicted to be" in found.shares
    assert found.sentences()[-1] == found.shares
    model.summary.pop("found")
    assert model.unlike(X[y == 1]).shares is None
    assert Model(NewtonSVC().fit(X, y)).unusual_shares(["1"] * 100) is None


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, lambda X: X.astype(np.float32)])
def test_labelled_rows_of_the_fit_are_recognised(kind, tmp_path):
    X, y = two_blobs(60, 5)
    X[:, 2] = np.where(np.abs(X[:, 2]) < 0.5, 0.0, X[:, 2])
    labels = objects([str(y[i]) if i < 25 else None for i in range(60)])
    model = train(MatrixData(kind(X), labels), "svm", as_is=True)
    semisvm.save(model, tmp_path / "m")
    for one in (model, semisvm.load(tmp_path / "m")):
        assert one.labeled_rows.dtype == np.uint64
        for rows in (X, sparse.csr_matrix(X), X * (1.0 + 1e-15)):
            assert one.trained_on(rows).tolist() == [True] * 25 + [False] * 35
        assert not one.trained_on(X + 1e-3).any()
        assert not one.trained_on(X[:, ::-1]).any()
        assert one.trained_on(X[:0]).shape == (0,)
    assert Model(model.estimator).trained_on(X) is None
