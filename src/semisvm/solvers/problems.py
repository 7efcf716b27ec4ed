r"""Weight steps as data: what is minimised, in the form that `newton.minimize` needs.

Every problem is ::

    min_w f(w) = reg/2 ||w||^2 + sum over rows of a loss of the row's scores

where scores are linear in the weights. The scores, and all other vectors over rows, live in
blocks. A problem provides what the solver needs from them: value, gradient and curvature at the
current weights, and derivatives along a step. If the curvature predicts the slopes of all but a
few rows, the gradient is updated from the one before, and only these rows are read.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from semisvm.designs import Floats
from semisvm.designs.workers import Workers
from semisvm.solvers.conjugate_gradients import Preconditioner


@dataclass
class Linearization:
    """A problem at the current weights.

    Attributes
    ----------
    value : float
        Value of the loss, without the regulariser.
    gradient : array of shape (n_weights,)
        Gradient of f, with the regulariser.
    n_active : int
        Number of rows with curvature.
    exact : bool
        Whether the gradient was computed from scratch rather than updated.
    """

    value: float
    gradient: Floats
    n_active: int
    exact: bool = True


class Problem(Protocol):
    """What the Newton solver needs from a problem. Its scores are those of the current weights.

    The curvature is that of the last linearization; the next `set_direction` discards it.
    """

    @property
    def reg(self) -> float:
        """Strength of the regularisation."""
        ...

    @property
    def n_weights(self) -> int:
        """Length of the weight vector."""
        ...

    @property
    def workers(self) -> Workers:
        """Threads of the driver."""
        ...

    @property
    def quadratic(self) -> bool:
        """Whether the curvature is constant."""
        ...

    @property
    def n_systems(self) -> int:
        """Number of independent linear systems; weight k belongs to system k % n_systems."""
        ...

    @property
    def spare(self) -> list[Floats] | None:
        """Vectors over weights that solves use in turn, if their memory may be kept."""
        ...

    def linearize(self, w: Floats) -> Linearization:
        """Compute value, gradient and curvature at the weights."""
        ...

    def curve(self) -> None:
        """Prepare the curvature for products."""
        ...

    def product(self, p: Floats, out: Floats) -> Floats:
        """Multiply a vector by the curvature."""
        ...

    def scales(self) -> Floats:
        """Compute the diagonal of the curvature, or a bound on it."""
        ...

    def inverse(self) -> Preconditioner | None:
        """Return a preconditioner of the curvature, if there is one."""
        ...

    def set_direction(self, step: Floats) -> None:
        """Compute the scores of a step."""
        ...

    def along(self, times: Sequence[float]) -> Sequence[Sequence[float]]:
        """Compute the first two derivatives of the loss along the step, at several lengths."""
        ...

    def advance(self, w: Floats, t: float, predicted: Floats) -> Linearization:
        """Move along the step and linearize there.

        Parameters
        ----------
        w : array of shape (n_weights,)
            Weights after the step.
        t : float
            Length of the step.
        predicted : array of shape (n_weights,)
            The gradient if the curvature is constant along the step; changed in place.
        """
        ...


class ReducedProblem(Problem, Protocol):
    """A problem whose labels respond to the weights, so it need not be convex.

    Its curvature is the reduced Hessian, with the labels eliminated.
    """

    def energy(self, w: Floats) -> float:
        """Compute the objective at the weights, with the best labels for them."""
        ...

    def hold(self, w: Floats) -> Linearization:
        """Linearize with the labels held fixed, which is convex even if the reduced is not."""
        ...

    def move(self, t: float) -> None:
        """Move along the step."""
        ...
