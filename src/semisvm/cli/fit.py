"""``semisvm fit``: from a file to a model, with ``--checkpoint`` and ``--resume``."""

import dataclasses
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import clusters, reporting
from semisvm.cli import options as shared
from semisvm.cli.embeddings import TrainingVectors
from semisvm.cli.inputs import (
    ONLY_POSITIVE,
    Answered,
    LabelledFile,
    check_column,
    take_class,
    take_weights,
)
from semisvm.cli.interrupts import when_stopped
from semisvm.cli.messages import (
    OPTIONS,
    UserError,
    as_usage_error,
    in_options,
    print_stderr,
    remarks_in_summary,
)
from semisvm.cli.options import Columns, Words, class_factors, class_shares
from semisvm.cli.outputs import Output, binary_output, file_option
from semisvm.cli.printing import (
    columns_in_short,
    print_choice,
    print_facts,
    print_json,
    print_notes,
    shares_in_short,
    words_in_short,
)
from semisvm.cli.several import Several, read_shares, show_labels
from semisvm.estimators.registry import AUTO, get, is_committee
from semisvm.estimators.registry import methods as all_methods
from semisvm.text import series

if TYPE_CHECKING:
    from semisvm.model import Model
    from semisvm.training import Progress


@dataclass(frozen=True)
class Keeping:
    """A file that keeps a fit."""

    checkpoint: Annotated[
        Path | None,
        typer.Option(
            "--checkpoint",
            help="File that keeps the fit as it goes, so that it can go on after it was stopped.",
            metavar="FILE",
        ),
    ] = None
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the file of --checkpoint, if it is there.")
    ] = False

    def check(self, algorithm: str) -> None:
        """Refuse what cannot be kept, before the data are read."""
        if self.checkpoint is None:
            if self.resume:
                raise UserError("--resume needs --checkpoint FILE, the file to go on from.")
            return
        if algorithm == AUTO:
            raise UserError(
                "--checkpoint keeps one fit, and --algorithm auto makes many to choose a method: "
                "name the method, as in -a tsvm."
            )
        from semisvm.tables.writing import check_place

        check_place(self.checkpoint)

    def kept(self, progress: "Progress") -> "Progress":
        """Return a progress that also keeps the last fit in the file, if there is to be one."""
        path = self.checkpoint
        return progress if path is None else _Kept(progress, path, self.resume)


class _Kept:
    """A progress of `semisvm.train` whose callback keeps the fit."""

    def __init__(self, progress: "Progress", path: Path, resume: bool) -> None:
        self._progress = progress
        self._path = path
        self._resume = resume

    def choosing(self) -> AbstractContextManager[Any]:
        """Show the fits that choose a method; they are not kept."""
        return self._progress.choosing()

    @contextmanager
    def fitting(self, method: str) -> Iterator[Any]:
        """Show and keep the last fit."""
        from semisvm.persistence.checkpoints import Checkpoint

        class _Resumable(Checkpoint):
            """A checkpoint whose hint names the option of the command line."""

            def how_to_resume(self) -> str:
                """Return how to go on after the fit was stopped."""
                return f"{self.path} holds the fit: to go on, run the same command with --resume"

            def wrote(self) -> None:
                """Print that too if the process is killed."""
                when_stopped(message=f"stopped; {self.how_to_resume()}")

        with self._progress.fitting(method) as callback:
            keeper = _Resumable(self._path, resume=self._resume, callback=callback)
            if self._resume and self._path.exists():
                keeper.wrote()
            elif self._resume:
                print_stderr(f"note: there is no {self._path} yet: the fit starts at the beginning")
            yield keeper


NAMES = ", ".join(method.name for method in all_methods())


@dataclass(frozen=True)
class Limits:
    """What limits the choice of a method, under the names that `semisvm.train` has for it."""

    quick: Annotated[bool, typer.Option("--quick", help="auto: try four quick methods only.")] = (
        False
    )
    exportable: Annotated[
        bool,
        typer.Option(
            "--exportable", help="auto: try only methods that 'semisvm export' writes to ONNX."
        ),
    ] = False
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            min=0.1,
            metavar="SECONDS",
            help="auto: seconds for the choice; the last fit comes on top. Default: 20.",
        ),
    ] = None

    def given(self) -> dict[str, bool]:
        """Return which options are given."""
        return {
            f"--{own.name.replace('_', '-')}": getattr(self, own.name) != own.default
            for own in dataclasses.fields(self)
        }


