"""Estimators with more than two classes, other losses, and hierarchies."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from problems import hide, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.designs import workers
from semisvm.label_steps import exact
from semisvm.label_steps.transportation import chosen_cost
from semisvm.labels.partial import prior_counts
from semisvm.losses import LOSSES
from semisvm.methods import Level, Recorder, follow
from semisvm.methods.annealing import Cooling
from semisvm.methods.transductive import Assigning
from semisvm.solvers import State

SEMI = [TransductiveSVC, AnnealedSVC]
EVERY = [NewtonSVC, *SEMI]
MANY = sorted(name for name, loss in LOSSES.items() if loss.many is not None)


def four_blobs(n=200, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 4, n)
    centres = 2.5 * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    X = rng.standard_normal((n, d))
    X[:, :2] += centres[y]
    return X, y


@pytest.fixture
def blobs():
    X, y = four_blobs()
    return X, y, hide(y, 16)


def objective(model, X, y, reg, loss, sample_weight=None):
    S = X @ model.coef_.T + model.intercept_
    weights = np.ones(len(y)) if sample_weight is None else sample_weight
    cost = LOSSES[loss].many.costs(S)[np.arange(len(y)), y]
    norm = np.sum(model.coef_**2) + np.sum(model.intercept_**2)
    return weights @ cost / weights.sum() + reg / 2 * norm


@pytest.mark.parametrize("reg", [1e-1, 1e-3])
def test_one_vs_rest_against_liblinear(reg):
    X, y = four_blobs(seed=2)
    ours = NewtonSVC(reg).fit(X, y)
    peer = LinearSVC(C=1 / (2 * reg * len(y)), dual=False, tol=1e-10, max_iter=10**5).fit(X, y)
    best = objective(peer, X, y, reg, "squared_hinge")
    assert objective(ours, X, y, reg, "squared_hinge") == pytest.approx(best, rel=1e-6)
    assert ours.objective_ == pytest.approx(best, rel=1e-6)


def test_maxent_against_logistic_regression():
    X, y = four_blobs(seed=3)
    reg = 1e-2
    ours = NewtonSVC(reg, loss="log", fit_intercept=False).fit(X, y)
    peer = LogisticRegression(
        C=1 / (reg * len(y)), fit_intercept=False, tol=1e-10, max_iter=10**4
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, peer.coef_, atol=1e-4)
    best = objective(peer, X, y, reg, "log")
    assert ours.objective_ == pytest.approx(best, rel=1e-6)


def test_crammer_singer_against_liblinear():
    X, y = four_blobs(seed=5)
    reg = 1e-1
    ours = NewtonSVC(reg, loss="crammer_singer", fit_intercept=False).fit(X, y)
    peer = LinearSVC(
        C=1 / (reg * len(y)),
        multi_class="crammer_singer",
        fit_intercept=False,
        tol=1e-8,
        max_iter=10**5,
    ).fit(X, y)
    best = objective(peer, X, y, reg, "crammer_singer")
    assert ours.objective_ == pytest.approx(best, rel=2e-4)
    assert objective(ours, X, y, reg, "crammer_singer") == pytest.approx(ours.objective_, rel=1e-9)


def test_binary_maxent_is_two_class_softmax():
    X, y = four_blobs(seed=4)
    y = (y > 1).astype(int)
    model = NewtonSVC(1e-2, loss="log", fit_intercept=False).fit(X, y)
    assert model.coef_.shape == model.node_coef_.shape == (1, 6)
    # half of the squared difference of the two weight vectors is regularised
    peer = LogisticRegression(C=2 / (1e-2 * len(y)), fit_intercept=False, tol=1e-10).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)


def test_squared_loss_against_normal_equations():
    X, y = four_blobs()
    model = NewtonSVC(0.05, loss="squared").fit(X, y)
    A = np.column_stack([X, np.ones(len(y))])
    T = 2.0 * np.eye(4)[y] - 1.0
    W = np.linalg.solve(A.T @ A / len(y) + 0.05 * np.eye(7), A.T @ T / len(y))
    np.testing.assert_allclose(model.coef_, W[:-1].T, atol=1e-5)


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("loss", MANY)
def test_published_attributes(cls, loss, blobs):
    X, y, partly = blobs
    # dual ascent is slow on few columns with weak regularisation
    model = cls(loss=loss, reg=0.2 if loss == "crammer_singer" else 1e-2).fit(X, partly)
    assert model.coef_.shape == (4, 6)
    assert model.intercept_.shape == (4,)
    assert model.decision_function(X).shape == (200, 4)
    given = partly != -1
    np.testing.assert_array_equal(model.transduction_[given], partly[given])
    assert model.score(X, y) > 0.8


@pytest.mark.parametrize("cls", SEMI)
@pytest.mark.parametrize("prior", [None, [0.25, 0.25, 0.2, 0.3], {0: 0.1, 1: 0.2, 2: 0.3, 3: 0.4}])
def test_class_counts_hold_exactly(cls, prior, blobs):
    X, _, partly = blobs
    model = cls(class_prior=prior).fit(X, partly)
    free = partly == -1
    wanted = prior_counts(model.class_prior_, free.sum())
    assert np.bincount(model.transduction_[free], minlength=4).tolist() == wanted.tolist()


@pytest.mark.parametrize("loss", MANY)
def test_beliefs(loss, blobs):
    X, _, partly = blobs
    reg = 0.2 if loss == "crammer_singer" else 1e-3
    model = AnnealedSVC(reg, loss=loss).fit(X, partly)
    beliefs, free = model.label_distribution_, partly == -1
    np.testing.assert_allclose(beliefs.sum(axis=1), 1)
    wanted = prior_counts(model.class_prior_, free.sum())
    np.testing.assert_allclose(beliefs[free].sum(axis=0), wanted, atol=1e-6)


def test_the_simplex_method_takes_no_limit_on_switches(blobs):
    X, _, partly = blobs
    with pytest.raises(ValueError, match="max_switches limits switching"):
        TransductiveSVC(label_step="simplex", max_switches=1).fit(X, partly)


@pytest.mark.parametrize("step", ["exact", "switching", "simplex"])
def test_objective_falls_at_every_level(step):
    X, y = four_blobs(150, 4, seed=5)
    model = TransductiveSVC(label_step=step, reg=1e-2).fit(0.5 * X, hide(y, 12))
    frame = model.trace_.to_frame().query("phase == 'assigning'")
    for _, level in frame.groupby("level"):
        assert np.all(np.diff(level["objective"]) <= 1e-12)
        assert level["switched"].iloc[-1] == 0


@pytest.mark.parametrize("cls", SEMI)
def test_finished_fit_satisfies_first_order_conditions(cls, blobs):
    X, _, partly = blobs
    reg, lam = 1e-2, 0.5
    model = cls(reg, lam, loss="log", tol=1e-12).fit(X, partly)
    free = partly == -1
    cost = np.where(free, lam / free.sum(), 1 / (~free).sum())
    A = np.column_stack([X, np.ones(len(X))])
    W = np.column_stack([model.coef_, model.intercept_]).T
    P = np.exp(-LOSSES["log"].many.costs(A @ W))
    gradient = reg * W + A.T @ (cost[:, None] * (P - np.eye(4)[model.transduction_]))
    assert np.abs(gradient).max() < 1e-6


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize(
    # two opposite weight vectors instead of one, and two one-vs-rest losses of half weight
    ("loss", "factor"),
    [("squared_hinge", 2.0), ("squared", 2.0), ("log", 1.0)],
)
def test_two_classes_give_the_same_answer_either_way(cls, loss, factor, monkeypatch):
    """The fast path for two classes against one score a class."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    X = rng.standard_normal((120, 4)) + 1.5 * (2 * y[:, None] - 1) * np.array([1, 1, 0, 0])
    partly = hide(y, 10)
    options = {"tol": 1e-10, "loss": loss} | ({} if cls is NewtonSVC else {"balance_tol": None})
    if loss == "log":
        # with less, annealing has several valleys to end in
        options["reg"] = 1e-2
    # the entropy of one score counts half beside its losses, two of which make one of maxent
    hot, hotter = ({"temperature": t} if cls is AnnealedSVC else {} for t in (10.0, 20.0 / factor))
    # many classes take closer temperatures where much is decided
    monkeypatch.setattr(Cooling, "deciding", np.inf)
    fast = cls(**options, **hotter).fit(X, partly)
    wanted = cls._specification
    monkeypatch.setattr(cls, "_specification", lambda self: replace(wanted(self), one_score=False))
    slow = cls(**options, **hot).fit(X, partly)
    assert (len(fast.node_coef_), len(slow.node_coef_)) == (1, 2)
    assert "assigning" in slow.trace_["phase"] or cls is NewtonSVC
    np.testing.assert_array_equal(slow.transduction_, fast.transduction_)
    np.testing.assert_allclose(slow.coef_, factor * fast.coef_, atol=1e-4)
    np.testing.assert_array_equal(slow.predict(X), fast.predict(X))
    assert slow.objective_ == pytest.approx(factor * fast.objective_, rel=1e-6)


