"""Sample weights of semi-supervised fits: a row of weight two is two rows.

A row is not divided between classes, and two equal rows may be. So fits with hard labels are
equal if the classes are apart and have their true shares; otherwise a boundary may cross a heavy
row on the way. `tests/unit/test_row_weights.py` has the rule for the boundary row.
"""

import warnings

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from problems import hide
from promises import clusters
from semisvm import (
    AnnealedSVC,
    ClusterKernelSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    GradientTSVC,
    LaplacianRLSC,
    LaplacianSVC,
    LowDensitySeparation,
    MeanSVC,
    NewtonSVC,
    PosteriorRegularizedClassifier,
    SemiBoostClassifier,
    SemiSupervisedCommittee,
    TransductiveSVC,
)
from semisvm.losses import LOSSES
from semisvm.model_selection import PartialLabelKFold, choose, compare

MODEST = settings(max_examples=8)
seeds = st.integers(0, 10_000)
SEMI = pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
TIGHT = {"reg": 0.05, "tol": 1e-12}
"""Weights are compared to six digits; the objective is flat to twice as many."""


def problem(m, seed, n=60):
    """Rows of m classes, a few labels, whole weights: large ones only far from other classes."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    X = 4.0 * np.eye(m, 5)[y] + rng.standard_normal((n, 5))
    ranked = np.sort(X[:, :m], axis=1)
    depth = ranked[:, -1] - ranked[:, -2]
    weight = np.where(depth > np.quantile(depth, 0.6), rng.integers(1, 4, n), 1)
    return X, hide(y, 4 * m, seed), weight


def apart(m, seed, n=60):
    """Rows of m classes far apart, a few labels, whole weights, and the true class shares."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % m
    X = 9.0 * np.eye(m, 5)[y] + rng.standard_normal((n, 5))
    partly, weight = hide(y, 4 * m, seed), rng.integers(1, 5, n)
    free = np.flatnonzero(partly == -1)
    weight[free[0]] = 1
    counts = np.bincount(y[free], weight[free])
    return X, partly, weight, counts / counts.sum()


def repeated(X, partly, weight):
    return np.repeat(X, weight, axis=0), np.repeat(partly, weight)


def of_repeated(values, weight):
    """Return one of the values of each row that is there several times."""
    return values[np.append(0, np.cumsum(weight))[:-1]]


def check_same(one, two, atol=1e-6):
    np.testing.assert_allclose(one.coef_, two.coef_, atol=atol)
    np.testing.assert_allclose(one.intercept_, two.intercept_, atol=atol)


def prior(m):
    return np.arange(2, m + 2) / np.arange(2, m + 2).sum()


@SEMI
@pytest.mark.parametrize("m", [2, 3])
@MODEST
@given(seed=seeds)
def test_duplicated_row_is_weight_two(cls, m, seed):
    *data, shares = apart(m, seed)
    check_duplicated(cls, *data, shares)


@SEMI
@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("seed", range(4))
def test_duplicated_rows_of_classes_that_overlap(cls, m, seed):
    X, partly, weight = problem(m, seed)
    model = cls(reg=0.05, class_prior=np.full(m, 1 / m))
    weighted = clone(model).fit(X, partly, sample_weight=weight)
    twice = model.fit(*repeated(X, partly, weight))
    found = of_repeated(twice.transduction_, weight)
    # rows on the boundaries, which may differ by one each, and what these draw along
    assert np.count_nonzero(weighted.transduction_ != found) <= 3


def check_duplicated(cls, X, partly, weight, shares):
    options = {**TIGHT, "class_prior": shares}
    weighted = cls(**options).fit(X, partly, sample_weight=weight)
    twice = cls(**options).fit(*repeated(X, partly, weight))
    check_same(weighted, twice)
    np.testing.assert_array_equal(weighted.transduction_, of_repeated(twice.transduction_, weight))
    assert weighted.objective_ == pytest.approx(twice.objective_, rel=1e-8)


MAXENT = {"reg": 0.05, "tol": 1e-13}
SMOOTH = {
    "posterior": PosteriorRegularizedClassifier(**MAXENT),
    "expectation": ExpectationConstrainedClassifier(**MAXENT, constraint_tol=1e-9),
    "entropy": EntropyRegularizedClassifier(**MAXENT, constraint_tol=1e-9, unlabeled_weight=0.1),
}
"""Without hard labels any row may weigh more, at any shares: nothing has to be divided."""


