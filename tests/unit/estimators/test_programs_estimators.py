"""RLP, the 1-norm SVM and VS3VM: optimal, unique where promised, and falling at every step."""

import itertools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linprog
from sklearn.exceptions import ConvergenceWarning

from problems import hide, two_blobs
from semisvm import ConcaveSVC, FeatureSelectionSVC, OneNormSVC, RobustLPC, train
from semisvm.methods.linear_programs import supergradient
from semisvm.solvers.hinge_programs import HingeProgram
from semisvm.tables import MatrixData


def least_norm_of_fewest_errors(X, y):
    """Solve twice: the fewest errors, then the least 1-norm among these points."""
    n, d = X.shape
    t = np.where(y == 1, 1.0, -1.0)
    T = t[:, None] * X
    rows, right = np.hstack([-T, T, -t[:, None], -np.eye(n)]), -np.ones(n)
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * n
    errors = np.concatenate([np.zeros(2 * d + 1), np.ones(n)])
    norm = np.concatenate([np.ones(2 * d), np.zeros(n + 1)])
    first = linprog(errors, rows, right, bounds=bounds)
    second = linprog(
        norm, np.vstack([rows, errors]), np.append(right, first.fun + 1e-9), bounds=bounds
    )
    return first.fun, second.fun


@pytest.mark.parametrize(("gap", "d"), [(6.0, 3), (1.0, 4), (0.5, 40)])
@pytest.mark.parametrize("seed", range(3))
def test_rlp_takes_the_least_norm_of_the_fewest_errors(gap, d, seed):
    """Separable by far, inseparable, and separable because there are so many columns."""
    X, y = two_blobs(40, d, gap=gap, seed=seed)
    errors, norm = least_norm_of_fewest_errors(X, y)
    model = RobustLPC().fit(X, y)
    assert model.objective_ == pytest.approx(errors, abs=2e-6)
    assert np.abs(model.coef_).sum() == pytest.approx(norm, rel=1e-4)
    below = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
    assert below.sum() == pytest.approx(model.objective_, abs=1e-9)
    assert model.reg_ == 0.0


def test_rlp_does_not_depend_on_the_order_of_rows_or_classes():
    X, y = two_blobs(40, 30, gap=1.0)
    scores = RobustLPC().fit(X, y).decision_function(X)
    order = np.random.default_rng(1).permutation(40)
    again = RobustLPC().fit(X[order], y[order]).decision_function(X)
    np.testing.assert_allclose(again, scores, atol=1e-6)
    other = RobustLPC().fit(X, 1 - y).decision_function(X)
    np.testing.assert_allclose(other, -scores, atol=1e-6)


@pytest.mark.parametrize("unit", [1e-12, 1e30])
def test_rlp_does_not_depend_on_the_unit(unit):
    X, y = two_blobs(40, 4, gap=1.0)
    scores = RobustLPC().fit(X, y).decision_function(X)
    again = RobustLPC().fit(unit * X, y).decision_function(unit * X)
    np.testing.assert_allclose(again, scores, atol=1e-6)


def test_one_norm_svm_has_few_weights_and_their_number():
    X, y = two_blobs(60, 30)
    models = [OneNormSVC(mu=mu).fit(X, y) for mu in (0.1, 5.0, 20.0)]
    counts = [int(model.n_nonzero_[0]) for model in models]
    assert counts == [np.count_nonzero(model.coef_) for model in models]
    assert counts[0] > counts[1] > counts[2] > 0
    for model in models:
        below = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
        assert model.objective_ == pytest.approx(below.sum() + model.mu * abs(model.coef_).sum())


def counted(model, X, y):
    below = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
    return below.sum() + model.mu * np.sum(1 - np.exp(-model.sharpness * np.abs(model.coef_)))


def test_feature_selection_never_rises_and_keeps_its_objective():
    X, y = two_blobs(60, 30, gap=1.5)
    model = FeatureSelectionSVC(mu=0.5).fit(X, y)
    assert np.all(np.diff(model.trace_["objective"]) <= 0)
    assert model.objective_ == pytest.approx(counted(model, X, y))
    for price in (0.5, 0.5 * model.sharpness):
        start = OneNormSVC(mu=price).fit(X, y)
        start.sharpness, start.mu = model.sharpness, model.mu
        assert model.objective_ < counted(start, X, y)


