"""Held-out results in a report: rows with labels that took no part in the fit."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from semisvm.io import MatrixData, Table
from semisvm.model import Model
from semisvm.model_selection.intervals import wilson_interval

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
    interval = wilson_interval(assessed["accuracy"], assessed["rows"], CONFIDENCE)
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
    kinds = dict.fromkeys(model.settings.get("encoded") or (), "text") | model.features.kinds_
    kinds = {n: k for n, k in kinds.items() if n in data.columns and k != "vector"}
    order = sorted(kinds, key=lambda name: kinds[name] != "text")[:MOST_CELLS]
    part = data.take(rows)
    texts = {name: part.text(name) for name in order}
    alone = len(kinds) == 1
    told = [
        ", ".join(texts[name][k] if alone else f"{name} = {texts[name][k]}" for name in order)
        for k in range(len(rows))
    ]
    flat = (" ".join(text.split()) for text in told)
    more = "" if len(kinds) <= MOST_CELLS else f" and {len(kinds) - MOST_CELLS} more columns"
    return [
        (text if len(text) <= MOST_LETTERS else text[: MOST_LETTERS - 1] + "…") + more
        for text in flat
    ]
