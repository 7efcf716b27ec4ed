"""The choice of a method, watched."""

from typing import TYPE_CHECKING, Any

from semisvm.cli.errors import parameters_are_the_users

if TYPE_CHECKING:
    from semisvm.model_selection import Choice
    from semisvm.training import Prepared


def choose_watched(
    prepared: "Prepared", parameters: dict[str, Any], seed: int, watched: bool
) -> "Choice":
    """Choose a method and its settings, with a line of progress on a terminal.

    Parameters
    ----------
    prepared : Prepared
    parameters : dict
        Given ones.
    seed : int
    watched : bool
    """
    from semisvm.cli.progress import counting
    from semisvm.model_selection import choose

    with counting(watched) as tell, parameters_are_the_users():
        return choose(
            prepared.X,
            prepared.labels,
            parameters=parameters,
            unlabeled=None,
            random_state=seed,
            n_jobs=parameters.get("n_jobs"),
            tell=tell,
        )
