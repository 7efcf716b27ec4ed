"""Operations: the methods of a block that a driver calls, declared where they are defined.

A driver calls the same operation of all blocks of rows, which may be in other processes. All that
has to be known about an operation for that is declared once, by `operation` above the method::

    @operation(reads="scores labels", combine=(sum, min, max), follows=(advance,))
    def crossing(self) -> tuple[int, float, float]: ...

From the declarations follow the calls (`AllBlocks` has every operation of a block class, with its
signature), what a shard adds up before it replies (`Operation.combined`), what may wait for the
next call, what is worth computing along with another operation, how long its result stays valid,
and what must be repeated to restore a block that was lost (`semisvm.distributed.wire`).

A block class names the parts of its state in ``STATE``, with the attributes that hold them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from semisvm.designs import Floats

P = ParamSpec("P")
R = TypeVar("R")
Reduction = Callable[[Sequence[Any]], Any]

# How results become one. Sums are taken in the order of the blocks, so that they repeat bit for
# bit. The functions `sum`, `min` and `max` of Python serve for numbers, `sum` for small arrays too.


def totals(parts: Sequence[Sequence[float]]) -> list[float]:
    """Add short rows of numbers, column by column."""
    # for a handful of numbers NumPy takes ten times as long
    return (
        list(parts[0]) if len(parts) == 1 else [sum(column) for column in zip(*parts, strict=True)]
    )


def tables(parts: Sequence[Sequence[Sequence[float]]]) -> list[list[float]]:
    """Add lists of short rows of numbers."""
    return [totals(rows) for rows in zip(*parts, strict=True)]


def vectors(parts: Sequence[Floats | None]) -> Floats | None:
    """Add vectors over columns; None stands for zero."""
    found = [part for part in parts if part is not None]
    if len(found) < 2:
        return found[0] if found else None
    # a new vector, since the driver may keep the parts
    total = found[0] + found[1]
    for part in found[2:]:
        total += part
    return total


def least(parts: Sequence[Floats]) -> Any:
    """Return the least value at each place of some arrays."""
    return np.min(parts, axis=0)


def concatenated(parts: Sequence[NDArray[Any]]) -> Any:
    """Join vectors over rows; that of a single block is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)


def stacked(parts: Sequence[Any]) -> Any:
    """Stack matrices with the user's columns."""
    return (
        sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.concatenate(parts)
    )


Weights = Literal["given", "step", "moved", "unknown"]
EVERYTHING = "everything"
"""For ``sets``: all parts of the state."""


