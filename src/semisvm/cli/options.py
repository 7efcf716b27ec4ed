"""Options that several commands share, declared once: a group is a dataclass.

A command takes a group as one parameter::

    @dataclass(frozen=True)
    class Cluster:
        cluster: Annotated[str | None, typer.Option("--cluster", help="...")] = None
        workers: Annotated[int | None, typer.Option("--workers", help="...")] = None

    def convert(data: Data, *, cluster: Cluster, quiet: Quiet = False) -> None: ...

In the place of the group, the command line has one option per field, in their order. A group may
hold another one. Typer gets a signature with plain options only.

Class shares and other numbers per class are parsed here, and the option ``--figure`` is checked.
"""

import functools
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, is_dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from semisvm.cli.messages import UserError, as_usage_error
from semisvm.cli.outputs import Output, binary_output, file_option
from semisvm.tables.formats import titles
from semisvm.text import did_you_mean

if TYPE_CHECKING:
    from semisvm.tables.features import ColumnFeatures
    from semisvm.tables.table import MatrixData, Table

NEW_ROWS, TRANSDUCTION = "new_rows", "transduction"
DATA = f"{titles()} file (text files may be gzipped), or a folder of 'semisvm convert'"
Data = Annotated[Path, typer.Argument(metavar="DATA", help=f"{DATA}.", show_default=False)]
ManyData = Annotated[
    list[Path],
    typer.Argument(
        metavar="DATA",
        help=f"{DATA}; with --workers or --cluster also several files, or a pattern in quotes.",
        show_default=False,
    ),
]
ModelFile = Annotated[Path, typer.Argument(metavar="MODEL", help="Model file.", show_default=False)]
Label = Annotated[
    str | None,
    typer.Option("--label", help="Label column; blank, NA and the like mean unlabelled."),
]
LabelOfFit = Annotated[
    str | None, typer.Option("--label", help="Label column. Default: that of the fit.")
]
Text = Annotated[list[str] | None, typer.Option("--text", help="A text column; repeatable.")]
Prior = Annotated[
    str | None,
    typer.Option(
        "--prior",
        help="Class shares among the unlabelled rows: spam=0.4,ham=0.6, or 'equal', or "
        "'labelled' for those of the labels. Default: 'estimate', from all rows.",
    ),
]
Use = Annotated[
    str,
    typer.Option(
        "--use",
        help="What the model is for: new_rows, or transduction if only for the unlabelled rows of "
        "the file.",
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
Weak = Annotated[
    list[str] | None,
    typer.Option(
        "--weak",
        metavar="COLUMN",
        help="Column of unreliable labels, as of a language model or a rule, which is then no "
        "feature. How far to trust it is learnt from the label column. Several times for several "
        "sources.",
    ),
]
OnlyPositive = Annotated[
    str | None,
    typer.Option(
        "--only-positive",
        metavar="CLASS",
        help="The label column marks rows of this class alone; the other class is 'not CLASS'.",
    ),
]
TopWords = Annotated[int, typer.Option("--top", min=0, help="Number of words per class.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of random choices.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]


def check_use(use: str) -> None:
    """Refuse a use that there is not."""
    if use not in (NEW_ROWS, TRANSDUCTION):
        raise UserError(f"--use must be {NEW_ROWS} or {TRANSDUCTION}, not {use!r}.")


T = TypeVar("T")


def with_options(command: Callable[..., T]) -> Callable[..., T]:
    """Give a command the options of its groups; it is called with one object per group."""
    taken = inspect.signature(command).parameters.values()

    @functools.wraps(command)
    def run(**given: Any) -> T:
        return command(**{p.name: _value(p.name, p.annotation, given) for p in taken})

    options = [option for parameter in taken for option in _options(parameter)]
    # two options of the same name are an error here
    run.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]
    return run


def _options(parameter: inspect.Parameter) -> Iterator[inspect.Parameter]:
    """Yield a parameter, or in the place of a group those of its fields."""
    if not is_dataclass(parameter.annotation):
        yield parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY)
        return
    for part in _parts(parameter.annotation):
        yield from _options(part)


def _value(name: str, kind: Any, given: Mapping[str, Any]) -> Any:
    if not is_dataclass(kind):
        return given[name]
    make: Any = kind
    return make(**{part.name: _value(part.name, part.annotation, given) for part in _parts(kind)})


def _parts(group: Any) -> list[inspect.Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        inspect.Parameter(
            part.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if part.default is MISSING else part.default,
            annotation=hints[part.name],
        )
        for part in fields(group)
    ]


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
        from semisvm.tables.words import read_stop_words

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
            with as_usage_error():
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

    text: Text = None
    others: OtherColumns

    def features(self, words: Words) -> "ColumnFeatures":
        """Return the features that are asked for, not fitted."""
        from semisvm.tables.features import ColumnFeatures

        return ColumnFeatures(text=self.text, **self.others.parameters(), **words.parameters())


ESTIMATE, LABELS, EQUAL = "estimate", "labels", "equal"
BALANCED = "balanced"
LABELLED = ("labelled", "labeled", LABELS)


def class_shares(
    text: str | None, data: "Table | MatrixData", classes: Iterable[str] | None = None
) -> dict[Any, float] | str | None:
    """Read the class shares for the labels of data, or for classes; None if none are given."""
    if text is None or data.labels is None:
        return None
    return read_prior(text, set(data.labels.tolist()) - {None} if classes is None else set(classes))


def read_prior(text: str, classes: set[Any]) -> dict[Any, float] | str:
    """Read class shares such as ``spam=0.4,ham=0.6``.

    Parameters
    ----------
    text : str
        Or "labelled" for the shares of the labels, "estimate" for an estimate, "equal" for
        equal shares. One class may be left out; it gets the rest.
    classes : set
        The classes of the labels.
    """
    if text in LABELLED or text == ESTIMATE:
        return ESTIMATE if text == ESTIMATE else LABELS
    if text == EQUAL:
        return {label: 1.0 / len(classes) for label in classes}
    shares = read_numbers(text, classes, "--prior")
    rest = [label for label in classes if label not in shares]
    for label in rest:
        shares[label] = max(0.0, 1.0 - sum(shares.values())) if len(rest) == 1 else 0.0
    if len(rest) > 1:
        raise UserError(f"--prior has no share for {', '.join(sorted(map(str, rest)))}.")
    return shares


def class_factors(text: str | None, data: "Table | MatrixData") -> dict[Any, float] | str | None:
    """Read factors such as ``spam=5`` for the labels of data; "balanced" is left as it is."""
    if text is None or text == BALANCED or data.labels is None:
        return text if text == BALANCED else None
    classes = set(data.labels.tolist()) - {None}
    return read_numbers(text, classes, "--class-weight")


def read_numbers(
    text: str, named: Iterable[Any], option: str, what: tuple[str, str] = ("class", "classes")
) -> dict[Any, float]:
    """Read one number per class that is named, such as ``spam=0.4,ham=0.6``."""
    known = {str(label): label for label in named}
    names = ", ".join(sorted(known))
    found: dict[Any, float] = {}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        if not equals:
            raise UserError(f"{option} must look like spam=0.4,ham=0.6, but {part!r} has no '='.")
        if name.strip() not in known:
            hint = did_you_mean(name, known)
            raise UserError(
                f"{option} names the {what[0]} {name!r}.{hint} The {what[1]} are {names}."
            )
        try:
            found[known[name.strip()]] = float(number)
        except ValueError:
            raise UserError(
                f"{option} has {number!r} for {name!r}, which is not a number."
            ) from None
    return found


KINDS = (".png", ".svg", ".pdf")
Figure = Annotated[
    Output | None,
    file_option("--figure", help="Figure to write, as .png, .svg or .pdf.", parser=binary_output),
]


def check(figure: Output | None) -> None:
    """Import what draws before anything is computed, or raise with what is missing."""
    from importlib import import_module

    if figure is None:
        return
    if figure.path.suffix.lower() not in KINDS:
        raise UserError(f"figures are written to .png, .svg or .pdf, not {figure.path.name!r}.")
    try:
        import_module("matplotlib").use("Agg")
        import_module("semisvm.reporting")
    except ImportError as error:
        raise UserError(
            f"--figure needs {error.name}, which is missing. Install it with: "
            "pip install 'semisvm[plots]'"
        ) from None


def write(drawn: Any, figure: Output) -> None:
    """Write a figure of matplotlib to the file."""
    from semisvm.tables.writing import write_bytes

    with write_bytes(figure.target) as stream:
        kind = figure.path.suffix.lower().removeprefix(".")
        drawn.savefig(stream, format=kind, bbox_inches="tight")
