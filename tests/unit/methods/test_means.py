import itertools
import warnings

import numpy as np
import pytest
from papers.mean_problems import Separation, SmallProblem
from scipy import sparse
from scipy.optimize import LinearConstraint, minimize
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from problems import hide, sparse_text, two_blobs
from semisvm import MeanSVC
from semisvm.designs import DenseDesign, Workers, make_design
from semisvm.losses import SQUARED_HINGE
from semisvm.methods import Level, Recorder
from semisvm.methods.label_means import Alternating, CuttingPlanes
from semisvm.solvers.label_means import MeanMargin
from semisvm.tasks.two_classes import TwoClassTask

TIGHT = {"tol": 1e-10, "max_iter": 10**6}


def machine_of(X, labels, C=3.0, C_unlabeled=0.7, bias=1.0):
    design = make_design(X, bias, Workers())
    labeled, unlabeled = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    gram = design.gram(design.rows(labeled))
    return MeanMargin(design, labeled, unlabeled, labels[labeled] == 1, C, C_unlabeled, gram)


def task_of(machine, n_positive):
    return TwoClassTask.of(
        machine.design,
        machine.labeled,
        machine.unlabeled,
        machine.positive,
        np.full(len(machine.labeled), 1 / len(machine.labeled)),
        n_positive=n_positive,
        loss=SQUARED_HINGE,
        reg=1.0,
        recorder=Recorder(),
    )


def small(seed=0, n=14, gap=1.0):
    X, y = two_blobs(n, 3, gap=gap, seed=seed)
    return X, hide(y, 6, seed), y


def solve(machine, planes, mu=None):
    mu = np.full(len(planes), 1 / len(planes)) if mu is None else np.asarray(mu)
    return machine.solve(planes, mu, machine.start(**TIGHT), **TIGHT)


def mean_objective(machine, X, labels, w, b):
    """Problem (7) of the paper, written down from its text; and rho."""
    signs = np.where(machine.positive, 1.0, -1.0)
    free = X[machine.unlabeled]
    rho = min(free[labels].mean(axis=0) @ w + b, -(free[~labels].mean(axis=0) @ w + b))
    hinges = np.maximum(0.0, 1.0 - signs * (X[machine.labeled] @ w + b))
    return 0.5 * w @ w + machine.C * hinges.sum() - machine.C_unlabeled * rho, rho