@dataclass(frozen=True)
class MethodOptions:
    """The method and its parameters."""

    algorithm: Annotated[
        str,
        typer.Option(
            "-a",
            "--algorithm",
            help=f"One of {NAMES} (see 'semisvm methods'), or auto, which tries several and takes "
            "the best one, or a committee of them.",
        ),
    ] = AUTO
    reg: Annotated[float | None, typer.Option("--reg", help="Strength of the regularisation.")] = (
        None
    )
    unlabeled_weight: Annotated[
        float | None,
        typer.Option("--unlabeled-weight", help="Total weight of the unlabelled rows."),
    ] = None
    kernel: Annotated[
        str | None,
        typer.Option(
            "--kernel", help="Kernel: linear, rbf, poly, sigmoid, laplacian, cosine or latent."
        ),
    ] = None
    class_weight: Annotated[
        str | None,
        typer.Option(
            "--class-weight",
            metavar="WEIGHTS",
            help="svm: factors of classes, as in spam=5, or balanced.",
        ),
    ] = None
    label_noise: Annotated[
        float | None,
        typer.Option(
            "--label-noise",
            metavar="SHARE",
            help="Share of the given labels that are wrong: methods that take evidence trust those "
            "less that the others contradict.",
        ),
    ] = None

    def check(self, limits: Limits) -> None:
        """Refuse what only the choice of a method takes."""
        if self.algorithm != AUTO and any(limits.given().values()):
            raise UserError(f"{series(limits.given())} are for --algorithm auto.")
        if self.algorithm == AUTO and self.class_weight is not None:
            raise UserError(
                "--class-weight is for --algorithm svm. Methods that use unlabelled rows take "
                "--prior; --sample-weight weighs single rows."
            )

    def parameters(self, jobs: int | None, prior: str | None) -> dict[str, Any]:
        """Return the parameters that are given, if the method has them; not those of classes."""
        given = {
            "reg": self.reg,
            "unlabeled_weight": self.unlabeled_weight,
            "kernel": self.kernel,
            "label_noise": self.label_noise,
            "n_jobs": jobs,
        }
        found = {name: value for name, value in given.items() if value is not None}
        if self.algorithm != AUTO:
            later = {"class_prior": prior, "class_weight": self.class_weight}
            also = [name for name, value in later.items() if value is not None]
            _check_has(self.algorithm, [*found, *also])
        return found


def fit(
    data: shared.ManyData,
    output: Annotated[
        Output,
        file_option(
            "-o",
            "--output",
            help="Model file to write; - is standard output.",
            parser=binary_output,
        ),
    ],
    *,
    several: Several,
    answered: Answered,
    columns: Columns,
    method: MethodOptions,
    limits: Limits,
    prior: shared.Prior = None,
    only_positive: shared.OnlyPositive = None,
    use: shared.Use = shared.NEW_ROWS,
    sample_weight: shared.SampleWeight = None,
    weak: shared.Weak = None,
    probabilities: Annotated[
        bool,
        typer.Option(
            "--probabilities", help="Calibrate probabilities for predict; takes five more fits."
        ),
    ] = False,
    words: Words,
    vectors: TrainingVectors,
    as_is: shared.AsIs = False,
    jobs: shared.Jobs = None,
    seed: shared.Seed = 0,
    file: LabelledFile,
    report: reporting.ReportFile = None,
    keeping: Keeping,
    cluster: clusters.FitCluster,
    quiet: shared.Quiet = False,
    as_json: shared.Json = False,
) -> None:
    """Train a model on a file in which few rows have labels.

    Without --algorithm several methods are tried on labels that are held out. The best one, or
    a committee, is fitted, and the summary has the reasons. Ctrl-C ends the trials; the
    methods tried so far decide.

    With --workers or --cluster, several files are converted and fitted by worker processes, which
    share the rows.

    With --tags COLUMN, or several --label, rows have several labels, and there is one machine per
    label.
    """
    method.check(limits)
    shared.check_use(use)
    several.check(
        {
            "--answers": bool(answered.answers),
            "--labels": file.labels is not None,
            "--checkpoint": keeping.checkpoint is not None,
            "--cluster or --workers": cluster.is_wanted,
            "--report": report is not None,
            **limits.given(),
            "--class-weight": method.class_weight is not None,
            "--use": use != shared.NEW_ROWS,
            "--weak": bool(weak),
            "--only-positive": only_positive is not None,
        }
    )
    label = several.one
    keeping.check(method.algorithm)
    parameters = method.parameters(jobs, prior)
    if cluster.is_wanted:
        clusters.check_fit(
            method.algorithm, method.kernel, probabilities, answered, sample_weight, vectors
        )
    elif len(data) > 1:
        raise UserError(
            f"there are {len(data)} files. Several are fitted together with --workers N or "
            "--cluster ADDRESS, or after 'semisvm convert', which makes one folder of them."
        )
    from semisvm.cli.progress import Shown
    from semisvm.training import train

    features, shown = columns.features(words), not quiet and not as_json
    place = cluster.scratch or output.path.parent
    with (
        cluster.connected() as client,
        clusters.training_data(
            client,
            data,
            label,
            file,
            features,
            place,
            label_comes=bool(answered.answers),
            shown=shown,
        ) as table,
        as_usage_error(),
        remarks_in_summary(shown),
    ):
        table, notes = answered.join(table, label, file.marks)
        table, weight = take_weights(table, sample_weight)
        table, classes = take_class(table, only_positive)
        cells = None
        if several.is_multi_label:
            table, cells = several.take(table, file.marks)
        of_classes = {
            "class_prior": class_shares(prior, table, classes)
            if cells is None
            else read_shares(prior, cells.names),
            "class_weight": class_factors(method.class_weight, table),
        }
        parameters |= {name: value for name, value in of_classes.items() if value is not None}
        for name in weak or []:
            check_column(table, name)
        table, added = vectors.add(answered.without_key(table), features, shown)
        settings = {
            "label": label,
            "unlabeled": file.marks.unlabeled,
            "na_is_class": file.marks.na_is_class or None,
            ONLY_POSITIVE: only_positive,
            **added,
            **(several.settings if several.is_multi_label else {}),
        }
        model = train(
            table,
            method.algorithm,
            labels=cells,
            features=features,
            settings=settings,
            probabilities=probabilities,
            as_is=as_is,
            use=use,
            random_state=seed,
            notes=notes,
            progress=keeping.kept(Shown(shown)),
            n_parts=None if client is None else clusters.n_parts(client),
            sample_weight=weight,
            weak=weak or None,
            classes=classes,
            **dataclasses.asdict(limits),
            **parameters,
        )
    named = data[0].name if len(data) == 1 else f"{len(data)} files"
    _write(model, output, report, f"Model of {named}", shown, as_json)


