"""Columns that labels show to inform have a larger share beside texts; noise has not."""

import json
from itertools import permutations

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from tests.unit.tables.test_column_shares import TOPICS, N, shares_in, texts

import semisvm
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.labels.partial import hide_labels
from semisvm.persistence.column_states import restore_features
from semisvm.tables import ColumnFeatures, Table, as_table
from semisvm.tables.column_shares import FOR_CLUSTERS, SUPERVISED
from semisvm.tables.feature_states import state_of
from semisvm.tables.informative import (
    FALSE_SHARE,
    LEVEL,
    find_informative,
    p_value,
    permutation_moments,
)

KINDS = {"text": "text", "hint": "categorical", "noise": "categorical", "price": "numeric"}


def informed_table(seed=0):
    """Return texts with a category that informs, one that does not and a price; the topics."""
    rng = np.random.default_rng(seed)
    written, topics = texts(seed)
    hint = np.where(rng.random(N) < 0.7, topics, rng.integers(0, TOPICS, N))
    table = {
        "text": written,
        "hint": [f"shelf {k}" for k in hint],
        "noise": rng.choice(list("abcd"), N).tolist(),
        "price": np.exp(rng.normal(size=N) + (topics == 2) * 2.0),
    }
    return table, topics


def partly(topics, seed=0, n=60):
    rows = np.random.default_rng(seed).choice(N, N - n, replace=False)
    return hide_labels(topics, rows)


def test_moments_are_those_of_all_permutations():
    rng = np.random.default_rng(0)
    centre = np.eye(6) - 1 / 6
    A, B = (centre @ (M @ M.T) @ centre for M in rng.normal(size=(2, 6, 3)))
    found = [np.vdot(A, B[np.ix_(p, p)]) for p in permutations(range(6))]
    mean, variance = permutation_moments(A, B)
    assert mean == pytest.approx(np.mean(found))
    assert variance == pytest.approx(np.var(found))


@pytest.mark.parametrize("levels", [2, 4, 20, 100, None])
@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.9, 0.1), (0.1,) * 10])
def test_noise_has_a_small_p_value_as_rarely_as_it_should(levels, shares):
    rng = np.random.default_rng(0)
    found = []
    for _ in range(500):
        codes = rng.choice(len(shares), 50, p=shares)
        values = rng.lognormal(size=50) if levels is None else rng.integers(0, levels, 50)
        found.append(p_value(values, codes))
    assert np.mean(np.array(found) < 0.01) <= 0.022  # 0.01 and three standard errors
    assert min(found) > 1e-5


def test_p_values_of_extreme_columns():
    codes = np.arange(48) % 3
    assert p_value(codes, codes) < 1e-12
    assert p_value(codes.astype(float), codes) < 1e-8
    for constant in (np.zeros(48), np.full(48, np.nan), np.array(["a"] * 48)):
        assert p_value(constant, codes) == 1.0
    assert p_value(np.array([f"v{k}" for k in range(48)]), codes) == 1.0
    prices = np.where(codes == 1, 1e300, 1.0)  # ranks do not overflow
    prices[::5] = np.nan
    assert p_value(prices, codes) < 1e-6


def test_what_informs_is_found_and_noise_is_not():
    table, topics = informed_table()
    found = find_informative(as_table(table), KINDS, partly(topics))
    assert set(found) == {"hint", "price"}
    assert min(found.values()) < LEVEL / 6
    assert max(found.values()) < FALSE_SHARE / 3
    wrong = np.random.default_rng(1).permutation(topics)
    assert find_informative(as_table(table), KINDS, partly(wrong)) == {}


def test_columns_that_each_inform_a_little_are_found_together():
    rng = np.random.default_rng(8)
    y = np.repeat(np.arange(6), 10)
    columns = {f"x{k}": rng.normal(size=60) + rng.normal(size=6)[y] for k in range(2)}
    kinds = dict.fromkeys(columns, "numeric")
    alone = [p_value(values, y) for values in columns.values()]
    assert min(alone) > LEVEL / 4
    assert set(find_informative(as_table(columns), kinds, y)) == {*columns}


@pytest.mark.parametrize("parts", ["weekday", "elapsed"])
def test_a_date_that_informs_is_found_and_raised(parts):
    rng = np.random.default_rng(0)
    written, topics = texts()
    days = 7 * rng.integers(0, 50, N) + topics if parts == "weekday" else 90 * topics
    days = days + (parts == "elapsed") * rng.integers(0, 90, N)
    sent = np.datetime64("2024-01-01") + days
    noise = np.datetime64("2024-01-01") + rng.integers(0, 365, N)
    table = {"text": written, "sent": sent.tolist(), "seen": noise.astype(str).tolist()}
    table["sent"][0] = None
    features = ColumnFeatures().fit(table, partly(topics))
    assert features.kinds_ == {"text": "text", "sent": "time", "seen": "time"}
    assert set(features.informative_) == {"sent"}
    assert features.notes_[-1].startswith("raised: the column 'sent' has ")
    kept = ColumnFeatures(column_weights={"time": 1}).fit(table, partly(topics))
    assert kept.informative_ == {}


