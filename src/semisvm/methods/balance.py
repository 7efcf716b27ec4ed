"""Outputs that keep the class shares: when the intercept may be moved for it."""

BALANCE_TOL = 0.1
"""Default of balance_tol: error of the share of positive outputs, relative to the rarer class."""


def refuse_balancing(balance_tol: float | None) -> None:
    """Raise ValueError for a tolerance that models with one score per class would ignore."""
    if balance_tol is not None and balance_tol != BALANCE_TOL:
        raise ValueError(
            f"balance_tol={balance_tol!r} would have no effect: the intercept is moved only for "
            "two classes without a hierarchy, and not with loss='crammer_singer'. Use "
            "balance_tol=None."
        )
