"""``semisvm predict``: from a model and a file to labels, piece by piece."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import clusters, trusting, vectors
from semisvm.cli import options as shared
from semisvm.cli.errors import UserError
from semisvm.cli.outputs import Output, text_output
from semisvm.cli.rows import PARQUET, SUFFIXES, EscapeFormulas, row_writer

if TYPE_CHECKING:
    from semisvm.io import MatrixData, Table
    from semisvm.model import Model


def predict(
    model: shared.ModelFile,
    data: shared.ManyData,
    output: Annotated[
        Output | None,
        typer.Option(
            "-o",
            "--output",
            help="CSV, TSV, JSONL or Parquet file to write. Default, or -: standard output.",
            parser=text_output,
            metavar="FILE",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="A column to copy to the output; repeatable.")
    ] = None,
    all_scores: Annotated[
        bool, typer.Option("--all-scores", help="Write one column of scores per class.")
    ] = False,
    top: trusting.Top = None,
    abstain_below: trusting.AbstainBelow = None,
    threshold: trusting.Thresholds = None,
    cost: trusting.Costs = None,
    coverage: trusting.Coverage = None,
    explain: trusting.Explain = None,
    vocabulary: trusting.Vocabulary = None,
    escape: EscapeFormulas = None,
    embeddings: vectors.Embeddings = None,
    encoder: vectors.EncoderName = None,
    format: shared.Format = None,
    encoding: shared.Encoding = None,
    delimiter: shared.Delimiter = None,
    no_quotes: shared.NoQuotes = False,
    cluster: clusters.Address = None,
    workers: clusters.Workers = None,
) -> None:
    """Predict the labels of files, which may be larger than memory.

    A row that gets no answer, as --abstain-below asks for, has a blank label. A warning says if the
    rows look unlike those of the fit.

    With --workers or --cluster, workers compute what this process reads.
    """
    from semisvm.converting import files_of
    from semisvm.model_files import load

    bundle = as_model(load(model))
    asked = trusting.wanted(
        bundle,
        abstain_below=abstain_below,
        thresholds=threshold,
        costs=cost,
        coverage=coverage,
        top=top,
        explain=explain,
        vocabulary=vocabulary,
    )
    options = shared.reading(format, encoding, delimiter, no_quotes)
    added = vectors.Added(bundle, embeddings, encoder)
    pieces = added.to_all(
        chain.from_iterable(
            _pieces(bundle, path, keep or [], options, added) for path in files_of(data)
        )
    )
    likeness = trusting.Likeness(bundle)
    watched = likeness.watch(pieces)
    with (
        clusters.connected(cluster, workers) as client,
        row_writer(output, "predictions", escape, (*SUFFIXES, PARQUET)) as write,
    ):
        if client is not None:
            for rows in clusters.predicted(client, bundle, watched, keep or [], all_scores, asked):
                write(rows)
        else:
            for piece in watched:
                write(predicted_rows(bundle, piece, keep or [], all_scores, asked))
    likeness.warn()


def as_model(loaded: Any) -> "Model":
    """Return a bundle, also for an estimator that was saved on its own."""
    from semisvm.model import Model

    if isinstance(loaded, Model):
        return loaded
    if hasattr(loaded, "steps") or hasattr(loaded, "label_names_"):
        what = "pipeline" if hasattr(loaded, "steps") else "model of several labels"
        raise UserError(
            f"this file holds a {what}, which is for Python: semisvm.load(FILE).predict(X)."
        )
    return Model.of(loaded)


def _pieces(
    bundle: "Model", data: Path, keep: list[str], options: dict[str, Any], added: vectors.Added
) -> Iterator["Table | MatrixData"]:
    from semisvm.io import read_chunks

    if keep and data.is_dir():
        raise UserError("--keep copies columns of tables; these rows have none.")
    if bundle.features is not None:
        columns = added.columns(bundle.features.columns_)
        return read_chunks(data, columns=[*columns, *keep], **options)
    if keep:
        raise UserError("--keep copies columns of tables; this model is for matrices.")
    return read_chunks(
        data,
        n_features=bundle.estimator.n_features_in_,
        zero_based=bool(bundle.settings.get("zero_based", False)),
        **options,
    )


def predicted_rows(
    bundle: "Model",
    piece: "Table | MatrixData",
    keep: list[str],
    all_scores: bool,
    asked: trusting.Wanted,
) -> list[dict[str, Any]]:
    """Return label, score and, where there is one, probability of every row.

    The score is that of the label; with two classes, a score of the first class is the
    negative of what the estimator returns. A row that gets no answer has the score and the
    probability of the label that it would have got.
    """
    import numpy as np

    from semisvm.io import Table
    from semisvm.trust.decisions import labels_or_none

    X = bundle.matrix(piece)
    scores, (codes, answered) = bundle.score_columns(X), asked.labels(bundle, X)
    rows = np.arange(len(codes))
    columns: dict[str, list[Any]] = {}
    if isinstance(piece, Table):
        columns |= {name: piece.text(name) for name in keep}
    columns["label"] = labels_or_none(bundle.classes_, codes, answered).tolist()
    columns["score"] = scores[rows, codes].tolist()
    if bundle.has_probabilities:
        columns["probability"] = bundle.probabilities(X)[rows, codes].tolist()
    if all_scores:
        for k, label in enumerate(bundle.classes_.tolist()):
            columns[f"score_{label}"] = scores[:, k].tolist()
    columns |= asked.columns(bundle, X, codes)
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]
