"""Which class to answer, or whether to answer at all, by probabilities."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from semisvm.designs.base import Floats
from semisvm.text import near_match
from semisvm.validation import check_real, shown


def check_share(name: str, value: Any) -> float:
    """Return a number between 0 and 1, both excluded, or raise ValueError."""
    share = check_real(name, value)
    if not 0.0 < share < 1.0:
        raise ValueError(f"{name} must be above 0 and below 1, got {shown(value)}.")
    return share


def place_of(name: str, label: Any, classes: NDArray[Any]) -> int:
    """Return the position of a class, also by its text, or raise ValueError."""
    known = {str(known): k for k, known in enumerate(classes.tolist())}
    if str(label) not in known:
        near = near_match(str(label), known)
        hint = f" Did you mean {near!r}?" if near else ""
        raise ValueError(
            f"{name} names the class {str(label)!r}.{hint} The classes are {', '.join(known)}."
        )
    return known[str(label)]


@dataclass(frozen=True)
class Decision:
    r"""What to answer, given the probabilities p of a row.

    - Thresholds: the most probable one of the classes whose probability reaches their
      threshold. A class without one always does, so with a threshold for "spam" alone, what is
      not certain enough to be spam is something else. Where no class does, there is no answer.
    - Costs: the class k of the least expected cost, ``sum over j of p_j C_jk``.
    - ``abstain_below`` P: no answer if the chosen class has a probability below P. With costs: if
      its expected cost exceeds 1 - P, which is the same thing where every error costs one (Chow's
      rule, with 1 - P as the cost of no answer).

    Attributes
    ----------
    abstain_below : float, optional
    thresholds : array of shape (m,), optional
    costs : array of shape (m, m), optional
        Row: the true class; column: the answer.

    References
    ----------
    Chow, On optimum recognition error and reject tradeoff, IEEE Transactions on Information
    Theory 16, 1970, doi:10.1109/TIT.1970.1054406. Elkan, The foundations of cost-sensitive
    learning, IJCAI 2001.
    """

    abstain_below: float | None = None
    thresholds: Floats | None = None
    costs: Floats | None = None

    @classmethod
    def of(
        cls,
        classes: NDArray[Any],
        *,
        abstain_below: float | None = None,
        thresholds: Mapping[Any, float] | None = None,
        costs: Mapping[tuple[Any, Any], float] | None = None,
    ) -> "Decision":
        """Check rules by the names of classes.

        Parameters
        ----------
        classes : array of shape (m,)
        abstain_below : float, optional
            Between 0 and 1.
        thresholds : mapping, optional
            Class -> probability.
        costs : mapping, optional
            (true class, answer) -> cost; other errors cost one, right answers nothing.

        Raises
        ------
        ValueError
        """
        if thresholds and costs:
            raise ValueError(
                "the parameter thresholds and the parameter costs are two rules for the same "
                "decision: give one of them."
            )
        least = (
            None
            if abstain_below is None
            else check_share("the parameter abstain_below", abstain_below)
        )
        return cls(least, _thresholds(classes, thresholds), _costs(classes, costs))

    @property
    def is_usual(self) -> bool:
        """Whether all rows get the class that the model predicts."""
        return self.abstain_below is None and self.thresholds is None and self.costs is None

    def codes(
        self, probabilities: Floats, usual: NDArray[np.intp]
    ) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
        """Decide for rows.

        Parameters
        ----------
        probabilities : array of shape (n, m)
        usual : int array of shape (n,)
            What the model predicts without rules.

        Returns
        -------
        codes : int array of shape (n,)
            The class of each row; where there is no answer, what it would have been.
        answered : bool array of shape (n,)
        """
        rows = np.arange(len(usual))
        if self.costs is not None:
            expected = probabilities @ self.costs
            codes = expected.argmin(axis=1)
            most = np.inf if self.abstain_below is None else 1.0 - self.abstain_below
            return codes, expected[rows, codes] <= most
        codes, answered = usual, np.ones(len(rows), dtype=bool)
        if self.thresholds is not None:
            reached = probabilities >= self.thresholds
            answered = np.asarray(reached.any(axis=1))
            best = np.where(reached, probabilities, -1.0).argmax(axis=1)
            # a class that is predicted and reaches its threshold stays, ties included
            codes = np.where(reached[rows, usual] | ~answered, usual, best)
        if self.abstain_below is not None:
            answered &= probabilities[rows, codes] >= self.abstain_below
        return codes, answered


def _thresholds(classes: NDArray[Any], given: Mapping[Any, float] | None) -> Floats | None:
    if not given:
        return None
    found = np.zeros(len(classes))
    for label, value in given.items():
        place = place_of("the parameter thresholds", label, classes)
        found[place] = check_share(f"the threshold of {str(label)!r}", value)
    return found


def _costs(classes: NDArray[Any], given: Mapping[tuple[Any, Any], float] | None) -> Floats | None:
    if not given:
        return None
    found = 1.0 - np.eye(len(classes))
    for (true, answer), value in given.items():
        row, column = (place_of("the parameter costs", label, classes) for label in (true, answer))
        if row == column:
            raise ValueError(
                f"the parameter costs has {str(true)!r} taken for itself, but right answers cost "
                "nothing."
            )
        name = f"the cost of {str(true)!r} taken for {str(answer)!r}"
        found[row, column] = check_real(name, value, at_least=0)
    return found


def labels_or_none(
    classes: NDArray[Any], codes: NDArray[np.intp], answered: NDArray[np.bool_]
) -> NDArray[np.object_]:
    """Return the labels of rows, and None where there is no answer, shape (n,)."""
    found = np.empty(len(codes), dtype=object)
    found[:] = classes[codes].tolist()
    found[~answered] = None
    return found


def most_probable(probabilities: Floats, count: int) -> NDArray[np.intp]:
    """Return the most probable classes of rows, shape (n, min(count, m)), the likeliest first."""
    return np.argsort(-probabilities, axis=1, kind="stable")[:, :count]
