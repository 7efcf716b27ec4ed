"""Shares of blocks of columns: in proportion to the directions in which their rows vary."""

import json

import numpy as np
import pytest
from scipy import sparse

from semisvm import TransductiveSVC
from semisvm.designs.validation import count_directions
from semisvm.persistence.column_states import restore_features
from semisvm.tables import ColumnFeatures, DataError, as_table, column_shares
from semisvm.tables.column_shares import BlockStatistics
from semisvm.tables.feature_states import state_of
from semisvm.tables.streaming import StreamedFeatures

N = 400
TOPICS = 4


def texts(seed=0, n=N):
    """Return texts of four topics whose words overlap, and the topics."""
    rng = np.random.default_rng(seed)
    words = np.array([f"word{k}" for k in range(800)])
    common = 1.0 / np.arange(1, 801)
    often = [np.where(np.arange(800) % TOPICS == k, 2.5, 1.0) * common for k in range(TOPICS)]
    topics = rng.integers(0, TOPICS, n)
    chances = [p / p.sum() for p in often]
    return [" ".join(rng.choice(words, 80, p=chances[k])) for k in topics], topics


def some_table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return {
        "text": texts(seed, n)[0],
        "size": rng.normal(size=n),
        "height": rng.normal(size=n),
        "country": rng.choice(list("abcd"), n).tolist(),
    }


def shares_in(X, features):
    """Return the share of every block in the squared length of the rows."""
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() / X.shape[0]
    ends = np.cumsum([block.width() for block in features.blocks_])
    return np.array([part.sum() for part in np.split(squares, ends[:-1])])


def accuracy(table, topics, labelled):
    X = ColumnFeatures().fit_transform(table)
    y = np.where(labelled, topics, -1)
    free = ~labelled
    return float(np.mean(TransductiveSVC().fit(X, y).predict(X[free]) == topics[free]))


@pytest.mark.parametrize(
    "noise",
    [
        lambda rng: {"country": rng.choice(list("abcd"), N).tolist()},
        lambda rng: {"flag": rng.choice(["yes", "no"], N).tolist()},
        lambda rng: {"shop": [f"shop {k}" for k in rng.integers(0, 20, N)]},
        lambda rng: {f"number{k}": rng.normal(size=N) for k in range(3)},
    ],
    ids=["four levels", "flag", "twenty levels", "numbers"],
)
def test_a_column_of_noise_does_no_harm(noise):
    lost = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        written, topics = texts(seed)
        labelled = np.isin(np.arange(N), rng.choice(N, 60, replace=False))
        alone = accuracy({"text": written}, topics, labelled)
        lost.append(alone - accuracy({"text": written, **noise(rng)}, topics, labelled))
    assert alone > 0.6
    assert np.mean(lost) < 0.02


def test_an_informative_column_helps():
    gained = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        written, topics = texts(seed)
        labelled = np.isin(np.arange(N), rng.choice(N, 60, replace=False))
        hint = np.where(rng.random(N) < 0.7, topics, rng.integers(0, TOPICS, N))
        table = {"text": written, "hint": [f"shelf {k}" for k in hint]}
        alone = accuracy({"text": written}, topics, labelled)
        gained.append(accuracy(table, topics, labelled) - alone)
    assert np.mean(gained) > 0.0


def test_directions_of_known_covariances():
    assert count_directions(np.vstack([np.eye(5), -np.eye(5)])) == pytest.approx(5)
    assert count_directions(np.ones((7, 3))) == 1.0
    assert count_directions(np.outer(np.arange(9.0), [1.0, 2.0])) == pytest.approx(1)
    levels = np.eye(4)[np.arange(40) % 4]
    assert count_directions(levels) == pytest.approx(3)
    assert count_directions(sparse.csr_matrix(levels)) == pytest.approx(3)
    rare = np.eye(2)[(np.arange(100) == 0).astype(int)]
    assert count_directions(rare) == pytest.approx(1)
    assert count_directions(np.full((3, 2), 1e200) * [[1], [2], [3]]) == 1.0  # overflows


def test_shares_follow_the_directions():
    features = ColumnFeatures()
    X = features.fit_transform(some_table())
    found = shares_in(X, features)
    assert found.sum() == pytest.approx(1)
    text, numbers, country = (
        count_directions(part) for part in np.split(X.toarray(), [X.shape[1] - 6, -4], axis=1)
    )
    assert (text > 50, round(numbers), round(country)) == (True, 2, 3)
    # one per column, unless that is little beside the text
    others = numbers + min(country, max(1.0, column_shares.SMALL * text))
    assert found[1:].sum() / found[0] == pytest.approx(others / text)
    assert found[1] == pytest.approx(2 * found[2])


@pytest.mark.parametrize("levels", [2, 20])
def test_numbers_and_categories_count_by_column(levels):
    rng = np.random.default_rng(0)
    common = rng.normal(size=N)
    table = {f"x{k}": common + 0.3 * rng.normal(size=N) for k in range(6)}
    table["shop"] = [f"shop {k}" for k in rng.integers(0, levels, N)]
    features = ColumnFeatures()
    X = features.fit_transform(table)
    assert shares_in(X, features) == pytest.approx([6 / 7, 1 / 7])


