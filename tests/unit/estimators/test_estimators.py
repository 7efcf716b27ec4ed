"""NewtonSVC, TransductiveSVC and AnnealedSVC: counts, beliefs, starts and parameters.

What all estimators promise is in ``tests/common``.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from problems import hide, sparse_text, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, Trace, TransductiveSVC
from semisvm.labels.partial import prior_counts

ESTIMATORS = [NewtonSVC, TransductiveSVC, AnnealedSVC]
SEMI = [TransductiveSVC, AnnealedSVC]


@pytest.fixture(params=ESTIMATORS, ids=lambda c: c.__name__)
def cls(request):
    return request.param


@pytest.fixture(params=SEMI, ids=lambda c: c.__name__)
def semi(request):
    return request.param


@pytest.fixture
def blobs():
    X, y = two_blobs(150, 5)
    return X, y, hide(y, 12)


def test_published_attributes(cls, blobs):
    X, y, partly = blobs
    model = cls().fit(X, partly)
    assert model.coef_.shape == (1, 5)
    assert model.intercept_.shape == (1,)
    assert model.classes_.tolist() == [0, 1]
    assert model.class_prior_.sum() == pytest.approx(1)
    assert model.transduction_.shape == (150,)
    given = partly != -1
    np.testing.assert_array_equal(model.transduction_[given], partly[given])
    assert set(np.unique(model.transduction_)) <= {0, 1}
    assert model.n_features_in_ == 5
    assert isinstance(model.trace_, Trace)
    assert model.n_iter_ >= 1
    assert np.isfinite(model.objective_)
    columns = {"objective", "cg_steps", "gradient_norm", "passes", "seconds"}
    assert columns <= set(model.trace_.columns)
    # every step of conjugate gradients reads rows, and so does every round
    assert np.all(np.diff(model.trace_["passes"]) >= 0)
    assert model.trace_["passes"][-1] > 0
    assert model.score(X, y) > 0.85
    np.testing.assert_array_equal(
        model.predict(X), model.classes_[(model.decision_function(X) > 0).astype(int)]
    )


def test_unlabelled_rows_help(semi):
    X, y = two_blobs(400, 30, gap=3.5, seed=1)
    partly = hide(y, 6)
    supervised = NewtonSVC(reg=0.1).fit(X, partly).score(X, y)
    assert semi(reg=0.1).fit(X, partly).score(X, y) > supervised + 0.02


def test_class_counts_hold_exactly(semi, blobs):
    X, _, partly = blobs
    for prior in ([0.5, 0.5], [0.3, 0.7], {1: 0.25, 0: 0.75}):
        model = semi(class_prior=prior).fit(X, partly)
        share = prior[1]
        chosen = model.transduction_[partly == -1]
        assert chosen.sum() == round(share * len(chosen))
        assert model.class_prior_[1] == pytest.approx(share)


def test_label_distribution(blobs):
    X, _, partly = blobs
    model = AnnealedSVC().fit(X, partly)
    beliefs = model.label_distribution_
    assert beliefs.shape == (150, 2)
    np.testing.assert_allclose(beliefs.sum(axis=1), 1)
    unlabeled = partly == -1
    r = prior_counts(model.class_prior_, unlabeled.sum())[1] / unlabeled.sum()
    assert beliefs[unlabeled, 1].mean() == pytest.approx(r, abs=1e-9)
    np.testing.assert_array_equal(beliefs[~unlabeled, 1], partly[~unlabeled])
    np.testing.assert_array_equal(beliefs.argmax(axis=1), model.transduction_)


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 161])
def test_annealing_is_never_worse_than_its_start(seed):
    """With a small class annealing may lose it; then the start, settled, is returned."""
    X, y = two_blobs(300, 30, gap=1.5, seed=seed, positive=0.07)
    rng, partly = np.random.default_rng(seed), np.full(300, -1)
    for label, size in ((0, 12), (1, 2)):
        given = rng.choice(np.flatnonzero(y == label), size, replace=False)
        partly[given] = label
    share = float(np.mean(y[partly == -1]))
    same = {"reg": 1e-3, "class_prior": [1.0 - share, share], "balance_tol": None}
    plain = TransductiveSVC(annealing_rate=1e9, **same).fit(X, partly)
    model = AnnealedSVC(**same).fit(X, partly)
    assert model.objective_ <= plain.objective_ * (1.0 + 1e-3)
    chosen = any("supervised start" in note for note in model.trace_.notes)
    assert "from the start" in set(model.trace_["phase"])
    if chosen:
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)
        beliefs = model.label_distribution_[partly == -1]
        np.testing.assert_array_equal(beliefs.argmax(axis=1), model.transduction_[partly == -1])
    if seed == 161:
        assert chosen


def test_no_unlabelled_rows_is_the_supervised_solution(semi, blobs):
    X, y, _ = blobs
    model = semi(tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.coef_, NewtonSVC().fit(X, y).coef_, atol=1e-5)
    assert any("no unlabelled rows" in note for note in model.trace_.notes)
    np.testing.assert_array_equal(model.transduction_, y)


def test_containers_are_equivalent(cls):
    X, y = sparse_text(80, 60)
    partly = hide(y, 20)
    reference = cls(tol=1e-12).fit(X, partly).coef_
    dense = X.toarray()
    frame = pd.DataFrame(dense, columns=[f"f{j}" for j in range(60)])
    forms = [X.tocsc(), X.tocoo(), sparse.csr_array(X), dense, np.asfortranarray(dense)]
    forms += [dense.tolist(), frame, pl.DataFrame(frame.to_dict("list"))]
    for form in forms:
        np.testing.assert_allclose(cls(tol=1e-12).fit(form, partly).coef_, reference, atol=1e-6)
    assert cls().fit(frame, pd.Series(partly)).feature_names_in_.tolist() == list(frame.columns)


def test_float32_is_close_to_float64(cls):
    X, y = sparse_text(150, 100)
    partly = hide(y, 30)
    exact = cls(tol=1e-10).fit(X, partly)
    rough = cls(tol=1e-10).fit(X.astype(np.float32), partly)
    assert rough.coef_.dtype == np.float64
    assert rough.objective_ == pytest.approx(exact.objective_, rel=1e-5)
    np.testing.assert_allclose(rough.coef_, exact.coef_, atol=1e-4)


def test_no_intercept(cls, blobs):
    X, _, partly = blobs
    model = cls(fit_intercept=False).fit(X, partly)
    assert model.intercept_.tolist() == [0.0]
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0])


def test_intercept_scaling_frees_the_intercept(blobs):
    X, y, _ = blobs
    tight = NewtonSVC(reg=1.0).fit(X + 3, y)
    loose = NewtonSVC(reg=1.0, intercept_scaling=100.0).fit(X + 3, y)
    assert loose.objective_ < tight.objective_


def test_strange_columns_and_rows(cls, blobs):
    X, _, partly = blobs
    X = np.column_stack([X, np.zeros(150), np.full(150, 7.0)])
    X[::10] = 0.0
    model = cls(tol=1e-12).fit(X, partly)
    assert np.isfinite(model.coef_).all()
    assert model.coef_[0, 5] == 0.0
    again = cls(tol=1e-12).fit(sparse.csr_matrix(X), partly)
    np.testing.assert_allclose(again.coef_, model.coef_, atol=1e-6)


def test_not_converged_warns(blobs):
    X, y, _ = blobs
    with pytest.warns(ConvergenceWarning, match="max_iter"):
        model = NewtonSVC(reg=1e-8, tol=1e-14, max_iter=1).fit(X, y)
    assert any("did not converge" in note for note in model.trace_.notes)


def test_too_few_rounds_warn():
    X, y = two_blobs(300, 2, gap=0.3)
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        TransductiveSVC(max_iter=1, max_switches=1, annealing_rate=1e9).fit(X, hide(y, 6))


def test_warm_start_goes_on(cls, blobs):
    X, _, partly = blobs
    model = cls(warm_start=True).fit(X, partly)
    first, rounds = model.coef_, model.n_iter_
    model.fit(X, partly)
    np.testing.assert_allclose(model.coef_, first, atol=1e-3)
    assert model.n_iter_ < rounds
    with pytest.raises(ValueError, match="a different problem"):
        model.fit(X, np.where(partly == 1, 5, partly))
    with pytest.raises(ValueError, match="warm_start=True continues"):
        model.fit(X[:, :4], partly)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"reg": 0}, "reg must be a finite number > 0"),
        ({"reg": "a"}, "reg must be"),
        ({"reg": np.nan}, "reg must be"),
        ({"tol": -1}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be a whole number"),
        ({"max_iter": 2.5}, "max_iter must be a whole number"),
        ({"intercept_scaling": 0}, "intercept_scaling must be"),
        ({"callback": 3}, "callback must be a function"),
        ({"n_jobs": 0}, "n_jobs must be None or a whole number"),
    ],
)
def test_bad_parameters(cls, blobs, params, message):
    X, _, partly = blobs
    with pytest.raises(ValueError, match=message):
        cls(**params).fit(X, partly)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"unlabeled_weight": -1}, "unlabeled_weight must be"),
        ({"annealing_rate": 1}, "annealing_rate must be a finite number > 1"),
        ({"balance_tol": -0.1}, "balance_tol must be"),
        ({"class_prior": [0.5, 0.6]}, "sum to one"),
        ({"class_prior": {0: 0.5, 7: 0.5}}, "unknown classes"),
        ({"class_prior": [1.0, 0.0]}, "zero rows"),
    ],
)
def test_bad_semi_supervised_parameters(semi, blobs, params, message):
    X, _, partly = blobs
    with pytest.raises(ValueError, match=message):
        semi(**params).fit(X, partly)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (TransductiveSVC(max_switches=0), "max_switches must be a whole number >= 1 or None"),
        (AnnealedSVC(temperature=0), "temperature must be"),
        (AnnealedSVC(entropy_tol=0), "entropy_tol must be"),
        (NewtonSVC(loss="hubert"), "loss must be one of"),
        (TransductiveSVC(label_step="best"), r"label_step must be one of"),
    ],
)
def test_bad_parameters_of_one_estimator(model, message, blobs):
    X, _, partly = blobs
    with pytest.raises(ValueError, match=message):
        model.fit(X, partly)


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e100, 1e200, 1e300])
def test_extreme_values_give_a_finite_model_or_an_error(cls, size, blobs):
    X, _, partly = blobs
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # overflow and missing convergence are expected
        model, message = cls(), ""
        try:
            model.fit(size * X, partly)
        except ValueError as error:
            message = str(error)
    if hasattr(model, "coef_"):
        assert np.isfinite(model.coef_).all()
        assert np.isfinite(model.objective_)
    else:
        assert "Scale the columns" in message


@pytest.mark.parametrize("u", [1, 2])
def test_very_few_unlabelled_rows(semi, u):
    X, y = two_blobs(30, 3)
    partly = y.copy()
    partly[:u] = -1
    model = semi().fit(X, partly)
    assert np.isfinite(model.coef_).all()
    counts = np.round(model.class_prior_ * u)
    assert np.bincount(model.transduction_[:u], minlength=2).tolist() == counts.tolist()


def test_balance_tolerance_moves_only_the_intercept(semi):
    X, y = two_blobs(600, 8, gap=1.2, positive=0.15, seed=3)
    partly = hide(y, 30)
    r = float(np.mean(y[partly == -1]))
    free = semi(class_prior=[1 - r, r], balance_tol=None, reg=0.1).fit(X, partly)
    kept = semi(class_prior=[1 - r, r], balance_tol=0.0, reg=0.1).fit(X, partly)
    np.testing.assert_allclose(kept.coef_, free.coef_)
    unlabeled = X[partly == -1]
    share = (kept.predict(unlabeled) == 1).mean()
    assert share == pytest.approx(r, abs=1.5 / len(unlabeled))
    assert abs((free.predict(unlabeled) == 1).mean() - r) > 2 / len(unlabeled)
    assert any("intercept moved" in note for note in kept.trace_.notes)


def test_scores_with_unlabelled_rows_are_doubted():
    """They are the fraction of the labels, whatever the model is."""
    X, y = two_blobs(40)
    labels = hide(y, 10)
    model = NewtonSVC().fit(X, labels)
    with pytest.warns(UserWarning, match="30 of 40 rows .*unlabelled"):
        model.score(X, labels)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.score(X, y)


def test_missing_probabilities_have_a_remedy():
    with pytest.raises(AttributeError) as caught:
        NewtonSVC().predict_proba([[0.0]])
    assert "CalibratedPartialClassifier" in str(caught.value.__cause__)
