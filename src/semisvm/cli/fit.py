"""``semisvm fit``: from a file to a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import clusters, reporting, resuming, vectors
from semisvm.cli import options as shared
from semisvm.cli.errors import UserError, parameters_are_the_users, remarks_in_summary, say
from semisvm.cli.outputs import Output, binary_output
from semisvm.cli.priors import read_prior
from semisvm.cli.spelling import OPTIONS, in_options
from semisvm.cli.stopping import leave
from semisvm.registry import AUTO, get
from semisvm.registry import methods as all_methods

if TYPE_CHECKING:
    from semisvm.model import Model

NAMES = ", ".join(method.name for method in all_methods())


def fit(
    data: shared.ManyData,
    output: Annotated[
        Output,
        typer.Option(
            "-o",
            "--output",
            help="Model file to write; - is standard output.",
            show_default=False,
            parser=binary_output,
            metavar="FILE",
        ),
    ],
    label: shared.Label = None,
    answers: shared.Answers = None,
    key: shared.Key = None,
    text: shared.Text = None,
    features: shared.Features = None,
    numeric: shared.Numeric = None,
    categorical: shared.Categorical = None,
    algorithm: Annotated[
        str,
        typer.Option(
            "-a",
            "--algorithm",
            help=f"One of {NAMES} (see 'semisvm methods'), or auto, which tries several and takes "
            "the best one, or a committee of them.",
        ),
    ] = AUTO,
    quick: Annotated[
        bool, typer.Option("--quick", help="auto: try four quick methods only.")
    ] = False,
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            min=0.1,
            metavar="SECONDS",
            help="auto: seconds for the choice; the last fit comes on top. Default: 20.",
        ),
    ] = None,
    reg: Annotated[
        float | None, typer.Option("--reg", help="Strength of the regularisation.")
    ] = None,
    unlabeled_weight: Annotated[
        float | None,
        typer.Option("--unlabeled-weight", help="Total weight of the unlabelled rows."),
    ] = None,
    kernel: Annotated[
        str | None,
        typer.Option("--kernel", help="Kernel: linear, rbf, poly, sigmoid, laplacian or cosine."),
    ] = None,
    prior: shared.Prior = None,
    sample_weight: shared.SampleWeight = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="Calibrate probabilities for predict; takes five more fits."
        ),
    ] = False,
    ngrams: shared.Ngrams = 1,
    char_ngrams: shared.CharNgrams = None,
    min_df: shared.MinDf = 2,
    max_features: shared.MaxFeatures = None,
    stop_words: shared.StopWords = None,
    embeddings: vectors.Embeddings = None,
    encoder: vectors.EncoderName = None,
    no_words: vectors.NoWords = False,
    as_is: shared.AsIs = False,
    jobs: shared.Jobs = None,
    seed: shared.Seed = 0,
    labels: shared.LabelsFile = None,
    unlabeled: shared.Unlabeled = None,
    na_is_class: shared.NaIsClass = False,
    zero_based: shared.ZeroBased = None,
    max_columns: shared.MaxColumns = None,
    format: shared.Format = None,
    encoding: shared.Encoding = None,
    delimiter: shared.Delimiter = None,
    no_quotes: shared.NoQuotes = False,
    report: reporting.ReportFile = None,
    checkpoint: resuming.CheckpointFile = None,
    resume: resuming.Resume = False,
    cluster: clusters.Address = None,
    workers: clusters.Workers = None,
    scratch: clusters.Scratch = None,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print no progress and no summary.")
    ] = False,
    as_json: shared.Json = False,
) -> None:
    """Train a model on a file in which few rows have labels.

    Without --algorithm several methods are tried on labels that are held out. The best one, or
    a committee, is fitted, and the summary says why. Ctrl-C ends the trials; what is known by
    then decides.

    With --workers or --cluster, several files are converted and fitted by worker processes, which
    share the rows.
    """
    if algorithm != AUTO and (quick or time_limit is not None):
        raise UserError("--quick and --time-limit are for --algorithm auto.")
    given = {
        "reg": reg,
        "unlabeled_weight": unlabeled_weight,
        "kernel": kernel,
        "n_jobs": jobs,
    }
    parameters: dict[str, Any] = {k: value for k, value in given.items() if value is not None}
    resuming.check(checkpoint, resume, algorithm)
    if algorithm != AUTO:
        _check_has(algorithm, [*parameters, *(["class_prior"] if prior is not None else [])])
    if clusters.check(cluster, workers):
        clusters.check_fit(algorithm, kernel, probabilities, answers, key, sample_weight)
        clusters.check_vectors(embeddings, encoder)
    elif len(data) > 1:
        raise UserError(
            f"there are {len(data)} files. Several are fitted together with --workers N or "
            "--cluster ADDRESS, or after 'semisvm convert', which makes one folder of them."
        )
    from semisvm.cli.output import print_json
    from semisvm.cli.progress import Shown
    from semisvm.model_files import save
    from semisvm.training import train

    words = shared.words(ngrams, char_ngrams, min_df, max_features, stop_words)
    columns = shared.columns(text, numeric, categorical, features, words)
    reading: dict[str, Any] = {
        "label": label,
        "labels": labels,
        "unlabeled": unlabeled,
        "na_is_class": na_is_class,
        "zero_based": zero_based,
        "max_columns": max_columns,
        "options": shared.reading(format, encoding, delimiter, no_quotes),
        "label_comes": bool(answers),
    }
    shown = not quiet and not as_json
    with (
        clusters.connected(cluster, workers) as client,
        clusters.training_data(
            client, data, reading, columns, scratch or output.path.parent, shown
        ) as table,
        parameters_are_the_users(),
        remarks_in_summary(shown),
    ):
        table, notes = shared.join(table, answers, label, key, unlabeled, na_is_class)
        table, weight = shared.weights(table, sample_weight)
        if prior is not None and table.labels is not None:
            parameters["class_prior"] = read_prior(prior, set(table.labels.tolist()) - {None})
        table, added = vectors.add_vectors(
            shared.without_key(table, key), columns, embeddings, encoder, no_words, shown
        )
        model = train(
            table,
            algorithm,
            features=columns,
            settings={
                "label": label,
                "unlabeled": unlabeled,
                "na_is_class": na_is_class or None,
                **added,
            },
            probabilities=probabilities,
            as_is=as_is,
            quick=quick,
            time_limit=time_limit,
            random_state=seed,
            notes=notes,
            progress=resuming.kept(Shown(shown), checkpoint, resume),
            n_parts=None if client is None else clusters.n_parts(client),
            sample_weight=weight,
            **parameters,
        )
    for note in model.summary.get("choice", {}).get("notes", []):
        say(f"note: {in_options(note)}")
    save(model, output.target, created=_today())
    leave(message=f"stopped; the model {output} is written")
    # files come before the summary, whose reader may be gone before its end
    failure = reporting.write(model, report, title=f"Model of {_name(data)}", created=_today())
    if as_json:
        print_json({"model": output, **model.summary, **_outcome(model)})
    elif shown:
        _show(model, output)
    if failure is not None:
        raise UserError(f"the model was saved to {output}; the report was not: {failure}")
    if shown:
        reporting.tell(report)


def _check_has(algorithm: str, names: list[str]) -> None:
    """Refuse parameters that the method does not have."""
    with parameters_are_the_users():
        method = get(algorithm)
    for name in names:
        if method.parameter(name) is None:
            raise UserError(f"the method {method.name!r} has no {OPTIONS[name]}.")


def _name(data: list[Path]) -> str:
    return data[0].name if len(data) == 1 else f"{len(data)} files"


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%d")


def _outcome(model: "Model") -> dict[str, Any]:
    estimator = model.estimator
    classes = [str(label) for label in estimator.classes_.tolist()]
    features = model.features
    return {
        **({} if features is None else {"kept_words": features.kept_words()}),
        "reg": getattr(estimator, "reg_", None),
        "objective": estimator.objective_,
        "rounds": estimator.n_iter_,
        "prior": dict(zip(classes, estimator.class_prior_.tolist(), strict=True)),
        "probabilities": model.has_probabilities,
    }


def _show(model: "Model", output: Output) -> None:
    from semisvm.cli.output import columns_in_short, print_facts, print_notes, words_in_short

    summary = dict(model.summary)
    notes, choice = summary.pop("notes"), summary.pop("choice", None)
    summary.pop("scores", None)
    if model.features is not None:
        summary["columns"] = columns_in_short(model.features.kinds_)
        summary |= words_in_short(model.features.kept_words())
    facts = {**summary, **_outcome(model)}
    facts.pop("kept_words", None)  # said in short already
    print_facts(f"Model {output}", {k: value for k, value in facts.items() if value is not None})
    if choice is not None:
        cost = [choice["cost"]] if choice.get("cost") else []
        print_notes("why", [*choice["reasons"], *cost])
    print_notes("note", notes)
