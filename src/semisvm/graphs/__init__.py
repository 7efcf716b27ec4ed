"""Graphs of nearest neighbours, and the roughness of functions on them."""

from semisvm.graphs.laplacian import (
    Roughness,
    edge_weights,
    edge_width,
    normalized_laplacian,
    similarities,
)
from semisvm.graphs.neighbors import Neighbors, fit_neighbors, neighbor_graph, undirected

__all__ = [
    "Neighbors",
    "Roughness",
    "edge_weights",
    "edge_width",
    "fit_neighbors",
    "neighbor_graph",
    "normalized_laplacian",
    "similarities",
    "undirected",
]
