"""``semisvm evaluate``: how well a model predicts labels that are known."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import clusters, prediction_rules
from semisvm.cli import options as shared
from semisvm.cli.embeddings import Added, Vectors
from semisvm.cli.inputs import (
    ONLY_POSITIVE,
    FileFormat,
    LabelsFile,
    Marks,
    take_weights,
    with_one_other,
)
from semisvm.cli.messages import UserError
from semisvm.cli.predict import as_model
from semisvm.cli.printing import print_facts, print_json, print_line, print_notes, print_table
from semisvm.cli.several import LABELS, TAGS, check_plain, show_assessed, take_labels
from semisvm.cli.several import assess as assess_labels

if TYPE_CHECKING:
    from semisvm.model import Model
    from semisvm.tables.table import MatrixData, Table

MARKS = Marks()
WIDEST, WIDTH, MOST_ERRORS = 10, 70, 10
"""Maximum classes and characters of a confusion table; else the length of the list of errors."""
MOST_SLICES = 30
"""Values of the column of --by in the table; --json has them all."""


def evaluate(
    model: shared.ModelFile,
    data: shared.Data,
    *,
    label: shared.LabelOfFit = None,
    labels: LabelsFile = None,
    sample_weight: Annotated[
        str | None,
        typer.Option(
            "--sample-weight",
            metavar="COLUMN",
            help="Column of weights of the rows in accuracy, macro F and the scores of classes.",
        ),
    ] = None,
    by: Annotated[
        str | None,
        typer.Option(
            "--by",
            metavar="COLUMN",
            help="Judge the rows of each value of a column too, with intervals of the accuracy.",
        ),
    ] = None,
    weak: Annotated[
        list[str] | None,
        typer.Option(
            "--weak",
            metavar="COLUMN",
            help="Column of unreliable labels, to be judged beside the model. Several times for "
            "several sources.",
        ),
    ] = None,
    marks: Marks,
    vectors: Vectors,
    rules: prediction_rules.Rules,
    form: FileFormat,
    cluster: clusters.Cluster,
    as_json: shared.Json = False,
) -> None:
    """Compare predictions with known labels.

    Rows without a label are skipped. Of a model that was fitted with --probabilities, the sets of
    classes are judged too: how often they hold the true class. With --weak the labels of a language
    model, of rules or of others are compared with the model. Of a model of several labels per
    row, every label is judged, in the columns that it was fitted to.
    """
    from semisvm.persistence.model_files import load
    from semisvm.tables.labels import about_missing

    bundle = as_model(load(model), several=True)
    if bundle.label_names:
        given = {"--label": label is not None, "--labels": labels is not None, **rules.given}
        given |= {"--by": by is not None, "--weak": bool(weak)}
        check_plain({**given, "--cluster or --workers": cluster.is_wanted})
        facts = _several(bundle, data, sample_weight, marks, vectors, form)
        if as_json:
            print_json({"model": model, "data": data, **facts})
        else:
            show_assessed(facts)
        return
    requested = prediction_rules.wanted(bundle, rules)
    names = [*([by] if by else []), *(weak or [])]
    table, weight = _read(bundle, data, label, vectors, form, labels, marks, sample_weight, names)
    with cluster.connected() as client:
        if client is None:
            answers = prediction_rules.answers_of(bundle, table, requested)
        else:
            answers = clusters.answers_of(client, bundle, table, requested)
    assessed = assess(bundle, table, bundle.classes_[answers.codes], weight)
    if by is not None:
        assessed["by"] = {"column": by, "slices": slices(bundle, table, answers.codes, by, weight)}
    if weak:
        predicted = bundle.classes_[answers.codes]
        assessed["weak"] = [beside_model(table, predicted, name, weight) for name in weak]
    assessed["trust"] = prediction_rules.judged(bundle, table.labels, requested, answers)
    likeness = prediction_rules.Likeness(bundle)
    list(likeness.watch([table]))
    if requested.decision.is_usual:
        likeness.count(bundle.classes_[answers.codes].tolist())
    notes = [*about_missing(table.missing_words), *likeness.sentences()]
    if weight is not None:
        notes.append(
            f"accuracy, macro F and the scores of classes weigh rows by {sample_weight!r}; the "
            "confusion table and the comparison with a guess count them"
        )
    facts = {**assessed, "notes": notes}
    if as_json:
        print_json({"model": model, "data": data, **facts})
    else:
        _show(facts)


def assessed_file(
    bundle: "Model", data: Path, label: str | None, vectors: Vectors, form: FileFormat
) -> tuple[dict[str, Any], "Table | MatrixData"]:
    """Compare predictions with the labels of a file, without rules; return the rows too."""
    from semisvm.tables.labels import about_missing

    table, _ = _read(bundle, data, label, vectors, form)
    likeness = prediction_rules.Likeness(bundle)
    list(likeness.watch([table]))
    facts = assess(bundle, table, bundle.classes_[bundle.codes(bundle.matrix(table))])
    return {**facts, "notes": [*about_missing(table.missing_words), *likeness.sentences()]}, table


def _several(
    bundle: "Model",
    data: Any,
    sample_weight: str | None,
    marks: Marks,
    vectors: Vectors,
    form: FileFormat,
) -> dict[str, Any]:
    """Judge a model of several labels per row, whose columns are those of the fit."""
    from semisvm.tables.reading import read

    settings = bundle.settings
    if bundle.features is None or not (TAGS in settings or LABELS in settings):
        raise UserError(
            "a model of several labels is compared with columns of a table, and this one was not "
            "fitted to one. In Python: semisvm.load(FILE).score(X, Y)."
        )
    added, weights = Added(bundle, vectors), [sample_weight] if sample_weight else []
    names = [settings[TAGS]] if TAGS in settings else settings[LABELS]
    columns = [*added.columns(bundle.features.columns_), *weights, *names]
    table = read(data, columns=list(dict.fromkeys(columns)), **form.arguments())
    table, weight = take_weights(table, sample_weight)
    table, found = take_labels(table, settings, _marks_of(bundle, marks), bundle.label_names)
    (table,) = added.to_all(iter([table]))
    likeness = prediction_rules.Likeness(bundle)
    list(likeness.watch([table]))
    seen, known = bundle.trained_on(table), found.known.any(axis=1)
    trained = None if seen is None else {"rows": int(seen[known].sum()), "accuracy_on_others": None}
    about = _about_training(trained, int(known.sum()))
    notes = [*likeness.sentences(), *([about] if about else [])]
    return {**assess_labels(bundle, table, found, weight), "trained_on": trained, "notes": notes}


def _marks_of(bundle: "Model", marks: Marks) -> Marks:
    """Return the marks that are given, or those of the fit."""
    fitted = bundle.settings
    unlabeled = fitted.get("unlabeled") if marks.unlabeled is None else marks.unlabeled
    return Marks(unlabeled, marks.na_is_class or fitted.get("na_is_class") is True)


def _read(
    bundle: "Model",
    data: Path,
    label: str | None,
    vectors: Vectors,
    form: FileFormat,
    labels: Path | None = None,
    given: Marks = MARKS,
    sample_weight: str | None = None,
    more: Sequence[str] = (),
) -> tuple["Table | MatrixData", Any]:
    """Read labelled rows with their vectors; return them and the weights of the rows."""
    from semisvm.tables.reading import read

    if more and (bundle.features is None or data.is_dir()):
        what = "this model is for matrices" if bundle.features is None else f"{data} has none"
        raise UserError(f"--by and --weak name columns of a table, and {what}.")

    added, options = Added(bundle, vectors), {"labels_file": labels, **form.arguments()}
    marks = _marks_of(bundle, given)
    if data.is_dir():
        options |= {"label": label, "unlabeled": given.unlabeled, "na_is_class": marks.na_is_class}
    elif bundle.features is not None:
        name = bundle.settings.get("label") if label is None and labels is None else label
        if name is None and labels is None:
            raise UserError("name the label column of the data with --label.")
        columns = [
            *added.columns(bundle.features.columns_),
            *([sample_weight] if sample_weight else []),
            *more,
        ]
        columns = list(dict.fromkeys(columns))
        options |= {"label": name, "columns": columns, **marks.arguments()}
    else:
        first = bool(bundle.settings.get("zero_based", False))
        width = bundle.estimator.n_features_in_
        options |= {"n_features": width, "zero_based": first, **marks.arguments()}
    table, weight = take_weights(read(data, **options), sample_weight)
    (table,) = added.to_all(iter([table]))
    return with_one_other(table, bundle.settings.get(ONLY_POSITIVE)), weight


def assess(
    bundle: "Model", data: "Table | MatrixData", labels: Any, weight: Any = None
) -> dict[str, Any]:
    """Compute accuracy, macro F, the scores of every class, and the confusion table.

    Labels are compared as text, so that 1 in one file is 1 in another. Classes that the
    model does not have count as errors. ``labels`` are the predicted ones, ``weight`` the weights
    of the rows, if they have some. Of rows that trained the model, no conclusion is drawn.
    """
    import numpy as np
    from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

    from semisvm.model_selection.intervals import accuracy_interval
    from semisvm.model_selection.verdict import against_chance

    if data.labels is None:
        raise UserError(f"{data.path} has no labels to compare with.")
    known = np.array([value is not None for value in data.labels])
    if not known.any():
        raise UserError(f"{data.path} has no row with a label.")
    each = None if weight is None else weight[known]
    if each is not None and not each.any():
        raise UserError(f"all rows of {data.path} with a label have weight 0.")
    truth = np.array([str(value) for value in data.labels[known]])
    predicted = np.array([str(value) for value in labels[known].tolist()])
    own = [str(value) for value in bundle.classes_.tolist()]
    names = [*own, *sorted(set(truth.tolist()) - set(own))]
    precision, recall, f1, support = precision_recall_fscore_support(
        truth, predicted, labels=names, zero_division=0.0, sample_weight=each
    )
    present, counts = support > 0, [int(np.count_nonzero(truth == name)) for name in names]
    frequent = names[int(np.argmax(counts))]
    right, guessed = truth == predicted, truth == frequent
    accuracy = float(np.average(right, weights=each))
    chance = against_chance(right.tolist(), guessed.tolist(), len(truth), bounds=(0.0, 1.0))
    trained = _trained_on(bundle, data, labels, weight)
    sentence = _about_training(trained, len(truth)) or chance.sentence("the model")
    return {
        "rows": int(known.sum()),
        "unlabelled_rows": int((~known).sum()),
        "accuracy": accuracy,
        "interval": list(accuracy_interval(accuracy, len(truth), each)),
        "macro_f": float(f1[present].mean()),
        "classes": {
            name: {"precision": p, "recall": r, "f": f, "rows": n}
            for name, p, r, f, n in zip(names, precision, recall, f1, counts, strict=True)
        },
        "confusion": confusion_matrix(truth, predicted, labels=names).tolist(),
        "unknown_classes": names[len(own) :],
        "most_frequent_class": frequent,
        "chance": {**asdict(chance), "sentence": f"{sentence[0].upper()}{sentence[1:]}"},
        "trained_on": trained,
    }


def slices(
    bundle: "Model", data: "Table | MatrixData", codes: Any, by: str, weight: Any = None
) -> list[dict[str, Any]]:
    """Judge the labelled rows of each value of a column, the values with most rows first.

    Parameters
    ----------
    bundle : Model
    data : Table
    codes : int array of shape (n,)
        The predicted classes.
    by : str
    weight : array of shape (n,), optional
    """
    import numpy as np

    from semisvm.model_selection.intervals import accuracy_interval
    from semisvm.model_selection.metrics import f1_macro
    from semisvm.tables.table import Table

    assert isinstance(data, Table)
    labels: Any = data.labels
    known = np.array([value is not None for value in labels])
    values, found = np.array(data.levels(by)), []
    truth = np.array([str(value) for value in labels.tolist()])
    predicted = np.array([str(value) for value in bundle.classes_[codes].tolist()])
    for value in np.unique(values[known]).tolist():
        rows = known & (values == value)
        each = None if weight is None else weight[rows]
        if each is not None and not each.any():
            continue
        right = truth[rows] == predicted[rows]
        accuracy, n = float(np.average(right, weights=each)), int(rows.sum())
        found.append(
            {
                "value": value,
                "rows": n,
                "accuracy": accuracy,
                "interval": list(accuracy_interval(accuracy, n, each)),
                "macro_f": f1_macro(truth[rows], predicted[rows], each),
            }
        )
    return sorted(found, key=lambda part: -part["rows"])


def beside_model(
    data: "Table | MatrixData", predicted: Any, source: str, weight: Any = None
) -> dict[str, Any]:
    """Compare a column of unreliable labels with the model, on labelled rows where it has one.

    Parameters
    ----------
    data : Table
    predicted : array of shape (n,)
        Classes that the model predicts.
    source : str
        Name of the column.
    weight : array of shape (n,), optional
    """
    import numpy as np

    from semisvm.model_selection.intervals import accuracy_interval, clipped, paired_interval
    from semisvm.tables.frames import as_labels
    from semisvm.tables.table import Table

    assert isinstance(data, Table)
    assert data.labels is not None
    votes = as_labels(data.column(source), -1)[0]
    voting, known = (np.array([v is not None for v in own]) for own in (votes, data.labels))
    rows = np.flatnonzero(voting & known & (True if weight is None else weight > 0.0))
    found = {"source": source, "votes": int(voting.sum()), "rows": len(rows)}
    if not len(rows):
        return {**found, "accuracy": None}
    truth, vote, model = (
        np.array([str(v) for v in own[rows].tolist()]) for own in (data.labels, votes, predicted)
    )
    right, ahead = vote == truth, model == truth
    each = None if weight is None else weight[rows]
    accuracy, own = (float(np.average(values, weights=each)) for values in (right, ahead))
    # weighted rows are as many as have the same variance
    worth = len(rows) if each is None else float(each.sum() ** 2 / (each**2).sum())
    gained, lost = (
        float(np.average(rows, weights=each)) for rows in (ahead & ~right, right & ~ahead)
    )
    interval = clipped(paired_interval(gained, lost, worth), (-1.0, 1.0))
    return {
        **found,
        "accuracy": accuracy,
        "interval": list(accuracy_interval(accuracy, len(rows), each)),
        "model": own,
        "model_ahead": own - accuracy,
        "model_ahead_interval": list(interval),
        "both_wrong": float(np.average(~right & ~ahead, weights=each)),
    }


def _trained_on(
    bundle: "Model", data: "Table | MatrixData", labels: Any, weight: Any = None
) -> dict[str, Any] | None:
    """Count labelled rows that trained the model; None if it has no record of them.

    ``labels`` are the predicted ones, ``weight`` the weights of the rows.
    """
    import numpy as np

    from semisvm.tables.errors import DataError

    try:
        seen = bundle.trained_on(data)
    except DataError:
        seen = None
    if seen is None:
        return None
    assert data.labels is not None
    known = np.array([value is not None for value in data.labels])
    truth = [str(value) for value in data.labels.tolist()]
    right = np.array(truth) == np.array([str(value) for value in labels.tolist()])
    others = known & ~seen
    each = None if weight is None else weight[others]
    counts = each.sum() if each is not None else others.sum()
    accuracy = float(np.average(right[others], weights=each)) if counts else None
    return {"rows": int((known & seen).sum()), "accuracy_on_others": accuracy}


def _about_training(found: dict[str, Any] | None, n: int) -> str | None:
    """Return a sentence if labelled rows of the fit are among those of an evaluation."""
    if found is None or not found["rows"]:
        return None
    trained, accuracy = found["rows"], found["accuracy_on_others"]
    equal = "" if trained == n else ", or are equal to rows that did"
    others = f"; it is {accuracy:.4g} on the other {n - trained:,}" if accuracy is not None else ""
    return (
        f"{trained:,} of these {n:,} labelled rows trained the model{equal}: accuracy on them is "
        f"no estimate for new rows{others}."
    )


def _show(facts: dict[str, Any]) -> None:

    names = ("rows", "unlabelled_rows", "accuracy", "macro_f")
    guess = f"{facts['chance']['guess']:.4g} ({facts['most_frequent_class']})"
    trust = prediction_rules.in_short(facts.get("trust", {}))
    own = {n: facts[n] for n in names}
    own["accuracy"] = f"{facts['accuracy']:.4g} (95% interval {_interval(facts)})"
    print_facts("Evaluation", {**own, "most_frequent": guess, **trust})
    print_line(facts["chance"]["sentence"])
    if "by" in facts:
        _show_slices(**facts["by"])
    if "weak" in facts:
        _show_sources(facts["weak"])
    classes = facts["classes"]
    rows = [
        [name, *(f"{c[k]:.3f}" for k in ("precision", "recall", "f")), c["rows"]]
        for name, c in classes.items()
    ]
    print_table("\nClasses", ["", "precision", "recall", "F", "rows"], rows)
    _show_confusion(list(classes), facts["confusion"])
    if facts["unknown_classes"]:
        listed = ", ".join(facts["unknown_classes"])
        print_notes("note", [f"the model has no class {listed}; these rows count as errors"])
    print_notes("note", facts["notes"])


def _interval(facts: dict[str, Any]) -> str:
    low, high = facts["interval"]
    return f"{low:.3f} to {high:.3f}"


def _show_slices(column: str, slices: list[dict[str, Any]]) -> None:
    shown = [
        [
            part["value"] or "(blank)",
            f"{part['accuracy']:.3f}",
            _interval(part),
            f"{part['macro_f']:.3f}",
            part["rows"],
        ]
        for part in slices[:MOST_SLICES]
    ]
    rest = len(slices) - len(shown)
    more = f", the first {MOST_SLICES} of {len(slices):,} values" if rest else ""
    header = ["", "accuracy", "95% interval", "macro F", "rows"]
    print_table(f"\nRows by {column}{more}", header, shown)


def _show_sources(sources: list[dict[str, Any]]) -> None:
    rows = [
        [s["source"], s["rows"], *_judged(s)]
        if s["rows"]
        else [s["source"], 0, "no votes", "", "", ""]
        for s in sources
    ]
    header = ["", "rows", "accuracy", "the model there", "model ahead", "both wrong"]
    print_table("\nWeak labels, where they have a vote", header, rows)


def _judged(source: dict[str, Any]) -> list[str]:
    low, high = source["model_ahead_interval"]
    return [
        f"{source['accuracy']:.3f} ({_interval(source)})",
        f"{source['model']:.3f}",
        f"{source['model_ahead']:+.3f} ({low:+.3f} to {high:+.3f})",
        f"{source['both_wrong']:.3f}",
    ]


def _show_confusion(names: list[str], counts: list[list[int]]) -> None:
    """Print the confusion table, or for many classes the most frequent errors."""
    if len(names) <= WIDEST and sum(len(name) + 2 for name in names) <= WIDTH:
        rows = [[name, *row] for name, row in zip(names, counts, strict=True)]
        print_table("\nRows: true class; columns: predicted", ["", *names], rows)
        return
    errors = [
        (counts[i][j], true, predicted)
        for i, true in enumerate(names)
        for j, predicted in enumerate(names)
        if i != j and counts[i][j]
    ]
    most = sorted(errors, key=lambda error: -error[0])[:MOST_ERRORS]
    rows = [[true, predicted, count] for count, true, predicted in most]
    title = "\nMost frequent errors (--json has the whole confusion table)"
    print_table(title, ["true class", "predicted", "rows"], rows)
