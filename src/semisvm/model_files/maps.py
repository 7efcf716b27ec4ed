"""Feature maps of kernels as plain data and arrays, and back."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.features import FeatureMap, Kernel, KernelMap
from semisvm.features.clusters import ClusterMap
from semisvm.features.kernels import NAMES, PRECOMPUTED
from semisvm.features.local import LocalMap
from semisvm.features.paths import PathMap
from semisvm.features.votes import VoteMap
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
    if isinstance(found, VoteMap):
        return _votes_state(found)
    if isinstance(found, LocalMap):
        return _local_state(found)
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
    if isinstance(found, ClusterMap):
        state["kind"] = "clusters"
        arrays |= {"centres": found.centres, "codes": found.codes}
    return state, arrays


def restore_map(state: Mapping[str, Any] | None, arrays: Stored) -> FeatureMap | None:
    """Make a map from its state; files from before there were kernels have none."""
    if state is None:
        return None
    if state["kind"] == "paths":
        return _restore_paths(state, arrays)
    if state["kind"] == "local":
        return _restore_local(state, arrays)
    if state["kind"] == "votes":
        return _restore_votes(state, arrays)
    if state["kind"] not in ("kernel", "clusters") or state["metric"] not in (*NAMES, PRECOMPUTED):
        raise ModelFileError("this model file has a kernel that is not known here.")
    kernel = Kernel(
        str(state["metric"]), {str(k): float(v) for k, v in state["parameters"].items()}
    )
    rows = None if kernel.precomputed else _restore_rows(state, arrays)
    pivots, corner = arrays["pivots"], arrays["corner"]
    k = len(pivots)
    if corner.shape != (k, k) or (rows is not None and rows.shape[0] != k):
        raise ModelFileError("the kernel of the model does not fit its pivot rows.")
    found = KernelMap(kernel, pivots, rows, corner, float(state["residual"]))
    return found if state["kind"] == "kernel" else _with_clusters(found, arrays)


def _with_clusters(found: KernelMap, arrays: Stored) -> ClusterMap:
    centres, codes = arrays["centres"], arrays["codes"]
    if found.rows is None or centres.ndim != 3 or centres.shape[2] != found.rows.shape[1]:
        raise ModelFileError("the clusters of the model do not fit its rows.")
    if codes.shape != (found.rank, len(centres)):
        raise ModelFileError("the clusters of the model do not fit its pivot rows.")
    parts = (found.kernel, found.pivots, found.rows, found.corner, found.residual)
    return ClusterMap(*parts, centres=centres, codes=codes)


def _votes_state(found: VoteMap) -> tuple[dict[str, Any], Arrays]:
    # members are estimators, which may have maps of their own
    from semisvm.model_files.states import estimator_state

    states, arrays = [], Arrays()
    for k, member in enumerate(found.members):
        state, own = estimator_state(member)
        states.append(state)
        arrays.update({f"{k}.{name}": array for name, array in own.items()})
    return {"kind": "votes", "members": states}, arrays


def _restore_votes(state: Mapping[str, Any], arrays: Stored) -> VoteMap:
    from semisvm.model_files.states import restore_estimator

    members = []
    for k, member in enumerate(state["members"]):
        own = {n.removeprefix(f"{k}."): a for n, a in arrays.items() if n.startswith(f"{k}.")}
        members.append(restore_estimator(member, own))
    return VoteMap(members)


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


def _local_state(found: LocalMap) -> tuple[dict[str, Any], Arrays]:
    k = int(found.neighbors.n_neighbors)
    state: dict[str, Any] = {"kind": "local", "n_neighbors": k}
    return state, _rows(state, found.rows)


def _restore_local(state: Mapping[str, Any], arrays: Stored) -> LocalMap:
    rows = _restore_rows(state, arrays)
    return LocalMap(fit_neighbors(rows, int(state["n_neighbors"])), rows)