@pytest.mark.parametrize("name", SMOOTH)
@pytest.mark.parametrize("m", [2, 3])
@MODEST
@given(seed=seeds)
def test_soft_labels_of_duplicated_rows(name, m, seed):
    X, partly, weight = problem(m, seed)
    weight = np.random.default_rng(seed).permutation(weight)
    weight[np.flatnonzero(partly == -1)[0]] = 1
    model = clone(SMOOTH[name]).set_params(class_prior=prior(m))
    weighted = clone(model).fit(X, partly, sample_weight=weight)
    twice = model.fit(*repeated(X, partly, weight))
    check_same(weighted, twice, atol=1e-4)
    found = of_repeated(twice.label_distribution_, weight)
    np.testing.assert_allclose(weighted.label_distribution_, found, atol=1e-4)


CASES = {
    **{f"tsvm-{loss}": TransductiveSVC(loss=loss) for loss in LOSSES},
    **{f"da-{loss}": AnnealedSVC(loss=loss) for loss in LOSSES},
    "tsvm-tree": TransductiveSVC(hierarchy=[["low", 0], ["low", 1], ["high", 2]]),
    "da-tree": AnnealedSVC(hierarchy=[["low", 0], ["low", 1], ["high", 2]]),
    "nabla": GradientTSVC(),
    "lds": LowDensitySeparation(n_neighbors=10, share=0.0),
}


def classes_of(name):
    if "tree" in name:
        return [3]
    return [2] if name.endswith("-hinge") else [2, 3]


EVERY = pytest.mark.parametrize(("name", "m"), [(k, m) for k in CASES for m in classes_of(k)])


def fitted(name, shares, *data, **weights):
    model = clone(CASES[name]).set_params(reg=0.05, class_prior=shares)
    model.set_params(tol=1e-6 if name.endswith(("-hinge", "singer", "nabla", "lds")) else 1e-12)
    with warnings.catch_warnings():
        # dual ascent ends at its own tolerance
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*data, **weights)


def check_close(name, one, two, X):
    near = 0.05 if name.endswith(("-hinge", "singer", "nabla")) else 2e-3
    np.testing.assert_allclose(one.decision_function(X), two.decision_function(X), atol=near)


@pytest.mark.parametrize(
    ("name", "m"), [(k, m) for k in CASES if k != "lds" for m in classes_of(k)]
)
def test_every_loss_and_a_hierarchy(name, m):
    X, partly, weight, shares = apart(m, 1)
    weighted = fitted(name, shares, X, partly, sample_weight=weight)
    twice = fitted(name, shares, *repeated(X, partly, weight))
    check_close(name, weighted, twice, X)
    found = of_repeated(twice.transduction_, weight)
    np.testing.assert_array_equal(weighted.transduction_, found)


@EVERY
def test_only_ratios_of_weights_count(name, m):
    X, partly, weight = problem(m, 2)
    weight = weight + np.random.default_rng(0).random(len(weight))
    one = fitted(name, prior(m), X, partly, sample_weight=weight)
    # labelled and unlabelled rows are weighed among themselves
    scaled = weight * np.where(partly < 0, 7.3, 0.01)
    other = fitted(name, prior(m), X, partly, sample_weight=scaled)
    check_close(name, one, other, X)
    np.testing.assert_array_equal(one.transduction_, other.transduction_)


@EVERY
def test_equal_weights_are_none(name, m):
    X, partly, _ = problem(m, 3)
    one = fitted(name, prior(m), X, partly)
    other = fitted(name, prior(m), X, partly, sample_weight=0.7)
    np.testing.assert_allclose(one.coef_, other.coef_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("name", "m"), [(k, m) for k in CASES if k != "lds" for m in classes_of(k)]
)
def test_zero_weight_is_no_row(name, m):
    X, partly, weight = problem(m, 4)
    rng = np.random.default_rng(4)
    junk, wrong = rng.standard_normal((12, X.shape[1])), rng.integers(-1, m, 12)
    more = np.vstack([X, junk]), np.append(partly, wrong), np.append(weight, np.zeros(12))
    one = fitted(name, prior(m), X, partly, sample_weight=weight)
    other = fitted(name, prior(m), *more[:2], sample_weight=more[2])
    check_close(name, one, other, X)
    np.testing.assert_array_equal(one.transduction_, other.transduction_[: len(X)])
    np.testing.assert_array_equal(other.transduction_[len(X) :][wrong >= 0], wrong[wrong >= 0])


