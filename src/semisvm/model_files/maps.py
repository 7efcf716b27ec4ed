"""Feature maps of kernels as plain data and arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.features import FeatureMap, Kernel, KernelMap
from semisvm.features.kernels import NAMES, PRECOMPUTED
from semisvm.features.paths import PathMap
from semisvm.graphs import fit_neighbors
from semisvm.model_files.archive import Arrays
from semisvm.model_files.errors import ModelFileError

Stored = Mapping[str, NDArray[Any]]


def map_state(found: FeatureMap | None) -> tuple[dict[str, Any] | None, Arrays]:
    """Give a map as data for JSON and arrays."""
    if found is None:
        return None, {}
    if isinstance(found, PathMap):
        return _paths_state(found)
    assert isinstance(found, KernelMap)
    if not isinstance(found.kernel.metric, str):
        raise ModelFileError(
            "a kernel that is a function cannot be saved; use a kernel by name, or "
            "kernel='precomputed'."
        )
    state = {
        "kind": "kernel",
        "metric": found.kernel.metric,
        "parameters": dict(found.kernel.parameters),
        "residual": found.residual,
    }
    arrays = {"pivots": found.pivots, "corner": found.corner, **_rows(state, found.rows)}
    return state, arrays


def restore_map(state: Mapping[str, Any] | None, arrays: Stored) -> FeatureMap | None:
    """Make a map from its state; files from before there were kernels have none."""
    if state is None:
        return None
    if state["kind"] == "paths":
        return _restore_paths(state, arrays)
    if state["kind"] != "kernel" or state["metric"] not in (*NAMES, PRECOMPUTED):
        raise ModelFileError("this model file has a kernel that is not known here.")
    kernel = Kernel(
        str(state["metric"]), {str(k): float(v) for k, v in state["parameters"].items()}
    )
    rows = None if kernel.precomputed else _restore_rows(state, arrays)
    pivots, corner = arrays["pivots"], arrays["corner"]
    k = len(pivots)
    if corner.shape != (k, k) or (rows is not None and rows.shape[0] != k):
        raise ModelFileError("the kernel of the model does not fit its pivot rows.")
    return KernelMap(kernel, pivots, rows, corner, float(state["residual"]))


def _rows(state: dict[str, Any], rows: Any) -> Arrays:
    """Give rows as arrays, and note their shape."""
    if rows is None:
        return {}
    state["shape"] = [int(size) for size in rows.shape]
    thin: bool = sparse.issparse(rows)
    if not thin:
        return {"rows": np.asarray(rows)}
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}


def _restore_rows(state: Mapping[str, Any], arrays: Stored) -> Any:
    n, d = (int(size) for size in state["shape"])
    if "rows" in arrays:
        rows: Any = arrays["rows"]
        if rows.shape != (n, d):
            raise ModelFileError("the rows of the model have another shape than it says.")
        return rows
    rows = sparse.csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=(n, d))
    rows.check_format(full_check=True)
    return rows


def _paths_state(found: PathMap) -> tuple[dict[str, Any], Arrays]:
    state: dict[str, Any] = {
        "kind": "paths",
        "unit": found.unit,
        "rho": found.rho,
        "n_neighbors": int(found.neighbors.n_neighbors),
    }
    arrays = {"lengths": found.lengths, "centre": found.centre, "vectors": found.vectors}
    return state, {**arrays, **_rows(state, found.rows)}


def _restore_paths(state: Mapping[str, Any], arrays: Stored) -> PathMap:
    rows = _restore_rows(state, arrays)
    lengths, centre, vectors = (arrays[name] for name in ("lengths", "centre", "vectors"))
    n = rows.shape[0]
    if lengths.shape != (n, n) or centre.shape != (n,) or len(vectors) != n:
        raise ModelFileError("the distances of the model do not fit its rows.")
    neighbors = fit_neighbors(rows, int(state["n_neighbors"]))
    unit, rho = float(state["unit"]), float(state["rho"])
    return PathMap(neighbors, rows, unit, rho, lengths, centre, vectors)
