"""Rows with several labels: one machine per label, equal to separate fits."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import semisvm
from problems import sparse_text
from semisvm import AnnealedSVC, GradientTSVC, MeanSVC, MultiLabelSVC, NewtonSVC, TransductiveSVC
from semisvm.labels.label_matrix import read_shares, read_table
from semisvm.model_selection import CalibratedPartialClassifier
from semisvm.model_selection.calibration import calibrate_labels

SHARES = [0.5, 0.4, 0.3]


def labelled_text(n=240, known=0.3, seed=0):
    """Sparse rows with three labels, of which some cells are known."""
    X, y = sparse_text(n, 300, seed=seed)
    rng = np.random.default_rng(seed)
    parts = np.asarray(X[:, :150].sum(axis=1)).ravel()
    full = np.column_stack([y, parts > np.quantile(parts, 0.6), rng.random(n) < 0.3]).astype(int)
    return X, full, np.where(rng.random(full.shape) < known, full, -1)


@pytest.mark.parametrize(
    "machine",
    [
        TransductiveSVC(),
        TransductiveSVC(kernel="rbf", n_components=50),
        TransductiveSVC(loss="log", reg=1e-2),
        AnnealedSVC(),
        GradientTSVC(),
    ],
    ids=lambda machine: repr(machine)[:40],
)
def test_the_same_as_separate_fits(machine):
    X, _, partly = labelled_text()
    model = MultiLabelSVC(machine, class_prior=SHARES).fit(X, partly)
    for k, share in enumerate(SHARES):
        alone = clone(machine).set_params(class_prior=[1 - share, share]).fit(X, partly[:, k])
        np.testing.assert_array_equal(model.coef_[k], alone.coef_[0])
        assert model.objective_[k] == alone.objective_
        assert model.n_iter_[k] == alone.n_iter_
        np.testing.assert_array_equal(model.transduction_[:, k], alone.transduction_)
        np.testing.assert_array_equal(model.predict(X)[:, k], alone.predict(X))
        np.testing.assert_array_equal(model.class_prior_[k], alone.class_prior_[1])


def test_the_same_as_separate_fits_with_estimated_shares():
    X, _, partly = labelled_text()
    machine = TransductiveSVC()
    model = MultiLabelSVC(machine).fit(X, partly)
    for k in range(3):
        alone = clone(machine).fit(X, partly[:, k])
        assert model.class_prior_[k] == alone.class_prior_[1]
        assert model.class_prior_std_[k] == alone.class_prior_std_[1]
        np.testing.assert_array_equal(model.coef_[k], alone.coef_[0])


def test_supervised_machines_and_dense_rows():
    X, full, partly = labelled_text()
    model = MultiLabelSVC(NewtonSVC()).fit(X.toarray(), partly)
    for k in range(3):
        alone = NewtonSVC().fit(X.toarray(), partly[:, k])
        np.testing.assert_array_equal(model.decision_function(X)[:, k], alone.decision_function(X))
    assert np.mean(model.predict(X)[:, 0] == full[:, 0]) > 0.85


def test_what_is_published():
    X, full, partly = labelled_text()
    model = MultiLabelSVC(AnnealedSVC(), class_prior=0.4).fit(X, partly)
    known = partly >= 0
    np.testing.assert_array_equal(model.transduction_[known], full[known])
    np.testing.assert_array_equal(model.label_distribution_[known], full[known])
    assert model.predict(X).shape == model.decision_function(X).shape == full.shape
    np.testing.assert_array_equal(model.predict(X), model.decision_function(X) > 0)
    assert model.transduction_.dtype == full.dtype
    assert model.classes_.tolist() == [0, 1]
    assert set(model.trace_["label"]) == {0, 1, 2}
    # the share fixes how many unknown cells get the label
    for k in range(3):
        free = ~known[:, k]
        assert model.transduction_[free, k].sum() == round(0.4 * free.sum())
    right = (model.predict(X) == full).all(axis=1).mean()
    assert model.score(X, full) == right


def test_other_values_names_and_sparse_tables():
    pd = pytest.importorskip("pandas")
    X, _, partly = labelled_text()
    plain = MultiLabelSVC(class_prior=SHARES).fit(X, partly)
    words = np.array(["no", "yes", None], dtype=object)[partly]
    frame = pd.DataFrame(words, columns=["a", "b", "c"])
    named = MultiLabelSVC(class_prior={"a": 0.5, "b": 0.4, "c": 0.3}).fit(X, frame)
    assert named.label_names_.tolist() == ["a", "b", "c"]
    np.testing.assert_array_equal(named.coef_, plain.coef_)
    np.testing.assert_array_equal(named.predict(X) == "yes", plain.predict(X) == 1)
    thin = MultiLabelSVC(class_prior=SHARES).fit(X, sparse.csr_matrix(partly))
    np.testing.assert_array_equal(thin.coef_, plain.coef_)


def test_probabilities_of_maxent():
    X, _, partly = labelled_text()
    model = MultiLabelSVC(TransductiveSVC(loss="log"), class_prior=SHARES).fit(X, partly)
    alone = TransductiveSVC(loss="log", class_prior=[0.5, 0.5]).fit(X, partly[:, 0])
    np.testing.assert_allclose(model.predict_proba(X)[:, 0], alone.predict_proba(X)[:, 1])
    assert not hasattr(MultiLabelSVC(), "predict_proba")


def test_copies_and_files(tmp_path):
    X, _, partly = labelled_text()
    model = MultiLabelSVC(TransductiveSVC(reg=1e-2), class_prior=SHARES).fit(X, partly)
    assert clone(model).estimator.reg == 1e-2
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    semisvm.save(model, tmp_path / "m.semisvm")
    loaded = semisvm.load(tmp_path / "m.semisvm")
    assert isinstance(loaded, MultiLabelSVC)
    np.testing.assert_array_equal(loaded.decision_function(X), model.decision_function(X))
    np.testing.assert_array_equal(loaded.predict(X), model.predict(X))
    assert loaded.estimator.get_params() == model.estimator.get_params()
    assert loaded.classes_.tolist() == [0, 1]
    assert loaded.label_names_.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(loaded.objective_, model.objective_)


def test_in_a_search():
    X, full, _ = labelled_text(120)
    grid = {"estimator__reg": [1e-3, 1e-1]}
    search = GridSearchCV(MultiLabelSVC(NewtonSVC()), grid, cv=3).fit(X, full)
    assert search.best_params_["estimator__reg"] in grid["estimator__reg"]
    assert search.best_score_ > 0


def test_the_callback_stops_all_labels():
    X, _, partly = labelled_text()
    seen = []
    model = MultiLabelSVC(class_prior=SHARES, callback=lambda row: seen.append(row) or True)
    model.fit(X, partly)
    assert {row["label"] for row in seen} == {0}, "it is not asked again"
    assert set(model.trace_["label"]) == {0, 1, 2}, "every label has a round"
    assert np.isfinite(model.coef_).all()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda Y: Y[:, 0], "one column per label"),
        (lambda Y: Y[:, :0], "no column"),
        (
            lambda Y: np.where(Y[:, [0]] == 0, [[0, 5, 0]], Y),
            "0, 1, 5: row .* column 1 has 5",
        ),
        (lambda Y: np.column_stack([Y[:, 0], np.full(len(Y), -1)]), "column 1 has no known cell"),
        (lambda Y: np.column_stack([Y[:, 0], np.ones(len(Y))]), "column 1 has only 1"),
        (lambda Y: np.full(Y.shape, -1), "no labelled row"),
        (lambda Y: Y[:-1], "239"),
        (lambda Y: Y[:, :, None], "two dimensions"),
        (lambda Y: None, "requires y to be passed"),
    ],
)
def test_tables_that_are_refused(change, message):
    X, _, partly = labelled_text()
    with pytest.raises(ValueError, match=message):
        MultiLabelSVC().fit(X, change(partly))


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("guess", "'estimate', 'labels'"),
        (1.5, "between 0 and 1"),
        ([0.1, 0.2], "2 shares, but Y has 3 columns"),
        ({"z": 0.2}, "no labels"),
        ([0.1, "x", 0.2], "'x'"),
        ([1e-9, 0.5, 0.5], "label 0: .*zero rows"),
    ],
)
def test_shares_that_are_refused(given, message):
    X, _, partly = labelled_text()
    with pytest.raises(ValueError, match=message):
        MultiLabelSVC(class_prior=given).fit(X, partly)


@pytest.mark.parametrize(
    ("machine", "message"),
    [
        (MeanSVC(), "got MeanSVC"),
        (TransductiveSVC(class_prior=[0.5, 0.5]), "class_prior of MultiLabelSVC"),
        (TransductiveSVC(reg=-1), "reg must be"),
        (TransductiveSVC(hierarchy={"a": {0: {}}, "b": {1: {}}}), "hierarchy"),
    ],
)
def test_machines_that_are_refused(machine, message):
    X, _, partly = labelled_text()
    with pytest.raises(ValueError, match=message):
        MultiLabelSVC(machine).fit(X, partly)
    with pytest.raises(ValueError, match="leave it out"):
        MultiLabelSVC(NewtonSVC(), class_prior=0.5).fit(X, partly)


def test_scores_need_known_cells():
    X, _, partly = labelled_text()
    model = MultiLabelSVC(NewtonSVC()).fit(X, partly)
    with pytest.raises(ValueError, match="unknown cells"):
        model.score(X, partly)
    with pytest.raises(ValueError, match="shape"):
        model.score(X, partly[:, :2])
    # rows of one value are fine
    found = model.predict(X[:5])
    assert model.score(X[:5], found) == 1.0
    assert model.score(X[:5], 1 - found) == 0.0


def test_the_default_machine_is_near_to_separate_fits():
    X, _, partly = labelled_text(400)
    model = MultiLabelSVC().fit(X, partly)
    for k in range(2):
        prior = [1 - model.class_prior_[k], model.class_prior_[k]]
        alone = TransductiveSVC(unlabeled_weight=0.3, class_prior=prior).fit(X, partly[:, k])
        assert model.objective_[k] < 1.02 * alone.objective_
        assert np.mean(model.transduction_[:, k] == alone.transduction_) > 0.97


def test_shares_may_be_known_for_some_labels():
    table = read_table([[0, 1], [1, 0], [-1, None]])
    assert table.codes.tolist() == [[0, 1], [1, 0], [-1, -1]]
    assert read_shares([0.2, np.nan], table) == [0.2, None]
    assert read_shares({1: 0.3}, table) == [None, 0.3]
    assert read_shares(0.1, table) == [0.1, 0.1]
    assert read_shares("labels", table) == ["labels", "labels"]


def test_a_row_of_weight_two_counts_like_two():
    X, _, partly = labelled_text(120)
    times = np.random.default_rng(0).integers(1, 3, len(partly))
    rows = np.arange(len(partly)).repeat(times)
    model = MultiLabelSVC(NewtonSVC(tol=1e-12))
    repeated = clone(model).fit(X[rows], partly[rows])
    weighed = clone(model).fit(X, partly, sample_weight=times)
    np.testing.assert_allclose(weighed.coef_, repeated.coef_, atol=1e-5)
    assert np.abs(weighed.coef_ - clone(model).fit(X, partly).coef_).max() > 0.05


def test_weights_reach_all_machines():
    X, _, partly = labelled_text(120)
    times = np.random.default_rng(0).integers(1, 3, len(partly))
    model = MultiLabelSVC(TransductiveSVC()).fit(X, partly, times)
    for k in range(3):
        alone = TransductiveSVC().fit(X, partly[:, k], sample_weight=times)
        np.testing.assert_array_equal(model.coef_[k], alone.coef_[0])
        assert model.class_prior_[k] == alone.class_prior_[1]
    with pytest.raises(ValueError, match="label 0: sample_weight is zero"):
        clone(model).fit(X, partly, np.where(partly[:, 0] < 0, 1.0, 0.0))


def test_machines_of_labels_and_their_calibration():
    X, _, partly = labelled_text()
    model = MultiLabelSVC(TransductiveSVC()).fit(X, partly)
    machine = model.machine_of(1)
    assert machine.class_prior[1] == model.class_prior_[1]
    # as careful as with the estimate that it was
    assert machine.unlabeled_weight == 0.3
    np.testing.assert_array_equal(machine.fit(X, partly[:, 1]).coef_[0], model.coef_[1])
    learnt = calibrate_labels(model, X, partly, cv=3)
    alone = CalibratedPartialClassifier(model.machine_of(1), method="temperature", cv=3)
    alone.fit(X, partly[:, 1])
    assert learnt.slope[1] == alone.calibrator_.slope[0]
    assert learnt.slope.shape == learnt.offset.shape == (3,)
    few = np.where(np.arange(len(partly))[:, None] < 2, [[0, 0, 1], [1, 1, 0]][0:1], -1)
    few[1] = 1 - few[0]
    lacking = MultiLabelSVC(class_prior=0.5).fit(X, few)
    with pytest.raises(ValueError, match="label 0 has no two known cells"):
        calibrate_labels(lacking, X, few)


def test_one_note_about_all_shares():
    X, _, partly = labelled_text()
    about = "shares of 3 labels estimated"
    assert sum(about in note for note in MultiLabelSVC().fit(X, partly).trace_.notes) == 1
    given = MultiLabelSVC(class_prior=SHARES).fit(X, partly)
    assert not any(about in note for note in given.trace_.notes)


def test_labels_that_may_be_wrong_are_taken_back_as_in_separate_fits():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 2, (200, 2))
    X = rng.normal(size=(200, 3))
    X[:, :2] += 5.0 * truth
    Y = truth.copy()
    Y[100:] = -1
    Y[:4] = 1 - Y[:4]
    machine = TransductiveSVC(label_noise=0.1)
    model = MultiLabelSVC(machine).fit(X, Y)
    np.testing.assert_array_equal(model.transduction_[:4], truth[:4])
    assert sum("4 of 100 labels count as evidence" in note for note in model.trace_.notes) == 2
    for k in range(2):
        alone = clone(machine).fit(X, Y[:, k])
        np.testing.assert_array_equal(model.coef_[k], alone.coef_[0])
        np.testing.assert_array_equal(model.transduction_[:, k], alone.transduction_)
