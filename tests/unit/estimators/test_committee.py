"""Committees: folds that share their work, weights, probabilities, and what is refused."""

from itertools import cycle

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import semisvm
from problems import hide, two_blobs
from promises import clusters
from semisvm import AnnealedSVC, LaplacianSVC, NewtonSVC, SemiSupervisedCommittee, TransductiveSVC
from semisvm.designs import Workers
from semisvm.estimators import class_shares, registry
from semisvm.estimators.held_out import (
    MappedRowsCache,
    held_out_scores,
    outside_parts,
    refitted_scores,
    use_mass,
)
from semisvm.estimators.stacking import near_shares
from semisvm.labels.partial import encode, hide_labels
from semisvm.methods.shares import Shares

MEMBERS = [("svm", NewtonSVC()), ("tsvm", TransductiveSVC()), ("lapsvm", LaplacianSVC())]
SHARING = ["svm", "tsvm", "da", "gradient", "means3vm", "lapsvm", "lds", "tsvm-log", "semiboost"]


@pytest.mark.parametrize(("name", "m"), list(zip(SHARING, cycle((2, 3)), strict=False)))
def test_folds_on_one_ground_are_separate_fits(name, m):
    X, _, partly = clusters(m)
    labels = encode(partly)
    folds = [labels.labeled[k::3] for k in range(3)]
    more = {"n_estimators": 3} if name == "semiboost" else {}
    uses_prior = "class_prior" in registry.get(name).parameters
    prior = {"class_prior": labels.fractions()} if uses_prior else {}
    with Workers() as workers:
        estimator = registry.get(name).make(**more, **prior)
        scored = held_out_scores(estimator, MappedRowsCache(X, workers), labels)
        found = [scored(fold) for fold in folds]
    for fold, scores in zip(folds, found, strict=True):
        alone = registry.get(name).make(**more, **prior).fit(X, hide_labels(partly, fold))
        np.testing.assert_array_equal(scores, alone.decision_function(X[fold]))


@pytest.mark.parametrize(("name", "m"), list(zip(SHARING, cycle((3, 2)), strict=False)))
def test_rows_outside_take_no_part(name, m):
    """Scores of rows outside are those of new rows of a fit to the others."""
    X, _, partly = clusters(m)
    labels = encode(partly)
    folds = [labels.labeled[k::3] for k in range(3)]
    more = {"n_estimators": 3} if name == "semiboost" else {}
    uses_prior = "class_prior" in registry.get(name).parameters
    shares = labels.fractions() if uses_prior else None
    prior = {"class_prior": shares} if uses_prior else {}
    outside = np.zeros(len(X), dtype=bool)
    outside[np.concatenate(outside_parts(folds, labels.codes))] = True
    with Workers() as workers:
        estimator = registry.get(name).make(**more, **prior)
        scored = held_out_scores(estimator, MappedRowsCache(X, workers), labels, shares, outside)
        found = [scored(fold) for fold in folds]
    for fold, scores in zip(folds, found, strict=True):
        rest = np.setdiff1d(np.arange(len(X)), fold[outside[fold]])
        hidden = hide_labels(partly, fold)[rest]
        alone = registry.get(name).make(**more, **prior).fit(X[rest], hidden)
        np.testing.assert_allclose(scores, alone.decision_function(X[fold]), rtol=1e-9)


@pytest.mark.parametrize("as_list", [False, True])
def test_folds_of_other_classifiers_take_the_same_road(as_list):
    X, _, partly = clusters(2)
    fold, weight = encode(partly).labeled[::3], np.linspace(0.5, 2.0, len(X))
    outside = np.zeros(len(X), dtype=bool)
    outside[fold[::2]] = True
    grounds = MappedRowsCache(X.tolist() if as_list else X, Workers(), weight)
    known = np.setdiff1d(encode(partly).labeled, fold)
    alone = LogisticRegression().fit(X[known], partly[known], sample_weight=weight[known])
    for away in (None, outside):
        scores = refitted_scores(LogisticRegression(), grounds, partly, -1, away)(fold)
        np.testing.assert_array_equal(scores, alone.decision_function(X[fold]))
    svm = refitted_scores(NewtonSVC(), MappedRowsCache(X, Workers(), weight), partly, -1, outside)
    rest = np.setdiff1d(np.arange(len(X)), fold[::2])
    fitted = NewtonSVC().fit(X[rest], hide_labels(partly, fold)[rest], sample_weight=weight[rest])
    np.testing.assert_array_equal(svm(fold), fitted.decision_function(X[fold]))


