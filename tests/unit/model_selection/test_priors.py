"""Estimates of the class prior."""

from itertools import product

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.preprocessing import normalize, scale

from problems import two_blobs
from semisvm import (
    AnnealedSVC,
    ConcaveSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    GradientTSVC,
    LowDensitySeparation,
    MeanSVC,
    NewtonSVC,
    PosteriorRegularizedClassifier,
    TransductiveSVC,
)
from semisvm.labels.partial import encode
from semisvm.methods import fold_fits
from semisvm.methods.fold_fits import used_rows
from semisvm.methods.shares import (
    LEEWAY,
    Evidence,
    Shares,
    _calibration,
    calibrate,
    chance_of_ties,
    estimate_shares,
    explaining_shares,
    moved,
    shrunk_fractions,
)
from semisvm.model_selection import TransductiveSVCCV, estimate_prior, hide_labels

FAMILY = [
    TransductiveSVC,
    AnnealedSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    PosteriorRegularizedClassifier,
    GradientTSVC,
    TransductiveSVCCV,
]


def skewed_labels(y, n_zero, n_one, seed=0):
    """Label so many rows of each class, whatever their shares."""
    rng = np.random.default_rng(seed)
    keep = [
        rng.choice(np.flatnonzero(y == k), n, replace=False) for k, n in ((0, n_zero), (1, n_one))
    ]
    return hide_labels(y, np.setdiff1d(np.arange(len(y)), np.concatenate(keep)))


def test_shares_of_separated_classes_are_found():
    """Half of the labels are of a class of 20%: the unlabelled rows know better."""
    X, y = two_blobs(1000, gap=6.0, positive=0.2)
    prior = estimate_prior(X, skewed_labels(y, 15, 15), reg=0.1)
    assert prior.sum() == pytest.approx(1.0)
    assert abs(prior[1] - 0.2) < 0.07


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge", "log", "crammer_singer"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_every_loss_finds_the_shares(loss, fit_intercept):
    """48 labels of which 56% are benign, where the truth is 63%."""
    X, y = load_breast_cancer(return_X_y=True)
    partly = hide_labels(y, np.arange(len(y)) % 12 > 0)
    prior = estimate_prior(scale(X), partly, reg=0.1, loss=loss, fit_intercept=fit_intercept)
    assert abs(prior[1] - y[partly < 0].mean()) < 0.03


def test_equal_shares_of_many_classes():
    """Fractions of random labels are off by 17%, their shrunk ones by a third of that."""
    X, y = load_digits(return_X_y=True)
    drawn = np.random.default_rng(0).choice(len(y), 60, replace=False)
    partly = hide_labels(y, np.setdiff1d(np.arange(len(y)), drawn))
    truth = np.bincount(y[partly < 0]) / np.count_nonzero(partly < 0)
    off = np.abs(np.bincount(y[drawn], minlength=10) / 60 - truth).sum()
    model = TransductiveSVC().fit(X / 16, partly)
    assert np.abs(model.class_prior_ - truth).sum() < 0.35 * off
    assert model.class_prior_std_.shape == (10,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"loss": "mean"}, "loss must be"),
        ({"reg": 0.0}, "reg must be"),
        ({"tol": -1.0}, "tol must be"),
        ({"max_iter": 0}, "max_iter must be"),
        ({"intercept_scaling": 0.0}, "intercept_scaling must be"),
    ],
)
def test_parameters_are_checked(parameters, message):
    X, y = two_blobs(40)
    with pytest.raises(ValueError, match=message):
        estimate_prior(X, skewed_labels(y, 3, 3), **parameters)


def test_hopeless_scores_leave_the_fractions():
    X, y = np.random.default_rng(0).standard_normal((500, 5)), np.arange(500) % 4 == 0
    prior = estimate_prior(X, skewed_labels(y.astype(int), 20, 20))
    # the standard error of the fractions of 40 labels
    assert abs(prior[1] - 0.5) < 0.08


def test_better_than_the_fractions_on_average():
    wins, errors = 0, []
    for seed in range(20):
        X, y = two_blobs(500, 10, gap=3.0, positive=0.4, seed=seed)
        drawn = np.random.default_rng(seed).choice(500, 30, replace=False)
        partly = hide_labels(y, np.setdiff1d(np.arange(500), drawn))
        truth = y[partly == -1].mean()
        fraction = abs(y[drawn].mean() - truth)
        estimate = abs(estimate_prior(X, partly, reg=0.1)[1] - truth)
        wins += estimate < fraction
        errors.append((fraction, estimate))
    means = np.mean(errors, axis=0)
    assert means[1] < 0.6 * means[0]
    assert wins >= 13


