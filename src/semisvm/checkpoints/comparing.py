"""Whether a checkpoint is of the fit that is to go on from it, and if not, why."""

import hashlib
import json
from typing import Any

import numpy as np

from semisvm.loop import Identity
from semisvm.model_files.values import to_plain

LONGEST = 60
"""Characters of a value; of a longer one there is a fingerprint."""
FINGERPRINTS = {
    "type": "X has another type of numbers",
    "rows": "X has other values (of a kernel: other features)",
    "labels": "y has other labels",
    "weights": "sample_weight is another",
    "start": "the model that warm_start begins with is another",
}


def as_text(identity: Identity) -> Identity:
    """Return an identity with its parameters as text, which can be kept and compared."""
    parameters = {name: _text(value) for name, value in identity["parameters"].items()}
    return {**identity, "parameters": parameters}


def _text(value: Any) -> str:
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return repr(float(value)).removesuffix(".0")
    if value is None or isinstance(value, (str, bool)):
        return repr(value)
    try:
        text = json.dumps(to_plain(value.tolist() if isinstance(value, np.ndarray) else value))
    except TypeError:
        # a function, for instance a kernel: the fingerprint of the features tells more
        text = f"{type(value).__name__} {getattr(value, '__qualname__', '')}"
    if len(text) > LONGEST:
        return f"{type(value).__name__} {hashlib.sha256(text.encode()).hexdigest()[:16]}"
    return text


def difference(kept: Identity, here: Identity) -> str | None:
    """Say in which way a checkpoint is of another fit; None if it is of this one.

    Parameters
    ----------
    kept, here : dict
        Of `as_text`.
    """
    if kept["estimator"] != here["estimator"]:
        return f"it is a checkpoint of {kept['estimator']}, and this is {here['estimator']}"
    names = sorted(kept["parameters"].keys() | here["parameters"].keys())
    pairs = [(name, kept["parameters"].get(name), here["parameters"].get(name)) for name in names]
    others = [f"{name} was {then} and is {now}" for name, then, now in pairs if then != now]
    if others:
        return f"its parameters are others: {'; '.join(others)}"
    if kept["shape"] != here["shape"]:
        return f"X had the shape {tuple(kept['shape'])} and has {tuple(here['shape'])}"
    for name, what in FINGERPRINTS.items():
        if kept[name] != here[name]:
            return f"its data are others: {what}"
    return None