def test_a_rare_level_in_a_rare_class_is_no_evidence():
    rng = np.random.default_rng(0)
    y = np.array([0] * 20 + [1] * 20 + [2, 2])
    levels = [f"level {k}" for k in rng.integers(0, 3, 40)] + ["other", "other"]
    assert find_informative(as_table({"hint": levels}), {"hint": "categorical"}, y) == {}


def test_too_few_labels_show_nothing():
    table, topics = informed_table()
    assert find_informative(as_table(table), KINDS, partly(topics, n=19)) == {}
    assert find_informative(as_table(table), KINDS, np.full(N, -1)) == {}
    one_class = np.where(topics == 1, 1, -1)
    assert find_informative(as_table(table), KINDS, one_class) == {}
    measured = np.random.default_rng(0).normal(size=N)  # a target that is no class
    assert find_informative(as_table(table), KINDS, measured) == {}


@pytest.mark.parametrize("marker", [-1, None, float("nan"), "unknown"])
def test_markers_of_unlabelled_rows(marker):
    table, topics = informed_table()
    labels = np.array([marker if k < 0 else f"topic {k}" for k in partly(topics)], dtype=object)
    plain = ColumnFeatures().fit(table, partly(topics))
    features = ColumnFeatures() if marker != "unknown" else ColumnFeatures(unlabeled=marker)
    assert features.fit(table, labels).informative_ == plain.informative_
    np.testing.assert_array_equal(features.scales_, plain.scales_)


def test_a_raised_share_lies_between_its_own_and_an_equal_one():
    table, topics = informed_table()
    del table["price"]
    found, notes = {}, {}
    for raised in (0.0, FOR_CLUSTERS, SUPERVISED, 1.0):
        features = ColumnFeatures(raised=raised)
        X = features.fit_transform(table, partly(topics))
        own = dict(
            zip([b.columns[0] for b in features.blocks_], shares_in(X, features), strict=True)
        )
        assert sum(own.values()) == pytest.approx(1)
        found[raised], notes[raised] = own, features.notes_
    plain = ColumnFeatures()
    shares = shares_in(plain.fit_transform(table), plain)
    assert found[0.0] == pytest.approx({"text": shares[0], "hint": shares[1]})
    assert found[1.0]["hint"] == pytest.approx(0.5)
    for raised in (FOR_CLUSTERS, SUPERVISED):
        expected = (shares[1] / 2) ** (1 - raised) * 0.5**raised
        assert found[raised]["hint"] == pytest.approx(expected)
        # the noise beside it stays what it was to the text
        ratio = found[raised]["noise"] / found[raised]["text"]
        assert ratio == pytest.approx(shares[1] / 2 / shares[0])
        after, before = (f"{100 * share:.2g}%" for share in (expected, shares[1] / 2))
        damped, note = notes[raised]
        assert note.startswith(f"raised: the column 'hint' has {after} of the squared length of")
        assert f" instead of {before}, because it is clearly associated" in note
        assert damped.startswith("damped: the column 'noise' has ")


def test_what_is_not_raised():
    table, topics = informed_table()
    y = partly(topics)
    for weights in ({"hint": 1, "price": 1}, {"categorical": 1, "numeric": 1}):
        features = ColumnFeatures(column_weights=weights).fit(table, y)
        assert features.informative_ == {}
    plain = ColumnFeatures().fit(table)
    for labels in (None, np.column_stack([y > 0, y > 1])):
        np.testing.assert_array_equal(ColumnFeatures().fit(table, labels).scales_, plain.scales_)
    del table["text"]  # numbers and categories count by column
    plain, given = ColumnFeatures().fit(table), ColumnFeatures().fit(table, y)
    np.testing.assert_array_equal(given.scales_, plain.scales_)
    assert given.informative_ == {}


def test_noise_is_raised_in_one_of_a_hundred_tables_at_most():
    raised = []
    for seed in range(600):
        rng = np.random.default_rng(1000 + seed)
        codes = rng.choice(3, 60, p=(0.6, 0.3, 0.1))
        table = {
            **{f"c{k}": rng.choice(list("abcdefghij")[: 2 + 4 * k], 60).tolist() for k in range(3)},
            **{f"x{k}": rng.normal(size=60) for k in range(3)},
        }
        kinds = {n: {"c": "categorical", "x": "numeric"}[n[0]] for n in table}
        raised.append(bool(find_informative(as_table(table), kinds, codes)))
    assert np.mean(raised) <= 0.01


def test_sixty_labels_show_a_category_that_is_right_three_times_in_four():
    y = np.arange(60) % 2
    hint = np.where(np.arange(60) % 8 < 6, y, 1 - y)
    table = {"hint": [f"shelf {k}" for k in hint]}
    assert 1e-5 < p_value(hint, y) < LEVEL / 2
    assert set(find_informative(as_table(table), {"hint": "categorical"}, y)) == {"hint"}


def accuracy(model, X, y, topics):
    free = y == -1
    return float(np.mean(model.fit(X, y).predict(X)[free] == topics[free]))


