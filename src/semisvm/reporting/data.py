"""The content of a report as plain data.

Held-out results are those of rows with labels that took no part in the fit.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from semisvm.estimators.class_shares import PRIORS, prior_source
from semisvm.estimators.margins import describe_unlabeled
from semisvm.estimators.registry import find, is_committee
from semisvm.labels.partial import is_unlabeled
from semisvm.model import Model
from semisvm.model_selection.intervals import accuracy_interval
from semisvm.persistence.model_files import versions
from semisvm.reporting.figures import trace_data
from semisvm.tables.labels import count_labels
from semisvm.tables.table import MatrixData, Table
from semisvm.text import counted, plain, shortened

if TYPE_CHECKING:
    from semisvm.model_selection import Comparison

ROUNDS = 400
"""Maximum number of rounds of the trace in a report."""

TOP = 12


def report_data(
    model: Any,
    comparison: "Comparison | Mapping[str, Any] | None" = None,
    *,
    X: Any = None,
    y: ArrayLike | None = None,
    title: str | None = None,
    created: str | None = None,
    top: int = TOP,
    notes: Sequence[str] = (),
    evaluation: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Gather the content of a report.

    Parameters
    ----------
    model : Model or fitted linear estimator of this package
    comparison : Comparison or its ``to_dict()``, optional
        By default the one in the summary of the model, if there is one.
    X, y : rows and labels that an estimator was fitted to, optional
        A `Model` has a summary of them.
    title : str, optional
    created : str, optional
        A date; by default that of the model file.
    top : int, default=12
        Features of each class.
    notes : sequence of str
        Remarks besides those of the fit.
    evaluation : mapping, optional
        Results on rows that took no part in the fit, as of `semisvm.reporting.evaluation_data`.

    Returns
    -------
    data : dict
        Dicts, lists, text and numbers only, as JSON has them.
    """
    bundle = model if isinstance(model, Model) else Model(model)
    if hasattr(bundle.estimator, "label_names_"):
        raise ValueError(
            "a report is about models of one label per row, and this one has "
            f"{counted(len(bundle.label_names), 'label')}: fit a model of one of them."
        )
    if not hasattr(bundle.estimator, "coef_"):
        name = type(bundle.estimator).__name__
        raise ValueError(f"a report needs a fitted linear estimator; this {name} has no coef_.")
    summary = dict(bundle.summary)
    if y is not None:
        summary = {**_summary(bundle.estimator, X, y), **summary}
    # a model that was chosen among methods keeps how they compared
    choice = summary.get("choice") or {}
    kept = summary.get("comparison") or choice.get("methods")
    compared = kept if comparison is None else comparison
    chosen = choice.get("name") if compared is choice.get("methods") else None
    data = {
        "title": title or "Report of a semi-supervised model",
        "created": created or summary.get("created"),
        "method": _method(bundle.estimator, chosen),
        "data": _data(bundle, summary),
        "prior": PRIORS[prior_source(bundle.estimator)],
        "classes": _classes(bundle, summary),
        "comparison": _comparison(compared, chosen),
        "evaluation": evaluation,
        "members": _members(bundle.estimator),
        "trace": trace_data(getattr(bundle.estimator, "trace_", None), ROUNDS),
        "scores": summary.get("scores"),
        "top": _top(bundle, top),
        "parameters": _parameters(bundle.estimator),
        "settings": {k: v for k, v in bundle.settings.items() if v is not None},
        "versions": summary.get("versions") or versions(),
        "notes": _notes(bundle, summary, notes),
        "fit_notes": _fit_notes(bundle),
    }
    made = plain(data)
    assert isinstance(made, dict)
    return made


def _summary(estimator: Any, X: Any, y: ArrayLike) -> dict[str, Any]:
    """Describe rows and labels as `train` does in the summary of a model."""
    values = np.array(np.asarray(y), dtype=object)
    values[is_unlabeled(y, getattr(estimator, "unlabeled", -1))] = None
    labels = count_labels(values)
    found = {} if X is None else describe_unlabeled(estimator, X, y)
    return {"rows": len(values), "labelled": sum(labels.values()), "labels": labels, **found}


