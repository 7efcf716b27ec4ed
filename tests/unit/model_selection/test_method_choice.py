"""Choosing a method or a committee: what is tried, what wins, and the notes."""

import json
from time import perf_counter

import numpy as np
import pytest
from scipy import sparse

from problems import hide, sparse_text, two_blobs
from promises import clusters
from semisvm import compiling
from semisvm.designs.validation import typical_variance
from semisvm.estimators import registry
from semisvm.labels.partial import encode
from semisvm.model_selection import choose, cross_validation, method_choice
from semisvm.model_selection.candidates import Entry, about_weights, candidates, pool, suited_reg
from semisvm.model_selection.comparison_result import Step
from semisvm.model_selection.cross_validation import too_few
from semisvm.model_selection.successive_halving import Candidate, SuccessiveHalving

SVM, TSVM, DA = (registry.get(name) for name in ("svm", "tsvm", "da"))
CODES = np.arange(40) % 2
FOLDS = [np.arange(k, 40, 5) for k in range(5)]


def scorer(**quality):
    """Give scores that are right by so much, with noise."""

    def of(entry):
        rng = np.random.default_rng(len(entry.name))
        return lambda fold: quality[entry.name] * (2 * CODES[fold] - 1) + rng.standard_normal(8)

    return of


def raced(limit=np.inf, progress=None, seconds=0.0, **quality):
    race = SuccessiveHalving(FOLDS, CODES, limit, progress)
    entries = [Entry(name, TSVM, {}, seconds if k else 0.0) for k, name in enumerate(quality)]
    return race, race.run(entries, scorer(**quality))


def test_all_folds_are_scored_in_turns():
    steps = []
    race, candidates = raced(progress=steps.append, a=1.0, bb=1.0)
    assert [candidate.name for candidate in candidates] == ["a", "bb"]
    assert all(len(candidate.scores) == 5 for candidate in candidates)
    assert [(step.name, step.fold) for step in steps[:3]] == [("a", 1), ("bb", 1), ("a", 2)]
    assert (steps[-1].done, steps[-1].total, race.n_fits) == (9, 10, 10)
    assert (race.dropped, race.stopped) == ({}, "")


def test_what_is_far_behind_is_given_up_but_never_the_first():
    race, candidates = raced(a=-3.0, bb=4.0, ccc=-4.0)
    assert [candidate.name for candidate in candidates] == ["a", "bb"]
    assert race.dropped == {"ccc": "it was far behind after 2 folds"}


def test_what_would_take_too_long_is_not_begun():
    race, candidates = raced(limit=60.0, seconds=1000.0, a=1.0, bb=1.0)
    assert [candidate.name for candidate in candidates] == ["a"]
    assert race.dropped == {"bb": "5 fits would take about 83 min"}


def test_no_time_left_is_called_so():
    """An estimate of a second is no reason where the first method took all the time."""
    race, candidates = raced(limit=1e-9, seconds=0.1, a=1.0, bb=1.0)
    assert [candidate.name for candidate in candidates] == ["a"]
    assert race.dropped == {"bb": "no time was left for it"}
    assert "no other method" in about_weights("a", {"a": 1.0})


def test_the_time_left_is_that_of_the_fits_to_come():
    race = SuccessiveHalving(FOLDS, CODES)
    first = Candidate(Entry("a", TSVM, {}, 1.0), [CODES], [3.0])
    timed = Candidate(Entry("bb", TSVM, {}, 1.0), [CODES, CODES], [4.0, 2.0])
    new = Candidate(Entry("ccc", TSVM, {}, 10.0))
    # a fit takes as long as the last one, or as its estimate: those were half the truth
    assert race._expected_of([first, timed, new]) == 4 * 3.0 + 3 * 2.0 + 5 * 20.0
    assert race._expected_of([first, timed, new], 1) == 20.0


def test_a_stop_keeps_whole_folds():
    race, candidates = raced(progress=lambda step: step.done == 5, a=1.0, bb=1.0)
    assert race.stopped == "it was stopped"
    assert [len(candidate.scores) for candidate in candidates] == [2, 2]
    race, candidates = raced(progress=lambda step: True, a=1.0, bb=1.0)
    assert candidates == []