@pytest.mark.parametrize("kind", ["sparse", "dense"])
@pytest.mark.parametrize("seed", range(3))
def test_objective_and_margin_are_those_of_the_paper(kind, seed):
    X, y = sparse_text(40, 30, seed=seed) if kind == "sparse" else two_blobs(40, 4, seed=seed)
    machine = machine_of(X, hide(y, 10, seed), bias=0.6)
    labels = np.arange(len(machine.unlabeled)) % 3 == 0
    found = solve(machine, [machine.plane(labels)])
    w = machine.weights(found)
    full = X.toarray() if kind == "sparse" else X
    objective, rho = mean_objective(machine, full, labels, w[:-1], 0.6 * w[-1])
    assert found.objective == pytest.approx(objective, rel=1e-9)
    assert machine.margin(found) == pytest.approx(rho, abs=1e-9)
    assert found.energies[0] == pytest.approx(0.5 * w[:-1] @ w[:-1], rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_the_dual_of_the_paper_has_the_same_value(seed):
    """Equations (8) to (10) in l + 2 variables, by a general solver."""
    X, labels, _ = small(seed, n=30)
    machine = machine_of(X, labels, bias=0.0)
    positive = np.arange(len(machine.unlabeled)) % 2 == 0
    free, size = X[machine.unlabeled], len(machine.labeled)
    rows = np.vstack([X[machine.labeled], free[positive].mean(0), free[~positive].mean(0)])
    signs = np.append(np.where(machine.positive, 1.0, -1.0), [1.0, -1.0])
    Q = np.outer(signs, signs) * (rows @ rows.T)
    ones = np.append(np.ones(size), [0.0, 0.0])
    C, C2 = machine.C, machine.C_unlabeled
    result = minimize(
        lambda a: 0.5 * a @ Q @ a - ones @ a,
        np.full(size + 2, C2 / 2),
        jac=lambda a: Q @ a - ones,
        bounds=[(0, C)] * size + [(0, C2)] * 2,
        constraints=LinearConstraint(np.vstack([signs, 1.0 - ones]), [0.0, C2], [0.0, C2]),
        method="trust-constr",
        options={"gtol": 1e-9, "xtol": 1e-12, "maxiter": 3000},
    )
    found = solve(machine, [machine.plane(positive)])
    assert found.objective == pytest.approx(-result.fun, rel=1e-4, abs=1e-5)


def cone_program(machine, X, chosen):
    """Solve (12) with Clarabel; the variables are alpha of the l + 2 rows, and theta."""
    clarabel = pytest.importorskip("clarabel")
    size, free = len(machine.labeled) + 2, X[machine.unlabeled]
    signs = np.append(np.where(machine.positive, 1.0, -1.0), [1.0, -1.0])
    last = np.arange(size) >= size - 2
    upper = np.where(last, machine.C_unlabeled, machine.C)
    parts = [np.vstack([signs, last]), -np.eye(size), np.eye(size)]
    blocks = [np.hstack([part, np.zeros((len(part), 1))]) for part in parts]
    offsets = [[0.0, machine.C_unlabeled], np.zeros(size), upper]
    kinds = [clarabel.ZeroConeT(2), clarabel.NonnegativeConeT(2 * size)]
    for labels in chosen:
        # 2 ||r||^2 <= 4 theta as a cone: ||(theta - 1, sqrt(2) r)|| <= theta + 1
        rows = np.vstack([X[machine.labeled], free[labels].mean(0), free[~labels].mean(0)])
        block = np.zeros((2 + X.shape[1], size + 1))
        block[:2, -1] = -1.0
        block[2:, :-1] = -np.sqrt(2.0) * (signs[:, None] * rows).T
        blocks.append(block)
        offsets.append(np.append([1.0, -1.0], np.zeros(X.shape[1])))
        kinds.append(clarabel.SecondOrderConeT(len(block)))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    nothing, costs = sparse.csc_matrix((size + 1, size + 1)), np.append(last - 1.0, 1.0)
    A, b = sparse.csc_matrix(np.vstack(blocks)), np.concatenate(offsets)
    answer = clarabel.DefaultSolver(nothing, costs, A, b, kinds, settings).solve()
    return -answer.obj_val, signs[:-2] * np.array(answer.x)[: size - 2]


@pytest.mark.parametrize("seed", range(4))
def test_clarabel_agrees_on_the_mixture_of_planes(seed):
    X, labels, _ = small(seed, n=40, gap=0.3)
    machine = machine_of(X, labels, C=0.5, C_unlabeled=8.0, bias=0.0)
    free = X[machine.unlabeled]
    chosen = [np.argsort(np.argsort(free @ v)) < 15 for v in np.vstack([np.eye(3), -np.eye(3)])]
    planes = [machine.plane(labels) for labels in chosen]
    found = machine.mix(planes, np.eye(6)[0], machine.start(**TIGHT), tol=1e-8, max_iter=10**6)
    objective, beta = cone_program(machine, X, chosen)
    assert np.count_nonzero(found.mu > 1e-6) >= 2, "more than one plane matters here"
    assert found.mu.sum() == pytest.approx(1.0)
    assert found.gap <= 1e-8 * found.dual.scale
    assert found.objective == pytest.approx(objective, rel=1e-5)
    np.testing.assert_allclose(found.dual.beta[:-1], beta, atol=1e-3)


def test_few_duals_are_solved_for_the_weights_of_the_planes(monkeypatch):
    calls = []
    solve_once = MeanMargin.solve
    monkeypatch.setattr(MeanMargin, "solve", lambda *a, **k: calls.append(1) or solve_once(*a, **k))
    for seed in range(10):
        X, labels, _ = small(seed, n=40, gap=0.3)
        machine = machine_of(X, labels, C=0.5, C_unlabeled=8.0, bias=0.0)
        free = X[machine.unlabeled]
        ways = np.vstack([np.eye(3), -np.eye(3)])
        planes = [machine.plane(np.argsort(np.argsort(free @ v)) < 15) for v in ways]
        found = machine.mix(planes, np.eye(6)[0], machine.start(**TIGHT), tol=1e-6, max_iter=10**6)
        assert found.gap <= 1e-6 * found.dual.scale
    # 154 by Newton's method; moves between two planes at a time took 1,013
    assert len(calls) < 250


def test_rows_are_exchanged_only_where_nothing_violated_is_found_without(monkeypatch):
    X, y = two_blobs(300, 6, gap=0.8, seed=2)
    exchanged, found, search = [], [], CuttingPlanes._exchanged
    look = CuttingPlanes._violated

    def violated(self, least):
        before = len(exchanged)
        plane = look(self, least)
        found.append((plane is not None, len(exchanged) - before))
        return plane

    monkeypatch.setattr(CuttingPlanes, "_exchanged", lambda *a: exchanged.append(1) or search(*a))
    monkeypatch.setattr(CuttingPlanes, "_violated", violated)
    MeanSVC(C=10.0, C_unlabeled=5.0, method="mkl").fit(X, hide(y, 12))
    assert found[0] == (True, 0)
    assert not found[-1][0]
    assert found[-1][1] > 0


@pytest.mark.parametrize("seed", range(4))
def test_bounds_against_all_labels_of_a_tiny_problem(seed):
    """Relaxation <= best of all labels <= alternation, which ends where no swap is needed."""
    X, labels, _ = small(seed)
    machine = machine_of(X, labels)
    u = len(machine.unlabeled)
    every = []
    for ones in itertools.combinations(range(u), 4):
        chosen = np.isin(np.arange(u), ones)
        every.append(solve(machine, [machine.plane(chosen)]).objective)
    task, level = task_of(machine, 4), Level(0.7, 1e-8, last=True)
    found = {}
    for method in (Alternating, CuttingPlanes):
        steps = method(task, machine, 1e-8, 10**6)
        for _ in range(50):
            steps.weight_step(level)
            if steps.label_step(level)[0]:
                break
        found[method] = steps
    best = min(every)
    assert found[Alternating].found.objective >= best - 1e-6
    assert np.isclose(every, found[Alternating].found.objective, rtol=1e-6).any()
    # planes that were not looked at can only lower the relaxation further
    objectives = [solve(machine, [p]).objective for p in found[CuttingPlanes].planes]
    assert found[CuttingPlanes].found.objective <= min(objectives) + 1e-6


@pytest.mark.parametrize("seed", range(25))
def test_cutting_planes_end_at_the_relaxation_over_all_labels(seed):
    rng = np.random.default_rng(seed)
    d, u = int(rng.integers(2, 5)), int(rng.integers(6, 11))
    X, y = two_blobs(6 + u, d, gap=float(rng.choice([0.5, 1.0, 2.0])), seed=seed)
    C_unlabeled, C = float(rng.choice([0.1, 0.7, 1.0, 3.0])), float(rng.choice([1.0, 3.0, 100.0]))
    labels = hide(y, 6, seed)
    known, free = np.flatnonzero(labels >= 0), np.flatnonzero(labels < 0)
    n_positive = min(max(int(y[free].sum()), 1), u - 1)
    rows = X[np.append(known, free)]
    problem = SmallProblem(rows @ rows.T, y[known] == 1, n_positive, C, C_unlabeled)
    share = n_positive / u
    model = MeanSVC(C, C_unlabeled=C_unlabeled, method="mkl", tol=1e-7, max_iter=500)
    model.set_params(class_prior=[1 - share, share]).fit(X, labels)
    found = [row["objective"] for row in model.trace_ if row["phase"] == "means"][-1]
    relaxed = Separation(problem).relaxed()
    assert found == pytest.approx(relaxed, abs=1e-5 * max(1.0, abs(relaxed)))


def test_exchanges_keep_the_count_and_raise_the_energy():
    X, y = two_blobs(60, 4, gap=0.5, seed=3)
    machine = machine_of(X, hide(y, 8, 3), C_unlabeled=4.0)
    steps = CuttingPlanes(task_of(machine, 20), machine, 1e-8, 10**6)
    steps.weight_step(Level(0.7, 1e-8, last=True))
    rng, exchanged = np.random.default_rng(0), 0
    for _ in range(20):
        labels = np.isin(np.arange(52), rng.choice(52, 20, replace=False))
        start = steps._labelling(labels)
        ahead = steps._exchanged(start)
        if ahead is not None:
            assert ahead.sum() == 20
            assert steps._labelling(ahead).energy > start.energy
            exchanged += 1
        found = steps._exchanges(steps._climb(labels, set()), set())
        assert found.labels.sum() == 20
        assert found.energy >= start.energy
    assert exchanged > 10


def test_alternation_never_raises_its_objective():
    X, y = two_blobs(300, 6, gap=1.2)
    model = MeanSVC(C=10.0, C_unlabeled=5.0, tol=1e-8).fit(X, hide(y, 12))
    means = [row["objective"] for row in model.trace_ if row["phase"] == "means"]
    assert len(means) > 2
    assert np.all(np.diff(means) <= 1e-6 * np.abs(means[:-1]))
    assert model.trace_[len(means) - 1]["changed"] == 0


def test_the_relaxation_falls_as_planes_are_added():
    X, y = two_blobs(300, 6, gap=0.8, seed=2)
    model = MeanSVC(C=10.0, C_unlabeled=5.0, method="mkl", tol=1e-6).fit(X, hide(y, 12))
    rows = [row for row in model.trace_ if row["phase"] == "means"]
    assert [row["planes"] for row in rows] == list(range(1, len(rows) + 1))
    assert np.all(np.diff([row["objective"] for row in rows]) <= 1e-5)


@pytest.mark.parametrize("method", ["iter", "mkl"])
@pytest.mark.parametrize("kind", ["sparse", "dense", "rbf"])
def test_the_last_machine_is_an_svm_on_the_chosen_labels(method, kind):
    X, y = sparse_text(150, 80) if kind == "sparse" else two_blobs(150, 4, gap=1.5)
    labels = hide(y, 12)
    options = {"kernel": "rbf", "gamma": 0.2, "kernel_tol": 1e-12} if kind == "rbf" else {}
    model = MeanSVC(
        C=5.0, C_unlabeled=0.3, method=method, tol=1e-8, class_prior="labels", **options
    ).fit(X, labels)
    free = labels == -1
    wanted = round(np.mean(labels[~free] == 1) * free.sum())
    assert np.count_nonzero(model.transduction_[free] == 1) == wanted
    np.testing.assert_array_equal(model.transduction_[~free], labels[~free])
    cost = np.where(free, 0.3, 5.0)
    peer = SVC(C=1.0, kernel=options.get("kernel", "linear"), gamma=0.2, tol=1e-8)
    peer.fit(X, model.transduction_, sample_weight=cost)
    outputs = model.decision_function(X)
    np.testing.assert_allclose(outputs, peer.decision_function(X), atol=2e-3)
    signs = 2.0 * model.transduction_ - 1.0
    objective = 0.5 * np.sum(model.coef_**2) + cost @ np.maximum(0.0, 1.0 - signs * outputs)
    assert model.objective_ == pytest.approx(objective, rel=1e-7)
    assert model.score(X, y) > 0.75


def test_sparse_rows_and_dense_rows_agree():
    X, y = sparse_text(200, 150)
    labels = hide(y, 12)
    thin = MeanSVC(tol=1e-8).fit(X, labels)
    full = MeanSVC(tol=1e-8).fit(X.toarray(), labels)
    np.testing.assert_array_equal(thin.transduction_, full.transduction_)
    np.testing.assert_allclose(thin.coef_, full.coef_, atol=1e-5)


def test_many_classes_keep_their_counts():
    rng = np.random.default_rng(0)
    y = np.arange(240) % 4
    X = 3.0 * np.eye(4)[y] + 0.8 * rng.standard_normal((240, 4))
    labels = hide(y, 12)
    prior = np.array([0.3, 0.3, 0.2, 0.2])
    for method in ("iter", "mkl"):
        model = MeanSVC(method=method, class_prior=prior).fit(X, labels)
        free = labels == -1
        counts = np.bincount(model.transduction_[free], minlength=4)
        np.testing.assert_allclose(counts, prior * free.sum(), atol=1.0)
        assert model.coef_.shape == (4, 4)
        assert model.score(X, y) > 0.85


def test_classes_share_the_inner_products(monkeypatch):
    """Each row is multiplied with others once, whatever the number of classes."""
    read = []

    def products(self, rows, others):
        read.append(len(rows))
        return DenseDesign.own_products(self, rows, others)

    monkeypatch.setattr(DenseDesign, "own_products", DenseDesign.products, raising=False)
    monkeypatch.setattr(DenseDesign, "products", products)
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 400)
    X = rng.standard_normal((400, 4)) + 1.5 * np.eye(5)[y][:, :4]
    MeanSVC(C_unlabeled=1.0, class_prior="labels").fit(X, hide(y, 40))
    given, *last_machines = read
    assert given == 40
    assert 256 < sum(last_machines) <= 400


