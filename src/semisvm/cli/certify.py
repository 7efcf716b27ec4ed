"""``semisvm certify``: which rows may take their predicted label."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli.embeddings import Added, Vectors
from semisvm.cli.inputs import Answers, Key, LabelledFile, check_column
from semisvm.cli.messages import UserError, as_usage_error
from semisvm.cli.outputs import Output, check_new, file_option
from semisvm.cli.predict import as_model
from semisvm.cli.printing import print_json, print_line, print_notes, print_table

if TYPE_CHECKING:
    from semisvm.tables.answers import Joined

WHAT = "certified labels"


def certify(
    model: shared.ModelFile,
    data: shared.Data,
    *,
    label: shared.LabelOfFit = None,
    answers: Answers = None,
    key: Key = None,
    error: Annotated[
        float, typer.Option("--error", help="Bound of the share of wrong labels.", metavar="SHARE")
    ] = 0.02,
    confidence: Annotated[
        float, typer.Option("--confidence", help="With which the bound holds.", metavar="SHARE")
    ] = 0.95,
    by_class: Annotated[
        bool,
        typer.Option("--by-class", help="Keep the bound within each predicted class, of all."),
    ] = False,
    drawn_at_random: Annotated[
        bool,
        typer.Option(
            "--drawn-at-random",
            help="All labels that the model has not seen are of rows that were drawn at random. "
            "Default: those of files of 'semisvm select --by random'.",
        ),
    ] = False,
    output: Annotated[
        Output | None,
        file_option("-o", "--output", help="CSV file for the labels, to be read with --answers."),
    ] = None,
    vectors: Vectors,
    file: LabelledFile,
    as_json: shared.Json = False,
) -> None:
    """Find the unlabelled rows whose predicted labels may be taken.

    At most a share --error of them is wrong, with the given confidence. That rests on labels of
    rows that were drawn at random and that the model has not seen: 'semisvm select --by random'
    draws such rows.
    """
    import numpy as np

    from semisvm.model_selection import certify as find
    from semisvm.persistence.model_files import load
    from semisvm.tables.answers import join_answers, write_answers

    check_new(output, WHAT)
    bundle = as_model(load(model))
    label = bundle.settings.get("label") if label is None else label
    found = file.read(data, label, label_comes=bool(answers))
    if key is not None:
        check_column(found, key)
    joined = join_answers(found, answers or [], label=label, key=key, **file.marks.arguments())
    if joined.data.labels is None:
        raise UserError(f"{data} has no labels: name the label column with --label.")
    (rows,) = Added(bundle, vectors).to_all(iter([joined.data]))
    known = np.array([value is not None for value in joined.data.labels])
    seen = bundle.trained_on(rows)
    fresh = known if seen is None else known & ~seen
    sample, notes = _sample(joined, fresh, drawn_at_random)
    with as_usage_error():
        certificate = find(
            bundle,
            rows,
            joined.data.labels,
            error=error,
            confidence=confidence,
            by_class=by_class,
            sample=sample,
            unlabeled=None,
        )
    if output is not None:
        pairs = zip(certificate.rows.tolist(), certificate.labels.tolist(), strict=True)
        labels = {row: str(value) for row, value in pairs}
        write_answers(output.path, joined.data, labels, {}, label=label, key=key)
    notes += joined.notes
    if as_json:
        numbers = (certificate.rows + 1).tolist()
        facts = {**certificate.to_dict(), "rows": numbers, "sentences": certificate.sentences}
        print_json({"model": model, "data": data, **facts, "notes": notes})
        return
    for sentence in certificate.sentences:
        print_line(sentence)
    classes = certificate.to_dict()["classes"]
    counts = [[name, *(c[k] for k in COLUMNS)] for name, c in classes.items()]
    print_table("\nPredicted classes", ["", *COLUMNS.values()], counts)
    if output is not None:
        print_line(f"{len(certificate.rows):,} labels are in {output}.")
    print_notes("note", notes)


COLUMNS = {
    "rows": "unlabelled rows",
    "certified": "certified",
    "sample": "random labels",
    "sample_errors": "wrong",
}


def _sample(joined: "Joined", fresh: Any, all_random: bool) -> tuple[Any, list[str]]:
    """Return the labels of random rows, shape (n,) of bool, and notes about the others."""
    import numpy as np

    from semisvm.tables.answers import RANDOM

    ways = np.array([joined.picked.get(row, "") for row in range(len(fresh))])
    chosen = fresh & (ways != "") & (ways != RANDOM)
    sample = fresh & ((ways == RANDOM) | (all_random & (ways == "")))
    if not sample.any():
        unknown = int(np.count_nonzero(fresh & (ways == "")))
        about = (
            f" {unknown:,} labels that the model has not seen have no record of how their rows "
            "were chosen: if all of these were drawn at random, add --drawn-at-random."
            if unknown
            else ""
        )
        raise UserError(
            "there are no labels of random rows that the model has not seen. Draw rows with "
            f"'semisvm select --by random', label them, and name the file with --answers.{about}"
        )
    if not chosen.any():
        return sample, []
    return sample, [
        f"{int(chosen.sum()):,} labels are of rows that were not drawn at random: they certify "
        "nothing and are left out"
    ]