def mixture(shares, n=3000, gap=2.0, seed=0):
    """Draw rows with one score per class, and return the likelihoods of the classes."""
    rng = np.random.default_rng(seed)
    codes = rng.choice(len(shares), n, p=shares)
    scores = gap * np.eye(len(shares))[codes] + rng.standard_normal((n, len(shares)))
    return np.exp(gap * scores), codes


def test_exact_mixtures_are_found():
    """Known likelihoods, and a prior that is worth little."""
    L, codes = mixture([0.6, 0.3, 0.1])
    evidence = Evidence(L, np.full(len(L), 1.0 / len(L)), 1e6)
    found = explaining_shares(evidence, np.full(3, 1.0 / 3.0), 1.0)
    assert found.values.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(found.values, np.bincount(codes) / len(codes), atol=0.02)


def test_explaining_shares_maximise_the_objective():
    L, _ = mixture([0.5, 0.3, 0.2], n=50)
    prior, weights = np.array([0.2, 0.3, 0.5]), np.full(50, 0.02)

    def objective(pi):
        return 7.0 * weights @ np.log(L @ pi) + 4.0 * prior @ np.log(pi)

    found = explaining_shares(Evidence(L, weights, 7.0), prior, 4.0)
    best = objective(found.values)
    for move in np.eye(3) - np.roll(np.eye(3), 1, axis=1):
        assert objective(found.values + 1e-3 * move) < best
        assert objective(found.values - 1e-3 * move) < best


def test_standard_errors_of_separated_classes():
    """Scores without doubt are as good as labels: the errors are binomial, and widened."""
    codes = np.arange(200) % 4 == 0
    evidence = Evidence(np.eye(2)[codes.astype(int)] + 1e-12, np.full(200, 0.005), 90.0)
    found = explaining_shares(evidence, np.array([0.75, 0.25]), 10.0)
    np.testing.assert_allclose(found.errors, np.sqrt(3.0 * 0.75 * 0.25 / 100.0), rtol=1e-3)


@pytest.mark.parametrize("m", [2, 5])
def test_calibration_is_a_minimum(m):
    """By finite differences, and by another method; extreme scores do no harm."""
    rng = np.random.default_rng(0)
    codes, mass = np.append(np.arange(m), rng.integers(0, m, 60)), rng.random(60 + m) + 0.5
    scores, shift = rng.standard_normal((2, len(codes), m)), rng.standard_normal(m)

    def loss(at):
        return _calibration(at, 0.3, scores, codes, shift, mass)

    at, h = 0.5 * rng.standard_normal(2 + m), 1e-5
    slopes = [(loss(at + h * e)[0] - loss(at - h * e)[0]) / (2 * h) for e in np.eye(2 + m)]
    np.testing.assert_allclose(loss(at)[1], slopes, rtol=1e-6, atol=1e-6)
    usual = np.log((2.0 if m == 2 else 4.0) / 2)
    found = calibrate(scores.transpose(1, 0, 2), codes, shift, mass)
    best = minimize(
        lambda x: _calibration(x, usual, scores, codes, shift, mass)[:2],
        np.zeros(2 + m),
        jac=True,
        options={"gtol": 1e-8},
    ).x
    np.testing.assert_allclose(found[0], np.exp(best[:2]), rtol=1e-4)
    np.testing.assert_allclose(found[1], best[2:], atol=1e-4)
    far = calibrate(1e6 * scores.transpose(1, 0, 2), codes, shift, mass)
    assert np.isfinite(far[0]).all()
    assert np.isfinite(far[1]).all()


