"""What a model knows about its trust in predictions as plain data and arrays, and back."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.model_files.archive import Arrays
from semisvm.model_files.checks import DAMAGED
from semisvm.model_files.errors import ModelFileError
from semisvm.model_files.schemas import CONFORMAL, FAMILIARITY
from semisvm.trust.conformal import Conformal
from semisvm.trust.familiarity import Familiarity, Limit

State = dict[str, Any] | None


def conformal_state(conformal: Conformal | None) -> tuple[State, Arrays]:
    """Return held-out scores as data for JSON and arrays."""
    if conformal is None:
        return None, {}
    arrays = {"scores": conformal.scores, "folds": conformal.folds.astype(np.int64)}
    if conformal.coef is not None and conformal.intercept is not None:
        arrays |= {"coef": conformal.coef, "intercept": conformal.intercept}
    return {"n_folds": int(conformal.folds.max(initial=0)) + 1}, arrays


def restore_conformal(
    state: Mapping[str, Any] | None, arrays: Mapping[str, NDArray[Any]], estimator: Any
) -> Conformal | None:
    """Make held-out scores from their state, or raise if they do not fit the estimator."""
    if state is None:
        _check_nothing(arrays)
        return None
    sizes: dict[str, int] = {}
    if type(state.get("n_folds")) is int:
        sizes["folds"] = state["n_folds"]
    CONFORMAL({**state, **arrays}, "conformal", sizes)
    coef, intercept = arrays.get("coef"), arrays.get("intercept")
    kept = coef is not None and coef.shape[1:] == estimator.coef_.shape
    if (coef is None) != (intercept is None) or (coef is not None and not kept):
        raise ModelFileError(f"{DAMAGED}the models of its folds do not fit its weights.")
    if coef is not None and estimator.kernel_map_ is not None:
        raise ModelFileError(f"{DAMAGED}the models of its folds have no kernel.")
    return Conformal(arrays["scores"], arrays["folds"].astype(np.intp), coef, intercept)


def familiarity_state(familiarity: Familiarity | None) -> tuple[State, Arrays]:
    """Return what rows of the fit look like as data for JSON and arrays."""
    if familiarity is None:
        return None, {}
    unknown = None if familiarity.unknown is None else asdict(familiarity.unknown)
    arrays: Arrays = {"centre": familiarity.centre}
    if familiarity.seen is not None:
        arrays["seen"] = familiarity.seen
    return {"distance": asdict(familiarity.distance), "unknown": unknown}, arrays


def restore_familiarity(
    state: Mapping[str, Any] | None, arrays: Mapping[str, NDArray[Any]], n_columns: int
) -> Familiarity | None:
    """Make what rows look like from its state, or raise if it does not fit the columns."""
    if state is None:
        _check_nothing(arrays)
        return None
    FAMILIARITY({**state, **arrays}, "familiarity", {"columns": n_columns})
    unknown = None if state["unknown"] is None else Limit(**state["unknown"])
    return Familiarity(arrays["centre"], Limit(**state["distance"]), unknown, arrays.get("seen"))


def _check_nothing(arrays: Mapping[str, NDArray[Any]]) -> None:
    if arrays:
        raise ModelFileError("this model file holds arrays that belong to nothing.")
