import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from semisvm.labels.partial import (
    check_empty_classes,
    encode,
    hide_labels,
    prior_counts,
    resolve_prior,
)


def test_default_marker_splits_rows():
    labels = encode([1, -1, 0, -1, 1])
    assert labels.classes.tolist() == [0, 1]
    assert labels.codes.tolist() == [1, -1, 0, -1, 1]
    assert labels.labeled.tolist() == [0, 2, 4]
    assert labels.unlabeled.tolist() == [1, 3]


def test_another_marker_frees_minus_one():
    labels = encode([1, 0, -1], unlabeled=0)
    assert labels.classes.tolist() == [-1, 1]
    assert labels.codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    "y",
    [
        np.array(["a", None, "b", np.nan], dtype=object),
        np.array(["a", -1, "b", -1], dtype=object),
        pd.Series(["a", None, "b", None]),
        pd.Series(["a", None, "b", None], dtype="string"),
        pd.Series(["a", None, "b", None], dtype="category"),
        pl.Series(["a", None, "b", None]),
    ],
    ids=["object", "object with -1", "pandas", "pandas string", "categorical", "polars"],
)
def test_string_classes_with_gaps(y):
    labels = encode(y)
    assert labels.classes.tolist() == ["a", "b"]
    assert labels.codes.tolist() == [0, -1, 1, -1]


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, np.nan, 1, np.nan]),
        pd.Series([0, None, 1, None], dtype="Int64"),
        pl.Series([0, None, 1, None]),
        np.array([0, None, 1, None], dtype=object),
        [0, None, 1, None],
    ],
    ids=["float", "pandas Int64", "polars", "object", "list"],
)
def test_number_classes_with_gaps(y):
    labels = encode(y)
    assert labels.classes.tolist() == [0, 1]
    assert labels.codes.tolist() == [0, -1, 1, -1]


def test_boolean_classes():
    assert encode(np.array([True, False, True])).classes.tolist() == [False, True]


def test_string_minus_one_is_refused():
    with pytest.raises(ValueError, match="unlabeled='-1'"):
        encode(np.array(["a", "b", "-1"]))
    assert encode(np.array(["a", "b", "-1"]), unlabeled="-1").codes.tolist() == [0, 1, -1]


@pytest.mark.parametrize("y", [[-1, -1], [None, None], [np.nan, np.nan]])
def test_no_labels(y):
    with pytest.raises(ValueError, match="no labelled row"):
        encode(y)


def test_one_class_offers_another_marker():
    with pytest.raises(ValueError, match=r"one class only, 1;.*unlabeled=0"):
        encode([1, -1, 1])


def test_one_class_otherwise():
    with pytest.raises(ValueError, match=r"one class only, 'a'.*another class") as caught:
        encode(["a", None])
    assert "unlabeled=0" not in str(caught.value)


def test_mixed_kinds():
    with pytest.raises(ValueError, match="mixes labels"):
        encode(np.array(["a", 1, None], dtype=object))


def test_infinite_label():
    with pytest.raises(ValueError, match=r"infinity.*entry 1"):
        encode([0.0, np.inf, 1.0])


def test_regression_target():
    with pytest.raises(ValueError, match="Unknown label type"):
        encode([0.1, 0.7, 0.3])


def test_labelled_fractions():
    labels = encode([0, 1, 1, 1, -1, -1])
    assert labels.fractions().tolist() == [0.25, 0.75]
    assert labels.fractions(np.array([3.0, 1, 1, 1, 9, 9])).tolist() == [0.5, 0.5]


def test_prior_by_array_or_dict():
    labels = encode(["b", "a", None])
    assert resolve_prior([0.2, 0.8], labels).tolist() == [0.2, 0.8]
    assert resolve_prior({"b": 0.8, "a": 0.2}, labels).tolist() == [0.2, 0.8]


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ([0.5, 0.6], "sum to one"),
        ([0.5, 0.3, 0.2], "2 classes"),
        (0.5, "2 classes"),
        ([1.5, -0.5], "between 0 and 1"),
        ([np.nan, 1.0], "between 0 and 1"),
        ({"a": 0.5, "c": 0.5}, r"unknown classes \['c'\]"),
        ({"a": 1.0}, r"no share for the classes \['b'\]"),
    ],
)
def test_bad_priors(prior, message):
    with pytest.raises(ValueError, match=message):
        resolve_prior(prior, encode(["a", "b"]))


