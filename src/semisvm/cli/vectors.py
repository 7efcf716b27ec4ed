"""The options ``--embeddings`` and ``--encoder``: vectors besides the columns of a file.

The code of an encoder runs only if the option names it. A model keeps the name, to check that the
same one is named again, and never imports anything by itself.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli.errors import UserError, parameters_are_the_users

if TYPE_CHECKING:
    from semisvm.columns import ColumnFeatures
    from semisvm.columns.encoders import Encoder
    from semisvm.io import MatrixData, Table
    from semisvm.io.vectors import RowVectors
    from semisvm.model import Model

PANEL = "Vectors"
Embeddings = Annotated[
    Path | None,
    typer.Option(
        "--embeddings",
        metavar="FILE",
        help="An array of vectors (.npy), one for each row of the data, in their order.",
        rich_help_panel=PANEL,
    ),
]
EncoderName = Annotated[
    str | None,
    typer.Option(
        "--encoder",
        metavar="MODULE:FUNCTION",
        help="Your own function from a list of texts to an array with a row for each. It is "
        "imported and run; a model remembers its name only, so name it again to predict.",
        rich_help_panel=PANEL,
    ),
]
NoWords = Annotated[
    bool,
    typer.Option(
        "--no-words",
        help="With --encoder: leave out the words of the texts that are encoded.",
        rich_help_panel=PANEL,
    ),
]


@dataclass
class Encoded:
    """How many texts are encoded, for a progress bar."""

    done: int = 0
    total: int = 1

    def tell(self, done: int, total: int) -> None:
        """Count texts."""
        self.done, self.total = done, total

    def share(self) -> float:
        """Return the share that is done."""
        return self.done / max(self.total, 1)

    def text(self) -> str:
        """Say what is running."""
        return f"encoding: {self.done:,} of {self.total:,} texts"


def add_vectors(
    data: "Table | MatrixData",
    features: "ColumnFeatures",
    embeddings: Path | None,
    encoder: str | None,
    no_words: bool,
    shown: bool,
) -> tuple["Table | MatrixData", dict[str, Any]]:
    """Add columns of vectors to training data; return them, and what a model has to remember.

    ``features`` are not fitted; with ``no_words`` they are told to leave out the encoded columns.
    """
    from semisvm.columns.encoders import encode_texts, load_encoder, text_columns
    from semisvm.io import Table

    if no_words and encoder is None:
        raise UserError("--no-words is for --encoder.")
    if embeddings is None and encoder is None:
        return data, {}
    if not isinstance(data, Table):
        raise UserError(f"--embeddings and --encoder are for tables, but {data.path} is a matrix.")
    settings: dict[str, Any] = {}
    before = set(data.names)
    if embeddings is not None:
        vectors = _loaded(embeddings)
        data, settings = vectors.join(data), {"embeddings": True}
        vectors.finish()
    if encoder is not None:
        with parameters_are_the_users():
            function = load_encoder(encoder)
        names = list(features.text or text_columns(data))
        data = _watched(data, names, function, encode_texts, shown)
        settings |= {"encoder": encoder, "encoded": names}
        if no_words:
            features.set_params(text=None)
            data = data.without(names)
    if features.features is not None:  # whoever names vectors by an option wants them used
        kept = [name for name in features.features if name in data.columns or name not in before]
        features.set_params(features=[*kept, *(n for n in data.names if n not in before)])
    return data, settings


def _loaded(path: Path) -> "RowVectors":
    from semisvm.io.vectors import RowVectors

    return RowVectors.load(path)


def _watched(
    data: "Table", names: list[str], function: "Encoder", encode: Any, shown: bool
) -> "Table":
    from semisvm.cli.progress import shown as show

    progress = Encoded()
    with show(progress, shown):
        return encode(data, names, function, tell=progress.tell)


class Added:
    """The vectors of rows to predict, added as they were in training.

    Parameters
    ----------
    bundle : Model
    embeddings : Path, optional
    encoder : str, optional
        Both as given by the user; refused if the model was fitted otherwise.
    """

    def __init__(self, bundle: "Model", embeddings: Path | None, encoder: str | None) -> None:
        said = bundle.settings
        self._check_embeddings(bool(said.get("embeddings")), embeddings)
        self._check_encoder(said.get("encoder"), encoder)
        self._vectors = None if embeddings is None else _loaded(embeddings)
        self._columns: list[str] = list(said.get("encoded") or ())
        self._function: Encoder | None = None
        if encoder is not None:
            from semisvm.columns.encoders import load_encoder

            with parameters_are_the_users():
                self._function = load_encoder(encoder)

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
        from semisvm.columns.encoders import SUFFIX
        from semisvm.io.vectors import EMBEDDINGS

        added = {name + SUFFIX for name in self._columns}
        added |= set() if self._vectors is None else {EMBEDDINGS}
        return list(dict.fromkeys([*(n for n in names if n not in added), *self._columns]))

    def to(self, data: Any) -> Any:
        """Add the vectors of the next rows; a matrix stays as it is."""
        from semisvm.columns.encoders import encode_texts
        from semisvm.io import Table

        if not isinstance(data, Table):
            return data
        if self._vectors is not None:
            data = self._vectors.join(data)
        if self._function is not None:
            data = encode_texts(data, self._columns, self._function)
        return data

    def to_all(self, pieces: Iterator[Any]) -> Iterator[Any]:
        """Add the vectors of all rows, piece by piece, and refuse vectors that are left."""
        for piece in pieces:
            yield self.to(piece)
        if self._vectors is not None:
            self._vectors.finish()
