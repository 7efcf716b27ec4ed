"""The papers' data, where they are at hand; the full tables are in the benchmarks."""

import numpy as np
import pytest
from sklearn.metrics import f1_score

from semisvm import (
    AnnealedSVC,
    ExpectationConstrainedClassifier,
    LaplacianRLSC,
    LaplacianSVC,
    MeanSVC,
    NewtonSVC,
    PosteriorRegularizedClassifier,
    TransductiveSVC,
)


def draw(y, n_labels, seed):
    rng = np.random.default_rng(seed)
    while True:
        rows = rng.permutation(len(y))[:n_labels]
        if len(np.unique(y[rows])) == 2:
            partly = np.zeros(len(y), dtype=int)
            partly[rows] = y[rows]
            return partly


@pytest.mark.parametrize("cls", [TransductiveSVC, AnnealedSVC])
@pytest.mark.parametrize("seed", range(3))
def test_models_of_imbalanced_data_are_balanced(cls, seed, dataset):
    X, y = dataset("lasvm_reuters")
    partly = draw(y, 46, seed)
    unlabeled = partly == 0
    r = float(np.mean(y[unlabeled] == 1))
    model = cls(unlabeled=0, class_prior=[1 - r, r]).fit(X, partly)
    predicted = model.predict(X[unlabeled])
    assert 0.8 * r <= np.mean(predicted == 1) <= 1.2 * r
    assert np.mean(predicted == y[unlabeled]) > 0.94
    assert "imbalance" in model.trace_.columns


def test_annealing_skips_the_degenerate_start_of_its_path(dataset):
    """The hot end has the lowest objective if the class prior is left out."""
    X, y = dataset("lasvm_reuters")
    partly = draw(y, 46, 0)
    unlabeled = partly == 0
    r = float(np.mean(y[unlabeled] == 1))
    model = AnnealedSVC(unlabeled=0, class_prior=[1 - r, r]).fit(X, partly)
    annealing = [row for row in model.trace_ if row["phase"] == "annealing"]
    assert annealing[0]["imbalance"] > 0.9, "nearly all outputs negative at first"
    assert annealing[-1]["imbalance"] < 0.3
    assert model.objective_ < annealing[0]["objective"]


def test_pcmac_error_and_objective(dataset):
    X, y = dataset("text1_pcmac")
    errors = {"svm": [], "tsvm": [], "da": []}
    objectives = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(y))
        test, train = order[:486], order[486:]
        partly = draw(y[train], 37, seed)
        r = float(np.mean(y[train][partly == 0] == 1))
        models = {
            "svm": NewtonSVC(unlabeled=0),
            "tsvm": TransductiveSVC(unlabeled=0, class_prior=[1 - r, r]),
            "da": AnnealedSVC(unlabeled=0, class_prior=[1 - r, r]),
        }
        for name, model in models.items():
            model.fit(X[train], partly)
            errors[name].append(1 - model.score(X[test], y[test]))
        objectives.append(models["tsvm"].objective_)
    assert np.mean(errors["svm"]) > 0.12
    assert np.mean(errors["tsvm"]) < 0.10
    assert np.mean(errors["da"]) < 0.08
    assert np.mean(objectives) < 0.140


@pytest.mark.parametrize(
    ("method", "name", "kernel", "accuracy"),
    [
        ("iter", "digit1", "linear", 81.57),
        ("iter", "usps_ssl", "linear", 73.61),
        # the paper has 65.48: its search for the most violated labels ends early
        ("mkl", "g241c", "linear", 74.75),
        ("mkl", "text_ssl", "linear", 66.97),
    ],
)
def test_label_means_on_the_published_splits(method, name, kernel, accuracy, dataset, splits):
    """The rest of Table 1 of the paper is `python -m papers book`; no intercept is moved there."""
    X, y = dataset(name)
    rule = {"method": method, "kernel": kernel, "balance_tol": None}
    found = []
    for rows in splits(name)["lab_10"]:
        partly = np.zeros(len(y), dtype=int)
        partly[rows] = y[rows]
        free = partly == 0
        r = float(np.mean(y[free] == 1))
        model = MeanSVC(**rule, unlabeled=0, class_prior=[1 - r, r])
        found.append(100.0 * model.fit(X, partly).score(X[free], y[free]))
    assert np.mean(found) == pytest.approx(accuracy, abs=0.7)


@pytest.mark.parametrize("cls", [LaplacianSVC, LaplacianRLSC])
@pytest.mark.parametrize(
    ("name", "n_labels", "least"),
    [("digit1", 10, 0.92), ("digit1", 100, 0.96), ("usps_ssl", 100, 0.94)],
)
def test_machines_on_graphs_follow_digits(cls, name, n_labels, least, dataset, splits):
    X, y = dataset(name)
    accuracies = []
    for rows in splits(name)[f"lab_{n_labels}"][:4]:
        partly = np.zeros(len(y), dtype=int)
        partly[rows] = y[rows]
        model = cls(unlabeled=0).fit(X, partly)
        accuracies.append(np.mean((model.transduction_ == y)[partly == 0]))
    assert np.mean(accuracies) > least


def test_class_shares_lift_f_of_a_rarer_class_where_weights_may_be_long(dataset):
    """With lambda beside a mean no probability passes one half; beside a sum many do."""
    X, groups = dataset("20news_tfidf")
    y = np.isin(groups, (1, 2, 3, 4, 5)).astype(int)
    rows = np.random.default_rng(0).permutation(len(y))[:6000]
    X, y, seen = X[rows], y[rows], 3000
    partly = np.where(np.arange(seen) < 64, y[:seen], -1)
    shares = np.bincount(y[64:seen]) / (seen - 64)
    found = {}
    for reg in (1e-3, 1e-3 / 64):
        for model in (
            NewtonSVC(reg, loss="log"),
            ExpectationConstrainedClassifier(reg, class_prior=shares),
            PosteriorRegularizedClassifier(reg, class_prior=shares),
        ):
            predicted = model.fit(X[:seen], partly).predict(X[seen:])
            found[reg, type(model)] = f1_score(y[seen:], predicted)
    for cls in (ExpectationConstrainedClassifier, PosteriorRegularizedClassifier):
        assert found[1e-3, cls] < 0.4
        assert found[1e-3 / 64, cls] > found[1e-3 / 64, NewtonSVC] + 0.2