def test_a_rare_level_is_not_blown_up():
    rng = np.random.default_rng(0)
    table = {f"x{k}": rng.normal(size=N) for k in range(6)}
    table["flag"] = ["yes" if k < 4 else "no" for k in range(N)]
    features = ColumnFeatures()
    X = features.fit_transform(table)
    assert X[:4].toarray()[:, -1].max() < 0.5


@pytest.mark.parametrize(
    "columns", [["text"], ["size", "height"], ["country"]], ids=["text", "numbers", "levels"]
)
def test_a_single_block_stays_as_it_is(columns):
    table = {name: some_table()[name] for name in columns}
    features = ColumnFeatures()
    X = features.fit_transform(table)
    raw = sparse.csr_matrix(features.blocks_[0].matrix(as_table(table)))
    length = np.sqrt(raw.multiply(raw).sum() / N)
    assert abs(X - raw / length).max() < 1e-12
    assert features.notes_ == []


def test_order_and_copies_of_rows_change_nothing():
    table = some_table()
    scales = ColumnFeatures().fit(table).scales_
    order = np.random.default_rng(1).permutation(N)
    shuffled = {name: [cells[k] for k in order] for name, cells in table.items()}
    np.testing.assert_allclose(ColumnFeatures().fit(shuffled).scales_, scales, rtol=1e-10)
    table = {name: cells[:200] for name, cells in some_table().items()}
    twice = {name: [*cells, *cells] for name, cells in table.items()}
    once = ColumnFeatures(min_df=1).fit(table).scales_
    np.testing.assert_allclose(ColumnFeatures(min_df=1).fit(twice).scales_, once, rtol=0.01)


def test_a_table_of_columns_without_variance_in_the_sample(monkeypatch):
    monkeypatch.setattr(column_shares, "MOST_ROWS", 8)
    table = some_table()
    table["country"] = ["a"] * (N - 2) + ["b"] * 2
    X = ColumnFeatures(categorical=["country"]).fit_transform(table)
    assert np.isfinite(X.data).all()
    assert X.multiply(X).sum() / N == pytest.approx(1)


@pytest.mark.parametrize("settings", [{}, {"hash_columns": 64}], ids=["words", "hashed"])
def test_pieces_give_the_scales_of_the_whole_beyond_the_sample(monkeypatch, settings):
    monkeypatch.setattr(column_shares, "MOST_ROWS", 50)
    table = as_table(some_table())
    whole = ColumnFeatures(**settings).fit(table)
    for step in (33, 120, 400):
        pieces = StreamedFeatures(ColumnFeatures(**settings))
        pieces.find_kinds(table)
        for k in range(0, N, step):
            pieces.count(table[k : k + step])
        pieces.fit()
        for k in range(0, N, step):
            pieces.transform(table[k : k + step])
        pieces.finish()
        np.testing.assert_allclose(pieces.features.scales_, whole.scales_, rtol=1e-9)
        assert pieces.features.notes_ == whole.notes_


@pytest.mark.parametrize("cuts", [(10,), (100, 130), (399,), (64, 128, 256)])
def test_statistics_of_files_are_merged(monkeypatch, cuts):
    monkeypatch.setattr(column_shares, "MOST_ROWS", 60)
    rng = np.random.default_rng(0)
    dense, rows = rng.normal(size=(N, 5)), sparse.random(N, 40, 0.2, "csr", random_state=0)
    whole, merged = BlockStatistics(2), BlockStatistics(2)
    whole.add([dense, rows])
    for own, others in zip(np.split(dense, cuts), np.split(np.arange(N), cuts), strict=True):
        part = BlockStatistics(2)
        part.add([own, rows[others]])
        merged.merge(part)
    np.testing.assert_allclose(merged.squares, whole.squares)
    assert merged.n_rows == whole.n_rows == N
    for k in range(2):
        assert 15 <= merged.rows([k]).shape[0] <= 60
        found = count_directions(merged.rows([k])) / count_directions(whole.rows([k]))
        assert found == pytest.approx(1, abs=0.4)


def test_a_note_names_what_is_damped():
    features = ColumnFeatures()
    X = features.fit_transform(some_table())
    percent = f"{100 * shares_in(X, features)[1:].sum():.2g}%"
    (note,) = features.notes_
    assert note.startswith(
        f"damped: the columns 'size', 'height', 'country' have together {percent} of the squared "
        "length of an average row. "
    )
    # the shares are those after all weights; columns with a weight are not named
    features = ColumnFeatures(column_weights={"size": 9, "country": 2})
    X = features.fit_transform(some_table())
    percent = f"{100 * mean_squares(X, features)['height']:.2g}%"
    (note,) = features.notes_
    assert note.startswith(f"damped: the column 'height' has {percent} of")


