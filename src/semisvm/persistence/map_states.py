"""Feature maps of kernels: what a model file may have, as plain data and arrays, and back.

"columns" are those of the rows that a map keeps, "rank" is the number of its features.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs.validation import is_sparse
from semisvm.maps.ensembles import ClusterMap, ScoreMap, VoteMap
from semisvm.maps.feature_maps import ExpansionMap, FeatureMap, KernelMap
from semisvm.maps.graph_laplacian import NEIGHBORS, LocalMap
from semisvm.maps.kernels import NAMES, PRECOMPUTED, USES, Kernel
from semisvm.maps.latent import LATENT, LatentMap
from semisvm.maps.neighbors import fit_neighbors
from semisvm.maps.paths import PathMap
from semisvm.persistence.archive import Arrays, Budget, split_names
from semisvm.tables.errors import ModelFileError
from semisvm.tables.schema import (
    Array,
    Check,
    Record,
    anything,
    listed,
    mapping,
    number,
    one_of,
    shaped,
    text,
    whole,
)

LINEAR = "linear"
VOTES, MEMBERS = "votes", "members"
ENSEMBLES: dict[str, Callable[[Sequence[Any]], VoteMap | ScoreMap]] = {
    VOTES: VoteMap,
    MEMBERS: ScoreMap,
}
MOST_KERNEL_ROWS = 10_000_000
"""Training rows of a precomputed kernel, whose matrix has the square of it."""

Stored = Mapping[str, NDArray[Any]]


def rows_of(first: str) -> tuple[dict[str, Check], dict[str, Check]]:
    """Declare rows that a map keeps, dense or CSR: their shape, and their arrays."""
    stored: dict[str, Check] = {
        "rows": Array("f", (first, "columns")),
        "data": Array("f", ("entries",)),
        "indices": Array("i", ("entries",), low=0, high="columns"),
        "indptr": Array("i", ("ends",), low=0),
    }
    return {"shape": shaped(first, "columns")}, stored


PIVOT_ROWS, STORED_PIVOTS = rows_of("rank")
ALL_ROWS, STORED_ROWS = rows_of("rows")
PARAMETERS: dict[str, Check] = {
    "gamma": number(above=0.0),
    "degree": number(1.0),
    "coef0": number(),
}
KERNEL_PARAMETERS = {
    metric: Record({name: PARAMETERS[name] for name in USES.get(metric, ())})
    for metric in (*NAMES, PRECOMPUTED)
}
EXPANSION: dict[str, Check] = {
    "kind": text,
    "metric": one_of(*NAMES, PRECOMPUTED),
    "parameters": mapping(text, anything),
    "pivots": Array("iu", ("rank",), low=0),
}
KERNEL: dict[str, Check] = {
    **EXPANSION,
    "residual": number(),
    "corner": Array("f", ("rank", "rank")),
}
CLUSTERS: dict[str, Check] = {
    "centres": Array("f", ("runs", "clusters", "columns")),
    "codes": Array("iu", ("rank", "runs"), low=0, high="clusters"),
}
# Files of earlier versions have none: rows then belong to the nearest centre.
VARIANCES: dict[str, Check] = {"variances": Array("f", ("runs", "clusters"), low=0.0)}
NEAR: dict[str, Check] = {"kind": text, "n_neighbors": whole(1)}
LOCAL_GRAPH: dict[str, Check] = {
    "distances": Array("f", ("rows", "near"), low=0.0),
    "nearest": Array("iu", ("rows", "near"), low=0, high="rows"),
    "labeled": Array("iu", ("labeled",), low=0, high="rows"),
}
VIEW: dict[str, Check] = {"directions": Array("f", ("viewed", "columns"))}
PATHS: dict[str, Check] = {
    "unit": number(above=0.0),
    "rho": number(above=0.0),
    "lengths": Array("f", ("rows", "rows"), low=0.0),
    "centre": Array("f", ("rows",)),
    "vectors": Array("f", ("rows", "rank")),
}
MAPS = {
    "expansion": Record(EXPANSION, {**PIVOT_ROWS, **STORED_PIVOTS}),
    "kernel": Record(KERNEL, {**PIVOT_ROWS, **STORED_PIVOTS}),
    "clusters": Record({**KERNEL, **PIVOT_ROWS, **CLUSTERS}, {**STORED_PIVOTS, **VARIANCES}),
    LATENT: Record({"kind": text, "directions": Array("f", ("columns", "rank"))}),
    "paths": Record({**NEAR, **ALL_ROWS, **PATHS}, STORED_ROWS),
    "local": Record({**NEAR, **ALL_ROWS}, {**STORED_ROWS, **LOCAL_GRAPH, **VIEW}),
    "votes": Record(
        {"kind": text, "members": listed(mapping(text, anything), "rank", least=1)}, others=anything
    ),
    "members": Record(
        {"kind": text, "members": listed(mapping(text, anything), least=1)}, others=anything
    ),
}


def map_state(found: FeatureMap | None) -> tuple[dict[str, Any] | None, Arrays]:
    """Return a map as data for JSON and arrays."""
    if found is None:
        return None, {}
    if isinstance(found, PathMap):
        return _paths_state(found)
    if isinstance(found, (VoteMap, ScoreMap)):
        return _members_state(found)
    if isinstance(found, LocalMap):
        return _local_state(found)
    if isinstance(found, LatentMap):
        return {"kind": LATENT}, {"directions": found.directions}
    assert isinstance(found, ExpansionMap)
    if not isinstance(found.kernel.metric, str):
        raise ModelFileError(
            "a kernel that is a function cannot be saved; use a kernel by name, or "
            "kernel='precomputed'."
        )
    state: dict[str, Any] = {
        "kind": "expansion",
        "metric": found.kernel.metric,
        "parameters": dict(found.kernel.parameters),
    }
    arrays = {"pivots": found.pivots, **_rows(state, found.rows)}
    if isinstance(found, KernelMap):
        state |= {"kind": "kernel", "residual": found.residual}
        arrays["corner"] = found.corner
    if isinstance(found, ClusterMap):
        state["kind"] = "clusters"
        clusters = {"centres": found.centres, "variances": found.variances, "codes": found.codes}
        arrays |= clusters
    return state, arrays


def restore_map(
    state: Mapping[str, Any] | None, arrays: Stored, budget: Budget
) -> FeatureMap | None:
    """Make a map from its state; files from before there were kernels have none."""
    if state is None:
        return None
    kind = state.get("kind")
    if not isinstance(kind, str) or kind not in MAPS:
        raise ModelFileError("this model file has a kernel that is not known here.")
    whole = {**state, **arrays}
    MAPS[kind](whole, "map", {})
    if kind == LATENT:
        return LatentMap(whole["directions"])
    if kind == "paths":
        return _restore_paths(whole)
    if kind == "local":
        return _restore_local(whole)
    if kind in ENSEMBLES:
        return ENSEMBLES[kind](_restore_members(state, arrays, budget))
    return _restore_kernel(whole)


def _restore_kernel(state: Mapping[str, Any]) -> ExpansionMap:
    metric = state["metric"]
    KERNEL_PARAMETERS[metric](state["parameters"], "map.parameters", {})
    kernel = Kernel(metric, {k: float(v) for k, v in state["parameters"].items()})
    rows = None if kernel.precomputed else _restore_rows(state)
    if is_sparse(rows) and metric == "laplacian":
        raise ModelFileError("the kernel of the model needs dense rows.")
    if state["kind"] == "expansion":
        return ExpansionMap(kernel, state["pivots"], rows)
    corner = state["corner"]
    if (corner.diagonal() <= 0.0).any():
        raise ModelFileError("the kernel of the model does not fit its pivot rows.")
    parts = (kernel, state["pivots"], rows, corner, float(state["residual"]))
    if state["kind"] == "kernel":
        return KernelMap(*parts)
    if rows is None or not state["centres"].size:
        raise ModelFileError("the clusters of the model do not fit its rows.")
    centres = state["centres"]
    variances = state.get("variances", np.zeros(centres.shape[:2]))
    return ClusterMap(*parts, centres=centres, variances=variances, codes=state["codes"])


def check_map(found: FeatureMap | None, kernel: str, columns: int) -> None:
    """Raise if a map is not that of the kernel of an estimator, or not for so many columns."""
    name, fits = _suits(found, columns)
    if name != kernel:
        raise ModelFileError("the features of the model are not those of its kernel.")
    if not fits:
        raise ModelFileError("the kernel of the model does not fit its number of features.")


def _suits(found: FeatureMap | None, columns: int) -> tuple[str, bool]:
    """Return the kernel that a map is made for, and whether rows of so many columns suit it."""
    if found is None:
        return LINEAR, True
    if isinstance(found, (VoteMap, ScoreMap)):
        kind = VOTES if isinstance(found, VoteMap) else MEMBERS
        return kind, all(member.n_features_in_ == columns for member in found.members)
    if isinstance(found, PathMap):
        return "paths", found.rows.shape[1] == columns
    if isinstance(found, LocalMap):
        return NEIGHBORS, found.n_columns == columns
    if isinstance(found, LatentMap):
        return LATENT, len(found.directions) == columns
    assert isinstance(found, ExpansionMap)
    if found.rows is None:
        fits = columns <= MOST_KERNEL_ROWS and bool((found.pivots < columns).all())
    else:
        fits = bool(found.rows.shape[1] == columns)
    return str(found.kernel.metric), fits


def _members_state(found: VoteMap | ScoreMap) -> tuple[dict[str, Any], Arrays]:
    # members are estimators, which may have maps of their own
    from semisvm.persistence.estimator_states import estimator_state

    states, arrays = [], Arrays()
    for k, member in enumerate(found.members):
        state, own = estimator_state(member)
        states.append(state)
        arrays.update({f"{k}.{name}": array for name, array in own.items()})
    kind = VOTES if isinstance(found, VoteMap) else MEMBERS
    return {"kind": kind, "members": states}, arrays


def _restore_members(state: Mapping[str, Any], arrays: Stored, budget: Budget) -> list[Any]:
    from semisvm.persistence.estimator_states import restore_estimator

    of_members = split_names(arrays)
    # an ensemble may be a member of a committee, and nothing else is nested
    inner = ENSEMBLES if state["kind"] == VOTES else (MEMBERS,)
    members: list[Any] = []
    for k, member in enumerate(state["members"]):
        if (member.get("map") or {}).get("kind") in inner:
            raise ModelFileError("the model is an ensemble of ensembles.")
        members.append(restore_estimator(member, of_members.get(str(k), {}), budget))
        known = [0, 1] if state["kind"] == VOTES else members[0].classes_.tolist()
        if members[-1].classes_.tolist() != known:
            raise ModelFileError("a member of the model has other classes than it should.")
    return members


def _rows(state: dict[str, Any], rows: Any) -> Arrays:
    """Return rows as arrays, and note their shape."""
    if rows is None:
        return {}
    state["shape"] = [int(size) for size in rows.shape]
    if not is_sparse(rows):
        return {"rows": np.asarray(rows)}
    return {"data": rows.data, "indices": rows.indices, "indptr": rows.indptr}


def _restore_rows(state: Mapping[str, Any]) -> Any:
    if "rows" in state:
        return state["rows"]
    parts = (state["data"], state["indices"], state["indptr"])
    rows = sparse.csr_matrix(parts, shape=tuple(state["shape"]))
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


def _restore_paths(state: Mapping[str, Any]) -> PathMap:
    rows = _restore_rows(state)
    neighbors = fit_neighbors(rows, state["n_neighbors"])
    unit, rho = float(state["unit"]), float(state["rho"])
    return PathMap(neighbors, rows, unit, rho, state["lengths"], state["centre"], state["vectors"])


def _local_state(found: LocalMap) -> tuple[dict[str, Any], Arrays]:
    k = int(found.neighbors.n_neighbors)
    state: dict[str, Any] = {"kind": "local", "n_neighbors": k}
    arrays = _rows(state, found.rows)
    if found.graph is not None:
        shape = (found.rows.shape[0], -1)
        arrays["distances"] = found.graph.data.reshape(shape)
        arrays["nearest"] = found.graph.indices.reshape(shape)
    if found.labeled is not None:
        arrays["labeled"] = found.labeled
    if found.view is not None:
        arrays["directions"] = found.view.directions
    return state, arrays


def _restore_local(state: Mapping[str, Any]) -> LocalMap:
    rows = _restore_rows(state)
    neighbors = fit_neighbors(rows, state["n_neighbors"])
    if not {"distances", "nearest", "labeled"} & set(state):
        return LocalMap(neighbors, rows)
    if not {"distances", "nearest", "labeled"} <= set(state):
        raise ModelFileError("the graph of the model is not complete.")
    distances, nearest = state["distances"], state["nearest"].astype(np.intp)
    if distances.shape[1] != neighbors.n_neighbors:
        raise ModelFileError("the graph of the model does not fit its number of neighbours.")
    ends = np.arange(0, distances.size + 1, distances.shape[1])
    shape = (len(distances), len(distances))
    graph = sparse.csr_matrix((distances.ravel(), nearest.ravel(), ends), shape=shape)
    view = LatentMap(state["directions"]) if "directions" in state else None
    return LocalMap(neighbors, rows, graph, state["labeled"].astype(np.intp), view)