@dataclass(frozen=True)
class Operation:
    """The declaration of an operation; see `operation`."""

    name: str
    parameters: tuple[str, ...]
    defaults: tuple[Any, ...]
    reads: frozenset[str]
    sets: frozenset[str]
    changes: frozenset[str]
    frees: frozenset[str]
    combine: Reduction | tuple[Reduction, ...] | None
    join: Reduction | None
    takes_vector: bool
    follows: frozenset[str]
    idempotent: bool
    weights: Weights | None
    silent: bool

    @property
    def effects(self) -> frozenset[str]:
        """The parts of the state that are not what they were."""
        return self.sets | self.changes

    def combined(self, parts: Sequence[Any]) -> Any:
        """Return one result for those of several blocks, or of several shards."""
        if self.silent:
            return None
        if self.join is not None:
            return self.join(parts)
        assert self.combine is not None, f"the results of {self.name} stay apart: use Rows.each"
        if any(part is None for part in parts):
            # a block would have to start anew, and then all of them do
            return None
        if not isinstance(self.combine, tuple):
            return self.combine(parts)
        columns = zip(*parts, strict=True)
        return tuple(one(column) for one, column in zip(self.combine, columns, strict=True))

    def on_vectors(self, change: Callable[[Floats], Floats], result: Any) -> Any:
        """Return a result with its vectors over columns changed."""
        if result is None or self.combine is None:
            return result
        if not isinstance(self.combine, tuple):
            return change(result) if self.combine is vectors else result
        return tuple(
            change(value) if one is vectors and value is not None else value
            for one, value in zip(self.combine, result, strict=True)
        )

    def bound(self, args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
        """Return a value for each parameter, in their order."""
        n = len(self.parameters) - len(self.defaults)
        later = enumerate(self.parameters[len(args) :], len(args))
        return [
            *args,
            *(options[name] if name in options else self.defaults[k - n] for k, name in later),
        ]


def operation(
    *,
    reads: str = "",
    sets: str = "",
    changes: str = "",
    frees: str = "",
    combine: Reduction | tuple[Reduction, ...] | None = None,
    join: Reduction | None = None,
    takes_vector: bool = False,
    follows: tuple[Callable[..., Any], ...] = (),
    idempotent: bool = False,
    weights: Weights | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Declare that a method of a block is an operation.

    An operation whose result is annotated as None is silent: it waits for the next one with a
    result. A last parameter ``out`` or ``onto`` is a vector of the driver, into which a block of
    the same process writes the vector of its result, or to which it adds it; it never travels.

    Parameters
    ----------
    reads : str
        Parts of the state (see ``STATE`` of the class), with blanks between them, that it needs to
        run, and on which the state that it leaves depends. If it leaves the state as it is: on
        which its result depends.
    sets, changes : str
        Parts of the state that it makes anew, whatever they were before, or from what they were.
    frees : str
        Parts that may be anything afterwards: no operation reads them before they are set again.
    combine : callable or tuple of callables, optional
        How the results of several blocks become one, or the items of results that are tuples.
        It is associative: a shard combines those of its own blocks first. The place of `vectors`
        is that of a vector over columns. If a block has None as a result, so have all together.
    join : callable, optional
        The same for results over rows, which have to be in the order of the blocks. Without
        either, the results stay apart (`Rows.each`).
    takes_vector : bool
        Whether the first argument is a vector over columns.
    follows : tuple of operations
        After which of them it is mostly called, so that its result is worth computing along with
        theirs. For small results that take no arguments.
    idempotent : bool
        Whether several calls in a row leave what one of them leaves.
    weights : {"given", "step", "moved", "unknown"}, optional
        What it does to the weights of which the block has the scores: they are the first
        argument; the first argument is a step of theirs; they move by that many steps; they are
        no longer known.
    """

    def declare(method: Callable[P, R]) -> Callable[P, R]:
        # not `inspect.signature`, which takes longer than the rest of the import
        code = method.__code__
        declared = Operation(
            name=method.__name__,
            parameters=code.co_varnames[1 : code.co_argcount],
            defaults=method.__defaults__ or (),
            reads=frozenset(reads.split()),
            sets=frozenset(sets.split()),
            changes=frozenset(changes.split()),
            frees=frozenset(frees.split()),
            combine=combine,
            join=join,
            takes_vector=takes_vector,
            follows=frozenset(other.__name__ for other in follows),
            idempotent=idempotent,
            weights=weights,
            silent=method.__annotations__["return"] is None,
        )
        vars(method)["operation"] = declared
        return method

    return declare


@cache
def operations_of(kind: type) -> dict[str, Operation]:
    """Return the operations of a class of blocks, by name."""
    found = {name: getattr(getattr(kind, name), "operation", None) for name in dir(kind)}
    state = frozenset(getattr(kind, "STATE", ()))
    return {
        name: replace(known, sets=state) if EVERYTHING in known.sets else known
        for name, known in found.items()
        if known is not None
    }


class Call(NamedTuple):
    """A call of an operation of all blocks."""

    name: str
    arguments: tuple[Any, ...]
    each: Sequence[tuple[Any, ...]] | None = None
    """Arguments of every block, in place of those for all."""


Run = Callable[[Call], Sequence[Any]]
"""Runs a call; returns a result per block, or fewer that have been combined where blocks are."""


def run_on(blocks: Sequence[Any], call: Call) -> list[Any]:
    """Run a call on blocks of this process, one by one, each with threads."""
    each = [call.arguments] * len(blocks) if call.each is None else call.each
    return [getattr(block, call.name)(*own) for block, own in zip(blocks, each, strict=True)]


class AllBlocks:
    """All blocks as if they were one: every operation of theirs, run on all of them.

    Parameters
    ----------
    kind : class of the blocks
    run : Run
    """

    def __init__(self, kind: type, run: Run) -> None:
        self._operations = operations_of(kind)
        self._run = run

    def __getattr__(self, name: str) -> Callable[..., Any]:
        if name[0] == "_" or name not in self._operations:
            raise AttributeError(f"{name!r} is no operation: only a single block has it")
        found = partial(self._call, self._operations[name])
        vars(self)[name] = found
        return found

    def _call(self, declared: Operation, *args: Any, **options: Any) -> Any:
        values, own = declared.bound(args, options), None
        buffer = declared.parameters[-1] if declared.parameters else ""
        if buffer in ("out", "onto"):
            own = values.pop()
        found = declared.combined(self._run(Call(declared.name, tuple(values))))
        if own is None:
            return found

        def kept(vector: Floats) -> Floats:
            if buffer == "out":
                own[...] = vector
            else:
                own[...] += vector
            return own

        return declared.on_vectors(kept, found)
