"""SemiBoost: boosting any classifier with rows on whose labels their neighbours agree."""

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.linalg import block_diag
from sklearn.base import clone

from semisvm.designs import Floats, Index
from semisvm.designs.validation import read_rows
from semisvm.designs.vectors import dot
from semisvm.estimators.interop import row_hook, with_callbacks
from semisvm.estimators.newton import NewtonSVC
from semisvm.estimators.parameters import parameters
from semisvm.estimators.scoring import ScoringClassifier, fitting, publish
from semisvm.labels.partial import encode
from semisvm.maps.ensembles import VoteMap, vote
from semisvm.maps.graph_laplacian import similarities
from semisvm.maps.neighbors import fit_neighbors, neighbor_graph
from semisvm.methods.solution import Solution
from semisvm.solvers.trace import Recorder
from semisvm.validation import check_count, check_real, check_same_length

FURTHEST = 150.0
"""Outputs are clipped here before they become exponents, so that products stay finite."""
LEAST_WRONG = 1e-10
"""Smallest share of the confidence that counts as wrong for a member; bounds its weight."""


@dataclass(frozen=True)
class Confidence:
    r"""How strongly its neighbours want an unlabelled row positive (p) and negative (q).

    With outputs H of the unlabelled rows, F = F_l + C F_u sums S_ij exp(-2 y_i H_j) over
    labelled rows i and unlabelled j, and S_ij exp(H_i - H_j) over unlabelled rows. A vote
    h_i of weight a changes F by at most the change of ::

        sum_i exp(-2 a h_i) p_i + exp(2 a h_i) q_i

    so a member of the ensemble is chosen to make this small.

    Attributes
    ----------
    up, down : arrays of shape (u,)
        Sums of the similarities to the positive and to the negative labelled rows.
    between : CSR of shape (u, u)
        Similarities of the unlabelled rows, times C.
    """

    up: Floats
    down: Floats
    between: Any

    @classmethod
    def of(cls, S: Any, labeled: Index, unlabeled: Index, positive: Any, C: float) -> Self:
        """Split the similarities of all rows, (n, n), into these parts."""
        to_labeled = S[unlabeled][:, labeled]
        sign = positive.astype(np.float64)
        between = sparse.csr_array(S[unlabeled][:, unlabeled]) * C
        return cls(to_labeled @ sign, to_labeled @ (1.0 - sign), between)

    def at(self, H: Floats) -> tuple[Floats, Floats]:
        """Compute p and q at outputs H."""
        rise = np.exp(np.clip(H, -FURTHEST, FURTHEST))
        fall = 1.0 / rise
        p = fall * (self.up * fall + 0.5 * (self.between @ rise))
        q = rise * (self.down * rise + 0.5 * (self.between @ fall))
        return p, q

    def inconsistency(self, H: Floats) -> float:
        """Compute F at outputs H."""
        rise = np.exp(np.clip(H, -FURTHEST, FURTHEST))
        fall = 1.0 / rise
        alone = dot(self.up, fall * fall) + dot(self.down, rise * rise)
        return alone + dot(rise, self.between @ fall)


@dataclass
class Ensemble:
    """Members of one two-class problem with their weights, and the outputs so far.

    Attributes
    ----------
    H : array of shape (u,)
        Outputs of the unlabelled rows.
    members : list of fitted classifiers
    weights : list of float
    """

    H: Floats
    members: list[Any] = field(default_factory=list)
    weights: list[float] = field(default_factory=list)

    def add(self, member: Any, weight: float, votes: Floats) -> None:
        """Add a member and its votes."""
        self.members.append(member)
        self.weights.append(weight)
        self.H = self.H + weight * votes


def vote_weight(p: Floats, q: Floats, votes: Floats) -> float:
    """Compute the weight a that minimises sum_i exp(-2 a h_i) p_i + exp(2 a h_i) q_i."""
    right = dot(p, np.maximum(votes, 0.0)) + dot(q, np.maximum(-votes, 0.0))
    wrong = dot(p, np.maximum(-votes, 0.0)) + dot(q, np.maximum(votes, 0.0))
    least = LEAST_WRONG * (right + wrong)
    return 0.25 * float(np.log(max(right, least) / max(wrong, least))) if least > 0.0 else 0.0