def test_feature_selection_ends_where_its_own_program_does():
    X, y = two_blobs(60, 12, gap=1.5)
    model = FeatureSelectionSVC(mu=0.5, tol=0.0).fit(X, y)
    mu, alpha = model.mu, model.sharpness
    prices = mu * alpha * np.maximum(np.exp(-alpha * np.abs(model.coef_[0])), 1e-4)
    found = HingeProgram(X, 2.0 * y - 1.0, prices).solve(np.ones(len(y)))
    below = np.maximum(0, 1 - (2 * y - 1) * model.decision_function(X))
    ours = below.sum() + prices @ np.abs(model.coef_[0])
    assert ours == pytest.approx(found.value, rel=1e-7)


def test_feature_selection_finds_the_best_subset_of_few_columns():
    rng = np.random.default_rng(0)
    X, y = two_blobs(60, 6, gap=6.0)
    X[:, 2:] = rng.standard_normal((60, 4))
    model = FeatureSelectionSVC(mu=2.0, sharpness=20.0).fit(X, y)
    errors = []
    for chosen in itertools.product([False, True], repeat=6):
        if any(chosen):
            best = RobustLPC().fit(X[:, chosen], y).objective_
            errors.append(best + 2.0 * sum(chosen))
    assert model.objective_ <= 1.05 * min(errors)
    assert model.n_nonzero_[0] <= 2


def concave_objective(model, X, y, partly):
    f = model.decision_function(X)
    known = partly != -1
    labeled = np.maximum(0, 1 - (2 * y - 1) * f)[known].sum()
    free = np.maximum(0, 1 - np.abs(f[~known])).sum()
    return labeled + model.mu * np.abs(model.coef_).sum() + model.nu * free