@SEMI
@pytest.mark.parametrize("m", [2, 3])
def test_wherever_the_rows_are(cls, m, tmp_path):
    X, partly, weight = problem(m, 5)
    weight = weight * np.random.default_rng(5).integers(1, 3, len(weight)) / 2
    options = {**TIGHT, "class_prior": np.full(m, 1 / m)}
    dense = cls(**options).fit(X, partly, sample_weight=weight)
    csr = cls(**options).fit(sparse.csr_matrix(X), partly, sample_weight=weight)
    check_same(csr, dense)
    da = pytest.importorskip("dask.array")
    parts = da.from_array(X, chunks=(17, X.shape[1]))
    spread = cls(**options).fit(parts, partly, sample_weight=da.from_array(weight, chunks=20))
    check_same(spread, dense)
    np.testing.assert_array_equal(spread.transduction_.compute(), dense.transduction_)


@SEMI
@pytest.mark.parametrize("m", [2, 3])
def test_shares_are_kept_by_weight(cls, m):
    X, partly, _ = problem(m, 6, n=150)
    free = partly == -1
    weight = np.random.default_rng(6).gamma(2.0, size=len(X))
    model = cls(reg=0.05, class_prior=prior(m)).fit(X, partly, sample_weight=weight)
    found = np.bincount(model.transduction_[free], weight[free], minlength=m)
    # what is missing is less than the rows on the boundaries
    assert np.abs(found - prior(m) * found.sum()).max() <= (m - 1) * weight[free].max()


@pytest.mark.parametrize("m", [2, 3])
def test_estimated_shares_count_weights(m):
    X, _, partly = clusters(m, n=120)
    free = partly == -1
    plain = TransductiveSVC().fit(X, partly).class_prior_
    # the class whose rows weigh four times as much has a larger share
    labeled_preconditioner = TransductiveSVC().fit(
        X, partly, sample_weight=np.where(X[:, 0] > 0.7, 4.0, 1.0)
    )
    assert labeled_preconditioner.class_prior_[0] > plain[0] + 0.1
    junk = np.vstack([X, np.tile(X[free][:1], (40, 1))]), np.append(partly, np.full(40, -1))
    ones = np.append(np.ones(len(X)), np.zeros(40))
    same = TransductiveSVC().fit(*junk, sample_weight=ones).class_prior_
    np.testing.assert_allclose(same, plain, atol=1e-6)


@SEMI
def test_weights_are_routed(cls):
    X, _, partly = clusters(2)
    weight = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        model = cls(class_prior=[0.5, 0.5]).set_fit_request(sample_weight=True)
        model.set_score_request(sample_weight=False)
        search = GridSearchCV(model, {"reg": [1e-2]}, cv=PartialLabelKFold(2))
        search.fit(X, partly, sample_weight=weight)
    direct = cls(class_prior=[0.5, 0.5], reg=1e-2).fit(X, partly, sample_weight=weight)
    np.testing.assert_allclose(search.best_estimator_.coef_, direct.coef_)


@SEMI
@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([1.0, -1.0], "entry 1 is -1"),
        ([np.nan, 1.0], "entry 0 is nan"),
        ([1.0], "has 1 entries"),
        ([[1.0, 1.0]], "1D array"),
        ([0.0, 0.0], "zero for every labelled row"),
        ([1e308, 1e308], "divide them all"),
    ],
)
def test_bad_weights(cls, weight, message):
    X, _, partly = clusters(2)
    n = len(X) // 2
    given = np.tile(weight, n) if len(weight) == 2 else np.array(weight)
    with pytest.raises(ValueError, match=message):
        cls().fit(X, partly, sample_weight=given)


def test_unlabelled_rows_without_weight_are_absent():
    X, _, partly = clusters(2)
    model = TransductiveSVC(reg=1e-2).fit(X, partly, sample_weight=(partly >= 0).astype(float))
    supervised = NewtonSVC(reg=1e-2).fit(X, partly)
    np.testing.assert_allclose(model.coef_, supervised.coef_, atol=1e-6)
    np.testing.assert_array_equal(model.transduction_, supervised.transduction_)


@pytest.mark.parametrize(
    "options", [{"max_switches": 3}, {"label_step": "switching"}, {"label_step": "simplex"}]
)
def test_label_steps_that_exchange_rows_are_refused(options):
    X, partly, weight = problem(2 if "max_switches" in options else 3, 0)
    with pytest.raises(ValueError, match="one for one"):
        TransductiveSVC(**options).fit(X, partly, sample_weight=weight)
    TransductiveSVC(**options).fit(X, partly, sample_weight=np.full(len(X), 2.0))


