"""What a word of a text is: settings of vectorisers, lengths of n-grams, and stop words."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from semisvm.tables.errors import DataError
from semisvm.tables.opening import open_text
from semisvm.tables.schema import Record, flag, listed, one_of, ordered, text, whole
from semisvm.text import did_you_mean, listing

TOKEN_PATTERN = r"(?u)\b\w\w+\b"
"""Of a word: two or more letters or digits."""
MAX_NGRAM = 20
"""Longest n-gram: a text has as many of each length as it has words, each as long as n words."""
SETTINGS = ("analyzer", "ngram_range", "lowercase", "strip_accents", "token_pattern")
STOP_WORDS = "stop_words"
"""A setting that is kept where there are some; the first files had none."""


def settings_of(vectorizer: Any) -> dict[str, Any]:
    """Return what a word is, as plain data."""
    settings = {name: getattr(vectorizer, name) for name in SETTINGS}
    settings["ngram_range"] = list(settings["ngram_range"])
    if vectorizer.stop_words is not None:
        settings[STOP_WORDS] = list(vectorizer.stop_words)
    return settings


def restored_settings(state: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a vectoriser for what `settings_of` returned."""
    settings = {name: state[name] for name in SETTINGS}
    settings["ngram_range"] = tuple(settings["ngram_range"])
    return {**settings, STOP_WORDS: state.get(STOP_WORDS)}


def check_ngrams(lengths: Any) -> None:
    """Refuse lengths of n-grams that make no sense, or more of them than memory has room for."""
    fine = len(lengths) == 2 and all(isinstance(n, (int, np.integer)) for n in lengths)
    if not fine or not 1 <= lengths[0] <= lengths[1] <= MAX_NGRAM:
        raise ValueError(
            f"ngram_range must be two whole numbers, the shortest and the longest, from 1 to "
            f"{MAX_NGRAM}, got {lengths!r}."
        )


NGRAMS = ordered(listed(whole(1, MAX_NGRAM), length=2))
WORDS = Record(
    {
        "analyzer": one_of("word", "char", "char_wb"),
        "ngram_range": NGRAMS,
        "lowercase": flag,
        "strip_accents": one_of(None, "ascii", "unicode"),
        # an untrusted pattern may take for ever; this one takes linear time
        "token_pattern": one_of(TOKEN_PATTERN),
    },
    {STOP_WORDS: listed(text, least=1, unique=True)},
)
"""What a word is, in a model file."""

MOST_LETTERS = 100
"""Of a stop word: a longer line is no word, and the file probably another one."""

_TOKENS = re.compile(TOKEN_PATTERN)


def read_stop_words(source: str | Path) -> list[str]:
    """Read a file with one word per line, or take the list of a language.

    Parameters
    ----------
    source : str or Path
        A file, in which blank lines and lines that begin with # are skipped; or, if there is no
        such file, the code of a language, such as "en".

    Returns
    -------
    words : list of str
        As they stand in the file.
    """
    if not Path(source).exists() and re.fullmatch(r"[A-Za-z]{2,3}", str(source)):
        return language_words(str(source))
    words = []
    with open_text(source) as lines:
        for number, line in enumerate(lines, start=1):
            word = line.strip()
            if not word or word.startswith("#"):
                continue
            if len(word.split()) > 1 or len(word) > MOST_LETTERS:
                raise DataError(
                    "a list of stop words has one word per line, and this line is not one word.",
                    source,
                    number,
                )
            words.append(word)
    if not words:
        raise DataError("the file has no words.", source)
    return words


def language_words(language: str) -> list[str]:
    """Return the stop words of a language, by its code of ISO 639-1, sorted.

    Raises
    ------
    ValueError
        If the language is not known, or the package with the lists is missing.
    """
    try:
        import stopwordsiso
    except ImportError as error:
        raise ValueError(
            f"the stop words of the language {language!r} need the package stopwordsiso: pip "
            "install 'semisvm[stopwords]'. A file with one word per line needs nothing."
        ) from error
    code, known = language.lower(), sorted(stopwordsiso.langs())
    if code not in known:
        hint = did_you_mean(code, known)
        raise ValueError(
            f"there is no list of stop words for the language {language!r}.{hint} The languages "
            f"are {listing(known)}."
        )
    return sorted(word for word in stopwordsiso.stopwords(code) if len(word.split()) == 1)


def as_tokens(words: str | Sequence[str] | None, analyzer: str) -> list[str] | None:
    """Return stop words as the words that are found in texts, or None if there are none.

    Texts are lower case and cut at apostrophes when words are looked for. The same is done to
    the list, or "don't" would never be found.

    Parameters
    ----------
    words : str or sequence of str, optional
        The code of a language, or words.
    analyzer : str
        Of `ColumnFeatures`.
    """
    if words is None:
        return None
    listed: Iterable[str] = language_words(words) if isinstance(words, str) else words
    if analyzer != "word":
        raise ValueError(
            "the parameter stop_words leaves out words, but the features are n-grams of "
            "characters: use one of the two."
        )
    found = {token for word in _checked(listed) for token in _TOKENS.findall(word.lower())}
    return sorted(found) or None


def _checked(words: Iterable[str]) -> Iterable[str]:
    for word in words:
        if not isinstance(word, str) or len(word.split()) > 1:
            raise ValueError(f"the parameter stop_words is a list of single words, got {word!r}.")
        yield word