def fit_quietly(model, X, y):
    """Two blobs may end on one side, which is noted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return model.fit(X, y)


def majorizer_minimum(model, X, y, partly, balanced):
    """Minimise the linearisation of the objective at a model, by another solver."""
    known = partly != -1
    share = supergradient(model.decision_function(X)[~known])
    rows = np.vstack([X[known], X[~known], X[~known]])
    ones = np.ones(len(share))
    t = np.concatenate([2.0 * y[known] - 1, ones, -ones])
    cost = np.concatenate([np.ones(known.sum()), model.nu * share, model.nu * (1 - share)])
    (k, d), T = rows.shape, t[:, None] * rows
    c = np.concatenate([np.full(2 * d, model.mu), [0.0], cost])
    A = np.hstack([-T, T, -t[:, None], -np.eye(k)])
    bounds = [(0, None)] * (2 * d) + [(None, None)] + [(0, None)] * k
    mean = X[~known].mean(axis=0)
    equation = np.concatenate([mean, -mean, [1.0], np.zeros(k)])
    equal = {"A_eq": [equation], "b_eq": 0.0} if balanced else {}
    return linprog(c, A, -np.ones(k), bounds=bounds, **equal).fun


@settings(max_examples=25)
@given(
    st.integers(0, 1000),
    st.sampled_from([0.1, 1.0]),
    st.sampled_from([0.01, 0.1, 1.0]),
    st.booleans(),
)
def test_the_objective_falls_and_the_end_is_stationary(seed, mu, nu, balanced):
    X, y = two_blobs(60, 5, gap=2.0, seed=seed)
    partly = hide(y, 10, seed)
    model = ConcaveSVC(mu, nu, class_prior=[0.5, 0.5] if balanced else None)
    fit_quietly(model, X, partly)
    objectives = model.trace_["objective"]
    assert np.all(np.diff(objectives) <= 0)
    assert model.objective_ == objectives[-1]
    assert model.objective_ == pytest.approx(concave_objective(model, X, y, partly))
    assert model.n_iter_ < model.max_iter
    gain = model.objective_ - majorizer_minimum(model, X, y, partly, balanced)
    assert -1e-6 <= gain <= 1e-5 * model.objective_
    if balanced:
        assert model.decision_function(X)[partly == -1].mean() == pytest.approx(0.0, abs=1e-9)


def test_supergradient_is_half_on_ties():
    f = np.array([0.3, -2.0, 0.0, 1e-12, -1e-12])
    np.testing.assert_array_equal(supergradient(f), [1.0, 0.0, 0.5, 0.5, 0.5])


def test_more_starts_find_lower_minima():
    X, y = two_blobs(60, 4, gap=0.8)
    partly = hide(y, 8)
    given = {"nu": 0.5, "class_prior": [0.5, 0.5]}
    ends = [ConcaveSVC(**given, n_starts=k).fit(X, partly) for k in (1, 5, 20)]
    objectives = [model.objective_ for model in ends]
    assert objectives[0] >= objectives[1] >= objectives[2]
    assert objectives[2] < objectives[0]
    assert ends[2].trace_["level"].max() == 19
    assert ends[2].objective_ == pytest.approx(concave_objective(ends[2], X, y, partly))


def test_without_unlabelled_rows_it_is_the_one_norm_svm():
    X, y = two_blobs(40, 5)
    model, peer = ConcaveSVC(mu=0.7).fit(X, y), OneNormSVC(mu=0.7).fit(X, y)
    np.testing.assert_allclose(model.coef_, peer.coef_)
    assert model.objective_ == pytest.approx(peer.objective_)
    assert model.n_iter_ == 1


def test_sparse_is_dense_and_renumbered_columns_come_back():
    rng = np.random.default_rng(0)
    X = sparse.random(80, 6000, 0.5, format="csr", random_state=rng)
    y = (X[:, :50].sum(axis=1).A1 > X[:, 50:100].sum(axis=1).A1).astype(int)
    partly = hide(y, 40)
    for model in (ConcaveSVC(), OneNormSVC(), RobustLPC()):
        thin = model.fit(X, partly).coef_.copy()
        thick = model.fit(X.toarray(), partly).coef_
        np.testing.assert_allclose(thin, thick, atol=1e-9)
        assert 0 < model.n_nonzero_[0] < 60


def test_one_sided_models_are_reported_and_a_prior_prevents_them():
    """Two labels that lie together, and a cloud beside them."""
    rng = np.random.default_rng(0)
    X = np.vstack([[[0.0, 0.0], [0.4, 0.0]], rng.normal([6.0, 0.0], 1.0, (60, 2))])
    y = np.append([0, 1], np.full(60, -1))
    model = ConcaveSVC(mu=0.1, nu=1.0)
    with pytest.warns(UserWarning, match=r"all 60 unlabelled rows are .*set class_prior"):
        model.fit(X, y)
    assert len(set(model.transduction_[2:])) == 1
    assert "set class_prior" in model.trace_.notes[-1]
    balanced = ConcaveSVC(mu=0.1, nu=1.0, class_prior=[0.5, 0.5]).fit(X, y)
    assert 10 < np.sum(balanced.transduction_[2:] == 1) < 50


@pytest.mark.parametrize("cls", [ConcaveSVC, OneNormSVC, RobustLPC])
def test_many_classes_and_kernels(cls):
    rng = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = 3.0 * np.array([[0, 0], [1, 0], [0, 1]])[y] + 0.4 * rng.standard_normal((90, 2))
    names = np.array(["a", "b", "c"], dtype=object)[y]
    partly = np.where(np.arange(90) < 15, names, None)
    model = cls(kernel="rbf", gamma=0.5).fit(X, partly)
    assert model.score(X, names) > 0.9
    assert model.coef_.shape == (3, model.kernel_map_.rank)
    assert model.n_nonzero_.shape == (3,)
    assert np.mean(model.transduction_ == names) > 0.9


def test_max_iter_and_callback_stop_a_fit():
    X, y = two_blobs(120, 6, gap=1.0)
    partly = hide(y, 10)
    with pytest.warns(ConvergenceWarning, match=r"max_iter \(2\)"):
        assert ConcaveSVC(max_iter=2).fit(X, partly).n_iter_ == 2
    stopped = ConcaveSVC(callback=lambda row: row["iteration"] == 1).fit(X, partly)
    assert stopped.n_iter_ == 2
    assert stopped.trace_["pivots"].sum() > 0


def test_a_summary_leaves_out_labelled_fractions_that_are_not_used():
    X, y = two_blobs(60, 3)
    labels = np.where(np.arange(60) < 10, y.astype(object), None)
    data = MatrixData(sparse.csr_matrix(X), labels)
    notes = {name: train(data, name).summary["notes"] for name in ("tsvm", "vs3vm")}
    assert not any("class_prior" in note for each in notes.values() for note in each)


def test_concave_programs_end_where_nothing_is_gained_at_all():
    X, y = two_blobs(40, 3)
    assert ConcaveSVC(tol=0).fit(X, hide(y, 8)).n_iter_ >= 1


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (OneNormSVC(mu=0.0), "mu must be a finite number > 0"),
        (ConcaveSVC(nu=-1.0), "nu must be a finite number > 0"),
        (ConcaveSVC(max_iter=0), "max_iter must be a whole number"),
        (ConcaveSVC(tol=-1.0), "tol must be a finite number >= 0"),
        (RobustLPC(callback=3), "callback must be a function"),
        (ConcaveSVC(class_prior="labelled"), "class_prior must be None"),
    ],
)
def test_parameters_that_make_no_sense(model, message):
    X, y = two_blobs(20, 3)
    with pytest.raises(ValueError, match=message):
        model.fit(X, hide(y, 6))
