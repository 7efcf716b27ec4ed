"""scikit-learn's own checks, and life among its other parts."""

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import estimator_checks_generator

import semisvm
from problems import sparse_text, two_blobs
from semisvm import (
    AnnealedSVC,
    ClusteredSVC,
    ClusterKernelSVC,
    ConcaveSVC,
    EntropyRegularizedClassifier,
    ExpectationConstrainedClassifier,
    FeatureSelectionSVC,
    GradientTSVC,
    KMedian,
    LaplacianRLSC,
    LaplacianSVC,
    LowDensitySeparation,
    MeanSVC,
    MixedIntegerSVC,
    MultiLabelSVC,
    NewtonSVC,
    OneNormSVC,
    PosteriorRegularizedClassifier,
    RobustLPC,
    SemiBoostClassifier,
    SemiSupervisedClassifier,
    SemiSupervisedCommittee,
    TransductiveSVC,
)
from semisvm.designs import make_design
from semisvm.model_selection import AnnealedSVCCV, CalibratedPartialClassifier, TransductiveSVCCV

REASONS = {
    "check_classifiers_classes": (
        "feeds labels {-1, 1}; -1 marks unlabelled rows here, and scikit-learn exempts its own "
        "semi-supervised estimators from this check by name"
    )
}

EQUIVALENT = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
"""They compare weights of 0 to 4 with rows that are left out or repeated, to seven digits."""
NOT_EQUIVALENT = {
    LaplacianSVC: "the graph of neighbours has every row once, whatever its weight",
    LaplacianRLSC: "the graph of neighbours has every row once, whatever its weight",
    LowDensitySeparation: "distances along the data have every row once, whatever its weight",
    MeanSVC: "its solvers stop at a duality gap of tol, which is larger than the check allows",
    ClusterKernelSVC: "the clusters count every row once, whatever its weight",
    SemiSupervisedCommittee: "equal rows are dealt to different folds, one row to one fold",
    SemiSupervisedClassifier: "equal rows are dealt to different folds, one row to one fold",
    **dict.fromkeys(
        (CalibratedPartialClassifier, TransductiveSVCCV, AnnealedSVCCV),
        "gives cv as a list of rows to train on and to test; here labels are held out, not rows",
    ),
}
OF_THE_KERNEL = "the features of a kernel, and its gamma, are those of the rows as they are"


OF_LABELS = {
    "check_classifiers_train": (
        "gives a y of one column and expects predictions without columns, which other checks "
        "expect to have one"
    )
}


def reasons(estimator):
    """Say which checks an estimator fails, and why."""
    found = NOT_EQUIVALENT.get(type(estimator))
    if found is None and type(estimator) is not NewtonSVC:
        found = OF_THE_KERNEL if getattr(estimator, "kernel", "linear") != "linear" else None
    of_labels = OF_LABELS if isinstance(estimator, MultiLabelSVC) else {}
    return REASONS | of_labels | (dict.fromkeys(EQUIVALENT, found) if found else {})


ARCHETYPES = [
    NewtonSVC(),
    NewtonSVC(kernel="rbf", gamma=0.1, kernel_tol=1e-13),
    TransductiveSVC(),
    AnnealedSVC(),
    GradientTSVC(),
    LowDensitySeparation(),
    MeanSVC(),
    LaplacianSVC(kernel="rbf"),
    ClusterKernelSVC(n_runs=5),
    SemiBoostClassifier(),
    ExpectationConstrainedClassifier(),
    PosteriorRegularizedClassifier(),
    OneNormSVC(),
    ConcaveSVC(),
    MixedIntegerSVC(),
    ClusteredSVC(),
    CalibratedPartialClassifier(cv=2),
    TransductiveSVCCV(regs=3, cv=2),
    KMedian(),
    SemiSupervisedCommittee([("svm", NewtonSVC()), ("tsvm", TransductiveSVC())], cv=2),
    MultiLabelSVC(NewtonSVC()),
    SemiSupervisedClassifier("svm"),
]
"""One estimator for each way of a fit; they take all checks."""

VARIANTS = [
    NewtonSVC(loss="squared"),
    GradientTSVC(kernel="rbf"),
    MeanSVC(kernel="rbf", method="mkl"),
    LaplacianSVC(),
    LaplacianRLSC(kernel="linear"),
    AnnealedSVC(kernel="poly", degree=2),
    EntropyRegularizedClassifier(),
    RobustLPC(),
    OneNormSVC(kernel="rbf"),
    FeatureSelectionSVC(),
    AnnealedSVCCV(regs=3, cv=2),
    SemiSupervisedCommittee(cv=2),
    MultiLabelSVC(),
    SemiSupervisedClassifier(),
]
"""The others, which differ from an archetype by a loss, a kernel, a program or what they wrap."""