def test_many_classes_of_which_one_has_no_unlabelled_row():
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = 4.0 * np.eye(3)[y] + 0.5 * rng.standard_normal((90, 3))
    with pytest.warns(UserWarning, match="zero rows"):
        model = MeanSVC(class_prior=[0.5, 0.5, 0.0]).fit(X, hide(y, 9))
    assert np.count_nonzero(model.transduction_ == 2) == 3
    assert "no mean to separate" in " ".join(model.trace_.notes)


@pytest.mark.parametrize("method", ["iter", "mkl"])
def test_a_class_without_unlabelled_rows_has_no_mean(method):
    """One unlabelled row cannot belong to both classes."""
    X, y = two_blobs(30, 3)
    labels = y.copy()
    labels[0] = -1
    model = MeanSVC(method=method).fit(X, labels)
    assert "no mean to separate" in " ".join(model.trace_.notes)
    assert np.isfinite(model.coef_).all()


def test_without_unlabelled_rows_it_is_the_supervised_machine():
    X, y = two_blobs(60, 3, gap=1.0)
    model = MeanSVC(C=2.0, tol=1e-9).fit(X, y)
    peer = SVC(kernel="linear", C=2.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_, atol=1e-4)
    assert model.n_iter_ == 1
    assert "no unlabelled rows" in model.trace_.notes[0]