def test_prior_that_asks_for_no_row():
    with pytest.raises(ValueError, match=r"class 'b' among 10 .* zero rows"):
        check_empty_classes(np.array([0.99, 0.01]), 10, np.array(["a", "b"]))
    check_empty_classes(np.array([0.9, 0.1]), 10, np.array(["a", "b"]))
    with pytest.warns(UserWarning, match="class 'b' .* zero rows"):
        check_empty_classes(np.array([0.5, 0.0, 0.5]), 10, np.array(["a", "b", "c"]))


@pytest.mark.parametrize("n", [0, 1, 7, 100, 12345])
def test_counts_sum_to_n(n):
    prior = np.array([0.3335, 0.3335, 0.333])
    counts = prior_counts(prior, n)
    assert counts.sum() == n
    assert np.all(np.abs(counts - prior * n) < 1)


@pytest.mark.parametrize("word", ["", "nan", "None"])
def test_missing_values_that_became_text_are_doubted(word):
    y = np.array(["a", "b", *[word] * 8])
    with pytest.warns(UserWarning, match=f"8 of 10 labels are '{word}'.*pass unlabeled='{word}'"):
        assert encode(y).classes.tolist() == sorted(["a", "b", word])
    for fine in (["a", "b", "b", word], [None, "a", "b", word, word]):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            encode(fine)


@pytest.mark.parametrize("word", ["unknown", "Unknown", "?", "n/a", "unlabeled"])
def test_words_for_no_label_are_doubted(word):
    with pytest.warns(UserWarning, match="98 of 100 labels are"):
        encode(np.array(["a", "b", *[word] * 98]))


class TestLabelsKeepTheirKind:
    @pytest.mark.parametrize(
        ("kind", "classes"),
        [
            ("Int64", [0, 1]),
            ("boolean", [False, True]),
            ("int64[pyarrow]", [0, 1]),
            ("Float64", [0.0, 1.0]),
        ],
    )
    def test_nullable_columns_of_pandas(self, kind, classes):
        y = pd.Series([1, None, 0, 1], dtype=kind)
        labels = encode(y)
        assert labels.classes.tolist() == classes
        assert [type(label) for label in labels.classes.tolist()] == [type(c) for c in classes]
        assert labels.codes.tolist() == [1, -1, 0, 1]
        hidden = hide_labels(y, [3])
        assert encode(hidden).classes.tolist() == classes[:2]

    @pytest.mark.parametrize(
        "y",
        [
            pd.array([1, None, 0], dtype="Int64"),
            pd.array([1, None, 0], dtype="int64[pyarrow]"),
            pa.array([1, None, 0]),
            pa.chunked_array([[1, None], [0]]),
        ],
        ids=["pandas", "pandas with pyarrow", "pyarrow", "chunks of pyarrow"],
    )
    def test_nullable_arrays(self, y):
        labels = encode(y)
        assert labels.classes.dtype.kind == "i"
        assert labels.codes.tolist() == [1, -1, 0]

    def test_categories_of_numbers(self):
        y = pd.Series([1, None, 0], dtype=pd.CategoricalDtype([0, 1]))
        assert encode(y).classes.dtype.kind == "i"

    def test_columns_of_polars(self):
        labels = encode(pl.Series([1, None, 0]))
        assert labels.classes.dtype.kind == "i"
        assert labels.codes.tolist() == [1, -1, 0]

    @pytest.mark.parametrize("missing", [np.nan, None, -1])
    def test_lists_of_strings_with_missing_ones(self, missing):
        labels = encode(["a", missing, "b", missing])
        assert labels.classes.tolist() == ["a", "b"]
        assert labels.codes.tolist() == [0, -1, 1, -1]