@pytest.mark.parametrize("cls", EVERY)
def test_containers_and_threads(cls, blobs, monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 50)
    X, _, partly = blobs
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    one = cls(tol=1e-12).fit(X, partly)
    for other in (
        cls(tol=1e-12).fit(sparse.csr_matrix(X), partly),
        cls(tol=1e-12, n_jobs=3).fit(X, partly),
        cls(tol=1e-12).fit(X.astype(np.float32), partly),
    ):
        np.testing.assert_allclose(other.coef_, one.coef_, atol=1e-3)
        np.testing.assert_array_equal(other.transduction_, one.transduction_)


HIERARCHY = {"left": [2, 3], "right": [0, 1]}


@pytest.mark.parametrize("cls", EVERY)
@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
def test_hierarchy(cls, loss, blobs):
    X, y, partly = blobs
    model = cls(loss=loss, hierarchy=HIERARCHY, reg=1e-2).fit(X, partly)
    assert model.node_coef_.shape == (6, 6)
    assert model.coef_.shape == (4, 6)
    names = list(model.hierarchy_.names)
    for k, label in enumerate(model.classes_):
        parent = "left" if label in (2, 3) else "right"
        summed = model.node_coef_[names.index(parent)] + model.node_coef_[names.index(label)]
        np.testing.assert_allclose(model.coef_[k], summed)
    assert model.score(X, y) > 0.85
    sides = np.where(np.isin(model.predict(X), [2, 3]), "left", "right")
    np.testing.assert_array_equal(model.predict_at_depth(X, 1), sides)
    np.testing.assert_array_equal(model.predict_at_depth(X, 2), model.predict(X))


