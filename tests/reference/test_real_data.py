"""The papers' data, where they are at hand; the full tables are in the benchmarks."""

import numpy as np
import pytest

from semisvm import (
    AnnealedSVC,
    LaplacianRLSC,
    LaplacianSVC,
    MeanSVC,
    NewtonSVC,
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
        ("mkl", "g241c", "linear", 65.31),
        ("mkl", "text_ssl", "linear", 66.97),
    ],
)
def test_label_means_on_the_published_splits(method, name, kernel, accuracy, dataset, splits):
    """The rest of Table 1 of the paper is `semisvm reproduce book`."""
    X, y = dataset(name)
    found = []
    for rows in splits(name)["lab_10"]:
        partly = np.zeros(len(y), dtype=int)
        partly[rows] = y[rows]
        free = partly == 0
        r = float(np.mean(y[free] == 1))
        model = MeanSVC(method=method, kernel=kernel, unlabeled=0, class_prior=[1 - r, r])
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
