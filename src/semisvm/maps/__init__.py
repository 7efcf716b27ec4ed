"""What turns rows into features: kernels, graphs of neighbours, clusters."""

from typing import TYPE_CHECKING

from semisvm._lazy import attributes

if TYPE_CHECKING:
    from semisvm.maps.cholesky import Factor, pivoted_cholesky
    from semisvm.maps.feature_maps import (
        ExpansionMap,
        FeatureMap,
        KernelMap,
        fit_expansion,
        fit_map,
    )
    from semisvm.maps.kernels import Kernel, make_kernel
    from semisvm.maps.kmedian import KMedian
    from semisvm.maps.laplacian import (
        Roughness,
        edge_weights,
        edge_width,
        normalized_laplacian,
        similarities,
    )
    from semisvm.maps.neighbors import Neighbors, fit_neighbors, neighbor_graph, undirected

_HOMES = {
    "ExpansionMap": "semisvm.maps.feature_maps",
    "Factor": "semisvm.maps.cholesky",
    "FeatureMap": "semisvm.maps.feature_maps",
    "KMedian": "semisvm.maps.kmedian",
    "Kernel": "semisvm.maps.kernels",
    "KernelMap": "semisvm.maps.feature_maps",
    "Neighbors": "semisvm.maps.neighbors",
    "Roughness": "semisvm.maps.laplacian",
    "edge_weights": "semisvm.maps.laplacian",
    "edge_width": "semisvm.maps.laplacian",
    "fit_expansion": "semisvm.maps.feature_maps",
    "fit_map": "semisvm.maps.feature_maps",
    "fit_neighbors": "semisvm.maps.neighbors",
    "make_kernel": "semisvm.maps.kernels",
    "neighbor_graph": "semisvm.maps.neighbors",
    "normalized_laplacian": "semisvm.maps.laplacian",
    "pivoted_cholesky": "semisvm.maps.cholesky",
    "similarities": "semisvm.maps.laplacian",
    "undirected": "semisvm.maps.neighbors",
}

__all__ = [
    "ExpansionMap",
    "Factor",
    "FeatureMap",
    "KMedian",
    "Kernel",
    "KernelMap",
    "Neighbors",
    "Roughness",
    "edge_weights",
    "edge_width",
    "fit_expansion",
    "fit_map",
    "fit_neighbors",
    "make_kernel",
    "neighbor_graph",
    "normalized_laplacian",
    "pivoted_cholesky",
    "similarities",
    "undirected",
]


__getattr__ = attributes(__name__, _HOMES)


def __dir__() -> list[str]:
    return sorted(__all__)
