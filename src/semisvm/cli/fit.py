"""``semisvm fit``: from a file to a model."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli import reporting
from semisvm.cli.errors import UserError, parameters_are_the_users
from semisvm.naming import near_match
from semisvm.registry import Method, get
from semisvm.registry import methods as all_methods

if TYPE_CHECKING:
    from semisvm.io import MatrixData, Table
    from semisvm.model import Model

DEFAULT = "tsvm"
NAMES = ", ".join(method.name for method in all_methods())


def fit(
    data: shared.Data,
    output: Annotated[
        Path, typer.Option("-o", "--output", help="Model file to write.", show_default=False)
    ],
    label: Annotated[
        str | None, typer.Option("--label", help="Label column; blank is unlabelled.")
    ] = None,
    text: Annotated[
        list[str] | None, typer.Option("--text", help="A text column; repeatable.")
    ] = None,
    features: Annotated[
        list[str] | None,
        typer.Option(
            "--features",
            help="A column to use, besides those of given kinds; repeatable. Default: all.",
        ),
    ] = None,
    numeric: Annotated[
        list[str] | None, typer.Option("--numeric", help="A column of numbers; repeatable.")
    ] = None,
    categorical: Annotated[
        list[str] | None, typer.Option("--categorical", help="A column of categories; repeatable.")
    ] = None,
    algorithm: Annotated[str, typer.Option("-a", "--algorithm", help=f"One of {NAMES}.")] = DEFAULT,
    reg: Annotated[
        float | None, typer.Option("--reg", help="Strength of the regularisation.")
    ] = None,
    unlabeled_weight: Annotated[
        float | None,
        typer.Option("--unlabeled-weight", help="Weight of all unlabelled rows together."),
    ] = None,
    prior: Annotated[
        str | None,
        typer.Option(
            "--prior",
            help="Shares of the classes among the unlabelled rows, as spam=0.4,ham=0.6; "
            "'labelled' takes those of the labels, which is the default.",
        ),
    ] = None,
    ngrams: Annotated[int, typer.Option("--ngrams", help="Longest run of words used.")] = 1,
    min_df: Annotated[int, typer.Option("--min-df", help="Words in fewer rows are left out.")] = 2,
    jobs: Annotated[int | None, typer.Option("--jobs", help="Threads; -1 is all.")] = None,
    labels: shared.LabelsFile = None,
    unlabeled: shared.Unlabeled = None,
    zero_based: shared.ZeroBased = None,
    format: shared.Format = None,
    encoding: shared.Encoding = None,
    delimiter: shared.Delimiter = None,
    no_quotes: shared.NoQuotes = False,
    report: reporting.ReportFile = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No progress, no summary.")] = False,
    as_json: shared.Json = False,
) -> None:
    """Fit a model to a file in which few rows have labels."""
    given = {"reg": reg, "unlabeled_weight": unlabeled_weight, "n_jobs": jobs}
    with parameters_are_the_users():
        method = get(algorithm)
    parameters = _parameters(method, given, prior)
    from semisvm.cli.output import print_json
    from semisvm.columns import ColumnFeatures
    from semisvm.io import DataError, read
    from semisvm.model_files import save

    if not output.parent.is_dir():
        raise DataError(f"there is no folder {str(output.parent)!r} to write to.", output)
    reporting.check_place(report)
    table = read(
        data,
        label=label,
        labels_file=labels,
        unlabeled=unlabeled,
        zero_based="auto" if zero_based is None else zero_based,
        **shared.reading(format, encoding, delimiter, no_quotes),
    )
    columns = ColumnFeatures(
        text=text,
        numeric=numeric,
        categorical=categorical,
        features=features,
        ngram_range=(1, ngrams),
        min_df=min_df,
    )
    if prior is not None and table.labels is not None:
        parameters["class_prior"] = read_prior(prior, set(table.labels.tolist()) - {None})
    settings = {"label": label, "unlabeled": unlabeled}
    model = _train(table, method, columns, settings, parameters, not quiet and not as_json)
    save(model, output, created=_today())
    if as_json:
        print_json({"model": output, **model.summary, **_outcome(model)})
    elif not quiet:
        _show(model, output)
    hushed = quiet or as_json
    reporting.write(model, report, title=f"Model of {data.name}", created=_today(), quiet=hushed)


def _parameters(method: Method, given: dict[str, Any], prior: str | None) -> dict[str, Any]:
    """Keep what was given, and refuse what the method does not have."""
    used = {name: value for name, value in given.items() if value is not None}
    wanted = [*used, *(["class_prior"] if prior is not None else [])]
    for name in wanted:
        if method.parameter(name) is None:
            option = "--prior" if name == "class_prior" else f"--{name.replace('_', '-')}"
            raise UserError(f"the method {method.name!r} has no {option}.")
    return used


def read_prior(text: str, classes: set[Any]) -> dict[Any, float] | None:
    """Read class shares such as ``spam=0.4,ham=0.6``.

    Parameters
    ----------
    text : str
        "labelled" leaves the shares to the labels. A class may be left out; then the
        classes left out share the rest.
    classes : set
        The labels that there are.
    """
    if text in ("labelled", "labeled"):
        return None
    known = {str(label): label for label in classes}
    shares: dict[Any, float] = {}
    for part in text.split(","):
        name, equals, number = part.rpartition("=")
        if not equals:
            raise UserError(f"--prior must look like spam=0.4,ham=0.6, but {part!r} has no '='.")
        if name.strip() not in known:
            near = near_match(name, known)
            hint = f" Did you mean {near!r}?" if near else ""
            names = ", ".join(sorted(known))
            raise UserError(f"--prior names the class {name!r}.{hint} The classes are {names}.")
        try:
            shares[known[name.strip()]] = float(number)
        except ValueError:
            raise UserError(f"--prior gives {name!r} the share {number!r}, no number.") from None
    rest = [label for label in classes if label not in shares]
    for label in rest:
        shares[label] = max(0.0, 1.0 - sum(shares.values())) if len(rest) == 1 else 0.0
    if len(rest) > 1:
        raise UserError(f"--prior has no share for {', '.join(sorted(map(str, rest)))}.")
    return shares


def _train(
    table: "Table | MatrixData",
    method: Method,
    columns: Any,
    settings: dict[str, Any],
    parameters: dict[str, Any],
    watched: bool,
) -> "Model":
    from semisvm.cli.progress import watching
    from semisvm.model import train

    probe = method.make(**parameters)
    weight = float(getattr(probe, "unlabeled_weight", 1.0))
    hottest = float(getattr(probe, "temperature", 1.0)) * weight
    with watching(watched, hottest, weight) as callback, parameters_are_the_users():
        return train(
            table,
            method.name,
            features=columns,
            settings=settings,
            callback=callback,
            **parameters,
        )


def _today() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).strftime("%Y-%m-%d")


def _outcome(model: "Model") -> dict[str, Any]:
    estimator = model.estimator
    classes = [str(label) for label in estimator.classes_.tolist()]
    return {
        "reg": estimator.reg,
        "objective": estimator.objective_,
        "rounds": estimator.n_iter_,
        "prior": dict(zip(classes, estimator.class_prior_.tolist(), strict=True)),
    }


def _show(model: "Model", output: Path) -> None:
    from semisvm.cli.output import print_facts

    summary = dict(model.summary)
    notes = summary.pop("notes")
    summary.pop("scores", None)
    if model.features is not None:
        summary["columns"] = model.features.kinds_
    print_facts(f"Model {output}", {**summary, **_outcome(model)})
    for note in notes:
        typer.echo(f"note: {note}")
