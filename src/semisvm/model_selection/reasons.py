"""Why a method was chosen, in sentences."""

from collections.abc import Mapping

from semisvm.model_selection.choice import COMMITTEE
from semisvm.model_selection.comparison import Comparison


def about_scores(found: Comparison) -> str:
    """List the mean score of everything that was tried."""
    tried = ", ".join(f"{m.name} {m.mean:.3f}" for m in found.methods)
    return f"Mean {found.scoring} on labels that were held out: {tried}.{_about_parts(found)}"


def _about_parts(found: Comparison) -> str:
    """Return the scores of the chosen one on new rows and on rows of the fit, if both are known."""
    if found.chosen is None:
        return ""
    own = found[found.chosen]
    if own.new_rows is None or own.fit_rows is None:
        return ""
    return (
        f" Half of them took no part in the fit: {own.name} {own.new_rows:.3f} on these, "
        f"{own.fit_rows:.3f} on the others."
    )


def about_weights(name: str, shares: Mapping[str, float]) -> str:
    """Say who decides, alone or with which weights."""
    if name == COMMITTEE:
        kept = sorted((share, member) for member, share in shares.items() if share > 0.0)[::-1]
        weights = ", ".join(f"{member} {share:.0%}" for share, member in kept)
        return f"No method was clearly the best, so they decide together, with weights {weights}."
    if len(shares) == 1:
        return f"{name} decides alone: no other method was tried to the end."
    return (
        f"{name} decides alone: it was the surest of the held-out labels, and all others together "
        f"would have {1.0 - shares[name]:.0%} of the weight in a committee."
    )


def given_up(dropped: Mapping[str, str]) -> list[str]:
    """List what does not take part, with the reasons; nothing if all do."""
    listed = "; ".join(f"{name}, because {why}" for name, why in dropped.items())
    return [f"Given up: {listed}."] if listed else []