@parameters
class SemiBoostClassifier(ScoringClassifier):
    r"""SemiBoost: an ensemble of any classifier that gives similar rows the same label.

    With similarities S of neighbours, labels y_i = -1 or 1 and outputs H of the unlabelled
    rows, the inconsistency ::

        1/(lu) sum_ij S_ij exp(-2 y_i H_j) + unlabeled_weight/u^2 sum_jk S_jk exp(H_j - H_k)

    is large if the output of a row disagrees with the labels or outputs of similar rows. In
    each round the unlabelled rows with the most certain label by this measure join the
    labelled ones, a classifier is fitted to them, and its votes get the weight that lowers
    a bound on the inconsistency most. H is the weighted sum of the votes.

    More than two classes are solved as one-vs-rest problems on the same similarities.

    Parameters
    ----------
    estimator : classifier or None
        Classifier to boost: anything with ``fit(X, y)`` and ``predict(X)`` for labels 0
        and 1. None is `NewtonSVC`, a linear SVM.
    n_estimators : int
        Maximum number of rounds per class; boosting ends sooner if no vote lowers the
        bound.
    share : float
        Fraction of the unlabelled rows that join in each round.
    unlabeled_weight : float
        Weight of the pairs of unlabelled rows.
    n_neighbors : int
        Number of neighbours per row. The similarity of neighbours is a Gaussian as wide as
        their mean distance. The number of rows takes all pairs.

    Attributes
    ----------
    kernel_map_ : VoteMap
        The members; the features of a row are their votes, -1 or 1.
    coef_ : array of shape (1, rank) or (m, rank)
        Weights of the votes; with more than two classes, zero for members of other classes.
    intercept_ : array of shape (1,) or (m,)
        Zero.
    objective_ : float
        The inconsistency; for more than two classes, the sum over their problems.
    n_iter_ : int
        Number of rounds.

    References
    ----------
    Mallapragada, Jin, Jain and Liu, SemiBoost: boosting for semi-supervised learning, IEEE
    Transactions on Pattern Analysis and Machine Intelligence 31, 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from semisvm import SemiBoostClassifier
    >>> X, y = make_moons(200, noise=0.05, random_state=0)
    >>> labels = np.where(np.arange(200) < 6, y, -1)
    >>> tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    >>> plain = tree.fit(X[:6], y[:6]).score(X, y)
    >>> bool(SemiBoostClassifier(tree).fit(X, labels).score(X, y) > plain)
    True
    """

    estimator: Any = None
    _: KW_ONLY
    n_estimators: int = 20
    share: float = 0.1
    unlabeled_weight: float = 1.0
    n_neighbors: int = 50

    @with_callbacks
    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Fit to labelled and unlabelled rows.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n, d)
            Sparse only if the boosted estimator accepts it.
        y : array-like of shape (n,)
            Labels of two or more classes; unlabelled rows hold the marker.

        Returns
        -------
        self : SemiBoostClassifier
        """
        with fitting(self):
            self._fit_rounds(X, y)
        return self

    @property
    def features_by(self) -> str:
        """Votes of the members, which take the place of a kernel."""
        return "votes"

    def _check_parameters(self) -> None:
        check_count("n_estimators", self.n_estimators)
        check_count("n_neighbors", self.n_neighbors)
        check_real("unlabeled_weight", self.unlabeled_weight, at_least=0)
        if not 0.0 < check_real("share", self.share) <= 1.0:
            raise ValueError(f"share must be above 0 and at most 1, got {self.share!r}.")

    def _fit_rounds(self, X: Any, y: ArrayLike) -> None:
        X, labels = read_rows(X, self), encode(y, self.unlabeled)
        check_same_length(X, labels.codes, "y")
        m, u = len(labels.classes), len(labels.unlabeled)
        recorder = Recorder(self.callback, self.verbose, row_hook(self))
        near = int(self.n_neighbors)
        S = similarities(neighbor_graph(fit_neighbors(X, near))) if u else None
        of_labeled = labels.codes[labels.labeled]
        found = [
            self._boost(X, S, labels.labeled, labels.unlabeled, of_labeled == k, recorder, k)
            for k in ((1,) if m == 2 else range(m))
        ]
        scores = np.column_stack([ensemble.H for ensemble, _ in found])
        codes = (scores[:, 0] > 0.0).astype(np.intp) if m == 2 else scores.argmax(axis=1)
        weights = [np.array(ensemble.weights) for ensemble, _ in found]
        solution = Solution(
            np.concatenate(weights),
            sum(inconsistency for _, inconsistency in found),
            sum(map(len, weights)),
            True,
            codes,
        )
        self.kernel_map_ = VoteMap([one for ensemble, _ in found for one in ensemble.members])
        self.coef_ = block_diag(*(one[None] for one in weights))
        self.intercept_ = np.zeros(len(found))
        publish(self, labels, labels.fractions(), solution, recorder)

    def _boost(
        self,
        X: Any,
        S: Any,
        labeled: Index,
        unlabeled: Index,
        positive: NDArray[np.bool_],
        recorder: Recorder,
        of_class: int,
    ) -> tuple[Ensemble, float]:
        """Boost one class against the rest; return the members and the inconsistency."""
        ensemble = Ensemble(np.zeros(len(unlabeled)))
        if len(unlabeled) == 0:
            recorder.note("no unlabelled rows: this is the supervised solution")
            ensemble.add(self._member(X[labeled], positive), 1.0, ensemble.H)
            return ensemble, 0.0
        pairs, u = len(labeled) * len(unlabeled), len(unlabeled)
        C = float(self.unlabeled_weight) * len(labeled) / u
        wanted = Confidence.of(S, labeled, unlabeled, positive, C)
        joining = max(1, round(float(self.share) * u))
        inconsistency = wanted.inconsistency(ensemble.H) / pairs
        member, fitted_to = None, b""
        for number in range(self.n_estimators):
            p, q = wanted.at(ensemble.H)
            surest = np.sort(np.argsort(-np.abs(p - q), kind="stable")[:joining])
            rows = np.concatenate([labeled, unlabeled[surest]])
            assigned = np.concatenate([positive, (p > q)[surest]])
            same, fitted_to = fitted_to, rows.tobytes() + assigned.tobytes()
            # an estimator of the user may draw at random
            if fitted_to != same or self.estimator is not None:
                member = self._member(X[rows], assigned)
            votes = vote(member, X[unlabeled])
            weight = vote_weight(p, q, votes)
            if not weight > 0.0 and ensemble.members:
                break
            ensemble.add(member, max(weight, LEAST_WRONG), votes)
            inconsistency = wanted.inconsistency(ensemble.H) / pairs
            facts = {"value": float(of_class), "objective": inconsistency, "weight": weight}
            recorder.add("boosting", level=of_class, iteration=number, **facts)
            if recorder.stopped:
                break
        recorder.level_done()
        return ensemble, inconsistency

    def _member(self, X: Any, positive: NDArray[np.bool_]) -> Any:
        estimator = NewtonSVC() if self.estimator is None else clone(self.estimator)
        return estimator.fit(X, positive.astype(np.intp))