def _method(estimator: Any, chosen: str | None) -> dict[str, Any]:
    """Describe the method, with its name in the comparison."""
    entry, kind = find(estimator), type(estimator).__name__
    name = kind if entry is None else entry.name
    return {
        "name": name,
        "estimator": kind,
        "compared_as": [chosen] if chosen else [name, kind],
        "summary": _what(estimator, None if entry is None else entry.summary),
        "objective": getattr(estimator, "objective_", None),
        "rounds": getattr(estimator, "n_iter_", None),
    }


def _what(estimator: Any, summary: str | None) -> str | None:
    """Describe the method in a few words; of a committee with the number of its members."""
    if not is_committee(estimator):
        return summary
    return f"{counted(len(estimator.names_), 'method')}, weighted by held-out labels; probabilities"


def _data(bundle: Model, summary: Mapping[str, Any]) -> dict[str, Any]:
    rows, labelled = summary.get("rows"), summary.get("labelled")
    return {
        "rows": rows,
        "labelled": labelled,
        "unlabelled": None if rows is None or labelled is None else rows - labelled,
        "features": int(bundle.estimator.n_features_in_),
        "columns": {} if bundle.features is None else dict(bundle.features.kinds_),
        "feature_seconds": summary.get("feature_seconds"),
        "fit_seconds": summary.get("fit_seconds"),
    }


def _classes(bundle: Model, summary: Mapping[str, Any]) -> list[dict[str, Any]]:
    labels = {str(key): count for key, count in summary.get("labels", {}).items()}
    found = {str(key): count for key, count in summary.get("found", {}).items()}
    names = [str(name) for name in bundle.classes_.tolist()]
    prior = [None] * len(names)
    if prior_source(bundle.estimator) != "none":
        prior = getattr(bundle.estimator, "class_prior_", prior)
    return [
        {
            "name": name,
            "labels": labels.get(name),
            "label_share": _share(labels, name),
            "prior": None if share is None else float(share),
            "found": found.get(name),
            "found_share": _share(found, name),
        }
        for name, share in zip(names, prior, strict=True)
    ]


def _share(counts: Mapping[str, int], name: str) -> float | None:
    total = sum(counts.values())
    return counts[name] / total if total and name in counts else None


def _comparison(found: Any, chosen: str | None) -> dict[str, Any] | None:
    """Return a comparison as data; its verdict is computed from the numbers, never kept."""
    if found is None:
        return None
    from semisvm.model_selection.comparison_result import Comparison

    if isinstance(found, Mapping):
        found = Comparison.from_dict(found, chosen)
    return dict(found.to_dict())


def _top(bundle: Model, count: int) -> list[dict[str, Any]]:
    # with a single text column it is clear where words come from
    texts = [] if bundle.features is None else bundle.features.kinds_.items()
    columns = [name for name, kind in texts if kind == "text"]
    prefix = f"{columns[0]}__" if len(columns) == 1 else ""
    return [
        {
            "class": str(label),
            "features": [{"name": n.removeprefix(prefix), "weight": w} for n, w in features],
        }
        for label, features in bundle.top_features(count).items()
    ]


def _parameters(estimator: Any) -> list[dict[str, Any]]:
    defaults = type(estimator)().get_params(deep=False)
    # the members of a committee have a table of their own
    left_out = ("callback", *(("estimators", "weights") if is_committee(estimator) else ()))
    return [
        {"name": name, "value": value, "default": defaults.get(name)}
        for name, value in estimator.get_params(deep=False).items()
        if name not in left_out
    ]


def _members(estimator: Any) -> list[dict[str, Any]]:
    """List the members of a committee: weights, parameters that were set, and their fits."""
    if not is_committee(estimator):
        return []
    own = {str(name): member for name, member in estimator._members()}
    shares = estimator.weights_ / estimator.weights_.sum()
    fitted = zip(estimator.names_.tolist(), estimator.estimators_, shares.tolist(), strict=True)
    return [
        {
            "name": str(name),
            "estimator": type(member).__name__,
            "share": share,
            "parameters": _changed(own.get(str(name), member)),
            "rounds": getattr(member, "n_iter_", None),
            "objective": getattr(member, "objective_", None),
        }
        for name, member, share in fitted
    ]


