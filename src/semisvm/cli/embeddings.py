"""The options ``--embeddings`` and ``--encoder``: vectors besides the columns of a file.

An encoder of a library is part of the features: a model has its name, and loads it to predict.
The code of a user's own function runs only if the option names it. A model keeps its name, to check
that the same one is named again, and never imports it by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli.messages import UserError, as_usage_error

if TYPE_CHECKING:
    from semisvm.model import Model
    from semisvm.tables.encoders import Encoder
    from semisvm.tables.features import ColumnFeatures
    from semisvm.tables.row_vectors import RowVectors
    from semisvm.tables.table import MatrixData, Table

Embeddings = Annotated[
    Path | None,
    typer.Option(
        "--embeddings",
        metavar="FILE",
        help="An array of vectors (.npy), one for each row of the data, in their order.",
    ),
]


@dataclass
class Encoded:
    """How many texts of a piece of data are encoded, for a progress bar.

    Attributes
    ----------
    done, total : int
        Of this piece.
    before : int
        Of earlier pieces.
    """

    done: int = 0
    total: int = 1
    before: int = 0

    def update(self, done: int, total: int) -> None:
        """Count texts."""
        self.done, self.total = done, total

    def share(self) -> float:
        """Return the share that is done."""
        return self.done / max(self.total, 1)

    def text(self) -> str:
        """Show what is running."""
        earlier = f", after {self.before:,} of earlier rows" if self.before else ""
        return f"encoding: {self.done:,} of {self.total:,} texts{earlier}"


@dataclass(frozen=True)
class Vectors:
    """Vectors of rows, given or computed."""

    embeddings: Embeddings = None
    encoder: Annotated[
        str | None,
        typer.Option(
            "--encoder",
            metavar="NAME",
            help="What makes vectors of texts: model2vec:NAME_OR_FOLDER, "
            "sentence-transformers:NAME_OR_FOLDER, fastembed:NAME, or MODULE:FUNCTION, your own "
            "function from a list of texts to an array with a row for each. Models load encoders "
            "of the libraries by themselves; name your own function again to predict.",
        ),
    ] = None

    @property
    def are_wanted(self) -> bool:
        """Whether there are to be some."""
        return self.embeddings is not None or self.encoder is not None

    @property
    def is_named(self) -> bool:
        """Whether the encoder is one of a library."""
        from semisvm.tables.encoders import is_named

        return is_named(self.encoder)


@dataclass(frozen=True)
class TrainingVectors(Vectors):
    """Vectors of training rows."""

    no_words: Annotated[
        bool,
        typer.Option(
            "--no-words", help="With --encoder: leave out the words of the texts that are encoded."
        ),
    ] = False

    @property
    def given(self) -> bool:
        """Whether any of the options is given."""
        return self.are_wanted or self.no_words

    def check(self) -> None:
        """Refuse what is about texts that are encoded, if none are."""
        if self.no_words and self.encoder is None:
            raise UserError("--no-words is for --encoder.")

    def encode_pieces(self, features: "ColumnFeatures") -> None:
        """Have features encode texts that come piece by piece."""
        self.check()
        if self.encoder is not None and not self.is_named:
            raise UserError(
                "a conversion takes encoders of libraries, such as model2vec:NAME. Save the "
                "vectors of your own function as an array, and name it with --embeddings."
            )
        if self.encoder is not None:
            self._set(features, False)

    def _set(self, features: "ColumnFeatures", shown: bool) -> None:
        """Have features encode texts by an encoder of a library."""
        from semisvm.tables.encoders import PROGRESS

        features.set_params(encoder=self.encoder, words=not self.no_words)
        PROGRESS.set(shown)

    def add(
        self, data: "Table | MatrixData", features: "ColumnFeatures", shown: bool
    ) -> tuple["Table | MatrixData", dict[str, Any]]:
        """Add columns of vectors to data; return them, and what a model has to remember.

        ``features`` are not fitted; with --no-words they are set to leave out the encoded columns.
        """
        from semisvm.tables.table import Table

        self.check()
        if not self.are_wanted:
            return data, {}
        if not isinstance(data, Table):
            raise UserError(
                f"--embeddings and --encoder are for tables, but {data.path} is a matrix."
            )
        settings: dict[str, Any] = {}
        before = set(data.names)
        if self.embeddings is not None:
            vectors = _loaded(self.embeddings)
            data, settings = vectors.join(data), {"embeddings": True}
            vectors.finish()
        if self.is_named:
            self._set(features, shown)
        elif self.encoder is not None:
            data, names = self._encoded(data, features, shown)
            settings |= {"encoder": self.encoder, "encoded": names}
        if features.features is not None:  # vectors named by an option are used
            named = features.features
            kept = [name for name in named if name in data.columns or name not in before]
            features.set_params(features=[*kept, *(n for n in data.names if n not in before)])
        return data, settings

    def _encoded(
        self, data: "Table", features: "ColumnFeatures", shown: bool
    ) -> tuple["Table", list[str]]:
        """Return the data with the vectors of the texts, and which columns were encoded."""
        from semisvm.cli.progress import shown as show
        from semisvm.tables.row_vectors import encode_texts, text_columns

        function = _imported(str(self.encoder))
        names = list(features.text or text_columns(data))
        progress = Encoded()
        with show(progress, shown):
            data = encode_texts(data, names, function, callback=progress.update)
        if self.no_words:
            features.set_params(text=None)
            data = data.without(names)
        return data, names


def _loaded(path: Path) -> "RowVectors":
    from semisvm.tables.row_vectors import RowVectors

    return RowVectors.load(path)


def _imported(encoder: str) -> "Encoder":
    from semisvm.tables.row_vectors import load_encoder

    with as_usage_error():
        return load_encoder(encoder)


class Added:
    """The vectors of rows to predict, added as they were in training.

    Parameters
    ----------
    bundle : Model
    vectors : Vectors
        As given by the user; refused if the model was fitted otherwise.
    """

    def __init__(self, bundle: "Model", vectors: Vectors) -> None:
        settings, embeddings, encoder = bundle.settings, vectors.embeddings, vectors.encoder
        self._check_embeddings(bool(settings.get("embeddings")), embeddings)
        if encoder is not None and bundle.features is not None and bundle.features.encoded_:
            # perhaps another place of the same encoder: its vectors are compared
            if not vectors.is_named:
                fitted = bundle.features.encoder
                raise UserError(f"the model was fitted with the encoder {fitted}, not {encoder}.")
            bundle.features.set_params(encoder=encoder)
            encoder = None
        self._check_encoder(settings.get("encoder"), encoder)
        self._vectors = None if embeddings is None else _loaded(embeddings)
        self._columns: list[str] = list(settings.get("encoded") or ())
        self._function = None if encoder is None else _imported(encoder)
        self._progress = Encoded()

    @staticmethod
    def _check_embeddings(needed: bool, given: Path | None) -> None:
        if needed and given is None:
            raise UserError(
                "the model was fitted with vectors of an array: name the one for these rows with "
                "--embeddings."
            )
        if given is not None and not needed:
            raise UserError("the model was fitted without --embeddings: leave it out.")

    @staticmethod
    def _check_encoder(needed: str | None, given: str | None) -> None:
        if needed == given:
            return
        if needed is None:
            raise UserError("the model was fitted without --encoder: leave it out.")
        if given is None:
            raise UserError(
                f"the model was fitted with --encoder {needed}. Model files run no code, so name "
                "it again, if you trust it."
            )
        raise UserError(
            f"the model was fitted with --encoder {needed}, not {given}, whose vectors may mean "
            "something else."
        )

    def columns(self, names: list[str]) -> list[str]:
        """Return the columns to read from a file, of those that the model needs."""
        from semisvm.tables.row_vectors import EMBEDDINGS, SUFFIX

        added = {name + SUFFIX for name in self._columns}
        added |= set() if self._vectors is None else {EMBEDDINGS}
        return list(dict.fromkeys([*(n for n in names if n not in added), *self._columns]))

    def to(self, data: Any) -> Any:
        """Add the vectors of the next rows; a matrix stays as it is."""
        from semisvm.cli.progress import shown as show
        from semisvm.tables.row_vectors import encode_texts
        from semisvm.tables.table import Table

        if not isinstance(data, Table):
            return data
        if self._vectors is not None:
            data = self._vectors.join(data)
        if self._function is not None:
            progress = self._progress
            with show(progress, True):
                data = encode_texts(data, self._columns, self._function, callback=progress.update)
            progress.before += len(self._columns) * len(data)
        return data

    def to_all(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Add the vectors of all rows, piece by piece, and refuse vectors that are left."""
        for piece in pieces:
            yield self.to(piece)
        if self._vectors is not None:
            self._vectors.finish()
