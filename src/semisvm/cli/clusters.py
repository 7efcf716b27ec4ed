"""The options ``--cluster`` and ``--workers``: commands that have workers do the work."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli.embeddings import Vectors
from semisvm.cli.inputs import Answered, FileFormat, LabelledFile
from semisvm.cli.messages import UserError, as_usage_error

if TYPE_CHECKING:
    from semisvm.cli.prediction_rules import Answers
    from semisvm.model import Model
    from semisvm.tables.features import ColumnFeatures
    from semisvm.tables.table import MatrixData, Table

METHODS = ("svm", "tsvm", "da")
PARTS_PER_WORKER = 2
"""So that the rows of a worker that is lost can go to several others."""
PIECE_ROWS = 2_000


@dataclass(frozen=True)
class Cluster:
    """Workers that run, or that are started."""

    cluster: Annotated[
        str | None,
        typer.Option(
            "--cluster",
            metavar="ADDRESS",
            help="Have the workers of a Dask cluster do the work: address of its scheduler, such "
            "as tcp://10.0.0.1:8786. They must see the files under the same paths.",
        ),
    ] = None
    workers: Annotated[
        int | None,
        typer.Option(
            "--workers",
            min=1,
            metavar="N",
            help="Start so many worker processes on this machine, and have them do the work.",
        ),
    ] = None

    @property
    def is_wanted(self) -> bool:
        """Whether there is to be a cluster; two are refused."""
        if self.cluster is not None and self.workers is not None:
            raise UserError(
                "--cluster uses workers that run already, --workers starts some: use one."
            )
        return self.cluster is not None or self.workers is not None

    @contextmanager
    def connected(self) -> Iterator[Any]:
        """Yield the client of a cluster, or None without one."""
        if not self.is_wanted:
            yield None
            return
        from semisvm.distributed import connecting
        from semisvm.distributed.connecting import ClusterError

        try:
            with connecting.connected(self.cluster, self.workers) as client:
                yield client
        except (ClusterError, ImportError) as error:
            if isinstance(error, ImportError) and "semisvm[dask]" not in str(error):
                raise
            raise UserError(str(error)) from error


@dataclass(frozen=True)
class FitCluster(Cluster):
    """Workers for a fit."""

    scratch: Annotated[
        Path | None,
        typer.Option(
            "--scratch",
            metavar="DIR",
            help="Folder for converted rows during the fit, which all workers see. Default: the "
            "folder of the model.",
        ),
    ] = None


def check_fit(
    algorithm: str,
    kernel: str | None,
    probabilities: bool,
    answered: Answered,
    sample_weight: str | None,
    vectors: Vectors,
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
    if answered.answers or answered.key is not None:
        raise UserError(
            "--answers and --key need a file in one place, so they are not for a "
            "cluster: add the labels to the files."
        )
    if sample_weight is not None:
        raise UserError(
            "--sample-weight needs a file in one place, so it is not for a cluster. In Python, "
            "fit(X, y, sample_weight=) takes weights of rows on a cluster."
        )
    if vectors.are_wanted:
        raise UserError(
            "--embeddings and --encoder need the rows in one place, so they are not for a cluster: "
            "put the vectors into a column of lists in the files."
        )


@contextmanager
def training_data(
    client: Any,
    data: Sequence[Path],
    label: str | None,
    file: LabelledFile,
    features: "ColumnFeatures",
    place: Path,
    *,
    label_comes: bool,
    shown: bool,
) -> Iterator["Table | MatrixData"]:
    """Yield data with labels; those of files for workers are converted for the time being.

    Parameters
    ----------
    client : distributed.Client, optional
    data : sequence of Path
        A folder of rows, or files or patterns.
    label : str, optional
        The label column.
    file : LabelledFile
        How the data are written.
    features : ColumnFeatures
        Not fitted.
    place : Path
        Folder for converted rows.
    label_comes : bool
        Whether answers may bring the label column.
    shown : bool
        Whether to show the progress of the conversion.
    """
    if client is None:
        yield file.read(data[0], label, on_disk=True, label_comes=label_comes)
        return
    from semisvm.distributed.connecting import check_files
    from semisvm.persistence.conversion import files_of
    from semisvm.tables.folders import scratch_folder

    if len(data) == 1 and data[0].is_dir():
        check_files(client, data)
        yield file.read(data[0], label, on_disk=True)
        return
    paths = files_of(data)
    if not place.is_dir():
        raise UserError(f"{place} is not a folder: name one with --scratch.")
    check_files(client, [*paths, place])
    with scratch_folder(place) as folder:
        reading = {"label": label, **file.arguments()}
        _convert(client, paths, folder / "data.rows", reading, features, shown)
        # the labels are among the rows now
        kept = LabelledFile(marks=file.marks, form=FileFormat())
        yield kept.read(folder / "data.rows", None, on_disk=True)


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
    from semisvm.persistence.conversion import Progress, convert

    progress = Progress()
    with as_usage_error(), show(Reading(progress), shown):
        convert(paths, output, features=features, progress=progress, cluster=client, **reading)


def n_parts(client: Any) -> int:
    """Return into how many parts to divide the rows."""
    return PARTS_PER_WORKER * max(len(client.ncores()), 1)


def predicted(
    client: Any, bundle: "Model", pieces: Any, keep: list[str], all_scores: bool, requested: Any
) -> Any:
    """Yield what `predicted_rows` returns for pieces of data, computed by workers, in order."""
    from semisvm.cli.predict import predicted_rows

    work = partial(predicted_rows, keep=keep, all_scores=all_scores)
    yield from _by_workers(client, work, bundle, pieces, requested)


def _by_workers(
    client: Any, work: Any, bundle: "Model", pieces: Any, requested: Any
) -> Iterator[Any]:
    """Yield what work gives for a model, pieces of data and rules, in order."""
    from semisvm.distributed.connecting import in_order

    model, rules = (client.submit(_same, value, pure=False) for value in (bundle, requested))
    yield from in_order(client, work, ((model, piece, rules) for piece in pieces))


def _same(value: Any) -> Any:
    return value


def answers_of(
    client: Any, bundle: "Model", data: "Table | MatrixData", requested: Any
) -> "Answers":
    """Return what the rules of `prediction_rules.answers_of` give for data, computed by workers."""
    import numpy as np

    from semisvm.cli import prediction_rules

    parts = _by_workers(client, prediction_rules.answers_of, bundle, _pieces(data), requested)
    codes, answered, inside = zip(*parts, strict=True)
    sets = None if any(part is None for part in inside) else np.concatenate(inside)
    return prediction_rules.Answers(np.concatenate(codes), np.concatenate(answered), sets)


def _pieces(data: "Table | MatrixData") -> Iterator["Table | MatrixData"]:
    """Divide data into pieces of some thousand rows, without labels."""
    from semisvm.designs.disk import RowsOnDisk
    from semisvm.tables.table import Table

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