def test_both_kinds_of_methods_gain_by_what_is_raised():
    found = {"none": [], "svm": [], "equal": [], "tsvm": [], "tsvm equal": []}
    for seed in range(4):
        table, topics = informed_table(seed)
        table = {name: table[name] for name in ("text", "hint")}
        table["text"] = [" ".join(text.split()[:40]) for text in table["text"]]
        y = partly(topics, seed)
        raised = {"none": 0.0, "svm": SUPERVISED, "equal": 1.0}
        made = {n: ColumnFeatures(raised=t).fit_transform(table, y) for n, t in raised.items()}
        for name, X in made.items():
            found[name].append(accuracy(NewtonSVC(), X, y, topics))
        made = {"tsvm": ColumnFeatures(), "tsvm equal": ColumnFeatures(raised=1.0)}
        for name, features in made.items():
            X = features.fit_transform(table, y)
            found[name].append(accuracy(TransductiveSVC(), X, y, topics))
    mean = {name: np.mean(values) for name, values in found.items()}
    assert mean["svm"] > mean["none"] + 0.02
    assert mean["svm"] > mean["equal"] - 0.01
    assert mean["tsvm"] > mean["tsvm equal"] + 0.02  # which is the category


def test_a_pipeline_uses_the_labels_of_its_own_fold():
    table, topics = informed_table()
    model = make_pipeline(ColumnFeatures(), TransductiveSVC())
    held_out = np.flatnonzero(partly(topics) != -1)[::3]
    y = hide_labels(partly(topics), held_out)
    features = clone(model).fit(as_table(table), y)[0]
    assert features.informative_
    hidden = ColumnFeatures().fit(table, hide_labels(partly(topics, n=N), np.flatnonzero(y == -1)))
    assert hidden.informative_ == features.informative_
    # random labels raise nothing, whatever the held-out ones are
    rng = np.random.default_rng(0)
    mixed = y.copy()
    mixed[y != -1] = rng.permutation(y[y != -1])
    assert clone(model).fit(as_table(table), mixed)[0].informative_ == {}


def test_a_strong_column_is_clear_without_a_fifth_of_the_labels():
    kept = 0
    for seed in range(5):
        table, topics = informed_table(seed)
        y = partly(topics, seed)
        labelled = np.flatnonzero(y != -1)
        found = find_informative(as_table(table), KINDS, y)
        assert "hint" in found
        levels = np.array(table["hint"])
        for fold in np.array_split(np.random.default_rng(seed).permutation(labelled), 5):
            own = np.setdiff1d(labelled, fold)
            kept += p_value(levels[own], topics[own]) < LEVEL / 3
    assert kept == 25


def test_train_raises_further_for_supervised_methods(tmp_path):
    table, topics = informed_table()
    labels = np.array([None if k < 0 else f"topic {k}" for k in partly(topics)], dtype=object)
    made = {m: semisvm.train(Table(table, labels), m) for m in ("svm", "tsvm")}
    for method, model in made.items():
        assert set(model.features.informative_) == {"hint", "price"}
        (note,) = [n for n in model.summary["notes"] if n.startswith("raised: ")]
        assert note.startswith("raised: the columns 'price', 'hint' have together ")
        assert not any("'hint'" in n for n in model.summary["notes"] if n.startswith("damped: "))
        assert "associated with the labels (p = " in note
        semisvm.save(model, tmp_path / f"{method}.semisvm")
        again = semisvm.load(tmp_path / f"{method}.semisvm")
        assert again.features.informative_ == model.features.informative_
        scores = model.decision_function(table)
        np.testing.assert_array_equal(again.decision_function(table), scores)
    assert (made["svm"].features.raised, made["tsvm"].features.raised) == (SUPERVISED, None)
    place = [b.columns[0] for b in made["svm"].features.blocks_].index("hint")
    svm, tsvm = (m.features.scales_[place] for m in made.values())
    assert svm > 1.5 * tsvm
    own = semisvm.train(Table(table, labels), "svm", features=ColumnFeatures(raised=0))
    assert own.features.informative_ == {}


def test_the_state_of_features_with_raised_columns():
    table, topics = informed_table()
    features = ColumnFeatures(raised=0.3).fit(table, partly(topics))
    state, arrays = state_of(features)
    again = restore_features(json.loads(json.dumps(state)), arrays, lambda size: None)
    assert again.raised == 0.3
    assert again.informative_ == features.informative_
    assert again.notes_ == features.notes_
    assert abs(again.transform(table) - features.transform(table)).max() == 0.0


@pytest.mark.parametrize("raised", [-0.1, 1.1, float("nan"), "0.5", True])
def test_how_far_is_a_number_between_zero_and_one(raised):
    table, topics = informed_table()
    with pytest.raises(ValueError, match="raised must be"):
        ColumnFeatures(raised=raised).fit(table, partly(topics))


def test_labels_of_other_rows_are_refused():
    table, topics = informed_table()
    with pytest.raises(ValueError, match="399 labels for 400 rows"):
        ColumnFeatures().fit(table, topics[1:])
