"""``semisvm compare``: methods side by side, and whether the unlabelled rows helped."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.embeddings import TrainingVectors
from semisvm.cli.inputs import Answered, LabelledFile, check_column, take_weights
from semisvm.cli.messages import UserError, as_usage_error, remarks_in_summary
from semisvm.cli.options import Columns, Words, class_shares
from semisvm.cli.outputs import Output, attempt
from semisvm.cli.printing import fit_command, print_json, print_line, print_notes, print_table
from semisvm.estimators.registry import Method, get, without_effect
from semisvm.estimators.registry import methods as all_methods

if TYPE_CHECKING:
    from semisvm.model_selection import Comparison
    from semisvm.model_selection.method_comparison import Plan
    from semisvm.preparing import Prepared
    from semisvm.tables.table import MatrixData, Table

SCORINGS = ("accuracy", "balanced_accuracy", "f1_macro", "average_precision")
FOLDS = 5
ALL = "all"
WEAK = " weak"
"""End of the name of a method that is fitted with weak labels."""
UNFINISHED = "stopped: these methods were finished"
NO_LEAK = (
    "features are made from the columns of all rows, held-out ones too, but not from the labels"
)
ONLY_RAISED = (
    "features are made from the columns of all rows. Labels, held-out ones too, only decide which "
    "columns are raised, which adds about half a point to accuracies"
)


def compare(
    context: typer.Context,
    data: shared.Data,
    *,
    label: shared.Label = None,
    answered: Answered,
    columns: Columns,
    methods: Annotated[
        str | None,
        typer.Option(
            "--methods",
            help="Names of methods, separated by commas, or all. Default: tsvm, da and what is "
            "quick on data of this size. The supervised svm is always included.",
        ),
    ] = None,
    folds: Annotated[
        int | None,
        typer.Option(
            "--folds",
            min=2,
            help="Folds of the labelled rows. Default: 5, or fewer if labels are few.",
        ),
    ] = None,
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats", min=1, help="Repeats of the folds. Default: 3, or 1 if that takes long."
        ),
    ] = None,
    scoring: Annotated[
        str, typer.Option("--scoring", help=f"Score to compare: {', '.join(SCORINGS)}.")
    ] = SCORINGS[0],
    use: shared.Use = shared.NEW_ROWS,
    prior: shared.Prior = None,
    sample_weight: shared.SampleWeight = None,
    weak: shared.Weak = None,
    figure: shared.Figure = None,
    words: Words,
    vectors: TrainingVectors,
    as_is: shared.AsIs = False,
    jobs: shared.Jobs = None,
    seed: shared.Seed = 0,
    file: LabelledFile,
    as_json: shared.Json = False,
) -> None:
    """Find out whether the unlabelled rows help.

    Methods are cross-validated on the labelled rows and compared with the supervised SVM.

    With --weak COLUMN, methods that can use unreliable labels are compared with them and without.
    The scores are those on the labels of the label column.
    """
    if scoring not in SCORINGS:
        raise UserError(f"--scoring must be one of {', '.join(SCORINGS)}, not {scoring!r}.")
    shared.check_use(use)
    chosen = _named(methods)
    shared.check(figure)
    from semisvm.preparing import prepare
    from semisvm.tables.votes import take_votes

    table, notes = file.read_and_join(data, label, answered)
    table, weight = take_weights(table, sample_weight)
    features = columns.features(words)
    shares = class_shares(prior, table)
    with as_usage_error(), remarks_in_summary(not as_json):
        table, _ = vectors.add(answered.without_key(table), features, shown=not as_json)
        for name in weak or []:
            check_column(table, name)
        table, votes = take_votes(table, weak or None)
        prepared = prepare(table, features, as_is=as_is, sample_weight=weight)
        prepared.notes += [*notes, *_add_weak(prepared, votes)]
        fitting, skipped = _suitable(prepared, chosen)
        folds = _folds(prepared) if folds is None else folds
        planned = _plan(prepared, fitting, folds, repeats, bounded=methods is None)
        prepared.notes += _about_options(planned, prior)
        matrices = _matrices(prepared, table, planned.methods, as_is)

        def shown(found: "Comparison", stopped: bool = False) -> None:
            if as_json:
                left_out = {**skipped, **planned.reasons()}
                facts = {"stopped": stopped, "skipped": left_out, "notes": prepared.notes}
                print_json({"data": data, "figure": figure, **facts, **found.to_dict()})
            else:
                _show(found, skipped, planned, prepared, data)
                if not stopped:
                    _suggest(context, found, data)

        dealing = (folds, planned.repeats, seed)
        judging = {"scoring": scoring, "use": use, "matrices": matrices}
        found = _run(prepared, planned, shares, dealing, judging, jobs, (not as_json, shown))
    failure = None if figure is None else attempt(lambda: _draw(found, figure))
    shown(found)
    if failure is not None:
        raise UserError(f"the figure was not written: {failure}")


def _named(text: str | None) -> list[Method]:
    """Return the named methods, the supervised baseline first."""
    baseline = all_methods()[0]
    if text is None or text.strip().casefold() == ALL:
        # another supervised method that wins is no evidence about the unlabelled rows
        return [
            m for m in all_methods() if m.compared and (m is baseline or m.suits.needs_unlabeled)
        ]
    with as_usage_error():
        named = {get(name.strip()).name for name in text.split(",") if name.strip()}
    return [m for m in all_methods() if m is baseline or m.name in named]


def _suitable(prepared: "Prepared", chosen: list[Method]) -> tuple[list[Method], dict[str, str]]:
    """Split the methods into those that suit the data, and reasons for the others."""
    from semisvm.labels.partial import encode

    n_unlabeled = len(encode(prepared.labels, None).unlabeled)
    reasons = {method.name: method.misfit(n_unlabeled) for method in chosen}
    if prepared.weight is not None:
        reasons |= {m.name: "it takes no weights of rows" for m in chosen if not m.takes_weights}
    skipped = {name: reason for name, reason in reasons.items() if reason is not None}
    return [method for method in chosen if method.name not in skipped], skipped


def _add_weak(prepared: "Prepared", votes: dict[str, Any]) -> list[str]:
    """Add weak labels as evidence; return a note about them."""
    from semisvm.labels.partial import encode
    from semisvm.preparing import weak_labels

    if not votes:
        return []
    prepared.evidence = weak_labels(prepared, votes)
    labels = encode(prepared.labels, None)
    about = prepared.evidence.bind(labels).describe(labels)
    return [f"{about[0].lower()}{about[1:]}."]


def _folds(prepared: "Prepared") -> int:
    from semisvm.tables.labels import count_repeated

    return max(2, min(FOLDS, count_repeated(prepared.labels)))


def _plan(
    prepared: "Prepared", fitting: list[Method], folds: int, repeats: int | None, bounded: bool
) -> "Plan":
    """Choose what is quick on data of this size, or all methods that were named."""
    from semisvm.designs.costs import Size
    from semisvm.model_selection.method_comparison import plan
    from semisvm.tables.labels import count_labels

    size = Size.of(prepared.X, len(count_labels(prepared.labels)))
    return plan(fitting, size, folds, repeats, bounded=bounded)


def _matrices(
    prepared: "Prepared", table: "Table | MatrixData", methods: Sequence[Method], as_is: bool
) -> dict[str, Any]:
    """Return the features of methods for which `fit` raises informative columns further."""
    from semisvm.preparing import features_for, prepare_rows

    features = prepared.features
    if features is None or not features.informative_:
        return {}
    made = {m.name: features_for(m.name, features) for m in methods}
    further = [name for name, own in made.items() if own.raised != features.raised]
    if not further:
        return {}
    X = prepare_rows(table, prepared.labels, made[further[0]], as_is=as_is).X
    return dict.fromkeys(further, X)


def _about_options(planned: "Plan", prior: str | None) -> list[str]:
    """Name the methods on which the class shares have no effect."""
    if prior is None:
        return []
    methods = [method for method in planned.methods if method is not all_methods()[0]]
    return [note for method in methods for note in without_effect(method, ["class_prior"], methods)]


def _run(
    prepared: "Prepared",
    planned: "Plan",
    shares: Any,
    dealing: tuple[int, int, int],
    judging: dict[str, Any],
    jobs: int | None,
    watched: tuple[bool, Any],
) -> "Comparison":
    from semisvm.cli.progress import counting
    from semisvm.model_selection import PartialLabelKFold
    from semisvm.model_selection import compare as cross_validate

    folds, repeats, seed = dealing
    cv = PartialLabelKFold(
        folds, n_repeats=repeats, shuffle=True, random_state=seed, unlabeled=None
    )
    made, costs = {}, dict(planned.costs)
    for method in planned.methods:
        given = {"class_prior": shares} if method.suits.uses_prior else {}
        made[method.name] = method.make(unlabeled=None, **given)
        if prepared.evidence is not None and method.takes_evidence:
            made[method.name].set_params(evidence_weight=0.0)
            made[method.name + WEAK] = method.make(unlabeled=None, **given)
            costs[method.name + WEAK] = costs[method.name]
    looked_at, shown = watched
    leave_unfinished(shown)
    with counting(looked_at, costs) as callback:
        return cross_validate(
            made,
            prepared.X,
            prepared.labels,
            cv=cv,
            unlabeled=None,
            n_jobs=jobs,
            progress=callback,
            finished=lambda found: leave_unfinished(shown, found),
            sample_weight=prepared.weight,
            evidence=prepared.evidence,
            **judging,
        )


def leave_unfinished(shown: Any, found: "Comparison | None" = None) -> None:
    """Keep the table of the methods that are finished, in case the command is stopped."""
    from contextlib import redirect_stdout
    from io import StringIO

    from semisvm.cli.interrupts import when_stopped

    if found is None:
        when_stopped(message="stopped; no method was finished")
        return
    with redirect_stdout(StringIO()) as text:
        shown(found, True)
    when_stopped(text.getvalue().rstrip("\n"), UNFINISHED)


def _draw(found: "Comparison", figure: Output) -> None:
    from semisvm.reporting.method_displays import ComparisonDisplay

    shared.write(ComparisonDisplay.from_comparison(found).figure_, figure)


def _show(
    found: "Comparison", skipped: dict[str, str], planned: "Plan", prepared: "Prepared", data: Path
) -> None:

    against = {d.name: d for d in found.differences}
    rows = []
    for method in found.methods:
        ahead, compared = against.get(method.name), ["", "", ""]
        if ahead is not None:
            low, high = ahead.interval
            compared = [f"{ahead.mean:+.3f}", f"{low:+.3f} to {high:+.3f}", ahead.verdict]
        rows.append([method.name, f"{method.mean:.3f}", *compared, f"{method.fit_seconds:.2f}"])
    header = [
        "method",
        found.scoring,
        f"against {found.baseline}",
        f"{found.confidence:.0%} interval",
    ]
    title = f"{found.n_labeled} labelled and {found.n_unlabeled:,} unlabelled rows of {data}"
    print_table(title, [*header, "verdict", "seconds"], rows)
    print_line()
    for sentence in [*_about_parts(found), *found.did_it_help().sentences]:
        print_line(sentence)
    print_notes("note", [f"{name} is left out: {why}" for name, why in skipped.items()])
    print_notes("note", [*planned.notes(), *prepared.notes])
    if prepared.features:
        print_notes("note", [ONLY_RAISED if prepared.features.informative_ else NO_LEAK])


def _about_parts(found: "Comparison") -> list[str]:
    """Return a sentence with the scores of new rows and of rows of the fit, if there are both."""
    listed = ", ".join(
        f"{m.name} {m.new_rows:.3f} and {m.fit_rows:.3f}"
        for m in found.methods
        if m.new_rows is not None and m.fit_rows is not None
    )
    if not listed:
        return []
    return [
        "Half of the held-out rows took no part in the fits, as new rows do; the others were "
        f"unlabelled rows of them. {found.scoring} on these two: {listed}."
    ]


def _suggest(context: typer.Context, found: "Comparison", data: Path) -> None:
    """Print the command that fits the recommended method, on a line of its own."""
    from semisvm.model_selection.verdict import NO_EVIDENCE

    verdict, output = found.did_it_help(), f"{data.stem}.semisvm"
    if found.differences and verdict.word == NO_EVIDENCE:
        print_line("\nTo weigh several methods by held-out labels instead of picking one:")
        print_line(fit_command(context, output=output))
    print_line(f"\nTo fit {verdict.recommended}:")
    method = verdict.recommended.removesuffix(WEAK)
    others: dict[str, Any] = {} if verdict.recommended.endswith(WEAK) else {"weak": []}
    print_line(fit_command(context, algorithm=method, output=output, **others))