def test_columns_without_a_text_beside_them_are_not_called_damped():
    rng = np.random.default_rng(0)
    table = {f"x{k}": rng.normal(size=N) for k in range(9)} | {"flag": ["x", "y"] * (N // 2)}
    features = ColumnFeatures()
    X = features.fit_transform(table)
    assert shares_in(X, features) == pytest.approx([0.9, 0.1])
    assert features.notes_ == []


def mean_squares(X, features):
    squares = np.asarray(X.multiply(X).sum(axis=0)).ravel() / X.shape[0]
    return dict(zip(features.get_feature_names_out(), squares.tolist(), strict=True))


def test_weights_multiply_what_the_columns_have():
    table = some_table()
    plain, weighted = ColumnFeatures(), ColumnFeatures(column_weights={"size": 3, "text": 0.5})
    before = mean_squares(plain.fit_transform(table), plain)
    X = weighted.fit_transform(table)
    after = mean_squares(X, weighted)
    assert sum(after.values()) == pytest.approx(1)
    ratios = {name: after[name] / before[name] for name in before}
    assert ratios["size"] / ratios["height"] == pytest.approx(9)
    assert ratios["text__word1"] / ratios["height"] == pytest.approx(0.25)
    assert ratios["country=a"] == pytest.approx(ratios["height"])
    assert set(after) == set(before)
    assert abs(weighted.transform(table) - X).max() == 0.0


def test_weights_of_one_change_nothing():
    table = some_table()
    plain = ColumnFeatures().fit(table)
    for weights in ({"size": 1.0}, {"numeric": 1}, {}, dict.fromkeys(table, 2.0)):
        again = ColumnFeatures(column_weights=weights).fit(table)
        np.testing.assert_allclose(again.scales_, plain.scales_)


def test_a_weight_of_zero_leaves_a_column_out():
    table = some_table()
    features = ColumnFeatures(column_weights={"country": 0, "numeric": 0.0, "height": 1}).fit(table)
    assert features.kinds_ == {"text": "text", "height": "numeric"}
    assert any("'country' is left out" in note for note in features.notes_)
    del table["country"]
    assert features.transform(table).shape[1] == features.n_features_out_
    with pytest.raises(DataError, match="no column is left"):
        ColumnFeatures(column_weights=dict.fromkeys(table, 0)).fit(table)


def test_a_column_that_is_called_like_a_kind_means_itself():
    table = {**some_table(), "title": texts(5)[0]}
    features = ColumnFeatures(column_weights={"text": 0}).fit(table)
    assert features.kinds_["title"] == "text"
    assert "text" not in features.kinds_


@pytest.mark.parametrize("factor", [-1, float("nan"), float("inf"), "2", None, True])
def test_weights_that_are_none(factor):
    with pytest.raises(ValueError, match="the weight of 'size' must be a finite number >= 0"):
        ColumnFeatures(column_weights={"size": factor}).fit(some_table())


def test_weights_of_columns_that_are_not_there():
    with pytest.raises(DataError, match="Did you mean 'size'"):
        ColumnFeatures(column_weights={"sizes": 2}).fit(some_table())


@pytest.mark.parametrize("settings", [{}, {"hash_columns": 64}], ids=["words", "hashed"])
def test_weights_in_pieces_and_in_files(settings):
    table = as_table(some_table())
    settings["column_weights"] = {"size": 3, "text": 0.5, "country": 0.2}
    whole = ColumnFeatures(**settings).fit(table)
    pieces = StreamedFeatures(ColumnFeatures(**settings))
    pieces.find_kinds(table)
    for k in range(0, N, 90):
        pieces.count(table[k : k + 90])
    pieces.fit()
    for k in range(0, N, 90):
        pieces.transform(table[k : k + 90])
    pieces.finish()
    np.testing.assert_allclose(pieces.features.scales_, whole.scales_, rtol=1e-9)
    names = whole.get_feature_names_out().tolist()
    assert pieces.features.get_feature_names_out().tolist() == names
    state, arrays = state_of(whole)
    again = restore_features(json.loads(json.dumps(state)), arrays, lambda size: None)
    assert again.column_weights == settings["column_weights"]
    assert abs(again.transform(table) - whole.transform(table)).max() == 0.0


def test_vectors_of_an_encoder_count_like_a_text():
    rng = np.random.default_rng(0)
    table = {"text": texts()[0], "few": list(rng.normal(size=(N, 5)))}
    few = ColumnFeatures().fit(table)
    table["many"] = list(rng.normal(size=(N, 60)))
    many = ColumnFeatures().fit(table)
    assert few.kinds_ == {"text": "text", "few": "vector"}
    length = {}
    for name, block, scale in zip(table, many.blocks_, many.scales_, strict=False):
        part = sparse.csr_array(block.matrix(as_table(table)))
        length[name] = scale**2 * part.power(2).sum() / N
    assert length["many"] == pytest.approx(length["text"], rel=1e-6)
    assert length["few"] < 0.1 * length["text"]