def test_the_time_limit_ends_the_race():
    race, candidates = raced(limit=1e-9, a=1.0, bb=1.0)
    assert race.stopped.startswith("the time limit")
    assert {len(candidate.scores) for candidate in candidates} == {2}


def test_the_pool_suits_the_data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 4)) * 10.0
    names = [entry.name for entry in pool(X, encode([0, 1, *[-1] * 28]), {})]
    assert names[0] == "svm"
    assert {"tsvm", "da", "laprls", "gradient", "gradient rbf"} < set(names)
    (strong,) = [entry for entry in pool(X, encode([0, 1, -1]), {}) if "svm reg" in entry.name[:7]]
    assert strong.parameters["reg"] == pytest.approx(typical_variance(X) / 3.0, rel=0.05)
    given = {entry.name for entry in pool(X, encode([0, 1, -1]), {"reg": 1.0, "kernel": "linear"})}
    assert not any(" " in name for name in given)
    assert [m.name for m in candidates(encode([0, 1]))] == ["svm"]


def test_a_table_is_offered_a_kernel_in_whatever_form_it_comes():
    """Files of numbers are read as CSR."""
    rng = np.random.default_rng(0)
    X, labels = rng.standard_normal((30, 20)), encode([0, 1, *[-1] * 28])
    names = {entry.name for entry in pool(sparse.csr_matrix(X), labels, {})}
    assert names == {entry.name for entry in pool(X, labels, {})}
    assert "gradient rbf" in names
    texts = sparse.csr_array(rng.random((30, 200)) * (rng.random((30, 200)) < 0.1))
    assert "gradient rbf" not in {entry.name for entry in pool(texts, labels, {})}


def test_rows_of_many_columns_are_offered_latent_directions():
    rng, labels = np.random.default_rng(0), encode([0, 1, *[-1] * 88])
    wide, narrow = rng.standard_normal((90, 70)), rng.standard_normal((90, 20))
    entries = {entry.name: entry for entry in pool(wide, labels, {})}
    latent = {"tsvm latent", "gradient latent", "laprls latent"}
    assert {name for name in entries if "latent" in name} == latent
    assert "gradient rbf" not in entries
    for name in latent:
        made = entries[name].make(-1)
        features = made.fit(wide, labels.codes).kernel_map_
        assert getattr(features, "view", None) or features.rank == 30
        assert entries[name].seconds > 0.0
    for X, given in ((narrow, {}), (wide, {"kernel": "linear"}), (wide[:50], {})):
        some = encode([0, 1, *[-1] * (len(X) - 2)])
        assert not any("latent" in entry.name for entry in pool(X, some, given))


def test_a_second_regularisation_is_tried_where_the_default_does_not_suit():
    """A table varies in few directions, texts in as many as there are rows."""
    rng = np.random.default_rng(0)
    table = rng.standard_normal((300, 3)) / np.sqrt(3.0)
    assert suited_reg(table) == pytest.approx(1.0 / 9.0, rel=0.2)
    assert suited_reg(30.0 * table) == pytest.approx(100.0, rel=0.2)
    assert suited_reg(0.01 * table) == pytest.approx(1.1e-5, rel=0.2)
    assert suited_reg(np.eye(300)) is None
    labels = encode([0, 1, *[-1] * 298])
    names = [entry.name for entry in pool(table, labels, {})]
    assert {"svm reg=0.11", "tsvm reg=0.11"} < set(names)
    assert {" reg=" in entry.name for entry in pool(np.eye(300), labels, {})} == {False}


def test_time_to_compile_does_not_count():
    """Else the first choice on a machine would give up what is slow to compile."""

    def slow_to_compile(entry):
        def score(fold):
            race.clock.on_start(None)
            end = perf_counter() + 0.05
            while perf_counter() < end:
                pass
            race.clock.on_end(None)
            return 2.0 * CODES[fold] - 1.0

        return score

    begun = perf_counter()
    race = SuccessiveHalving(FOLDS, CODES)
    (candidate,) = race.run([Entry("a", TSVM)], slow_to_compile)
    assert race.clock.compiling >= 5 * 0.05
    assert sum(candidate.seconds) <= race.seconds
    assert race.clock.seconds <= race.clock.elapsed
    assert race.clock.elapsed + race.clock.compiling <= perf_counter() - begun


