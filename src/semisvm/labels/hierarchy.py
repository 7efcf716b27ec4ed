"""Class hierarchies: a class is a leaf, and its score is the sum over the nodes on its path."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats, Index, RowOperator


@dataclass(frozen=True)
class Hierarchy:
    """The nodes on the path of each class.

    Attributes
    ----------
    names : tuple
        Node names, in the order in which they first appear on the paths of the classes; the
        root, which all classes share, is not a node.
    paths : array of shape (k, m)
        1 where node k is on the path of class y, else 0.
    ancestors : tuple of tuples
        For each class the positions of its nodes, from the top down to itself.
    """

    names: tuple[Any, ...]
    paths: Floats
    ancestors: tuple[tuple[int, ...], ...]

    @property
    def n_nodes(self) -> int:
        """Number of nodes, which is the number of weight vectors."""
        return len(self.names)

    @cached_property
    def flat(self) -> bool:
        """Whether each class is its own only node, so that ``paths`` is the identity."""
        return all(path == (y,) for y, path in enumerate(self.ancestors))

    def class_scores(self, nodes: Floats) -> Floats:
        """Sum node scores (n, k) along the paths."""
        return nodes if self.flat else np.einsum("ik,ky->iy", nodes, self.paths)

    def node_slopes(self, slopes: Floats) -> Floats:
        """Pull slopes of class scores (n, m) back to the nodes."""
        return slopes if self.flat else np.einsum("iy,ky->ik", slopes, self.paths)

    def between(self, operator: RowOperator) -> RowOperator:
        """Turn an operator on class scores into one on node scores."""
        if self.flat:
            return operator

        def on_nodes(index: Index, start: int, stop: int, Q: Floats) -> None:
            part = Q[: stop - start]
            inner = self.class_scores(part)
            operator(index, start, stop, inner)
            part[:] = self.node_slopes(inner)

        return on_nodes

    def at_depth(self, depth: int) -> NDArray[np.intp]:
        """Return, for each class, its node at a depth (1 is the top), or its deepest node."""
        return np.array([path[min(depth, len(path)) - 1] for path in self.ancestors])


def flat(classes: NDArray[Any]) -> Hierarchy:
    """Return the hierarchy in which each class is its own node."""
    m = len(classes)
    return Hierarchy(tuple(classes.tolist()), _identity(m), tuple((y,) for y in range(m)))


def _identity(m: int) -> Floats:
    """Return the identity matrix as a view of 2m - 1 numbers, since m may be large."""
    diagonal = np.zeros(2 * m - 1)
    diagonal[m - 1] = 1.0
    return np.lib.stride_tricks.sliding_window_view(diagonal, m)[::-1]


def build(spec: Any, classes: NDArray[Any]) -> Hierarchy:
    """Read a hierarchy given by the user.

    Parameters
    ----------
    spec : None, nested dict, list of paths, or dict child -> parent
        A nested dict has nodes as keys and, at the ends, lists of classes or empty
        dicts. A path runs from the top to a class. In a child -> parent dict the parent
        of a top node is None.
    classes : array of shape (m,)
        The leaves.

    Raises
    ------
    ValueError
        If a class is missing, a leaf is not a class, a name occurs twice, or a
        child -> parent dict has a cycle or lacks a parent.
    """
    if spec is None:
        return flat(classes)
    paths = [tuple(path) for path in _paths(spec)]
    _check(paths, classes.tolist())
    by_leaf = {path[-1]: path for path in paths}
    # in the order of the classes, so that the order of the spec does not matter
    names = tuple(dict.fromkeys(n for label in classes.tolist() for n in by_leaf[label]))
    where = {name: k for k, name in enumerate(names)}
    ancestors = tuple(tuple(where[n] for n in by_leaf[label]) for label in classes.tolist())
    matrix = np.zeros((len(names), len(classes)))
    for y, path in enumerate(ancestors):
        matrix[list(path), y] = 1.0
    return Hierarchy(names, matrix, ancestors)


def _paths(spec: Any) -> Iterator[Sequence[Any]]:
    if isinstance(spec, Mapping):
        nested = any(isinstance(v, (Mapping, list, tuple, set)) for v in spec.values())
        yield from _from_nested(spec, ()) if nested else _from_parents(spec)
    elif isinstance(spec, (list, tuple)) and all(isinstance(p, (list, tuple)) for p in spec):
        yield from spec
    else:
        raise ValueError(
            "hierarchy must be a nested dict, a list of paths, or a dict from child to parent, "
            f"got {type(spec).__name__}."
        )


def _from_nested(spec: Mapping[Any, Any], above: tuple[Any, ...]) -> Iterator[Sequence[Any]]:
    for name, below in spec.items():
        path = (*above, name)
        if isinstance(below, Mapping) and below:
            yield from _from_nested(below, path)
        elif isinstance(below, (list, tuple, set)) and below:
            yield from ((*path, leaf) for leaf in below)
        else:
            yield path


def _from_parents(parents: Mapping[Any, Any]) -> Iterator[Sequence[Any]]:
    inner = set(parents.values())
    for leaf in parents:
        path = [leaf]
        while parents.get(path[-1]) is not None:
            parent = parents[path[-1]]
            if parent in path:
                raise ValueError(
                    f"hierarchy has a cycle through {parent!r}; the parents of a node must lead "
                    "to a top node, whose parent is None."
                )
            if parent not in parents:
                raise ValueError(
                    f"hierarchy has no entry for {parent!r}, the parent of {path[-1]!r}; add "
                    "one, with None as the parent of a top node."
                )
            path.append(parent)
        if leaf not in inner:
            yield path[::-1]


def _check(paths: list[tuple[Any, ...]], classes: list[Any]) -> None:
    leaves = [path[-1] for path in paths]
    unknown = [leaf for leaf in leaves if leaf not in classes]
    if unknown:
        raise ValueError(
            f"hierarchy has leaves {unknown!r} that are not classes; the classes are {classes!r}."
        )
    missing = [label for label in classes if label not in leaves]
    if missing:
        raise ValueError(f"hierarchy lacks the classes {missing!r}; add them as leaves.")
    above: dict[Any, tuple[Any, ...]] = {}
    for path in paths:
        for depth, name in enumerate(path):
            if above.setdefault(name, path[:depth]) != path[:depth]:
                raise ValueError(
                    f"hierarchy has the name {name!r} in two places; give the nodes different "
                    "names."
                )
    if len(set(leaves)) < len(leaves):
        twice = sorted({str(leaf) for leaf in leaves if leaves.count(leaf) > 1})
        raise ValueError(
            f"hierarchy has the classes {twice!r} in two places; each must be a leaf once."
        )
