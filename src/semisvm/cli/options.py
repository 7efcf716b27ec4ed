"""Options that several commands share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli.errors import UserError, parameters_are_the_users

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from semisvm.columns import ColumnFeatures
    from semisvm.io import MatrixData, Table

Data = Annotated[
    Path,
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, JSONL, Parquet, svmlight or npz file (text files may be gzipped), or a "
        "folder of 'semisvm convert'.",
        show_default=False,
    ),
]
ManyData = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA",
        help="CSV, TSV, JSONL, Parquet, svmlight or npz file (text files may be gzipped), or a "
        "folder of 'semisvm convert'; with --workers or --cluster also several files, or a "
        "pattern in quotes.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)]
Format = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="csv, tsv, jsonl, parquet, svmlight or npz. Default: by the name of the file.",
        rich_help_panel="Reading",
    ),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        "--encoding", help="Encoding of text files. Default: UTF-8.", rich_help_panel="Reading"
    ),
]
Delimiter = Annotated[
    str | None,
    typer.Option("--delimiter", help="Separator of cells in CSV files.", rich_help_panel="Reading"),
]
NoQuotes = Annotated[
    bool,
    typer.Option(
        "--no-quotes", help='Do not treat " as a quote around cells.', rich_help_panel="Reading"
    ),
]
Unlabeled = Annotated[
    str | None,
    typer.Option(
        "--unlabeled",
        help="Marker of unlabelled rows, besides blank; 'none' if all rows have labels.",
        rich_help_panel="Reading",
    ),
]
NaIsClass = Annotated[
    bool,
    typer.Option(
        "--na-is-class",
        help="Treat NA, NaN, None, null and the like as classes, not as missing labels.",
        rich_help_panel="Reading",
    ),
]
MaxColumns = Annotated[
    int | None,
    typer.Option(
        "--columns",
        min=1,
        help="Maximum number of columns of a sparse matrix; a larger index is an error.",
        rich_help_panel="Reading",
    ),
]
LabelsFile = Annotated[
    Path | None,
    typer.Option(
        "--labels", help="A separate file with one label per line.", rich_help_panel="Reading"
    ),
]
Answers = Annotated[
    list[Path] | None,
    typer.Option(
        "--answers",
        help="A file of 'semisvm label', or one of 'semisvm select' with labels filled in, or an "
        "export of Label Studio (.json) or Prodigy (.jsonl); repeatable.",
    ),
]
Key = Annotated[
    str | None,
    typer.Option(
        "--key", help="Column that identifies rows, to join --answers by; not used as a feature."
    ),
]
ZeroBased = Annotated[
    bool | None,
    typer.Option(
        "--zero-based/--one-based",
        help="First index in svmlight files. Default: zero-based if there is an index 0.",
        rich_help_panel="Reading",
    ),
]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Label column; blank, NA and the like mean unlabelled."),
]
Text = Annotated[list[str] | None, typer.Option("--text", help="A text column; repeatable.")]
Features = Annotated[
    list[str] | None,
    typer.Option(
        "--features",
        help="A column to use, in addition to those named by kind; repeatable. Default: all.",
    ),
]
Numeric = Annotated[
    list[str] | None, typer.Option("--numeric", help="A column of numbers; repeatable.")
]
Categorical = Annotated[
    list[str] | None, typer.Option("--categorical", help="A column of categories; repeatable.")
]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        help="Class shares among the unlabelled rows: spam=0.4,ham=0.6, or 'equal', or "
        "'labelled' for those of the labels. Default: 'estimate', from all rows.",
    ),
]
Ngrams = Annotated[int, typer.Option("--ngrams", min=1, help="Maximum length of word sequences.")]
CharNgrams = Annotated[
    str | None,
    typer.Option(
        "--char-ngrams",
        metavar="N-M",
        help="N to M characters in a row instead of words, such as 3-5: for compounds, misspelt "
        "words and languages without spaces.",
    ),
]
MinDf = Annotated[
    int, typer.Option("--min-df", min=1, help="Leave out words that occur in fewer rows.")
]
MaxFeatures = Annotated[
    int | None,
    typer.Option(
        "--max-features", min=1, help="Keep the most frequent words of a text column only."
    ),
]
StopWords = Annotated[
    list[str] | None,
    typer.Option(
        "--stop-words",
        metavar="FILE",
        help="Leave out the words of a file, one per line, or those of a language, such as en "
        "(needs 'semisvm[stopwords]'); repeatable.",
    ),
]
Jobs = Annotated[
    int | None, typer.Option("--jobs", help="Number of threads or processes; -1 for all cores.")
]
AsIs = Annotated[
    bool,
    typer.Option(
        "--as-is", help="Leave a matrix as it is: no tf-idf of counts, no scaling of columns."
    ),
]
SampleWeight = Annotated[
    str | None,
    typer.Option(
        "--sample-weight",
        metavar="COLUMN",
        help="Column of weights, which is then no feature: a row of weight 2 counts like two rows, "
        "one of weight 0 like none.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of random choices.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def reading(
    format: str | None, encoding: str | None, delimiter: str | None, no_quotes: bool
) -> dict[str, Any]:
    """Return the options of `semisvm.io.read` that do not depend on the command."""
    return {
        "format": format,
        "encoding": encoding,
        "delimiter": "\t" if delimiter == "\\t" else delimiter,
        "quotes": not no_quotes,
    }


def read_training(
    data: Path,
    label: str | None,
    labels: Path | None,
    unlabeled: str | None,
    na_is_class: bool,
    zero_based: bool | None,
    max_columns: int | None,
    options: dict[str, Any],
    on_disk: bool = False,
    label_comes: bool = False,
) -> "Table | MatrixData":
    """Read a file with labels; ``options`` are those of `reading`.

    Rows in a folder are loaded, unless they may stay ``on_disk``. The label column may be
    missing if ``label_comes`` from answers.
    """
    from semisvm.io.reading import read, read_to_label

    found = (read_to_label if label_comes else read)(
        data,
        label=label,
        labels_file=labels,
        unlabeled=unlabeled,
        na_is_class=na_is_class,
        zero_based="auto" if zero_based is None else zero_based,
        max_columns=max_columns,
        **options,
    )
    return found if on_disk else found.in_memory()


def join(
    data: "Table | MatrixData",
    answers: list[Path] | None,
    label: str | None,
    key: str | None,
    unlabeled: str | None,
    na_is_class: bool,
) -> tuple["Table | MatrixData", list[str]]:
    """Add the labels of --answers; return the data and notes about them."""
    from semisvm.io.answers import join_answers

    if key is not None:
        check_column(data, key)
    if not answers:
        return data, []
    joined = join_answers(
        data, answers, label=label, key=key, unlabeled=unlabeled, na_is_class=na_is_class
    )
    return joined.data, [*joined.notes, *_about_journals(answers)]


def _about_journals(answers: list[Path]) -> list[str]:
    """Say which answers of a sitting are in its journal only, as after a crash."""
    from semisvm.labelling.store import SUFFIX, unwritten

    counts = {path: unwritten(path) for path in answers if Path(f"{path}{SUFFIX}").exists()}
    return [
        f"{n} later answers are in {path}{SUFFIX} only: 'semisvm label' brings them to {path}."
        for path, n in counts.items()
        if n
    ]


def check_column(data: "Table | MatrixData", name: str) -> None:
    """Raise if data have no column of that name."""
    from semisvm.io import DataError, Table

    if not isinstance(data, Table):
        raise DataError(f"a matrix has no columns with names, so no {name!r}.", data.path)
    data.column(name)


def without_key(data: "Table | MatrixData", key: str | None) -> "Table | MatrixData":
    """Leave out the key, from which nothing can be learnt."""
    from semisvm.io import Table

    return data.without([key]) if isinstance(data, Table) and key is not None else data


def words(
    ngrams: int,
    char_ngrams: str | None,
    min_df: int,
    max_features: int | None,
    stop_words: list[str] | None,
) -> dict[str, Any]:
    """Return the parameters of `ColumnFeatures` that say what the words of a text are."""
    from semisvm.columns.stop_words import read_stop_words

    found: dict[str, Any] = {"min_df": min_df, "max_features": max_features}
    if char_ngrams is None:
        found |= {"ngram_range": (1, ngrams)}
    elif ngrams > 1 or stop_words:
        other = "--ngrams" if ngrams > 1 else "--stop-words"
        raise UserError(f"{other} is about words, --char-ngrams about characters: use one of them.")
    else:
        found |= {"ngram_range": _lengths(char_ngrams), "analyzer": "char_wb"}
    if stop_words:
        with parameters_are_the_users():
            lists = [read_stop_words(source) for source in stop_words]
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


def weights(
    data: "Table | MatrixData", name: str | None
) -> tuple["Table | MatrixData", "NDArray[np.float64] | None"]:
    """Take the weights of the rows out of a column; bad ones are named with line and column."""
    from semisvm.io import Table

    if name is None:
        return data, None
    check_column(data, name)
    assert isinstance(data, Table)
    found = data.numbers(name)
    for row in (~(found >= 0.0)).nonzero()[0][:1].tolist():
        wrong = "there is no weight" if found[row] != found[row] else f"{found[row]:g} is negative"
        message = f"{wrong}; weights of rows are numbers from 0 on."
        raise data.error(message, row, name)
    return data.without([name]), found


def columns(
    text: list[str] | None,
    numeric: list[str] | None,
    categorical: list[str] | None,
    features: list[str] | None,
    words: dict[str, Any],
) -> "ColumnFeatures":
    """Build the features that the options ask for; ``words`` are those of `words`."""
    from semisvm.columns import ColumnFeatures

    return ColumnFeatures(
        text=text, numeric=numeric, categorical=categorical, features=features, **words
    )
