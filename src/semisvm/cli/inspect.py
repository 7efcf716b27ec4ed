"""``semisvm inspect``: what is in a model; ``semisvm methods``: the methods to choose from."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from semisvm.cli import options as shared
from semisvm.cli import prediction_rules
from semisvm.cli.convert import describe_rows, show_rows
from semisvm.cli.messages import UserError
from semisvm.cli.predict import as_model
from semisvm.cli.printing import (
    columns_in_short,
    print_choice,
    print_facts,
    print_json,
    print_notes,
    print_table,
    shares_in_short,
    words_in_short,
)
from semisvm.cli.several import show_labels
from semisvm.estimators.registry import Method
from semisvm.estimators.registry import methods as all_methods

if TYPE_CHECKING:
    from semisvm.model import Model


def methods(as_json: shared.Json = False) -> None:
    """List the methods for --algorithm."""
    if as_json:
        print_json({"methods": [_facts(method) for method in all_methods()]})
        return
    rows = [[method.name, ", ".join(method.aliases), method.summary] for method in all_methods()]
    print_table("Methods", ["name", "also", "what it does"], rows)


def _facts(method: Method) -> dict[str, Any]:
    return {
        "name": method.name,
        "aliases": method.aliases,
        "estimator": method.estimator_name,
        "summary": method.summary,
        "parameters": {name: method.default(name) for name in method.parameters},
        "options": method.options,
        "probabilities": method.suits.probabilities,
    }


def inspect(
    model: Annotated[
        Path,
        typer.Argument(metavar="MODEL", help="Model file, or folder of rows.", show_default=False),
    ],
    top: shared.TopWords = 10,
    words: Annotated[
        int, typer.Option("--words", min=0, help="Number of kept words to name, the most frequent.")
    ] = 10,
    vocabulary: prediction_rules.Vocabulary = None,
    as_json: shared.Json = False,
) -> None:
    """Show what is in a model, or in a folder of 'semisvm convert'.

    Of a model: its parameters, the class shares, how it was trained, and the most indicative words
    per class. Of a folder: its size, labels and columns; its checksums are compared.
    """
    from semisvm.persistence.model_files import load

    if model.is_dir():
        if vocabulary is not None:
            raise UserError("--vocabulary is for a model: a folder of rows has no weights to show.")
        _inspect_rows(model, as_json)
        return
    bundle = as_model(load(model), several=True)
    names = None if vocabulary is None else prediction_rules.feature_names(bundle, vocabulary)
    facts = describe(bundle, top, words, names)
    if as_json:
        print_json({"model": model, **facts})
    else:
        show(bundle, facts)


def _inspect_rows(folder: Path, as_json: bool) -> None:
    from semisvm.designs.disk import open_rows
    from semisvm.designs.disk_header import RowsError
    from semisvm.tables.errors import DataError

    try:
        X = open_rows(folder)
        X.verify()
        facts = describe_rows(X)
    except RowsError as error:
        raise DataError(error.message, folder) from error
    if as_json:
        print_json({"rows_folder": folder, **facts})
    else:
        show_rows(X, facts)


def describe(bundle: "Model", top: int, words: int = 10, names: Any = None) -> dict[str, Any]:
    """Return what is in a model as data; a matrix may have names of its columns."""
    estimator, features = bundle.estimator, bundle.features
    classes = [str(label) for label in bundle.classes_.tolist()]
    about = _about_labels(bundle, classes) if bundle.label_names else _about_one(estimator)
    shares = estimator.class_prior_.tolist()
    return {
        "estimator": type(estimator).__name__,
        **about,
        "calibrated": bundle.calibrator is not None,
        "prior": dict(zip(bundle.label_names or classes, shares, strict=True)),
        "columns": {} if features is None else features.kinds_,
        "kept_words": {} if features is None else features.kept_words(words),
        "settings": bundle.settings,
        "summary": bundle.summary,
        "top": bundle.top_features(top, names),
    }


def _about_labels(bundle: "Model", values: list[str]) -> dict[str, Any]:
    machine = bundle.estimator.estimator
    named = "the default" if machine is None else repr(machine)
    return {"machine": named, "labels": bundle.label_names, "values": values}


def _about_one(estimator: Any) -> dict[str, Any]:
    from semisvm.estimators.class_shares import prior_source

    defaults, parameters = type(estimator)().get_params(), estimator.get_params()
    changed = {
        name: value
        for name, value in parameters.items()
        if type(value) is not type(defaults[name]) or value != defaults[name]
    }
    source = prior_source(estimator)
    return {"parameters": parameters, "changed_parameters": changed, "prior_source": source}


def _members(changed: dict[str, Any]) -> dict[str, str]:
    """Take the members of a committee out of its parameters; return their shares of the weight."""
    pairs, weights = changed.pop("estimators", None), changed.pop("weights", None)
    if not pairs or weights is None:
        return {}
    total = float(sum(weights))
    return {
        str(name): f"{weight / total:.1%}" for (name, _), weight in zip(pairs, weights, strict=True)
    }


def show(bundle: "Model", facts: dict[str, Any]) -> None:
    """Print what `describe` returns."""
    summary, head = dict(facts["summary"]), {}
    notes, choice = summary.pop("notes", []), summary.pop("choice", None)
    summary.pop("scores", None)
    counts = summary.pop("several_labels", {})
    if bundle.label_names:
        head["machine"] = facts["machine"]
        summary["calibrated"] = facts["calibrated"]
    else:
        changed = dict(facts["changed_parameters"])
        changed.pop("unlabeled", None)  # how labels are kept, not a choice of the user
        head |= {"members": members} if (members := _members(changed)) else {}
        head["parameters"] = changed or "all defaults"
        head |= shares_in_short({k: facts[k] for k in ("prior", "prior_source")})
    if facts["columns"]:
        head["columns"] = columns_in_short(facts["columns"])
        head |= words_in_short(facts["kept_words"])
    if facts["settings"].get("encoder"):
        head["encoder"] = f"{facts['settings']['encoder']}, to be named with --encoder"
    elif bundle.features is not None and bundle.features.encoded_:
        head["encoder"] = bundle.features.encoder
    print_facts(facts["estimator"], {**head, **summary})
    if bundle.label_names:
        show_labels(bundle, counts)
    print_choice(choice)
    print_notes("note", notes)
    for label, words in facts["top"].items():
        print_table(f"\n{label}", ["feature", "weight"], words)
