"""``semisvm predict``: from a model and a file to labels, piece by piece."""

from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import clusters, prediction_rules
from semisvm.cli import options as shared
from semisvm.cli.embeddings import Added, Vectors
from semisvm.cli.inputs import FileFormat
from semisvm.cli.messages import UserError
from semisvm.cli.outputs import (
    WRITTEN,
    EscapeFormulas,
    Output,
    Rows,
    file_option,
    note_new_names,
    row_writer,
    with_kept,
)
from semisvm.cli.several import ONE_LABEL, check_plain
from semisvm.cli.several import predicted_rows as rows_of_labels
from semisvm.tables.formats import titles

if TYPE_CHECKING:
    from semisvm.model import Model
    from semisvm.tables.table import MatrixData, Table


def predict(
    model: shared.ModelFile,
    data: shared.ManyData,
    *,
    output: Annotated[
        Output | None,
        file_option(
            "-o",
            "--output",
            help=f"{titles(WRITTEN)} file to write. Default, or -: standard output.",
        ),
    ] = None,
    keep: Annotated[
        list[str] | None, typer.Option("--keep", help="A column to copy to the output; repeatable.")
    ] = None,
    all_scores: Annotated[
        bool, typer.Option("--all-scores", help="Write one column of scores per class.")
    ] = False,
    prior: prediction_rules.NewShares = None,
    adapt: prediction_rules.Adapt = False,
    top: prediction_rules.Top = None,
    rules: prediction_rules.Rules,
    explain: prediction_rules.Explain = None,
    vocabulary: prediction_rules.Vocabulary = None,
    escape: EscapeFormulas = None,
    vectors: Vectors,
    form: FileFormat,
    cluster: clusters.Cluster,
) -> None:
    """Predict the labels of files, which may be larger than memory.

    A row that gets no answer, as --abstain-below asks for, has a blank label. A warning is
    printed if the rows look unlike those of the fit, or if the predicted labels are mixed
    differently. A model of several labels per row writes one column per label.

    With --workers or --cluster, workers compute what this process reads.
    """
    from semisvm.persistence.conversion import files_of
    from semisvm.persistence.model_files import load

    bundle = as_model(load(model), several=True)
    if bundle.label_names:
        check_plain(
            {
                "--top": top is not None,
                "--explain": explain is not None,
                "--vocabulary": vocabulary is not None,
                "--cluster or --workers": cluster.is_wanted,
                "--prior": prior is not None,
                "--adapt": adapt,
                **rules.given,
            }
        )
    kept = list(dict.fromkeys(keep or ()))

    def read(keep: list[str]) -> Iterator["Table | MatrixData"]:
        added = Added(bundle, vectors)
        files = (_pieces(bundle, path, keep, form.arguments(), added) for path in files_of(data))
        return iter(added.to_all(chain.from_iterable(files)))

    bundle = prediction_rules.adapted(bundle, prior, adapt, lambda: read([]))
    requested = prediction_rules.wanted(
        bundle, rules, top=top, explain=explain, vocabulary=vocabulary
    )
    likeness = prediction_rules.Likeness(bundle)
    watched = likeness.watch(read(kept))
    # labels by other rules are not those whose shares the fit has
    counted = not bundle.label_names and requested.decision.is_usual
    with (
        cluster.connected() as client,
        row_writer(output, "predictions", escape, WRITTEN) as write,
    ):
        found: Iterator[Rows]
        if bundle.label_names:
            found = (rows_of_labels(bundle, piece, kept, all_scores) for piece in watched)
        elif client is not None:
            found = clusters.predicted(client, bundle, watched, kept, all_scores, requested)
        else:
            found = (
                predicted_rows(bundle, piece, requested, kept, all_scores) for piece in watched
            )
        for k, rows in enumerate(found):
            if k == 0:
                note_new_names(kept, rows)
            write(rows)
            if counted:
                likeness.count(row["label"] for row in rows)
    likeness.warn()


def as_model(loaded: Any, several: bool = False) -> "Model":
    """Return a bundle, also for an estimator that was saved on its own.

    Models of several labels per row are refused, unless the command takes them.
    """
    from semisvm.model import Model

    if hasattr(loaded, "steps"):
        raise UserError(
            "this file holds a pipeline, which is for Python: semisvm.load(FILE).predict(X)."
        )
    model = loaded if isinstance(loaded, Model) else Model.of(loaded)
    if model.label_names and not several:
        raise UserError(ONE_LABEL)
    return model


def _pieces(
    bundle: "Model", data: Path, keep: list[str], options: dict[str, Any], added: Added
) -> Iterator["Table | MatrixData"]:
    from semisvm.tables.reading import read_chunks

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
    requested: prediction_rules.Wanted,
    keep: list[str],
    all_scores: bool,
) -> list[dict[str, Any]]:
    """Return label, score and, where there is one, probability of every row.

    Columns to keep come first; one that is called like a column of the output gets another name.
    The score is that of the label; with two classes, a score of the first class is the
    negative of what the estimator returns. A row that gets no answer has the score and the
    probability of the label that it would have got.
    """
    import numpy as np

    from semisvm.model_selection.decisions import labels_or_none

    X = bundle.matrix(piece)
    scores, (codes, answered) = bundle.score_columns(X), requested.labels(bundle, X)
    rows = np.arange(len(codes))
    columns: dict[str, list[Any]] = {}
    columns["label"] = labels_or_none(bundle.classes_, codes, answered).tolist()
    columns["score"] = scores[rows, codes].tolist()
    if bundle.has_probabilities:
        columns["probability"] = bundle.probabilities(X)[rows, codes].tolist()
    if all_scores:
        for k, label in enumerate(bundle.classes_.tolist()):
            columns[f"score_{label}"] = scores[:, k].tolist()
    columns |= requested.columns(bundle, X, codes)
    return with_kept(piece, keep, columns)
