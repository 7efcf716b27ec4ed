"""What model files and folders of rows keep of fitted features."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from semisvm.tables.blocks import Arrays, State
from semisvm.tables.encoders import check_encoder
from semisvm.tables.features import GIVEN, ColumnFeatures
from semisvm.tables.kinds import TYPES, VECTOR
from semisvm.tables.row_vectors import SUFFIX
from semisvm.tables.words import STOP_WORDS


def state_of(features: ColumnFeatures) -> tuple[State, Arrays]:
    """Return what restores fitted features: data for JSON, and arrays by name."""
    check_is_fitted(features)
    if features.encoder is not None and not isinstance(features.encoder, str):
        raise ValueError(
            "a model whose encoder is a function cannot be saved in a model file, which has no "
            "code: pickle or joblib can store it, if they can store the function."
        )
    arrays: Arrays = {"scales": features.scales_}
    blocks = []
    for k, block in enumerate(features.blocks_):
        state, parts = block.state()
        blocks.append({"kind": block.kind, **state})
        arrays.update({f"{k}.{name}": part for name, part in parts.items()})
    parameters = features.get_params()
    if features.sparse_output:
        del parameters["sparse_output"]  # files had no such entry before there was a choice
    # what y is read with is of no use to new rows
    del parameters["unlabeled"]
    for name in ("hash_columns", STOP_WORDS, "column_weights", "raised", "encoder"):
        if parameters[name] is None:
            del parameters[name]
    if features.words:
        del parameters["words"]
    if features.column_weights is not None:
        pairs = features.column_weights.items()
        parameters["column_weights"] = {name: float(factor) for name, factor in pairs}
    parameters["dtype"] = np.dtype(features.dtype).name
    parameters["ngram_range"] = list(features.ngram_range)
    for name in {*GIVEN, "features", STOP_WORDS} & parameters.keys():
        value = parameters[name]
        parameters[name] = value if value is None or isinstance(value, str) else list(value)
    state = {
        "parameters": parameters,
        "kinds": list(features.kinds_.items()),
        "notes": list(features.notes_),
        "blocks": blocks,
    }
    if features.informative_:
        state["informative"] = dict(features.informative_)
    if features.encoded_:
        state["encoded"] = list(features.encoded_)
        assert features.fingerprint_ is not None
        arrays["fingerprint"] = features.fingerprint_
    return state, arrays


def same_features(
    features: ColumnFeatures, state: State, arrays: Mapping[str, NDArray[Any]]
) -> bool:
    """Return whether a state is that of features that compute the same columns."""
    own, ours = state_of(features)
    keys = ("kinds", "blocks")
    # as they are after a way through JSON
    plain = [json.loads(json.dumps([one.get(key) for key in keys])) for one in (own, state)]
    if plain[0] != plain[1] or ours.keys() != arrays.keys():
        return False
    return all(np.array_equal(ours[name], arrays[name]) for name in ours)


def restored(state: State, arrays: Mapping[str, NDArray[Any]]) -> ColumnFeatures:
    """Restore fitted features, which compute the same matrices bit for bit.

    Raises
    ------
    KeyError, TypeError, ValueError
        If the state is not one that `state_of` returns.
    """
    parameters = dict(state["parameters"])
    parameters["dtype"] = np.dtype(parameters["dtype"])
    parameters["ngram_range"] = tuple(parameters["ngram_range"])
    features = ColumnFeatures(**parameters)
    own: dict[str, Arrays] = {}
    for name, array in arrays.items():
        part, _, rest = name.partition(".")
        own.setdefault(part, {})[rest] = array
    blocks = [
        TYPES[block["kind"]].restore(block, own.get(str(k), {}))
        for k, block in enumerate(state["blocks"])
    ]
    features.blocks_ = blocks
    features.scales_ = arrays["scales"]
    if features.scales_.shape != (len(blocks),):
        raise ValueError("the blocks and their scales differ in number.")
    features.kinds_ = dict(state["kinds"])
    read = [(column, block.kind) for block in blocks for column in block.columns]
    if dict(read) != features.kinds_ or len(read) != len(features.kinds_):
        raise ValueError("the columns of the features and their kinds differ.")
    features.informative_ = dict(state.get("informative", {}))
    features.notes_ = list(state["notes"])
    features.n_features_out_ = sum(block.width() for block in blocks)
    features.encoded_ = list(state.get("encoded", []))
    features.fingerprint_ = arrays.get("fingerprint")
    _check_encoded(features)
    return features


def _check_encoded(features: ColumnFeatures) -> None:
    """Raise if the columns of a state that are encoded, and the encoder, do not fit."""
    if not features.encoded_:
        return
    check_encoder(features.encoder)
    of = {block.columns[0]: block.width() for block in features.blocks_ if block.kind == VECTOR}
    width = None if features.fingerprint_ is None else features.fingerprint_.shape[-1]
    if any(of.get(name + SUFFIX) != width for name in features.encoded_):
        raise ValueError("the columns that are encoded are not among the features.")