@pytest.mark.parametrize(("others", "folds"), [(1.0, 5), (2.5, 5), (10.0, 2)])
def test_a_busy_machine_makes_the_same_choice(others, folds, monkeypatch):
    """Other programs do not count, unless the wait is several times the limit."""
    now = {"work": 100.0}
    monkeypatch.setattr(compiling, "process_time", lambda: now["work"])
    monkeypatch.setattr(compiling, "perf_counter", lambda: others * now["work"])

    def score(fold):
        now["work"] += 1.0
        return 2.0 * CODES[fold] - 1.0

    race = SuccessiveHalving(FOLDS, CODES, time_limit=len(FOLDS) + 0.5)
    (candidate,) = race.run([Entry("a", TSVM)], lambda entry: score)
    assert len(candidate.scores) == folds
    assert race.clock.elapsed == pytest.approx(others * folds)
    assert bool(race.stopped) is (folds < len(FOLDS))


def test_several_threads_do_not_use_up_the_limit(monkeypatch):
    now = iter(range(1_000))
    monkeypatch.setattr(compiling, "process_time", lambda: 4.0 * next(now))
    monkeypatch.setattr(compiling, "perf_counter", lambda: 7.0)
    assert compiling.WorkClock().seconds == 0.0


def test_methods_that_cannot_be_fitted_to_all_rows_are_not_tried():
    X, labels = np.ones((40, 20)), encode([0, 1, *[-1] * 199_998])
    listed = pool(X, labels, {"reg": 1.0})
    assert "gradient rbf" not in [entry.name for entry in listed]
    kept, left_out = method_choice._affordable(listed, 100.0)
    assert left_out == {"laprls": "the fit to all rows would take about 4 min"}
    assert [entry.name for entry in kept] == [e.name for e in listed if e.name not in left_out]
    kept, _ = method_choice._affordable(listed, 0.0)
    assert [entry.name for entry in kept] == [entry.name for entry in listed[:2]]


def test_what_is_left_out_is_a_reason(monkeypatch):
    monkeypatch.setattr(method_choice, "LAST_FIT", 0.0)
    X, y = two_blobs()
    for n_labels in (3, 20):
        found = choose(X, np.where(np.arange(len(y)) < n_labels, y, -1), quick=True)
        assert "laprls" in found.skipped
        assert any(
            "Given up: " in reason and "laprls, because the fit to all rows" in reason
            for reason in found.reasons
        )


@pytest.fixture
def few(monkeypatch):
    """Try the supervised SVM and the transductive one only."""
    monkeypatch.setattr(method_choice, "QUICK", ("svm", "tsvm"))


def test_a_committee_or_one_method_and_the_reasons(few):
    X, y = sparse_text(120)
    partly, steps = hide(y, 20), []
    choice = choose(X, partly, quick=True, random_state=3, progress=steps.append)
    assert steps[0] == Step("svm", 1, 5, 0, 10, left=steps[0].left)
    assert str(steps[0]) == "svm, fold 1 of 5"
    assert choice.reasons[0].startswith("Mean accuracy on labels that were held out: svm 0.")
    assert "decide" in choice.reasons[1]
    assert choice.cost.startswith("The choice took ")
    model = choice.make().fit(X, partly)
    assert model.score(X, y) > 0.6
    again = choose(X, partly, quick=True, random_state=3).to_dict()
    for facts in (again, first := choice.to_dict()):
        facts["methods"] = [method["scores"] for method in facts["methods"]["methods"]]
        facts.pop("cost")
    assert json.loads(json.dumps(first)) == json.loads(json.dumps(again))


def held(monkeypatch, **quality):
    """Replace the fits of the race by scores."""

    def scores(estimator, grounds, labels, shares, outside):
        name = registry.find(estimator).name
        rng = np.random.default_rng(len(name))
        sign = 2 * labels.codes - 1
        return lambda fold: quality[name] * sign[fold] + rng.standard_normal(len(fold))

    monkeypatch.setattr(cross_validation, "held_out_scores", scores)