def test_calibration_finds_the_slope():
    """Of two models, the one whose scores are noise gets the smaller slope."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2, 4000)
    log_odds = (2 * codes - 1) * 1.5 + np.sqrt(3.0) * rng.standard_normal(4000)
    noise = rng.standard_normal(4000)
    both = np.stack([np.column_stack([np.zeros(4000), s]) for s in (log_odds / 3.0, noise)], axis=1)
    slopes, offsets = calibrate(both, codes, np.zeros(2))
    assert slopes[0] == pytest.approx(3.0, rel=0.1)
    assert slopes[1] < 0.1
    np.testing.assert_allclose(offsets, 0.0, atol=0.1)


@pytest.mark.parametrize("counts", [[10, 10], [4, 5, 6, 5], [1, 1, 1]])
def test_even_labels_speak_for_equal_shares(counts):
    shares, strength = shrunk_fractions(counts)
    fractions = np.array(counts) / np.sum(counts)
    assert shares.sum() == pytest.approx(1.0)
    equal = 1.0 / len(counts)
    assert np.all(np.abs(shares - equal) <= 0.3 * np.abs(fractions - equal) + 1e-12)
    assert strength <= 2.0 * np.sum(counts)


@pytest.mark.parametrize(
    ("counts", "picked"),
    [([8] * 8, True), ([8] * 7 + [3], True), ([2] * 10, True), ([8, 8], False), ([5] * 4, False)],
)
def test_labels_picked_class_by_class_are_no_evidence(counts, picked):
    shares, strength = shrunk_fractions(counts)
    assert (strength <= len(counts)) == picked
    if picked:
        np.testing.assert_allclose(shares, 1 / len(counts))


def test_chance_of_ties_bounds_the_chance():
    """Against all draws of 6 labels of 3 classes: a bound for one number of ties at a time."""
    draws = list(product(range(3), repeat=6))
    counts = np.array([np.bincount(draw, minlength=3) for draw in draws])
    ties = (counts == counts.max(axis=1, keepdims=True)).sum(axis=1)
    for t in (1, 2, 3):
        like = counts[ties == t]
        for k in {*like.max(axis=1).tolist()}:
            of_k = like[like.max(axis=1) == k]
            assert len(of_k) / len(draws) <= chance_of_ties(of_k[0]) + 1e-12


def test_random_labels_hardly_ever_look_picked():
    rng = np.random.default_rng(0)
    for m, n in ((3, 30), (8, 40), (20, 100)):
        drawn = rng.multinomial(n, np.full(m, 1 / m), size=2000)
        assert np.mean([chance_of_ties(counts) < 0.01 for counts in drawn]) < 0.01


def test_even_labels_of_uneven_classes():
    """Ten labels of each of four classes, one of which has most of the rows."""
    rng = np.random.default_rng(0)
    shares = np.array([0.7, 0.1, 0.1, 0.1])
    y = rng.choice(4, 800, p=shares)
    X = 3.0 * np.eye(4)[y] + 0.7 * rng.standard_normal((800, 4))
    partly = np.full(800, -1)
    for label in range(4):
        partly[np.flatnonzero(y == label)[:10]] = label
    np.testing.assert_allclose(estimate_prior(X, partly, reg=0.1), shares, atol=0.05)


def test_uneven_labels_stay():
    counts = np.array([60, 30, 6, 2, 1, 1])
    np.testing.assert_allclose(shrunk_fractions(counts)[0], counts / 100, atol=0.01)


def test_order_of_classes_does_not_matter():
    X, y = two_blobs(400, gap=3.0, positive=0.3)
    partly = skewed_labels(y, 20, 12)
    swapped = np.where(partly < 0, -1, 1 - partly)
    np.testing.assert_allclose(
        estimate_prior(X, partly), estimate_prior(X, swapped)[::-1], atol=0.02
    )


@pytest.mark.parametrize("cls", FAMILY)
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_estimators_use_the_estimate(cls, form):
    X, y = two_blobs(200, gap=4.0, positive=0.3)
    partly = skewed_labels(y, 10, 10)
    extra = {"regs": [0.1], "cv": 2} if cls is TransductiveSVCCV else {"reg": 0.1}
    model = cls(class_prior="estimate", **extra).fit(form(X), partly)
    reg = {} if cls is TransductiveSVCCV else {"reg": 0.1}
    np.testing.assert_allclose(model.class_prior_, estimate_prior(form(X), partly, **reg))
    assert model.class_prior_[1] < 0.45


def test_one_label_of_a_class_is_never_held_out():
    """The other class has labels to spare; the estimate does without those of this one."""
    X, y = two_blobs(300, gap=5.0, positive=0.3)
    prior = estimate_prior(X, skewed_labels(y, 6, 1), reg=0.1)
    assert prior.sum() == pytest.approx(1.0)
    assert prior.min() > 0.0


def test_one_label_per_class():
    X, y = two_blobs(100, positive=0.3)
    partly = skewed_labels(y, 1, 1)
    np.testing.assert_allclose(estimate_prior(X, partly), [0.5, 0.5])
    model = TransductiveSVC().fit(X, partly)
    assert np.all(model.class_prior_std_ > 0.2)


def test_nothing_to_estimate_and_mistakes():
    X, y = two_blobs(40)
    np.testing.assert_allclose(estimate_prior(X, y), [0.5, 0.5])
    with pytest.raises(ValueError, match="class_prior must be None, class shares"):
        TransductiveSVC(class_prior="guess").fit(X, y)


def test_rows_in_another_order_and_twice():
    X, y = two_blobs(200, gap=3.0, positive=0.3)
    partly = skewed_labels(y, 12, 8)
    found = estimate_prior(X, partly)
    free = np.flatnonzero(partly < 0)
    order = np.arange(len(y))
    order[free] = free[::-1]
    np.testing.assert_allclose(estimate_prior(X[order], partly[order]), found, rtol=1e-6)
    twice = np.concatenate([np.arange(len(y)), free])
    np.testing.assert_allclose(estimate_prior(X[twice], partly[twice]), found, atol=0.02)


def test_some_of_many_rows_are_enough(monkeypatch):
    X, y = two_blobs(1500, gap=4.0, positive=0.3)
    partly = skewed_labels(y, 20, 20)
    whole = estimate_prior(X, partly, reg=0.1)
    monkeypatch.setattr("semisvm.methods.fold_fits.MOST_UNLABELED", 500)
    some = estimate_prior(X, partly, reg=0.1)
    assert not np.array_equal(some, whole)
    np.testing.assert_allclose(some, whole, atol=0.05)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix])
def test_which_of_many_rows_are_used_does_not_depend_on_their_order(kind, monkeypatch):
    monkeypatch.setattr("semisvm.methods.fold_fits.MOST_UNLABELED", 100)
    X, y = two_blobs(600, gap=3.0, positive=0.3)
    # every other unlabelled row is the same: some copies are drawn, not all or none
    X[y == 0] = X[y == 0][0]
    partly = skewed_labels(y, 12, 8)
    found = used_rows(kind(X), encode(partly))
    order = np.random.default_rng(0).permutation(len(y))
    again = order[used_rows(kind(X[order]), encode(partly[order]))]
    np.testing.assert_array_equal(np.sort(X[again], axis=0), np.sort(X[found], axis=0))
    free = found[partly[found] < 0]
    assert len(free) == 100
    assert 0.5 < np.mean(y[free] == 0) < 0.9


@pytest.mark.parametrize("cls", [*FAMILY[:-1], MeanSVC, LowDensitySeparation])
def test_none_estimates_and_labels_take_the_fractions(cls):
    X, y = two_blobs(120, gap=4.0, positive=0.3)
    partly = skewed_labels(y, 8, 8)
    default, named = cls().fit(X, partly), cls(class_prior="estimate").fit(X, partly)
    np.testing.assert_array_equal(default.class_prior_, named.class_prior_)
    assert default.class_prior_[1] < 0.45
    assert any(note.startswith("class shares estimated: 0 ") for note in default.trace_.notes)
    old = cls(class_prior="labels").fit(X, partly)
    np.testing.assert_array_equal(old.class_prior_, [0.5, 0.5])
    np.testing.assert_allclose(old.class_prior_std_, 0.125)
    given = cls(class_prior=[0.7, 0.3]).fit(X, partly)
    np.testing.assert_array_equal(given.class_prior_std_, 0.0)


def test_programs_leave_the_shares_free():
    X, y = two_blobs(60, gap=4.0, positive=0.3)
    partly = skewed_labels(y, 6, 6)
    assert not ConcaveSVC().estimates_shares
    np.testing.assert_array_equal(ConcaveSVC().fit(X, partly).class_prior_, [0.5, 0.5])
    assert not NewtonSVC().estimates_shares


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC, GradientTSVC])
@pytest.mark.parametrize("row", [3, 30])
def test_one_unlabelled_row_follows_its_scores(cls, row):
    """The labelled fractions would give every such row the second class."""
    X, y = two_blobs(40, gap=5.0)
    partly = hide_labels(y, [row])
    model = cls(reg=0.1).fit(X, partly)
    assert model.transduction_[row] == y[row] == NewtonSVC(reg=0.1).fit(X, partly).predict(X)[row]
    assert model.score(X, y) == 1.0


@pytest.mark.parametrize(
    "fractions", [[0.9, 0.05, 0.05], [0.5, 0.31, 0.19], [0.5, 0.3, 0.2], [0.0, 0.0, 1.0]]
)
def test_doubtful_shares_move_within_their_errors(fractions):
    shares = Shares(np.array([0.5, 0.3, 0.2]), np.array([0.1, 0.08, 0.06]))
    found = moved(shares, np.array(fractions))
    assert found.doubtful
    assert found.values.sum() == pytest.approx(1.0)
    way, step = fractions - shares.values, found.values - shares.values
    assert np.all(np.abs(step) <= LEEWAY * shares.errors + 1e-12)
    # straight to the fractions, and there or at the end of what one class allows
    part = step @ way / max(way @ way, 1e-300)
    np.testing.assert_allclose(step, part * way, atol=1e-12)
    at_end = np.isclose(np.abs(step), LEEWAY * shares.errors).any()
    assert at_end or np.allclose(found.values, fractions)


def test_known_shares_do_not_move():
    shares = Shares(np.array([0.7, 0.3]), np.zeros(2))
    np.testing.assert_array_equal(moved(shares, np.array([0.2, 0.8])).values, shares.values)


def labels_across_clusters():
    """Two clusters far apart, and labels that do not follow them."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((600, 4))
    y = (X[:, 1] > 0.0).astype(int)
    X[:, 0] += np.where(rng.random(600) < 0.5, 6.0, -6.0)
    return X, np.where(np.arange(600) % 15 == 0, y, -1)


