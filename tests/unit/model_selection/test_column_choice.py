"""Columns that are left out or damped because held-out labels support it."""

import numpy as np

import semisvm
from semisvm.labels.partial import PartialLabels, encode
from semisvm.model_selection.column_choice import CLEAR, _candidates, _Judge, choose_columns
from semisvm.tables import ColumnFeatures, Table

N = 300


def texts(topics, strength, rng):
    """Return texts in which the words of a row's topic are more frequent by a factor."""
    words = np.array([f"word{k}" for k in range(600)])
    chances = []
    for topic in range(int(topics.max()) + 1):
        p = np.where(np.arange(600) % 3 == topic, strength, 1.0) / np.arange(1, 601)
        chances.append(p / p.sum())
    return [" ".join(rng.choice(words, 60, p=chances[topic])) for topic in topics]


def problem(seed, n_labels=60):
    rng = np.random.default_rng(seed)
    topics = rng.integers(0, 3, N)
    table = {
        "body": texts(topics, 2.5, rng),
        "country": rng.choice(list("abcd"), N).tolist(),
        "size": rng.normal(size=N),
        "shelf": [f"s{k}" for k in np.where(rng.random(N) < 0.7, topics, rng.integers(0, 3, N))],
    }
    labelled = np.isin(np.arange(N), rng.choice(N, n_labels, replace=False))
    return table, topics, labelled, rng


def noisy(seed, n_labels=100):
    """Return a problem with a second text, which is noise."""
    table, topics, labelled, rng = problem(seed, n_labels)
    del table["shelf"]
    return {**table, "footer": texts(topics, 1.0, rng)}, topics, labelled, rng


def choice_of(table, topics, labelled, **more):
    features = ColumnFeatures(**more)
    X = features.fit_transform(table)
    codes = np.where(labelled, topics, -1)
    return choose_columns(X, PartialLabels(np.arange(3), codes), features)


def test_a_text_of_noise_is_left_out():
    for seed in range(3):
        table, topics, labelled, _ = noisy(seed)
        found = choice_of(table, topics, labelled)
        assert list(found.weights) == ["footer"]
        (reason,) = found.reasons
        assert reason.startswith("the column 'footer' is ")
        assert "standard errors" in reason


def test_a_text_without_association_needs_less_evidence():
    table, topics, labelled, rng = noisy(0, n_labels=60)
    table["title"] = texts(topics, 2.0, rng)
    features = ColumnFeatures()
    X = features.fit_transform(table)
    labels = PartialLabels(np.arange(3), np.where(labelled, topics, -1))
    candidates = _candidates(features, features.source_columns())
    found = _Judge.of(X, labels, None, 0).needed(features, candidates)
    assert {group for group, errors in found.items() if errors < CLEAR} == {("footer",)}
    left_out = [choice_of(*noisy(seed, n_labels=60)[:3]).weights for seed in range(5)]
    assert sum("footer" in weights for weights in left_out) >= 4
    assert not any("body" in weights for weights in left_out)


def test_columns_that_inform_or_do_no_harm_are_kept():
    for seed in range(6):
        table, topics, labelled, _ = problem(seed)
        assert choice_of(table, topics, labelled).weights == {}


def test_few_labels_change_nothing():
    table, topics, labelled, _ = noisy(0, n_labels=15)
    assert choice_of(table, topics, labelled).weights == {}


def test_given_weights_are_left_alone():
    table, topics, labelled, _ = noisy(0)
    for given in ({"footer": 1.0}, {"text": 1.0}):
        assert choice_of(table, topics, labelled, column_weights=given).weights == {}


def test_a_table_of_one_block_is_left_alone():
    rng = np.random.default_rng(0)
    topics = rng.integers(0, 3, N)
    labelled = np.arange(N) < 60
    assert choice_of({"x": rng.normal(size=N)}, topics, labelled).weights == {}


def test_no_time_changes_nothing():
    table, topics, labelled, _ = noisy(0)
    features = ColumnFeatures()
    X = features.fit_transform(table)
    labels = encode(np.where(labelled, topics, -1))
    assert choose_columns(X, labels, features, seconds=0.0).weights == {}


def test_rare_classes_and_weights_of_rows():
    table, topics, labelled, rng = noisy(0)
    codes = np.where(labelled, topics, -1)
    codes[np.flatnonzero(~labelled)[0]] = 3  # a class with one label
    features = ColumnFeatures()
    X = features.fit_transform(table)
    labels = PartialLabels(np.arange(4), codes)
    found = choose_columns(X, labels, features, sample_weight=rng.uniform(1, 2, N))
    assert list(found.weights) == ["footer"]


def test_train_leaves_a_text_of_noise_out():
    table, topics, labelled, _ = noisy(0)
    labels = np.where(labelled, topics.astype(object), None)
    model = semisvm.train(Table(table, labels), quick=True)
    assert model.features.column_weights.keys() == {"footer"}
    notes = model.summary["notes"]
    assert any(note.startswith("the column 'footer' is") for note in notes)
    assert len(notes) == len(set(notes))
    assert np.mean((model.predict(table) == topics)[~labelled]) > 0.75
    named = semisvm.train(Table(table, labels), "svm")  # nothing is chosen
    assert named.features.column_weights is None


def test_columns_of_features():
    table, *_ = problem(0)
    features = ColumnFeatures().fit({**table, "holes": [None, *range(1, N)]})
    sources = features.source_columns()
    names = features.get_feature_names_out()
    assert len(sources) == features.n_features_out_
    pairs = zip(names, sources, strict=True)
    assert all(name.startswith(source) for name, source in pairs)
    assert set(sources) == set(features.kinds_)