@pytest.mark.parametrize("method", ["iter", "mkl"])
@pytest.mark.parametrize("m", [2, 3])
def test_label_means_of_duplicated_rows(method, m):
    X, partly, weight, shares = apart(m, 7)
    weight[np.flatnonzero(partly >= 0)[0]] = 1
    model = MeanSVC(C=1.0, method=method, class_prior=shares, tol=1e-8)
    weighted = clone(model).fit(X, partly, sample_weight=weight)
    twice = model.fit(*repeated(X, partly, weight))
    check_same(weighted, twice, atol=1e-3)
    np.testing.assert_array_equal(weighted.transduction_, of_repeated(twice.transduction_, weight))


@pytest.mark.parametrize("m", [2, 3])
def test_label_means_by_weight(m):
    X, partly, _ = problem(m, 8, n=90)
    weight = np.random.default_rng(8).gamma(2.0, size=len(X))
    free = partly == -1
    model = MeanSVC(C=1.0, class_prior=prior(m)).fit(X, partly, sample_weight=weight)
    found = np.bincount(model.transduction_[free], weight[free], minlength=m)
    assert np.abs(found - prior(m) * found.sum()).max() <= (m - 1) * weight[free].max()


@pytest.mark.parametrize(
    "model", [LaplacianSVC(), LaplacianRLSC(), ClusterKernelSVC(n_runs=5, n_clusters=3)]
)
def test_graphs_and_clusters_weigh_labelled_rows(model):
    X, _, partly = clusters(2)
    wrong = np.flatnonzero(partly >= 0)[:3]
    noisy, weight = partly.copy(), np.ones(len(X))
    noisy[wrong], weight[wrong] = 1 - partly[wrong], 0.0
    hidden = partly.copy()
    hidden[wrong] = -1
    one, other = clone(model).fit(X, noisy, sample_weight=weight), clone(model).fit(X, hidden)
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(X), atol=1e-4)


def test_a_committee_passes_weights_to_its_members():
    X, _, partly = clusters(2)
    weight = np.random.default_rng(9).integers(1, 5, len(X)).astype(float)
    members = [("svm", NewtonSVC()), ("tsvm", TransductiveSVC(class_prior=[0.5, 0.5]))]
    model = SemiSupervisedCommittee(members, weights=[1.0, 1.0], class_prior=[0.5, 0.5])
    model.fit(X, partly, sample_weight=weight)
    for (_, member), fitted_member in zip(members, model.estimators_, strict=True):
        alone = clone(member).fit(X, partly, sample_weight=weight)
        np.testing.assert_allclose(fitted_member.coef_, alone.coef_, atol=1e-6)
    free = partly == -1
    found = np.bincount(model.predict(X[free]), weight[free], minlength=2)
    assert abs(found[1] - 0.5 * found.sum()) <= weight[free].max()


def test_a_committee_names_members_that_take_no_weights():
    X, _, partly = clusters(2)
    members = [("svm", NewtonSVC()), ("boost", SemiBoostClassifier(n_estimators=2))]
    with pytest.raises(ValueError, match=r"members \['boost'\]"):
        SemiSupervisedCommittee(members).fit(X, partly, sample_weight=np.ones(len(X)))


def test_compare_and_choose_pass_weights():
    X, _, partly = clusters(2)
    weight = np.random.default_rng(3).integers(1, 5, len(X)).astype(float)
    seen = []

    class Given(NewtonSVC):
        def fit(self, X, y, sample_weight=None):
            seen.append((X, sample_weight))
            return super().fit(X, y, sample_weight)

    compare([Given(), TransductiveSVC()], X, partly, cv=2, sample_weight=weight)
    of_row = {row.tobytes(): w for row, w in zip(X, weight, strict=True)}
    assert seen
    for rows, found in seen:
        assert found.tolist() == [of_row[row.tobytes()] for row in rows]
    with pytest.raises(ValueError, match="SemiBoostClassifier cannot be fitted"):
        compare([NewtonSVC(), SemiBoostClassifier()], X, partly, sample_weight=weight)
    choice = choose(X, partly, quick=True, sample_weight=weight)
    choice.make().fit(X, partly, sample_weight=weight)