def _write(
    model: "Model", output: Output, report: Output | None, title: str, shown: bool, as_json: bool
) -> None:
    """Save the model and its report, and show a summary."""
    from semisvm.persistence.model_files import save

    for note in model.summary.get("choice", {}).get("notes", []):
        print_stderr(f"note: {in_options(note)}")
    save(model, output.target, created=reporting.today())
    when_stopped(message=f"stopped; the model {output} is written")
    # files come before the summary, whose reader may be gone before its end
    failure = reporting.write(model, report, title=title, created=reporting.today())
    outcome = _outcome(model)
    if as_json:
        print_json({"model": output, **model.summary, **outcome})
    elif shown:
        _show(model, output, outcome)
    if failure is not None:
        raise UserError(f"the model was saved to {output}; the report was not: {failure}")
    if shown:
        reporting.print_written(report)


def _check_has(algorithm: str, names: list[str]) -> None:
    """Refuse parameters that the method does not have."""
    with as_usage_error():
        method = get(algorithm)
    for name in names:
        if name not in method.parameters:
            raise UserError(f"the method {method.name!r} has no {OPTIONS[name]}.")


def _outcome(model: "Model") -> dict[str, Any]:
    from semisvm.estimators.class_shares import prior_source

    estimator, features = model.estimator, model.features
    names = model.label_names or [str(label) for label in estimator.classes_.tolist()]
    shares = dict(zip(names, estimator.class_prior_.tolist(), strict=True))
    found = {
        "kept_words": {} if features is None else features.kept_words(),
        "reg": getattr(estimator, "reg_", None),
        "objective": getattr(estimator, "objective_", None),
        "rounds": getattr(estimator, "n_iter_", None),
        "prior": shares,
        "prior_source": None if model.label_names else prior_source(estimator),
        "probabilities": model.has_probabilities,
    }
    left_out = ["kept_words"] if features is None else []
    if model.label_names or is_committee(estimator):  # each has its own
        left_out += ["objective", "rounds"]
    if model.label_names:
        left_out += ["prior_source"]
    return {name: value for name, value in found.items() if name not in left_out}


def _show(model: "Model", output: Output, outcome: dict[str, Any]) -> None:
    summary = dict(model.summary)
    notes, choice = summary.pop("notes"), summary.pop("choice", None)
    summary.pop("scores", None)
    counts = summary.pop("several_labels", {})
    if model.features is not None:
        summary["columns"] = columns_in_short(model.features.kinds_)
        summary |= words_in_short(outcome["kept_words"])
    if model.label_names:
        print_facts(f"Model {output}", {**summary, "probabilities": model.has_probabilities})
        show_labels(model, counts)
    else:
        facts = {**summary, **shares_in_short(outcome)}
        facts.pop("kept_words", None)  # in short already
        known = {name: value for name, value in facts.items() if value is not None}
        print_facts(f"Model {output}", known)
    print_choice(choice)
    print_notes("note", notes)
