"""Which methods to compare, and how often to repeat the folds, so that it ends soon."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from semisvm.costs import Size
from semisvm.method import Method
from semisvm.wording import rough_time

SECONDS = 30.0
"""Time limit of a comparison by default, by a rough estimate."""
SHARE = 0.25
"""Share of it that one method may take, except the two that are always compared."""
REPEATS = 3


@dataclass(frozen=True)
class Plan:
    """What to compare.

    Attributes
    ----------
    methods : tuple of Method
        Those that are always compared first, then those of the automatic choice, by cost.
    slow : dict of floats
        Methods that were left out, with the seconds that they would take.
    repeats : int
        Repeats of the folds.
    seconds : float
        Rough estimate for all fits.
    costs : dict of floats
        Rough seconds of one fit of each method.
    shortened : bool
        Whether folds are repeated less often than usual.
    """

    methods: tuple[Method, ...]
    slow: dict[str, float]
    repeats: int
    seconds: float
    costs: dict[str, float]
    shortened: bool

    def reasons(self) -> dict[str, str]:
        """Say of each method that was left out why."""
        return {name: f"it would take {rough_time(s)}" for name, s in self.slow.items()}

    def notes(self) -> list[str]:
        """Say what was left out, and why."""
        found = []
        if self.slow:
            listed = ", ".join(f"{name} ({rough_time(s)})" for name, s in self.slow.items())
            found.append(
                f"left out, because they would take long on data of this size: {listed}; "
                "bounded=False compares them too"
            )
        if self.shortened:
            found.append(
                f"the folds are not repeated; repeats={REPEATS} would give narrower intervals and "
                f"take {rough_time(REPEATS * self.seconds)}"
            )
        return found


def plan(
    candidates: Sequence[Method],
    size: Size,
    folds: int,
    repeats: int | None = None,
    *,
    bounded: bool = True,
) -> Plan:
    """Choose what can be compared in about half a minute.

    The supervised method and the cheapest one that is marked for the automatic choice are always
    compared. If they alone take too long, folds are not repeated. The other marked ones follow,
    and then the rest, the cheapest first, while there is time.

    Parameters
    ----------
    candidates : sequence of Method
    size : Size
    folds : int
    repeats : int, optional
        A given number is kept.
    bounded : bool, default=True
        False compares all candidates, however long they take.

    Returns
    -------
    plan : Plan
    """
    costs = {method.name: method.cost.seconds(size) for method in candidates}
    marked = sorted((m for m in candidates[1:] if m.auto), key=lambda m: costs[m.name])
    core = [*candidates[:1], *marked[:1]]
    shortened = bounded and repeats is None and _total(core, costs, folds * REPEATS) > SECONDS
    repeats = (1 if shortened else REPEATS) if repeats is None else repeats
    fits = folds * repeats
    rest = [method for method in candidates if method not in core]
    taken, slow = core, {}
    for method in sorted(rest, key=lambda method: (not method.auto, costs[method.name])):
        own, all_fits = fits * costs[method.name], _total([*taken, method], costs, fits)
        if bounded and (own > SHARE * SECONDS or all_fits > SECONDS):
            slow[method.name] = own
        else:
            taken.append(method)
    total = _total(taken, costs, fits)
    kept = {method.name: costs[method.name] for method in taken}
    return Plan(tuple(taken), slow, repeats, total, kept, shortened)


def _total(methods: Sequence[Method], costs: Mapping[str, float], fits: int) -> float:
    return fits * sum(costs[method.name] for method in methods)
