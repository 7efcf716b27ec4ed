"""Options about the columns of a table and the words of its texts."""

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.errors import UserError, parameters_are_the_users

if TYPE_CHECKING:
    from semisvm.tables.features import ColumnFeatures


@dataclass(frozen=True)
class Words:
    """What the words of a text are."""

    ngrams: Annotated[
        int, typer.Option("--ngrams", min=1, help="Maximum length of word sequences.")
    ] = 1
    char_ngrams: Annotated[
        str | None,
        typer.Option(
            "--char-ngrams",
            metavar="N-M",
            help="N to M characters in a row instead of words, such as 3-5: for compounds, "
            "misspelt words and languages without spaces.",
        ),
    ] = None
    min_df: Annotated[
        int, typer.Option("--min-df", min=1, help="Leave out words that occur in fewer rows.")
    ] = 2
    max_features: Annotated[
        int | None,
        typer.Option(
            "--max-features", min=1, help="Keep the most frequent words of a text column only."
        ),
    ] = None
    stop_words: Annotated[
        list[str] | None,
        typer.Option(
            "--stop-words",
            metavar="FILE",
            help="Leave out the words of a file, one per line, or those of a language, such as en "
            "(needs 'semisvm[stopwords]'); repeatable.",
        ),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of `ColumnFeatures` that define the words of a text."""
        from semisvm.tables.text import read_stop_words

        found: dict[str, Any] = {"min_df": self.min_df, "max_features": self.max_features}
        if self.char_ngrams is None:
            found |= {"ngram_range": (1, self.ngrams)}
        elif self.ngrams > 1 or self.stop_words:
            other = "--ngrams" if self.ngrams > 1 else "--stop-words"
            raise UserError(
                f"{other} is about words, --char-ngrams about characters: use one of them."
            )
        else:
            found |= {"ngram_range": _lengths(self.char_ngrams), "analyzer": "char_wb"}
        if self.stop_words:
            with parameters_are_the_users():
                lists = [read_stop_words(source) for source in self.stop_words]
            found["stop_words"] = sorted({word for listed in lists for word in listed})
        return found


def _lengths(text: str) -> tuple[int, int]:
    """Read 3-5, or 4."""
    shortest, _, longest = text.partition("-")
    try:
        return int(shortest), int(longest or shortest)
    except ValueError:
        raise UserError(
            f"--char-ngrams takes two numbers such as 3-5, or one, not {text!r}."
        ) from None


def _factors(given: list[str] | None) -> dict[str, float] | None:
    """Read COLUMN=FACTOR; a name may have an equals sign."""
    if not given:
        return None
    found: dict[str, float] = {}
    for text in given:
        name, _, factor = text.rpartition("=")
        try:
            number = float(factor)
        except ValueError:
            number = math.nan
        if not name or not 0.0 <= number < math.inf:
            raise UserError(
                f"--column-weight takes COLUMN=FACTOR such as country=0.5, not {text!r}."
            )
        if found.setdefault(name, number) != number:
            raise UserError(f"--column-weight is given twice for {name!r}.")
    return found


@dataclass(frozen=True)
class OtherColumns:
    """Columns besides those of text."""

    features: Annotated[
        list[str] | None,
        typer.Option(
            "--features",
            help="A column to use, in addition to those named by kind; repeatable. Default: all.",
        ),
    ] = None
    numeric: Annotated[
        list[str] | None, typer.Option("--numeric", help="A column of numbers; repeatable.")
    ] = None
    categorical: Annotated[
        list[str] | None, typer.Option("--categorical", help="A column of categories; repeatable.")
    ] = None
    column_weights: Annotated[
        list[str] | None,
        typer.Option(
            "--column-weight",
            metavar="COLUMN=FACTOR",
            help="How much more a column counts, or with text, numeric, categorical or vector all "
            "columns of that kind; 0 leaves it out. Repeatable.",
        ),
    ] = None

    def parameters(self) -> dict[str, Any]:
        """Return the parameters of `ColumnFeatures`."""
        weights = {"column_weights": _factors(self.column_weights)}
        return {**asdict(self), **weights}


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Columns of a table by their kinds."""

    text: shared.Text = None
    others: OtherColumns

    def features(self, words: Words) -> "ColumnFeatures":
        """Return the features that are asked for, not fitted."""
        from semisvm.tables.features import ColumnFeatures

        return ColumnFeatures(text=self.text, **self.others.parameters(), **words.parameters())