def _changed(estimator: Any) -> dict[str, Any]:
    """Return the parameters of a member that differ from the defaults."""
    return {
        p["name"]: p["value"]
        for p in _parameters(estimator)
        if p["name"] not in ("unlabeled", "n_jobs") and p["value"] != p["default"]
    }


def _notes(bundle: Model, summary: Mapping[str, Any], more: Sequence[str]) -> list[str]:
    """Return remarks about data and labels, without those of the optimiser."""
    of_the_fit = set(_fit_notes(bundle))
    kept = [note for note in summary.get("notes", []) if note not in of_the_fit]
    return list(dict.fromkeys([*kept, *more]))


def _fit_notes(bundle: Model) -> list[str]:
    return list(getattr(getattr(bundle.estimator, "trace_", None), "notes", []))


MOST_WRONG, MOST_RIGHT = 6, 3
"""Example rows of each kind; the surest come first."""
MOST_CELLS = 6
MOST_LETTERS = 200
CONFIDENCE = 0.95


def evaluation_data(
    model: Model, data: Table | MatrixData, assessed: Mapping[str, Any]
) -> dict[str, Any]:
    """Gather what a report shows of rows with known labels.

    Parameters
    ----------
    model : Model
    data : Table or MatrixData
        With labels; None for rows without one, which have no part.
    assessed : mapping
        Scores, such as ``accuracy`` and ``confusion``, as ``semisvm evaluate`` prints them.
    """
    interval = accuracy_interval(assessed["accuracy"], assessed["rows"], confidence=CONFIDENCE)
    return {
        **assessed,
        "file": str(data.path),
        "interval": list(interval),
        "confidence": CONFIDENCE,
        "examples": _examples(model, data),
    }


def _examples(model: Model, data: Table | MatrixData) -> list[dict[str, Any]]:
    """Choose rows: errors first, then correct ones, the surest of both."""
    labels: Any = data.labels if data.labels is not None else []
    known = np.flatnonzero([label is not None for label in labels])
    X = model.matrix(data)
    codes, p = model.codes(X), model.probabilities(X) if model.has_probabilities else None
    scores = np.sort(model.score_columns(X), axis=1)
    sure = scores[:, -1] - scores[:, -2] if p is None else p[np.arange(len(codes)), codes]
    names = [str(label) for label in model.classes_.tolist()]
    right = np.array([str(labels[i]) == names[codes[i]] for i in known], dtype=bool)
    order = known[np.argsort(-sure[known], kind="stable")]
    is_right = dict(zip(known.tolist(), right.tolist(), strict=True))
    wrong = [i for i in order.tolist() if not is_right[i]][:MOST_WRONG]
    correct = [i for i in order.tolist() if is_right[i]][:MOST_RIGHT]
    return [
        {
            "row": i + 1,
            "true": str(labels[i]),
            "predicted": names[codes[i]],
            "right": is_right[i],
            "probability": None if p is None else float(p[i, codes[i]]),
            "cells": cells,
        }
        for i, cells in zip(wrong + correct, _cells(model, data, wrong + correct), strict=True)
    ]


def _cells(model: Model, data: Table | MatrixData, rows: list[int]) -> list[str]:
    """Write rows in short: texts first, then some of the other columns."""
    if not isinstance(data, Table) or model.features is None or not rows:
        return [""] * len(rows)
    # of vectors that an encoder made, their texts are shown
    encoded = [*(model.settings.get("encoded") or ()), *model.features.encoded_]
    kinds = dict.fromkeys(encoded, "text") | model.features.kinds_
    kinds = {n: k for n, k in kinds.items() if n in data.columns and k != "vector"}
    order = sorted(kinds, key=lambda name: kinds[name] != "text")[:MOST_CELLS]
    part = data.take(rows)
    texts = {name: part.text(name) for name in order}
    alone = len(kinds) == 1
    cells = [
        ", ".join(texts[name][k] if alone else f"{name} = {texts[name][k]}" for name in order)
        for k in range(len(rows))
    ]
    flat = (" ".join(text.split()) for text in cells)
    more = "" if len(kinds) <= MOST_CELLS else f" and {len(kinds) - MOST_CELLS} more columns"
    return [shortened(text, MOST_LETTERS) + more for text in flat]