def test_half_of_every_fold_is_outside():
    codes = np.array([0] * 12 + [1] * 4 + [-1] * 5)
    once = [np.array([0, 1, 2, 3, 4, 5, 12, 13]), np.array([6, 7, 8, 9, 10, 11, 14, 15])]
    parts = outside_parts([*once, *once], codes)
    for fold, part, later in zip(once, parts, parts[2:], strict=False):
        assert len(part) == 4
        assert set(part) <= set(fold)
        # of the rare class too; in the second round the other half
        assert np.count_nonzero(codes[part] == 1) == 1
        assert set(later) == set(fold) - set(part)
    # a fit needs an unlabelled row
    assert all(len(p) == 0 for p in outside_parts([np.array([0]), np.array([1])], codes[:2] * 0))


def test_new_rows_count_more():
    mass = use_mass(np.array([True, False, False]), "new_rows")
    assert mass.mean() == pytest.approx(1.0)
    assert mass[0] == pytest.approx(3.0 * mass[1])
    assert use_mass(np.array([True, False]), "transduction").tolist() == [0.5, 1.5]


def test_linear_methods_share_one_design():
    X, _, _ = clusters(2)
    with Workers() as workers:
        grounds = MappedRowsCache(X, workers)
        assert grounds.of(NewtonSVC()) is grounds.of(TransductiveSVC())
        assert grounds.of(NewtonSVC()) is not grounds.of(NewtonSVC(fit_intercept=False))
        assert grounds.of(NewtonSVC(kernel="rbf")).kernel_map is not None


@pytest.mark.parametrize("m", [2, 3])
def test_scores_are_weighted_sums_and_probabilities_follow(m):
    X, _, partly = clusters(m)
    model = SemiSupervisedCommittee(MEMBERS, cv=3).fit(X, partly)
    total = sum(
        w * s / np.sqrt(np.mean(np.square(c)))
        for w, member in zip(model.weights_, model.estimators_, strict=True)
        for s in [member.decision_function(X)]
        for c in [s / 2 if m == 2 else s - s.mean(axis=1, keepdims=True)]
    )
    np.testing.assert_allclose(model.decision_function(X), total)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    np.testing.assert_array_equal(p.argmax(axis=1), model.predict(X))
    assert (np.diff(model.weights_) <= 0).all()


def test_columns_are_weighed_by_the_linear_members():
    X, _, partly = clusters(3)
    model = SemiSupervisedCommittee(MEMBERS[:2], weights=[1.0, 2.0]).fit(X, partly)
    intercepts = sum(
        model.coef_[0, 3 * k] * member.intercept_ for k, member in enumerate(model.estimators_)
    )
    np.testing.assert_allclose(X @ model.column_weights_.T + intercepts, model.decision_function(X))
    graph = SemiSupervisedCommittee(MEMBERS[2:]).fit(X, partly)
    assert graph.column_weights_ is None


def test_given_weights_need_no_folds():
    X, _, partly = clusters(2)
    model = SemiSupervisedCommittee(MEMBERS, weights=[1.0, 0.0, 3.0]).fit(X, partly)
    assert model.names_.tolist() == ["lapsvm", "svm"]
    assert model.weights_.tolist() == [3.0, 1.0]
    assert set(model.trace_["phase"]) == {"member"}


def test_a_member_at_chance_has_little_weight():
    rng = np.random.default_rng(0)
    angle = rng.uniform(0.0, np.pi, 300)
    y = np.arange(300) % 2
    X = np.column_stack([np.cos(angle) + y, (1 - 2 * y) * np.sin(angle) + y / 2])
    model = SemiSupervisedCommittee(MEMBERS).fit(X, hide(y, 40))
    assert model.names_[0] == "lapsvm"
    assert model.weights_[0] > 0.6 * model.weights_.sum()
    assert model.score(X, y) > 0.97