@pytest.mark.parametrize("method", ["iter", "mkl"])
def test_rows_that_are_all_alike_end_in_a_finite_model(method):
    """Ties everywhere and a singular matrix: labels go to the earlier rows."""
    X, labels = np.ones((40, 3)), np.full(40, -1)
    labels[:4] = [0, 1, 0, 1]
    model = MeanSVC(method=method).fit(X, labels)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
    np.testing.assert_array_equal(model.transduction_[4:], np.arange(36) < 18)


def test_means_on_the_wrong_sides_are_reported():
    X = np.concatenate([[[3.0], [-3.0]], np.full((30, 1), -5.0), np.full((10, 1), -4.9)])
    labels = np.full(42, -1)
    labels[:2] = [1, 0]
    model = MeanSVC(class_prior=[0.75, 0.25]).fit(X, labels)
    assert model.trace_["margin"][0] < 0.0
    assert "negative margin" in " ".join(model.trace_.notes)


def test_balance_on_request():
    X, y = two_blobs(400, 4, gap=1.0, positive=0.2)
    labels = hide(y, 12)
    shares = {}
    for tol in (None, 0.0):
        model = MeanSVC(class_prior=[0.6, 0.4], balance_tol=tol).fit(X, labels)
        shares[tol] = np.mean(model.predict(X)[labels == -1] == 1)
    assert abs(shares[0.0] - 0.4) <= 2 / 388 < abs(shares[None] - 0.4)


