"""What every method of the registry must do; a new one is tested by being added there."""

import csv

import numpy as np
from scipy import sparse

import semisvm
from commands import run
from problems import hide
from promises import EVERY_METHOD, quick
from semisvm.estimators import registry


def blobs(n_classes, n=90, seed=0):
    """Classes far from each other, rows of length one."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % n_classes
    X = 2.0 * np.eye(n_classes, 6)[y] + 0.3 * rng.standard_normal((n, 6))
    return X / np.linalg.norm(X, axis=1, keepdims=True), y


@EVERY_METHOD
def test_fits_what_it_suits_and_comes_back_from_a_file(method, tmp_path):
    # that sparse rows are dense rows is a test of its own
    for n_classes, kind in ((2, sparse.csr_matrix), (4, np.asarray)):
        X, y = blobs(n_classes)
        X = kind(X)
        model = quick(method).fit(X, hide(y, 12))
        assert np.mean(model.predict(X) == y) > 0.9
        assert model.classes_.tolist() == list(range(n_classes))
        assert method.misfit(n_unlabeled=1) is None
        assert hasattr(model, "predict_proba") == method.suits.probabilities
        semisvm.save(model, tmp_path / "m")
        again = semisvm.load(tmp_path / "m")
        assert registry.find(again) is method
        scores = model.decision_function(X)
        np.testing.assert_array_equal(again.decision_function(X), scores, strict=True)


@EVERY_METHOD
def test_reasons_of_misfits(method):
    assert (method.misfit(0) is None) != method.suits.needs_unlabeled
    too_many = (method.suits.most_unlabeled or 0) + 1
    limited = method.suits.most_unlabeled is not None
    assert ("at most" in (method.misfit(too_many) or "")) == limited


@EVERY_METHOD
def test_fit_and_predict_on_the_command_line(method, tmp_path):
    words = (["win", "prize", "cash", "offer"], ["lunch", "plan", "notes", "team"])
    rng = np.random.default_rng(0)
    with open(tmp_path / "a.csv", "w", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["text", "kind"])
        for i in range(40):
            label = ["spam", "ham"][i % 2] if i < 10 else ""
            table.writerow([" ".join(rng.choice(words[i % 2], 5)), label])
    model, out = str(tmp_path / "m"), str(tmp_path / "p.csv")
    fit = ["fit", str(tmp_path / "a.csv"), "--label", "kind", "-a", method.name, "-o", model, "-q"]
    predict = ["predict", model, str(tmp_path / "a.csv"), "-o", out]
    run(*fit)
    run(*predict)
    with open(out, newline="") as stream:
        rows = list(csv.DictReader(stream))
    right = np.array([row["label"] for row in rows]) == ["spam", "ham"] * 20
    # of eight words, sparse weights leave some out, and rows of these are guessed
    assert right.mean() > 0.85
    assert ("probability" in rows[0]) == method.suits.probabilities


@EVERY_METHOD
def test_classes_hold_no_values_that_look_like_parameters(method):
    """What differs between fits is a parameter, what differs between classes a method."""
    ours = [cls for cls in method.load().__mro__ if cls.__module__.startswith("semisvm.")]
    values = {
        f"{cls.__name__}.{name}"
        for cls in ours
        for name, value in vars(cls).items()
        if not name.startswith("_") and not callable(value) and not hasattr(value, "__get__")
    }
    assert values == set()