def test_names_and_shares_of_classes_reach_the_members():
    X, _, partly = clusters(2)
    words = np.where(partly == -1, "?", np.where(partly == 1, "yes", "no"))
    members = [("a", TransductiveSVC(class_prior={"no": 0.5, "yes": 0.5})), ("b", NewtonSVC())]
    model = SemiSupervisedCommittee(members, cv=2, unlabeled="?").fit(X, words)
    assert model.classes_.tolist() == ["no", "yes"]
    assert members[0][1].unlabeled == -1


@pytest.mark.parametrize("m", [2, 3])
def test_given_shares_are_met_by_any_member(m):
    X, _, partly = clusters(m, 300)
    shares = [0.7, 0.3] if m == 2 else [0.6, 0.3, 0.1]
    model = SemiSupervisedCommittee([("svm", NewtonSVC())], class_prior=shares).fit(X, partly)
    free = partly == -1
    found = np.bincount(model.predict(X)[free], minlength=m) / free.sum()
    np.testing.assert_allclose(found, shares, atol=0.003 if m == 2 else 0.02)
    np.testing.assert_array_equal(model.predict(X)[free], model.transduction_[free])
    plain = SemiSupervisedCommittee([("svm", NewtonSVC())]).fit(X, partly)
    assert not plain.intercept_.any()


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"estimators": []}, "at least one member"),
        ({"estimators": [1]}, "list of .name, estimator. pairs"),
        ({"estimators": [("a", NewtonSVC()), ("a", NewtonSVC())]}, "one name"),
        ({"estimators": [("a", "svm")]}, "must be a classifier"),
        ({"estimators": [("a", NewtonSVC(reg=-1))]}, "reg"),
        ({"estimators": MEMBERS, "weights": [1.0]}, "3 numbers"),
        ({"estimators": MEMBERS, "weights": [1.0, -1.0, 1.0]}, "not be negative"),
        ({"estimators": MEMBERS, "weights": [0.0] * 3}, "not all zero"),
        ({"cv": 1}, "2 or more"),
    ],
)
def test_what_is_refused(parameters, message):
    X, _, partly = clusters(2)
    with pytest.raises(ValueError, match=message):
        SemiSupervisedCommittee(**parameters).fit(X, partly)


def test_a_file_keeps_members_and_their_parameters(tmp_path):
    X, _, partly = clusters(3)
    members = [("strong", NewtonSVC(reg=0.5)), ("graph", LaplacianSVC(n_neighbors=3))]
    model = SemiSupervisedCommittee(members, weights=[1.0, 2.0]).fit(X, partly)
    semisvm.save(model, tmp_path / "m")
    again = semisvm.load(tmp_path / "m")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    assert again.names_.tolist() == ["graph", "strong"]
    assert dict(again.estimators)["graph"].n_neighbors == 3
    np.testing.assert_array_equal(again.fit(X, partly).coef_, model.coef_)


def test_class_shares_are_estimated_once_for_all_members(monkeypatch):
    estimated = []

    def counted(X, labels, **options):
        estimated.append(X.shape)
        return estimate(X, labels, **options)

    estimate = class_shares.estimate_shares
    monkeypatch.setattr(class_shares, "estimate_shares", counted)
    X, _, partly = clusters(3, 120)
    members = [
        ("tsvm", TransductiveSVC()),
        ("rbf", TransductiveSVC(kernel="rbf")),
        ("given", TransductiveSVC(class_prior="labels")),
        ("svm", NewtonSVC()),
    ]
    model = SemiSupervisedCommittee(members, cv=3).fit(X, partly)
    assert estimated == [X.shape]
    priors = dict(zip(model.names_, (m.class_prior_ for m in model.estimators_), strict=True))
    np.testing.assert_array_equal(priors["tsvm"], priors["rbf"])
    assert [note for note in model.trace_.notes if note.startswith("class shares estimated")]
    assert members[0][1].class_prior is None


def test_shares_are_those_that_members_use():
    """A supervised member has the labelled fractions, which are not the shares used."""
    X, _, partly = clusters(2, 120)
    members = [("svm", NewtonSVC()), ("tsvm", TransductiveSVC()), ("da", AnnealedSVC())]
    model = SemiSupervisedCommittee(members, weights=[2.0, 1.0, 1.0]).fit(X, partly)
    shares = dict(zip(model.names_, (m.class_prior_ for m in model.estimators_), strict=True))
    np.testing.assert_allclose(model.class_prior_, shares["tsvm"])
    (note,) = [n for n in model.trace_.notes if n.startswith("class shares estimated")]
    assert f"{model.class_prior_[0]:.1%}" in note
    alone = SemiSupervisedCommittee([("svm", NewtonSVC())], weights=[1.0]).fit(X, partly)
    np.testing.assert_allclose(alone.class_prior_, shares["svm"])