def test_shares_are_doubtful_where_clusters_are_not_the_classes():
    X, partly = labels_across_clusters()
    assert estimate_shares(X, encode(partly), reg=0.01).doubtful
    X, y = two_blobs(600, 100, gap=3.0)
    partly = np.where(np.arange(600) % 15 == 0, y, -1)
    assert not estimate_shares(normalize(X), encode(partly)).doubtful


def test_trace_reports_that_shares_were_moved():
    X, partly = labels_across_clusters()
    model = TransductiveSVC(reg=0.01).fit(X, partly)
    assert "shrunk towards the supervised estimate" in model.trace_.notes[0]


def test_guesses_are_no_reason_for_doubt():
    """Rows that are all the same: both models are wrong on as many held-out rows."""
    partly = np.full(40, -1)
    partly[:9] = np.arange(9) % 3
    shares = estimate_shares(np.full((40, 3), 0.5), encode(partly))
    assert not shares.doubtful
    np.testing.assert_allclose(shares.values, 1 / 3, atol=0.01)


def test_names_of_classes_with_as_many_labels_do_not_matter():
    """Equal shares of 34 rows are 12, 11 and 11: the rows decide where the extra one goes."""
    rng = np.random.default_rng(0)
    y = np.arange(45) % 3
    X = np.eye(3)[y] + 0.8 * rng.standard_normal((45, 3))
    partly = np.where(np.arange(45) < 12, y, -1)
    found = estimate_prior(X, partly)
    for order in ([1, 2, 0], [2, 1, 0], [0, 2, 1]):
        renamed = np.append(order, -1)[partly]
        np.testing.assert_allclose(estimate_prior(X, renamed)[order], found, rtol=1e-9)


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
@pytest.mark.parametrize("m", [2, 3])
def test_estimated_shares_weigh_less_and_anneal_from_cooler(cls, m):
    rng = np.random.default_rng(0)
    y = np.arange(120) % m
    X = normalize(np.eye(8)[y] + 0.6 * rng.standard_normal((120, 8)))
    partly = np.where(np.arange(120) < 18, y, -1)

    def weights(unlabeled_weight, temperature, prior):
        cool = {} if cls is TransductiveSVC else {"temperature": temperature}
        return (
            cls(unlabeled_weight=unlabeled_weight, class_prior=prior, **cool).fit(X, partly).coef_
        )

    given, hot = np.full(m, 1.0 / m), 10.0 if m == 2 else 0.7
    np.testing.assert_array_equal(weights(None, None, None), weights(0.3, 0.3, None))
    np.testing.assert_array_equal(weights(None, None, "estimate"), weights(0.3, 0.3, None))
    np.testing.assert_array_equal(weights(None, None, given), weights(1.0, hot, given))
    np.testing.assert_array_equal(weights(None, None, "labels"), weights(1.0, hot, "labels"))


@pytest.mark.parametrize("m", [2, 3])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_threads_fit_folds_to_the_same_bits(m, form, monkeypatch):
    X, y = load_digits(return_X_y=True)
    X, y = form(normalize(X[y < m])), y[y < m]
    labels = encode(np.where(np.arange(len(y)) % 8 == 0, y, -1))
    used = []

    def fit_without(fold, X, design, *rest):
        used.append(design)
        return usual(fold, X, design, *rest)

    usual = fold_fits.fit_without
    monkeypatch.setattr(fold_fits, "fit_without", fit_without)
    one, two = (estimate_shares(X, labels, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.values, two.values)
    np.testing.assert_array_equal(one.errors, two.errors)
    assert len({id(design) for design in used}) == 1 + len(used) // 2
    assert {design.workers.n_threads for design in used} == {1}
