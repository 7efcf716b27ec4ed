"""Graphs of nearest neighbours, and the roughness of functions on them."""

from semisvm.graphs.laplacian import Roughness, normalized_laplacian, similarities
from semisvm.graphs.neighbors import Neighbors, fit_neighbors, neighbor_graph, undirected

__all__ = [
    "Neighbors",
    "Roughness",
    "fit_neighbors",
    "neighbor_graph",
    "normalized_laplacian",
    "similarities",
    "undirected",
]