def test_rounds_are_limited():
    X, y = two_blobs(300, 6, gap=1.2)
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = MeanSVC(C=10.0, C_unlabeled=5.0, max_iter=1).fit(X, hide(y, 12))
    assert model.n_iter_ == 2


@pytest.mark.parametrize(
    "wrong",
    [{"C": 0}, {"C_unlabeled": -1.0}, {"method": "sdp"}, {"balance_tol": -1}, {"tol": 0}],
)
def test_parameters_that_make_no_sense(wrong):
    X, y = two_blobs(20)
    with pytest.raises(ValueError, match=next(iter(wrong))):
        MeanSVC(**wrong).fit(X, y)


def test_a_callback_stops_the_fit():
    X, y = two_blobs(300, 6, gap=1.2)
    model = MeanSVC(C=10.0, C_unlabeled=5.0, callback=lambda row: True).fit(X, hide(y, 12))
    assert [row["phase"] for row in model.trace_] == ["means", "machine"]


@pytest.mark.parametrize("method", ["iter", "mkl"])
@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e100, 1e200])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_extreme_values_give_a_finite_model_or_an_error(method, size, n_classes):
    X, y = two_blobs(60, 3)
    y[:20] += n_classes - 2
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow and missing convergence are expected
        model, message = MeanSVC(method=method, max_iter=3), ""
        try:
            model.fit(size * X, hide(y, 10))
        except ValueError as error:
            message = str(error)
    if hasattr(model, "coef_"):
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.intercept_).all()
    else:
        assert "Scale the columns" in message
