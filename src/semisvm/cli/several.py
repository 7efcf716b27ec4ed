"""Several labels per row: one column per label, or one column of tags."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli.inputs import Marks, check_column
from semisvm.cli.messages import UserError
from semisvm.cli.outputs import with_kept
from semisvm.cli.printing import print_facts, print_notes, print_table

if TYPE_CHECKING:
    from semisvm.model import Model
    from semisvm.tables.several_labels import SeveralLabels
    from semisvm.tables.table import MatrixData, Table

SEPARATOR = ";"
LABELS, TAGS, SEPARATED = "label_columns", "tags", "separator"
"""Settings of the model: where its labels were."""
ONE_LABEL = (
    "this model has several labels per row, and the command is for models of one: 'predict', "
    "'evaluate' and 'inspect' take both."
)


@dataclass(frozen=True)
class Several:
    """Where several labels per row are."""

    label: Annotated[
        list[str] | None,
        typer.Option(
            "--label",
            help="Label column; blank, NA and the like mean unlabelled. Given twice or more: one "
            "column per label, each with the same two values, such as 0 and 1.",
        ),
    ] = None
    tags: Annotated[
        str | None,
        typer.Option(
            "--tags",
            metavar="COLUMN",
            help="Column with several labels per row, as in spam;urgent. Blank means unlabelled, "
            "and a lone separator that the row has none of them.",
        ),
    ] = None
    separator: Annotated[
        str | None, typer.Option("--separator", help=f"Separator of --tags. Default: {SEPARATOR}")
    ] = None

    @property
    def one(self) -> str | None:
        """The label column, if there is one label per row."""
        return self.label[0] if self.label and not self.is_multi_label else None

    @property
    def is_multi_label(self) -> bool:
        """Whether there are several labels per row."""
        return self.tags is not None or len(self.label or ()) > 1

    def check(self, refused: dict[str, bool]) -> None:
        """Refuse options that do not go together; ``refused`` are for one label per row."""
        if self.tags is not None and self.label:
            raise UserError("--tags and --label both name labels: leave one of them out.")
        if self.separator is not None and self.tags is None:
            raise UserError("--separator is for --tags COLUMN.")
        if not self.is_multi_label:
            return
        for option, given in refused.items():
            if given:
                raise UserError(f"{option} is for one label per row, and there are several.")

    @property
    def settings(self) -> dict[str, Any]:
        """What the model keeps, so that `evaluate` finds the labels."""
        if self.tags is None:
            return {LABELS: list(self.label or ())}
        return {TAGS: self.tags, SEPARATED: self.separator or SEPARATOR}

    def take(
        self, data: "Table | MatrixData", marks: Marks
    ) -> tuple["Table | MatrixData", "SeveralLabels"]:
        """Take the labels out of the columns."""
        return take_labels(data, self.settings, marks)


def take_labels(
    data: "Table | MatrixData",
    settings: dict[str, Any],
    marks: Marks,
    names: Sequence[str] | None = None,
) -> tuple["Table | MatrixData", "SeveralLabels"]:
    """Take labels out of the columns that the settings of a model name."""
    from semisvm.tables.opening import Options
    from semisvm.tables.several_labels import label_columns, tag_column
    from semisvm.tables.table import Table

    columns = [settings[TAGS]] if TAGS in settings else list(settings[LABELS])
    for name in columns:
        check_column(data, name)
    assert isinstance(data, Table)
    if TAGS in settings:
        found = tag_column(data, columns[0], settings[SEPARATED], names)
    else:
        found = label_columns(data, columns, Options(**marks.arguments()))
    return data.without(columns), found


def read_shares(text: str | None, names: Sequence[str]) -> Any:
    """Read shares of labels such as ``spam=0.1,urgent=0.2``; those left out are estimated."""
    from semisvm.cli.options import ESTIMATE, LABELLED, read_numbers

    if text is None or text == ESTIMATE:
        return None
    if text in LABELLED:
        return "labels"
    return read_numbers(text, names, "--prior", ("label", "labels"))


def show_labels(model: "Model", counts: dict[str, dict[str, int]]) -> None:
    """Print a table of the labels: known rows and shares."""
    values = [str(value) for value in model.classes_.tolist()]
    shares, errors = model.estimator.class_prior_, model.estimator.class_prior_std_
    rows = [
        [name, *(counts.get(name, {}).get(value, 0) for value in values), f"{p:.3f}", f"{e:.3f}"]
        for name, p, e in zip(model.label_names, shares.tolist(), errors.tolist(), strict=True)
    ]
    print_table("\nLabels", ["", *values, "share", "+-"], rows)


def predicted_rows(
    bundle: "Model", piece: "Table | MatrixData", keep: list[str], all_scores: bool
) -> list[dict[str, Any]]:
    """Return one column per label, and its probability or score if there is one or it is asked."""
    scores = bundle.decision_function(piece)
    columns: dict[str, list[Any]] = {}
    found = {"": bundle.label_values(scores)}
    if bundle.has_probabilities:
        found["probability_"] = bundle.label_probabilities(scores)
    if all_scores:
        found["score_"] = scores
    for prefix, values in found.items():
        for name, column in zip(bundle.label_names, values.T.tolist(), strict=True):
            columns[f"{prefix}{name}"] = column
    return with_kept(piece, keep, columns)


def check_plain(refused: dict[str, bool]) -> None:
    """Refuse options that are for one label per row."""
    for option, given in refused.items():
        if given:
            raise UserError(f"{option} is for models of one label per row, and this has several.")


def assess(
    bundle: "Model", data: "Table | MatrixData", labels: "SeveralLabels", weight: Any = None
) -> dict[str, Any]:
    """Compute precision, recall and F of every label, and their means.

    Values are compared as text, so that 1 in one file is 1 in another. Only known cells count.
    """
    import numpy as np
    from sklearn.metrics import f1_score, precision_recall_fscore_support

    known = labels.known
    if not known.any():
        raise UserError(f"{data.path} has no known label of the model.")
    has = str(bundle.classes_.tolist()[1])
    truth = np.array([[str(cell) == has for cell in row] for row in labels.cells.tolist()])
    found = bundle.predict(data) == bundle.classes_[1]
    each = np.ones(len(truth)) if weight is None else weight
    per_label = {}
    for k, name in enumerate(labels.names):
        rows = known[:, k]
        about: dict[str, Any] = {"rows": int(rows.sum()), "positive": int(truth[rows, k].sum())}
        if rows.any() and each[rows].any():
            p, r, f, _ = precision_recall_fscore_support(
                truth[rows, k],
                found[rows, k],
                average="binary",
                zero_division=0.0,
                sample_weight=each[rows],
            )
            about |= {"precision": float(p), "recall": float(r), "f": float(f)}
        per_label[name] = about
    cells = np.broadcast_to(each[:, None], truth.shape)[known]
    whole = known.all(axis=1)
    right = (truth == found).all(axis=1)
    scored = [about["f"] for about in per_label.values() if about.get("positive") and "f" in about]
    return {
        "rows": int(known.any(axis=1).sum()),
        "unlabelled_rows": int((~known.any(axis=1)).sum()),
        "micro_f": float(
            f1_score(truth[known], found[known], sample_weight=cells, zero_division=0.0)
        ),
        "macro_f": float(np.mean(scored)) if scored else 0.0,
        "all_right": float(np.average(right[whole], weights=each[whole]))
        if each[whole].any()
        else None,
        "labels": per_label,
    }


def show_assessed(facts: dict[str, Any]) -> None:
    """Print what `assess` found."""
    names = ("rows", "unlabelled_rows", "micro_f", "macro_f", "all_right")
    print_facts("Evaluation", {name: facts[name] for name in names if facts[name] is not None})
    rows = [
        [
            name,
            *(f"{about[k]:.3f}" if k in about else "" for k in ("precision", "recall", "f")),
            about["rows"],
            about["positive"],
        ]
        for name, about in facts["labels"].items()
    ]
    print_table("\nLabels", ["", "precision", "recall", "F", "rows", "with it"], rows)
    print_notes("note", facts["notes"])
