"""Options about the files with the data and their labels, and what they read."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli.messages import UserError
from semisvm.tables.formats import FILES
from semisvm.text import counted, did_you_mean, series

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from semisvm.tables.labels import Labels
    from semisvm.tables.table import MatrixData, Table

LabelsFile = Annotated[
    Path | None, typer.Option("--labels", help="A separate file with one label per line.")
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


@dataclass(frozen=True)
class FileFormat:
    """How files are written."""

    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=f"{series((one.name for one in FILES), 'or')}. Default: by the name of the file.",
        ),
    ] = None
    encoding: Annotated[
        str | None, typer.Option("--encoding", help="Encoding of text files. Default: UTF-8.")
    ] = None
    delimiter: Annotated[
        str | None, typer.Option("--delimiter", help="Separator of cells in CSV files.")
    ] = None
    no_quotes: Annotated[
        bool, typer.Option("--no-quotes", help='Do not treat " as a quote around cells.')
    ] = False
    sheet: Annotated[
        str | None, typer.Option("--sheet", help="Sheet of an Excel file. Default: the first.")
    ] = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `semisvm.tables.read` and its like."""
        return {
            "format": self.format,
            "encoding": self.encoding,
            "delimiter": "\t" if self.delimiter == "\\t" else self.delimiter,
            "quotes": not self.no_quotes,
            "sheet": self.sheet,
        }


@dataclass(frozen=True)
class Marks:
    """The marker of rows without a label."""

    unlabeled: Annotated[
        str | None,
        typer.Option(
            "--unlabeled",
            help="Marker of unlabelled rows, besides blank; 'none' if all rows have labels.",
        ),
    ] = None
    na_is_class: Annotated[
        bool,
        typer.Option(
            "--na-is-class",
            help="Treat NA, NaN, None, null and the like as classes, not as missing labels.",
        ),
    ] = False

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `semisvm.tables.read` and its like."""
        return {"unlabeled": self.unlabeled, "na_is_class": self.na_is_class}


@dataclass(frozen=True)
class Answered:
    """Labels from other files."""

    answers: Answers = None
    key: Key = None

    def join(
        self, data: "Table | MatrixData", label: str | None, marks: Marks
    ) -> tuple["Table | MatrixData", list[str]]:
        """Add the labels of --answers; return the data and notes about them."""
        from semisvm.tables.answers import join_answers

        if self.key is not None:
            check_column(data, self.key)
        if not self.answers:
            return data, []
        joined = join_answers(data, self.answers, label=label, key=self.key, **marks.arguments())
        return joined.data, [*joined.notes, *_about_journals(self.answers)]

    def without_key(self, data: "Table | MatrixData") -> "Table | MatrixData":
        """Leave out the key, from which nothing can be learnt."""
        from semisvm.tables.table import Table

        return data if self.key is None or not isinstance(data, Table) else data.without([self.key])


@dataclass(frozen=True, kw_only=True)
class LabelledFile:
    """How files with labels are written."""

    labels: LabelsFile = None
    marks: Marks
    zero_based: Annotated[
        bool | None,
        typer.Option(
            "--zero-based/--one-based",
            help="First index in svmlight files. Default: zero-based if there is an index 0.",
        ),
    ] = None
    max_columns: Annotated[
        int | None,
        typer.Option(
            "--columns",
            min=1,
            help="Maximum number of columns of a sparse matrix; a larger index is an error.",
        ),
    ] = None
    form: FileFormat

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `semisvm.tables.read` and `semisvm.convert`."""
        return {
            "labels_file": self.labels,
            "zero_based": "auto" if self.zero_based is None else self.zero_based,
            "max_columns": self.max_columns,
            **self.marks.arguments(),
            **self.form.arguments(),
        }

    def read(
        self, data: Path, label: str | None, *, on_disk: bool = False, label_comes: bool = False
    ) -> "Table | MatrixData":
        """Read a file.

        Rows in a folder are loaded, unless they may stay ``on_disk``. The label column may be
        missing if ``label_comes`` from answers.
        """
        from semisvm.tables.reading import read, read_to_label

        found = (read_to_label if label_comes else read)(data, label=label, **self.arguments())
        return found if on_disk else found.in_memory()

    def read_and_join(
        self, data: Path, label: str | None, answered: Answered
    ) -> tuple["Table | MatrixData", list[str]]:
        """Read a file and add labels from others; return notes about these too."""
        found = self.read(data, label, label_comes=bool(answered.answers))
        return answered.join(found, label, self.marks)


def _about_journals(answers: list[Path]) -> list[str]:
    """Report which answers of a session are in its journal only, as after a crash."""
    from semisvm.labelling.journal import journal_of
    from semisvm.labelling.saved_answers import unwritten

    counts = {path: unwritten(path) for path in answers if journal_of(path).exists()}
    return [
        f"{n} later answers are in {journal_of(path)} only: 'semisvm label' brings them to {path}."
        for path, n in counts.items()
        if n
    ]


def check_column(data: "Table | MatrixData", name: str) -> None:
    """Raise if data have no column of that name."""
    from semisvm.tables.errors import DataError
    from semisvm.tables.table import Table

    if not isinstance(data, Table):
        raise DataError(f"a matrix has no columns with names, so no {name!r}.", data.path)
    data.column(name)


ONLY_POSITIVE = "only_positive"
"""Setting of a model: the class that was the only one with labels."""


def take_class(
    data: "Table | MatrixData", name: str | None
) -> tuple["Table | MatrixData", list[str] | None]:
    """Return data whose labels are of one class alone, as text, and the names of both classes."""
    if name is None or data.labels is None:
        return data, None
    from semisvm.tables.labels import count_labels

    data, labels = _with_text(data, str)
    counts = count_labels(labels)
    others = [label for label in counts if label != name]
    if name not in counts:
        raise UserError(
            f"--only-positive names the class {name!r}, but no row is labelled so."
            f"{did_you_mean(name, others)}"
        )
    if others:
        n = sum(counts.values()) - counts[name]
        raise UserError(
            f"--only-positive {name} is for labels of this class alone, but {counted(n, 'row')} "
            f"{'has' if n == 1 else 'have'} another label, such as {others[0]!r}. Leave the option "
            "out to use them."
        )
    return data, [name, _other(name)]


def with_one_other(data: "Table | MatrixData", name: str | None) -> "Table | MatrixData":
    """Return data in which all classes but one are one, as for the models of `take_class`."""
    if name is None or data.labels is None:
        return data
    return _with_text(data, lambda label: name if str(label) == name else _other(name))[0]


def _other(name: str) -> str:
    return f"not {name}"


def _with_text(
    data: "Table | MatrixData", text: Callable[[Any], str]
) -> "tuple[Table | MatrixData, Labels]":
    import numpy as np

    given = [] if data.labels is None else data.labels.tolist()
    labels = np.array([None if one is None else text(one) for one in given], dtype=object)
    return replace(data, labels=labels), labels


def take_weights(
    data: "Table | MatrixData", name: str | None
) -> tuple["Table | MatrixData", "NDArray[np.float64] | None"]:
    """Take the weights of the rows out of a column; bad ones are named with line and column."""
    from semisvm.tables.table import Table

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
