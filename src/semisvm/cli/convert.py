"""``semisvm convert``: from files of any size to rows that are read from the disk."""

from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.clusters import Cluster
from semisvm.cli.embeddings import TrainingVectors
from semisvm.cli.inputs import LabelledFile
from semisvm.cli.interrupts import when_stopped
from semisvm.cli.messages import as_usage_error
from semisvm.cli.options import Columns, Words
from semisvm.cli.outputs import Output, rows_output
from semisvm.cli.printing import columns_in_short, print_facts, print_json, print_notes
from semisvm.tables.formats import titles

if TYPE_CHECKING:
    from semisvm.designs.disk import RowsOnDisk
    from semisvm.persistence.conversion import Progress


def convert(
    data: Annotated[
        list[Path],
        typer.Argument(
            metavar="DATA",
            help=f"{titles()} files, or a pattern in quotes; text files may be gzipped.",
            show_default=False,
        ),
    ],
    output: Annotated[
        Output,
        typer.Argument(
            metavar="ROWS",
            help="Folder to write, such as big.rows.",
            show_default=False,
            parser=rows_output,
        ),
    ],
    *,
    label: shared.Label = None,
    columns: Columns,
    hash_columns: Annotated[
        int | None,
        typer.Option(
            "--hash",
            min=1,
            help="Hash the words of each text column to so many columns, without a vocabulary.",
        ),
    ] = None,
    words: Words,
    single: Annotated[
        bool, typer.Option("--float32", help="Write values in single precision.")
    ] = False,
    vectors: TrainingVectors,
    file: LabelledFile,
    cluster: Cluster,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Convert files of any size to a folder from which 'semisvm fit' reads rows as needed.

    Text becomes tf-idf of words, or hashed words; numbers are scaled. What was learnt for that
    goes with the folder and into models, which predict from files as before. With --workers or
    --cluster, each of several files is converted by a worker.
    """
    from semisvm.cli.progress import shown
    from semisvm.distributed.connecting import check_files
    from semisvm.persistence.conversion import Progress, files_of
    from semisvm.persistence.conversion import convert as convert_files

    features = columns.features(words).set_params(hash_columns=hash_columns)
    vectors.encode_pieces(features)
    progress, start = Progress(), perf_counter()
    with (
        cluster.connected() as client,
        as_usage_error(),
        shown(Reading(progress), not quiet and not as_json),
    ):
        paths = files_of(data)
        if client is not None:
            check_files(client, [*paths, output.path.absolute().parent])
        X = convert_files(
            paths,
            output.target,  # type: ignore[arg-type]
            label=label,
            features=features,
            dtype="float32" if single else "float64",
            embeddings=vectors.embeddings,
            progress=progress,
            cluster=client,
            **file.arguments(),
        )
    when_stopped(message=f"stopped; {output} is written")
    facts = {**describe_rows(X), "seconds": perf_counter() - start}
    if as_json:
        print_json({"rows_folder": output, **facts})
    elif not quiet:
        show_rows(X, facts)


@dataclass
class Reading:
    """The progress of a conversion in words."""

    progress: "Progress"

    def share(self) -> float:
        """Return the share that is done."""
        return self.progress.share

    def text(self) -> str:
        """Show how far the reading is."""
        done = self.progress
        read = f"{done.rows:,} rows, {done.bytes / 1e6:,.0f} of {done.total / 1e6:,.0f} MB"
        return f"{done.doing}: {read}"


def describe_rows(X: "RowsOnDisk") -> dict[str, Any]:
    """Return what is in a folder as data."""
    import numpy as np

    from semisvm.preparing import features_of
    from semisvm.tables.labels import about_missing
    from semisvm.tables.table import MatrixData

    n, d = X.shape
    facts: dict[str, Any] = {
        "rows": n,
        "features": d,
        "entries": X.nnz,
        "layout": X.header.layout,
        "type": str(X.dtype),
        "megabytes": sum(file.stat().st_size for file in X.path.iterdir()) / 1e6,
    }
    codes = X.codes
    if codes is not None:
        counts = np.bincount(codes + 1, minlength=len(X.classes or ()) + 1).tolist()
        names = [str(label) for label in X.classes or ()]
        facts |= {"labelled": sum(counts[1:]), "labels": dict(zip(names, counts[1:], strict=True))}
    notes = [*X.notes, *about_missing(X.header.missing_words)]
    features = features_of(MatrixData(X, None, str(X.path), made_by=X.features()))[1]
    if features is not None:
        facts["columns"] = dict(features.kinds_)
        notes += features.notes_
    return {**facts, "notes": notes}


def show_rows(X: "RowsOnDisk", facts: dict[str, Any]) -> None:
    """Print what `describe_rows` returns."""
    shown = dict(facts)
    if "columns" in shown:
        shown["columns"] = columns_in_short(shown["columns"])
    notes = shown.pop("notes")
    print_facts(f"Rows {X.path}", shown)
    print_notes("note", notes)
