"""Which words of a text become features: stop words, n-grams of characters, the most frequent."""

import json

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from semisvm.tables import ColumnFeatures, DataError, as_table
from semisvm.tables.feature_states import restored, state_of
from semisvm.tables.streaming import StreamedFeatures
from semisvm.tables.words import language_words, read_stop_words

TEXTS = [
    "The cat and the dog don't sleep",
    "A dog and a cat sleep",
    "The bird doesn't sleep and sings",
    "the bird sings to the cat",
]
TABLE = {"body": TEXTS}


def fitted(**more):
    return ColumnFeatures(text=["body"], min_df=1, **more).fit(TABLE)


def words_of(features):
    return [name.removeprefix("body__") for name in features.get_feature_names_out()]


def after_a_file(features):
    state, arrays = state_of(features)
    return restored(json.loads(json.dumps(state)), arrays)


def test_stop_words_are_left_out_before_pairs_are_made():
    features = fitted(stop_words=["THE", "and"], ngram_range=(1, 2))
    words = words_of(features)
    assert not {"the", "and"} & {word for pair in words for word in pair.split()}
    assert "cat dog" in words  # "cat and the dog" without stop words
    again = after_a_file(features)
    assert (again.transform(TABLE) != features.transform(TABLE)).nnz == 0
    # what is left out matters to pairs of new texts too
    new = {"body": ["cat the the dog"]}
    column = words.index("cat dog")
    assert again.transform(new)[0, column] > 0


def test_stop_words_are_cut_as_texts_are():
    assert "don" in words_of(fitted())
    assert "don" not in words_of(fitted(stop_words=["don't"]))


def test_stop_words_of_a_language():
    pytest.importorskip("stopwordsiso")
    words = words_of(fitted(stop_words="en"))
    assert {"cat", "dog", "bird", "sleep", "sings"} == set(words)
    assert "und" in language_words("DE")
    with pytest.raises(ValueError, match="no list of stop words for the language 'xq'"):
        fitted(stop_words="xq")


@pytest.mark.parametrize("wrong", [["two words"], [1]])
def test_stop_words_are_single_words(wrong):
    with pytest.raises(ValueError, match="single words"):
        fitted(stop_words=wrong)


def test_stop_words_and_characters_exclude_each_other():
    with pytest.raises(ValueError, match="n-grams of characters"):
        fitted(stop_words=["the"], analyzer="char_wb")


def test_a_list_in_a_file(tmp_path):
    place = tmp_path / "stop.txt"
    place.write_text("# mine\nthe\n\n  And \n", encoding="utf-8")
    assert read_stop_words(place) == ["the", "And"]
    place.write_text("the\nnot a word\n", encoding="utf-8")
    with pytest.raises(DataError, match="one word per line") as caught:
        read_stop_words(place)
    assert caught.value.line == 2
    place.write_text("\n", encoding="utf-8")
    with pytest.raises(DataError, match="no words"):
        read_stop_words(place)
    with pytest.raises(DataError, match="no such file"):
        read_stop_words(tmp_path / "other.txt")


def test_characters_are_those_of_scikit_learn():
    features = fitted(analyzer="char_wb", ngram_range=(3, 4))
    reference = CountVectorizer(analyzer="char_wb", ngram_range=(3, 4)).fit(TEXTS)
    assert words_of(features) == reference.get_feature_names_out().tolist()


@pytest.mark.parametrize(
    "options",
    [
        {"stop_words": ["the", "don't"], "ngram_range": (1, 2)},
        {"analyzer": "char_wb", "ngram_range": (2, 3)},
        {"max_features": 1},
        {"stop_words": ["the"], "hash_columns": 64},
    ],
)
def test_piece_by_piece_is_the_same(options):
    whole = fitted(**options)
    streamed = StreamedFeatures(ColumnFeatures(text=["body"], min_df=1, **options))
    pieces = [as_table({"body": TEXTS[:2]}), as_table({"body": TEXTS[2:]})]
    streamed.find_kinds(pieces[0])
    for piece in pieces:
        streamed.count(piece)
    streamed.fit()
    for piece in pieces:
        streamed.transform(piece)
    streamed.finish()
    assert words_of(streamed.features) == words_of(whole)
    difference = streamed.features.transform(TABLE) - whole.transform(TABLE)
    assert abs(difference).max() < 1e-12


def test_kept_words_are_listed_most_frequent_first():
    shown = fitted(max_features=4).kept_words(2)
    assert shown["body"]["words"] == 4
    rows = {word: sum(word in text.lower().split() for text in TEXTS) for word in ("the", "cat")}
    assert all(count == 3 for count in rows.values())
    assert set(shown["body"]["most_frequent"]) <= {"and", "cat", "sleep", "the"}
    assert fitted(hash_columns=16).kept_words() == {}


def test_old_states_have_no_stop_words():
    state, arrays = state_of(fitted())
    assert "stop_words" not in state["parameters"]
    assert "stop_words" not in state["blocks"][0]["settings"]
    again = restored(state, arrays)
    assert again.stop_words is None
    assert np.array_equal(again.transform(TABLE).toarray(), fitted().transform(TABLE).toarray())