ONLY_ARCHETYPES = (
    "check_classifier_data_not_an_array",
    "check_classifiers_classes",
    "check_classifiers_train",
    "check_dtype_object",
    "check_estimator_sparse_array",
    "check_estimator_sparse_matrix",
    "check_estimators_dtypes",
    "check_methods_subset_invariance",
    "check_positive_only_tag_during_fit",
)
"""Checks that fit often. `tests/common` has every method do the same with few fits: sparse rows,
single precision, data frames, lists, rows one by one, and classes of any name."""

NOT_FOR_US = {
    "check_array_api_input": "needs an environment of its own: see test_array_api_dispatch",
    "check_classifiers_multilabel_output_format_predict_proba": "MultiLabelSVC has scores only",
}


def checks():
    """List estimators with their checks; those that are expected to fail are marked."""
    for estimator in (*ARCHETYPES, *VARIANTS):
        expected = reasons(estimator)
        for made, check in estimator_checks_generator(estimator):
            name = check.func.__name__
            if name in NOT_FOR_US or (estimator in VARIANTS and name in ONLY_ARCHETYPES):
                continue
            why = expected.get(name)
            marks = [] if why is None else [pytest.mark.xfail(reason=why, strict=True)]
            how = "".join(f" {key}={value}" for key, value in check.keywords.items())
            shown = "".join(str(made).split())
            yield pytest.param(made, check, marks=marks, id=f"{shown}-{name}{how}")


@pytest.mark.parametrize(("estimator", "check"), list(checks()))
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_all_public_estimators_are_checked():
    classes = {getattr(semisvm, name) for name in semisvm.__all__}
    fitted = {c for c in classes if isinstance(c, type) and issubclass(c, BaseEstimator)}
    wrapping = {CalibratedPartialClassifier, TransductiveSVCCV, AnnealedSVCCV}
    assert {type(one) for one in (*ARCHETYPES, *VARIANTS)} == fitted | wrapping


ARRAY_API = """
from sklearn.utils.estimator_checks import check_array_api_input
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
for estimator in (NewtonSVC(), TransductiveSVC(), AnnealedSVC()):
    name = type(estimator).__name__
    check_array_api_input(
        name, estimator, array_namespace="numpy", expect_only_array_outputs=False
    )
print("same results")
"""


def test_array_api_dispatch():
    """Where other code has it on, models of numpy's arrays are the same."""
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    command = [sys.executable, "-c", ARRAY_API]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.stdout == "same results\n", done.stderr


@pytest.mark.parametrize("cls", [NewtonSVC, TransductiveSVC, AnnealedSVC])
@pytest.mark.parametrize("names", [["one", "two"], [3, 7], [0.0, 1.0], [False, True]])
def test_classes_of_every_kind(cls, names):
    """The rest of what the exempted check looks at."""
    X, y = two_blobs(60, 4)
    target = np.array(names)[y]
    model = cls().fit(X, target)
    np.testing.assert_array_equal(model.classes_, np.unique(target))
    assert model.classes_.dtype == target.dtype
    assert set(model.predict(X)) == set(target)
    signs = np.where(model.decision_function(X) > 0, names[1], names[0])
    np.testing.assert_array_equal(model.predict(X), signs)


@pytest.mark.parametrize("cls", [NewtonSVC, TransductiveSVC, AnnealedSVC])
def test_pipeline_and_grid_search(cls):
    X, y = two_blobs(120, 4)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), cls()),
        {f"{cls.__name__.lower()}__reg": [1e-3, 1e-1]},
        cv=3,
        n_jobs=2,
    ).fit(X, y)
    assert search.best_score_ > 0.8
    assert cross_val_score(cls(n_jobs=2), X, y, n_jobs=2).mean() > 0.8


def test_text_pipeline_with_names():
    texts = ["good film", "great film", "bad film", "awful film", "great good", "awful bad"]
    y = np.array(["up", None, "down", None, None, None], dtype=object)
    model = make_pipeline(TfidfVectorizer(), TransductiveSVC(class_prior={"up": 0.5, "down": 0.5}))
    model.fit(texts, y)
    assert model.predict(["good good", "bad bad"]).tolist() == ["up", "down"]


def test_sparse_stays_sparse_through_a_search(monkeypatch):
    seen = []

    def spy(X, *arguments):
        seen.append(X)
        return make_design(X, *arguments)

    monkeypatch.setattr("semisvm.estimators.base.make_design", spy)
    X, y = sparse_text(120, 200)
    search = GridSearchCV(TransductiveSVC(), {"reg": [1e-3, 1e-2]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8
    assert len(seen) == 7
    assert all(sparse.issparse(rows) for rows in seen)