@pytest.mark.parametrize("value", [0.0, 3.0])
def test_probabilities_of_equal_rows_sum_to_one(value):
    # scores that differ by rounding only were blown up to 1e15
    y = np.where(np.arange(30) < 15, np.arange(30) % 3, -1)
    X = np.full((30, 3), value)
    members = [("svm", NewtonSVC()), ("tsvm", TransductiveSVC())]
    model = SemiSupervisedCommittee(members).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_allclose(p, 1.0 / 3.0, atol=0.1)


NO_ERRORS = np.zeros(2)


def test_the_threshold_comes_near_to_estimated_shares():
    """Two classes: the predicted share is moved just into the range around the estimate."""
    scores = np.linspace(-0.3, 0.7, 101)  # 70% positive
    names = ["no", "yes"]
    offsets, note = near_shares(scores, np.array([0.5, 0.5]), NO_ERRORS, np.ones(1), names)
    assert np.mean(scores + offsets > 0.0) == pytest.approx(0.55, abs=0.01)
    assert "share of yes" in note
    assert "50%" in note
    assert "moved so that 55% are" in note
    for share in (0.68, 0.72):
        offsets, note = near_shares(
            scores, np.array([1.0 - share, share]), NO_ERRORS, np.ones(1), names
        )
        assert (offsets.tolist(), note) == ([0.0], "")
    # an estimate that is not sure moves it less
    unsure = near_shares(scores, np.array([0.5, 0.5]), np.array([0.08, 0.08]), np.ones(1), names)
    assert np.mean(scores + unsure[0] > 0.0) == pytest.approx(0.66, abs=0.01)
    # a row of weight two counts like two rows
    mass = np.where(scores > 0.5, 3.0, 1.0)
    weighted = near_shares(scores, np.array([0.5, 0.5]), NO_ERRORS, mass, names)[0]
    repeated = np.repeat(scores, mass.astype(int))
    assert weighted == pytest.approx(
        near_shares(repeated, np.array([0.5, 0.5]), NO_ERRORS, np.ones(1), names)[0]
    )


def test_many_classes_are_not_moved_but_noted():
    scores = np.eye(3)[[0] * 8 + [1, 2]]
    shares, errors = np.array([0.4, 0.3, 0.3]), np.full(3, 0.05)
    offsets, note = near_shares(scores, shares, errors, np.ones(1), ["a", "b", "c"])
    assert not offsets.any()
    assert "share of a" in note
    assert "80% are predicted" in note
    near = np.array([0.75, 0.15, 0.1])
    assert near_shares(scores, near, errors, np.ones(1), ["a", "b", "c"])[1] == ""
    assert near_shares(scores, shares, 5.0 * errors, np.ones(1), ["a", "b", "c"])[1] == ""


def test_a_committee_follows_the_estimate_of_its_members(monkeypatch):
    X, y = two_blobs(200, 4, positive=0.3)
    labels = hide(y, 20)
    members = [("tsvm", TransductiveSVC()), ("svm", NewtonSVC())]
    estimate = Shares(np.array([0.4, 0.6]), np.zeros(2))
    monkeypatch.setattr("semisvm.estimators.class_shares.estimate_shares", lambda *a, **k: estimate)
    model = SemiSupervisedCommittee(members, weights=[0.01, 2.0]).fit(X, labels)
    assert np.mean(model.predict(X[labels == -1])) == pytest.approx(0.56, abs=0.02)
    assert any("threshold was moved" in note for note in model.trace_.notes)
    # without an estimate nothing is moved
    plain = SemiSupervisedCommittee([("svm", NewtonSVC())], weights=[1.0]).fit(X, labels)
    assert plain.intercept_.tolist() == [0.0]
    free = SemiSupervisedCommittee(members, weights=[0.01, 2.0], class_prior="labels")
    assert free.fit(X, labels).intercept_.tolist() == [0.0]