def test_the_best_decides_alone_if_it_has_most_of_the_weight(few, monkeypatch):
    X, y = two_blobs(100)
    held(monkeypatch, svm=0.1, tsvm=5.0)
    choice = choose(X, hide(y, 60), quick=True)
    assert (choice.method, choice.members) == ("tsvm", ())
    assert choice.parameters == {"class_prior": "estimate"}
    assert choice.reasons[1].startswith("tsvm decides alone")
    assert choice.reasons[2].startswith("The unlabelled rows helped: tsvm is")
    held(monkeypatch, svm=5.0, tsvm=0.1)
    choice = choose(X, hide(y, 60), quick=True)
    assert (choice.method, choice.parameters) == ("svm", {})


def test_a_method_that_fails_on_new_rows_loses(few, monkeypatch):
    """Right on its unlabelled rows, wrong on rows that took no part in the fit."""
    X, y = two_blobs(100)

    def scores(estimator, grounds, labels, shares, outside):
        sign = 2.0 * labels.codes - 1.0
        rng = np.random.default_rng(0)
        if registry.find(estimator).name == "svm":
            return lambda fold: 0.7 * sign[fold] + rng.standard_normal(len(fold))
        return lambda fold: np.where(outside[fold], -1.0, 1.0) * sign[fold]

    monkeypatch.setattr(cross_validation, "held_out_scores", scores)
    choice = choose(X, hide(y, 60), quick=True)
    assert choice.method == "svm"
    assert "far behind" in choice.skipped["tsvm"]
    assert "took no part in the fit: svm 0." in choice.reasons[0]
    inside = choose(X, hide(y, 60), quick=True, use="transduction")
    weights = {member.name: member.weight for member in inside.members}
    assert inside.method == "tsvm" or weights["tsvm"] > 0.0
    right = inside.methods["tsvm"]
    assert (right.new_rows, right.fit_rows) == (0.0, 1.0)
    with pytest.raises(ValueError, match="use must be one of"):
        choose(X, hide(y, 60), use="both")


def test_compiling_is_mentioned_only_if_it_took_time():
    race, _ = raced(a=1.0, bb=1.0)
    race.clock._began = (race.clock._began[0] - 90.0, race.clock._began[1] - 90.0)
    assert race.clock.seconds > 60.0
    assert cross_validation._about_compiling(race) == ""
    race.clock.compiling = 5.0
    assert "5.00 s" in cross_validation._about_compiling(race)


def test_near_chance_only_supervised_methods_decide(few, monkeypatch):
    X, y = two_blobs(100)
    held(monkeypatch, svm=0.0, tsvm=0.0)
    choice = choose(X, hide(y, 60), quick=True)
    assert choice.method == "svm"
    assert any(
        reason.startswith("Only supervised methods are used here") for reason in choice.reasons
    )
    assert not any("tried to the end" in reason for reason in choice.reasons)
    assert [m.name for m in choice.methods.methods] == ["svm", "tsvm"]
    held(monkeypatch, svm=1.0, tsvm=1.5)
    assert "Only supervised" not in " ".join(choose(X, hide(y, 60), quick=True).reasons)


def test_rankings_decide_if_they_are_the_score(few, monkeypatch):
    """Many rows of one class are steps from the few of the other, which are ranked wrong."""
    X, y = two_blobs(300)
    partly = hide(y, 80)
    partly[np.flatnonzero(partly == 1)[6:]] = -1

    def scores(estimator, grounds, labels, shares, outside):
        rare = labels.codes == 1
        rng = np.random.default_rng(0)
        if registry.find(estimator).name == "svm":
            return lambda fold: 1.5 * rare[fold] - 2.0 + 0.3 * rng.standard_normal(len(fold))
        return lambda fold: -2.0 - 0.5 * rare[fold] + 0.1 * rng.standard_normal(len(fold))

    monkeypatch.setattr(cross_validation, "held_out_scores", scores)
    choice = choose(X, partly, quick=True, scoring="average_precision")
    assert choice.methods["svm"].mean > 0.9 > choice.methods["tsvm"].mean
    assert choice.method == "svm"


