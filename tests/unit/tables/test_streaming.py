"""Features that are fitted piece by piece are those of all rows at once."""

import numpy as np
import pytest
from scipy import sparse

from semisvm.tables import ColumnFeatures, DataError, as_table
from semisvm.tables.blocks import BlockOptions, BoundedCounts
from semisvm.tables.feature_states import restored, same_features, state_of
from semisvm.tables.number_columns import NumberTally
from semisvm.tables.streaming import StreamedFeatures

N = 300


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    words = [f"w{k}" for k in range(150)]
    return as_table(
        {
            "text": [" ".join(rng.choice(words, rng.integers(3, 9))) for _ in range(N)],
            "holes": [None if rng.random() < 0.2 else float(v) for v in rng.normal(size=N)],
            "size": 1e6 + rng.normal(size=N),
            "level": [str(v) for v in rng.choice(list("abcdefg"), N)],
            "same": ["x"] * N,
        }
    )


def streamed(table, features, step=70):
    fit = StreamedFeatures(features)
    fit.find_kinds(table)
    for k in range(0, N, step):
        fit.count(table[k : k + step])
    fit.fit()
    parts = [fit.transform(table[k : k + step]) for k in range(0, N, step)]
    return sparse.vstack(parts).tocsr().multiply(fit.finish()).tocsr()


SETTINGS = {
    "default": {},
    "some words": {"min_df": 0.05, "max_df": 20, "max_features": 30},
    "pairs": {"ngram_range": (1, 2), "min_df": 1},
    "hashed": {"hash_columns": 64},
    "few columns": {"numeric": ["size"], "features": []},
    "levels": {"categorical": ["level"], "features": [], "max_levels": 3, "min_count": 30},
}


@pytest.mark.parametrize("name", SETTINGS)
def test_pieces_give_the_features_of_the_whole(table, name):
    whole, pieces = (ColumnFeatures(**SETTINGS[name]) for _ in range(2))
    expected = whole.fit_transform(table)
    found = streamed(table, pieces)
    assert found.shape == expected.shape
    assert abs(found - expected).max() < 1e-9
    assert pieces.kinds_ == whole.kinds_
    assert pieces.notes_ == whole.notes_
    assert list(pieces.get_feature_names_out()) == list(whole.get_feature_names_out())
    again = restored(*state_of(pieces))
    assert abs(again.transform(table) - found).max() < 1e-14
    assert same_features(again, *state_of(pieces))
    again.scales_ = again.scales_ * 2
    assert not same_features(again, *state_of(pieces))


def test_hashed_features_need_no_pass(table):
    fit = StreamedFeatures(ColumnFeatures(text=["text"], features=[], hash_columns=16))
    fit.find_kinds(table)
    assert not fit.needs_count
    fit.fit()
    rows = fit.transform(table)
    assert rows.shape == (N, 16)
    assert np.allclose(rows.multiply(rows).sum(axis=1), 1.0)


def test_too_few_words_or_numbers(table):
    for features, message in [
        (ColumnFeatures(text=["text"], features=[], min_df=N + 1), "lower the parameter min_df"),
        (ColumnFeatures(text=["none"], features=[]), "have no words"),
        (ColumnFeatures(numeric=["none"], features=[]), "has no number"),
    ]:
        empty = as_table({**table.columns, "none": [""] * N})
        with pytest.raises(DataError, match=message):
            streamed(empty, features)


def test_a_tally_forgets_the_rarest_and_reports_it():
    rng = np.random.default_rng(0)
    tally = BoundedCounts(most=100)
    for k in range(2000):
        tally.add(["often", f"once {k}", f"word {rng.integers(30)}"])
    assert len(tally.counts) <= 100
    assert 2000 - tally.forgotten <= tally.counts["often"] <= 2000
    assert "hash_columns=" in tally.note("text")[0]
    assert BoundedCounts().note("text") == []


def test_the_sample_of_medians_is_drawn_from_all_rows():
    tally = NumberTally(["x"], BlockOptions())
    tally._most = 100
    for k in range(0, 5000, 50):
        tally.add(as_table({"x": np.arange(k, k + 50.0)}))
    block = tally.block(["x"], 0, None)
    assert abs(block.median[0] - 2500) < 600
    assert np.isclose(block.mean[0], 2499.5)
    assert np.isclose(block.scale[0], np.arange(5000).std())


def test_a_constant_column_is_not_blown_up():
    tally = NumberTally(["x"], BlockOptions())
    for n in (3, 7, 11):
        tally.add(as_table({"x": np.full(n, 0.1)}))
    assert tally.block(["x"], 0, None).scale[0] == 1.0