def test_hierarchy_solution_against_expanded_features():
    """One flat problem whose features are repeated for every node on the path."""
    X, y = four_blobs(60, 3)
    reg = 1e-2
    model = NewtonSVC(reg, loss="log", hierarchy=HIERARCHY, fit_intercept=False).fit(X, y)
    paths = model.hierarchy_.paths
    W = model.node_coef_.T
    P = np.exp(-LOSSES["log"].many.costs(X @ W @ paths))
    gradient = reg * W + X.T @ ((P - np.eye(4)[y]) / 60) @ paths.T
    assert np.abs(gradient).max() < 1e-6


def test_flat_hierarchy_changes_nothing(blobs):
    X, _, partly = blobs
    plain = TransductiveSVC().fit(X, partly)
    flat = TransductiveSVC(hierarchy=[[0], [1], [2], [3]]).fit(X, partly)
    np.testing.assert_array_equal(plain.coef_, flat.coef_)


def test_bad_hierarchy_names_the_class(blobs):
    X, _, partly = blobs
    with pytest.raises(ValueError, match="hierarchy lacks the classes"):
        TransductiveSVC(hierarchy={"left": [2, 3]}).fit(X, partly)


def test_prior_of_zero_warns_and_is_kept(blobs):
    X, _, partly = blobs
    with pytest.warns(UserWarning, match="zero rows"):
        model = TransductiveSVC(class_prior=[0.4, 0.3, 0.3, 0.0]).fit(X, partly)
    assert np.all(model.transduction_[partly == -1] != 3)


@pytest.mark.parametrize("cls", SEMI)
def test_prior_of_an_unlabelled_class_is_an_error(cls, blobs):
    X, _, partly = blobs
    with pytest.raises(ValueError, match=r"unknown classes \[9\]"):
        cls(class_prior={0: 0.2, 1: 0.2, 2: 0.2, 3: 0.2, 9: 0.2}).fit(X, partly)


@pytest.mark.parametrize("cls", EVERY)
def test_warm_start(cls, blobs):
    X, _, partly = blobs
    model = cls(warm_start=True, hierarchy=HIERARCHY).fit(X, partly)
    first = model.coef_
    model.fit(X, partly)
    np.testing.assert_allclose(model.coef_, first, atol=1e-2)
    model.set_params(hierarchy=None)
    with pytest.raises(ValueError, match="the hierarchy of the last fit"):
        model.fit(X, partly)


