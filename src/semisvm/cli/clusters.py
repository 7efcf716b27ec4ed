"""The options ``--cluster`` and ``--workers``: commands that have workers do the work."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.errors import UserError, parameters_are_the_users

if TYPE_CHECKING:
    from semisvm.columns import ColumnFeatures
    from semisvm.io import MatrixData, Table
    from semisvm.model import Model

PANEL = "Cluster"
Address = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Have the workers of a Dask cluster do the work: address of its scheduler, such as "
        "tcp://10.0.0.1:8786. They must see the files under the same paths.",
        rich_help_panel=PANEL,
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        "--workers",
        min=1,
        metavar="N",
        help="Start so many worker processes on this machine, and have them do the work.",
        rich_help_panel=PANEL,
    ),
]
Scratch = Annotated[
    Path | None,
    typer.Option(
        "--scratch",
        metavar="DIR",
        help="Folder for converted rows during the fit, which all workers see. Default: the "
        "folder of the model.",
        rich_help_panel=PANEL,
    ),
]

METHODS = ("svm", "tsvm", "da")
PARTS_PER_WORKER = 2
"""So that the rows of a worker that is lost can go to several others."""
PIECE_ROWS = 2_000


def check(address: str | None, workers: int | None) -> bool:
    """Tell whether there is to be a cluster; refuse two."""
    if address is not None and workers is not None:
        raise UserError("--cluster uses workers that run already, --workers starts some: use one.")
    return address is not None or workers is not None


@contextmanager
def connected(address: str | None, workers: int | None) -> Iterator[Any]:
    """Yield the client of a cluster, or None if no one asks for one."""
    if not check(address, workers):
        yield None
        return
    from semisvm.remote import connecting
    from semisvm.remote.errors import ClusterError

    try:
        with connecting.connected(address, workers) as client:
            yield client
    except (ClusterError, ImportError) as error:
        if isinstance(error, ImportError) and "semisvm[dask]" not in str(error):
            raise
        raise UserError(str(error)) from error


def check_fit(
    algorithm: str,
    kernel: str | None,
    probabilities: bool,
    answers: Sequence[Path] | None,
    key: str | None,
    sample_weight: str | None = None,
) -> None:
    """Refuse what a cluster cannot fit, before anything is started."""
    if algorithm not in METHODS:
        raise UserError(
            f"on a cluster --algorithm must be one of {', '.join(METHODS)}, not {algorithm}: other "
            "methods, and the choice of one, need all rows in one place. Name one, as in -a tsvm."
        )
    if kernel not in (None, "linear"):
        raise UserError("on a cluster --kernel must be linear: leave it out.")
    if probabilities:
        raise UserError(
            "--probabilities makes five more fits in one process, so it is not for a cluster: "
            "leave it out."
        )
    if answers or key is not None:
        raise UserError(
            "--answers and --key need a file in one place, so they are not for a "
            "cluster: add the labels to the files."
        )
    if sample_weight is not None:
        raise UserError(
            "--sample-weight needs a file in one place, so it is not for a cluster. In Python, "
            "fit(X, y, sample_weight=) takes weights of rows on a cluster."
        )


def check_vectors(embeddings: Path | None, encoder: str | None) -> None:
    """Refuse vectors that are not in the files that workers read."""
    if embeddings is not None or encoder is not None:
        raise UserError(
            "--embeddings and --encoder need the rows in one place, so they are not for a cluster: "
            "put the vectors into a column of lists of Parquet files."
        )


@contextmanager
def training_data(
    client: Any,
    data: Sequence[Path],
    reading: dict[str, Any],
    features: "ColumnFeatures",
    place: Path,
    shown: bool,
) -> Iterator["Table | MatrixData"]:
    """Yield data with labels; those of files for workers are converted for the time being.

    Parameters
    ----------
    client : distributed.Client, optional
    data : sequence of Path
        A folder of rows, or files or patterns.
    reading : dict
        Arguments of `read_training`, the file apart.
    features : ColumnFeatures
        Not fitted.
    place : Path
        Folder for converted rows.
    shown : bool
        Whether to show the progress of the conversion.
    """
    if client is None:
        yield shared.read_training(data[0], **reading, on_disk=True)
        return
    from semisvm.converting import files_of
    from semisvm.io.folders import scratch_folder
    from semisvm.remote.connecting import check_files

    if len(data) == 1 and data[0].is_dir():
        check_files(client, data)
        yield shared.read_training(data[0], **reading, on_disk=True)
        return
    paths = files_of(data)
    if not place.is_dir():
        raise UserError(f"{place} is not a folder: name one with --scratch.")
    check_files(client, [*paths, place])
    with scratch_folder(place) as folder:
        _convert(client, paths, folder / "data.rows", reading, features, shown)
        # the labels are among the rows now
        kept = {**reading, **dict.fromkeys(("label", "labels", "zero_based", "max_columns"))}
        kept["options"] = {}
        yield shared.read_training(folder / "data.rows", **kept, on_disk=True)


def _convert(
    client: Any,
    paths: Sequence[Path],
    output: Path,
    reading: dict[str, Any],
    features: "ColumnFeatures",
    shown: bool,
) -> None:
    from semisvm.cli.convert import Reading
    from semisvm.cli.progress import shown as show
    from semisvm.converting import Progress, convert

    progress, zero_based = Progress(), reading["zero_based"]
    with parameters_are_the_users(), show(Reading(progress), shown):
        convert(
            paths,
            output,
            label=reading["label"],
            features=features,
            labels_file=reading["labels"],
            unlabeled=reading["unlabeled"],
            na_is_class=reading["na_is_class"],
            zero_based="auto" if zero_based is None else zero_based,
            max_columns=reading["max_columns"],
            progress=progress,
            cluster=client,
            **reading["options"],
        )


def n_parts(client: Any) -> int:
    """Return into how many parts to divide the rows."""
    return PARTS_PER_WORKER * max(len(client.ncores()), 1)


def predicted(
    client: Any, bundle: "Model", pieces: Any, keep: list[str], all_scores: bool, asked: Any
) -> Any:
    """Yield what `predicted_rows` returns for pieces of data, computed by workers, in order."""
    from semisvm.cli.predict import predicted_rows
    from semisvm.remote.ordered import in_order

    model = client.submit(_same, bundle, pure=False)
    wanted = client.submit(_same, asked, pure=False)
    arguments = ((model, piece, keep, all_scores, wanted) for piece in pieces)
    yield from in_order(client, predicted_rows, arguments)


def _same(value: Any) -> Any:
    return value


def predict_labels(client: Any, bundle: "Model", data: "Table | MatrixData") -> Any:
    """Return the predicted labels of data, computed by workers."""
    import numpy as np

    from semisvm.remote.ordered import in_order

    model = client.submit(_same, bundle, pure=False)
    arguments = ((model, piece) for piece in _pieces(data))
    return np.concatenate(list(in_order(client, _labels, arguments)))


def _labels(bundle: "Model", piece: Any) -> Any:
    return bundle.predict(piece)


def _pieces(data: "Table | MatrixData") -> Iterator["Table | MatrixData"]:
    """Divide data into pieces of some thousand rows, without labels."""
    from dataclasses import replace

    from semisvm.io import Table
    from semisvm.ondisk import RowsOnDisk

    if not isinstance(data, Table) and isinstance(data.X, RowsOnDisk):
        parts = data.X.split(max(len(data) // PIECE_ROWS, 1))
        yield from (replace(data, X=part, labels=None) for part in parts)
        return
    for start in range(0, len(data), PIECE_ROWS):
        rows = slice(start, start + PIECE_ROWS)
        if isinstance(data, Table):
            yield replace(data[rows], labels=None)
        else:
            yield replace(data, X=data.X[rows], labels=None, lines=None)