@pytest.mark.parametrize("best", ["svm", "tsvm"])
def test_every_choice_has_probabilities(few, monkeypatch, best):
    X, y = two_blobs(200)
    partly = hide(y, 60)
    held(monkeypatch, **{"svm": 0.1, "tsvm": 0.1, best: 3.0})
    choice = choose(X, partly, quick=True)
    assert choice.method == best
    model = choice.make(n_jobs=1).fit(X, partly)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    alone = registry.get(best).make(**choice.parameters).fit(X, partly)
    np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    assert np.log(p[:, 1] / p[:, 0]) @ alone.decision_function(X) > 0.0


def test_given_shares_act_whichever_method_wins(few, monkeypatch):
    X, y = two_blobs(300)
    partly = hide(y, 60)
    held(monkeypatch, svm=5.0, tsvm=0.1)
    choice = choose(X, partly, parameters={"class_prior": {0: 0.7, 1: 0.3}}, quick=True)
    assert [member.name for member in choice.members] == ["svm"]
    assert choice.ignored == ()
    free = partly == -1
    predicted = choice.make().fit(X, partly).predict(X[free])
    assert np.mean(predicted) == pytest.approx(0.3, abs=0.005)


def test_equals_decide_together(few, monkeypatch):
    X, y = two_blobs(100)
    held(monkeypatch, svm=1.0, tsvm=1.0)
    choice = choose(X, hide(y, 40), parameters={"n_jobs": 1, "unlabeled_weight": 0.5}, quick=True)
    assert choice.method == "committee"
    assert {member.name for member in choice.members} == {"svm", "tsvm"}
    (tsvm,) = [member for member in choice.members if member.name == "tsvm"]
    assert tsvm.parameters == {"unlabeled_weight": 0.5, "n_jobs": 1, "class_prior": "estimate"}
    assert "committee" in [method.name for method in choice.methods.methods]
    assert "they decide together" in choice.reasons[1]


def test_a_model_that_is_no_better_than_a_guess_is_reported(few, monkeypatch):
    X, y = two_blobs(100)
    held(monkeypatch, svm=0.0, tsvm=0.0)
    reasons = choose(X, hide(y, 20), quick=True).reasons
    assert any("20 labels are too few to show" in r and "most frequent class" in r for r in reasons)


@pytest.mark.parametrize("labels", [[0] * 2 + [1], [0] * 3 + [1], [0, 1, 2, 3]])
def test_too_few_labels_give_equal_weights(few, labels):
    y = np.array([*labels, -1, -1, -1])
    assert too_few(encode(y)) is not None
    choice = choose(np.eye(len(y)), y, quick=True)
    assert choice.method == "committee"
    assert len({member.weight for member in choice.members}) == 1
    assert choice.reasons[0].endswith("too few to hold some out: svm and tsvm have the same "
                                      "weight in a committee.")  # fmt: skip
    assert choice.methods is None


def test_without_unlabelled_rows_only_the_supervised_method_is_left():
    X, y = two_blobs(40)
    choice = choose(X, y)
    assert choice.method in ("svm", "committee")
    assert {member.method for member in choice.members} <= {"svm"}


def test_a_class_with_one_label_is_no_obstacle(few):
    X, y = two_blobs(60)
    partly = hide(y, 20)
    partly[np.flatnonzero(partly == -1)[0]] = 2
    assert choose(X, partly, quick=True).methods is not None


def test_large_data_are_sampled(few, monkeypatch):
    monkeypatch.setattr(method_choice, "MOST_UNLABELED", 30)
    X, y = two_blobs(100)
    choice = choose(X, hide(y, 20), quick=True)
    assert choice.methods.n_unlabeled == 30
    assert choice.reasons[-1] == "30 of the unlabelled rows were used to choose."


def test_unknown_parameters_are_refused():
    X, y = two_blobs(40)
    with pytest.raises(ValueError, match="tolerance cannot be set"):
        choose(X, hide(y, 20), parameters={"tolerance": 1})
    with pytest.raises(ValueError, match="time_limit must be"):
        choose(X, hide(y, 20), time_limit=0)


@pytest.mark.parametrize("m", [2, 3])
def test_a_single_unlabelled_row_is_enough(m):
    """Its estimated share of a class may be less than a row."""
    X, y, _ = clusters(m)
    partly = y.copy()
    partly[7] = -1
    model = choose(X, partly, quick=True).make().fit(X, partly)
    assert model.score(X, y) > 0.9