def test_semi_supervised_digits_beat_supervised():
    X, y = load_digits(return_X_y=True)
    X, partly = normalize(X), hide(y, 30, seed=1)
    free = partly == -1
    prior = np.bincount(y[free]) / free.sum()
    supervised = NewtonSVC().fit(X, partly).score(X[free], y[free])
    for cls in SEMI:
        assert cls(class_prior=prior).fit(X, partly).score(X[free], y[free]) > supervised + 0.03


@pytest.mark.parametrize("cls", EVERY)
def test_probabilities_of_the_maxent_loss(cls, blobs):
    X, _, partly = blobs
    model = cls(loss="log", reg=1e-2).fit(X, partly)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))
    assert not hasattr(cls(), "predict_proba"), "margins are no probabilities"
    two = cls(loss="log", reg=1e-2).fit(X, np.where(partly > 1, 1, np.minimum(partly, 0)))
    np.testing.assert_allclose(
        two.predict_proba(X)[:, 1], 1 / (1 + np.exp(-two.decision_function(X)))
    )


class Wavering:
    """A task whose weight steps end at one of two points in turns, both as good."""

    counts = np.array([2, 2])
    sample_size = None

    def __init__(self):
        first = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.0, 1.0]])
        self.points = itertools.cycle([first, first[::-1]])
        self.costs = -next(self.points)
        self.labels = self.found = np.zeros(4, dtype=int)

    @property
    def rows(self):
        return self

    all = rows

    def sampled(self, size):
        """All rows are taken."""
        return self

    def assign(self, prices):
        step = exact(self.costs, self.counts, prices)
        self.found = step.labels
        return step.prices, step.cost, chosen_cost(self.costs, self.labels)

    def adopt_table(self):
        changed = int(np.count_nonzero(self.found != self.labels))
        self.labels = self.found
        return changed

    def set_label_costs(self, lam):
        """Every weight step ends where it ends."""

    def relabeled(self, state, ratio, lam):
        """Nothing is known before a weight step."""

    def solve(self, state, tol, start):
        self.costs = -next(self.points)
        state.n_iter = 1
        return state

    def fit(self):
        return 0.0

    def objective(self, w, lam, fit, cost):
        return 1.0

    def imbalance(self):
        return 0.0


def test_nearly_optimal_weights_cannot_send_labels_round_in_circles():
    task = Wavering()
    method = Assigning(task, State(np.zeros(1)))
    levels = [Level(0.1, 1e-3, last=False), Level(1.0, 1e-3, last=False)]
    rounds, settled = follow("assigning", levels, method, Recorder(), max_rounds=1000)
    assert settled
    assert rounds <= 4


@pytest.mark.parametrize("loss", ["squared_hinge", "log", "crammer_singer"])
def test_rows_that_are_all_the_same_are_no_reason_to_warn(loss):
    partly = np.full(40, -1)
    partly[:9] = np.arange(9) % 3
    model = AnnealedSVC(loss=loss).fit(np.full((40, 3), 3.0), partly)
    counts = np.bincount(model.transduction_)
    assert counts.max() - counts.min() <= 1


def test_coefficients_of_classes_are_sums_along_their_paths():
    X, y = two_blobs(90, 6)
    y = y + (np.arange(90) % 3 == 0)
    tree = {"low": [0, 1], "high": [2]}
    model = TransductiveSVC(class_prior=np.full(3, 1 / 3), hierarchy=tree).fit(X, hide(y, 30))
    paths = model.hierarchy_.paths
    np.testing.assert_allclose(model.coef_, paths.T @ model.node_coef_, rtol=1e-12)
    np.testing.assert_allclose(model.intercept_, paths.T @ model.node_intercept_, rtol=1e-12)
    assert model.coef_.flags.c_contiguous


def test_without_a_hierarchy_a_fit_ends_without_a_product():
    # BLAS would give threads to a product with the identity, which spin on after the fit
    X, y = two_blobs(90, 6)
    y = y + (np.arange(90) % 3 == 0)
    model = TransductiveSVC(class_prior=np.full(3, 1 / 3)).fit(X, hide(y, 30))
    assert model.coef_ is model.node_coef_
