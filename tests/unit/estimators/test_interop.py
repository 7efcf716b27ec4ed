"""Estimators of scikit-learn beside ours and around ours."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE, RFECV, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier, OutputCodeClassifier
from sklearn.multioutput import ClassifierChain, MultiOutputClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from problems import hide, two_blobs
from semisvm import (
    NewtonSVC,
    SemiSupervisedClassifier,
    SemiSupervisedCommittee,
    TransductiveSVC,
)
from semisvm.estimators.interop import fit_partly, scores_of, takes_unlabeled
from semisvm.model_selection import (
    CalibratedPartialClassifier,
    MarginSelection,
    PartialLabelKFold,
    audit_labels,
    compare,
)
from semisvm.reporting import LearningCurveDisplay


@pytest.fixture
def data():
    X, y = two_blobs(150, 5)
    return X, y, hide(y, 40)


class Lonely(ClassifierMixin, BaseEstimator):
    """A classifier with predictions only."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict(self, X):
        return np.full(len(X), self.classes_[0])


class Stated(Lonely):
    takes_unlabeled = True


class TestBeside:
    @pytest.mark.parametrize(
        ("estimator", "expected"),
        [
            (TransductiveSVC(), True),
            (SemiSupervisedCommittee(), True),
            (CalibratedPartialClassifier(), True),
            (LabelSpreading(), True),
            (SelfTrainingClassifier(LogisticRegression()), True),
            (make_pipeline(StandardScaler(), TransductiveSVC()), True),
            (GridSearchCV(TransductiveSVC(), {"reg": [0.1]}), True),
            (Stated(), True),
            (LogisticRegression(), False),
            (Lonely(), False),
            (make_pipeline(StandardScaler(), LogisticRegression()), False),
            (GridSearchCV(LogisticRegression(), {"C": [1.0]}), False),
            (RandomForestClassifier(), False),
        ],
        ids=lambda value: type(value).__name__,
    )
    def test_which_estimators_take_unlabelled_rows(self, estimator, expected):
        assert takes_unlabeled(estimator) is expected

    def test_a_supervised_classifier_is_fitted_to_the_labelled_rows(self, data):
        X, y, partly = data
        known = partly >= 0
        alone = LogisticRegression().fit(X[known], y[known])
        model = fit_partly(LogisticRegression(), X, partly)
        np.testing.assert_array_equal(model.classes_, [0, 1])
        np.testing.assert_array_equal(model.coef_, alone.coef_)

    def test_weights_are_those_of_the_labelled_rows(self, data):
        X, y, partly = data
        known, weight = partly >= 0, np.linspace(0.5, 2.0, len(y))
        alone = LogisticRegression().fit(X[known], y[known], sample_weight=weight[known])
        model = fit_partly(LogisticRegression(), X, partly, sample_weight=weight)
        np.testing.assert_array_equal(model.coef_, alone.coef_)

    def test_compare_judges_it_as_it_is(self, data):
        X, _, partly = data
        found = compare({"lr": LogisticRegression(), "svm": NewtonSVC()}, X, partly)
        known = partly >= 0
        cv = PartialLabelKFold(5, n_repeats=3, shuffle=True, random_state=0)
        scores = cross_val_score(LogisticRegression(), X[known], partly[known], cv=cv)
        assert found["lr"].mean == pytest.approx(scores.mean())

    def test_calibration_has_one_column_per_class(self, data):
        X, y, partly = data
        model = CalibratedPartialClassifier(LogisticRegression()).fit(X, partly)
        assert model.predict_proba(X).shape == (len(y), 2)
        assert model.score(X, y) > 0.8

    def test_calibration_of_probabilities(self, data):
        X, y, partly = data
        forest = RandomForestClassifier(20, random_state=0)
        model = CalibratedPartialClassifier(forest, method="temperature").fit(X, partly)
        p = model.predict_proba(X)
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        assert np.isfinite(p).all()
        assert model.score(X, y) > 0.8

    def test_audit_finds_a_mistake(self, data):
        X, y, partly = data
        sure = np.flatnonzero(partly >= 0)
        far = sure[np.abs(LogisticRegression().fit(X, y).decision_function(X[sure])).argmax()]
        partly[far] = 1 - partly[far]
        found = audit_labels(LogisticRegression(), X, partly)
        assert far in found.rows[:3]

    def test_margins_and_learning_curves_take_it_too(self, data):
        X, y, partly = data
        rows = MarginSelection(LogisticRegression()).select(X, 4, partly)
        assert (partly[rows] == -1).all()
        shown = LearningCurveDisplay.from_estimators(
            {"lr": LogisticRegression()}, X, y, label_counts=[20], n_draws=1, random_state=0
        )
        assert shown.scores["lr"].min() > 0.7

    def test_scores_of_probabilities_are_log_odds(self, data):
        X, _, partly = data
        model = fit_partly(RandomForestClassifier(10, random_state=0), X, partly)
        scores = scores_of(model, X)
        np.testing.assert_array_equal(scores > 0.0, model.predict_proba(X)[:, 1] > 0.5)
        assert np.isfinite(scores).all()

    @pytest.mark.parametrize(
        "estimator",
        [
            LabelSpreading(),
            SelfTrainingClassifier(LogisticRegression()),
            make_pipeline(StandardScaler(), LabelSpreading()),
        ],
        ids=lambda value: type(value).__name__,
    )
    @pytest.mark.parametrize("missing", [None, ""])
    def test_classes_may_be_texts_where_only_minus_one_is_a_marker(self, data, estimator, missing):
        X, _, partly = data
        names = np.array(["ham", "spam", missing], dtype=object)
        model = fit_partly(estimator, X, names[partly], missing)
        expected = fit_partly(estimator, X, partly)
        np.testing.assert_array_equal(model.predict(X), names[expected.predict(X)])
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        found = compare({"own": estimator}, X, names[partly], unlabeled=missing)
        assert found["own"].mean == compare({"own": estimator}, X, partly)["own"].mean > 0.7
        calibrated = CalibratedPartialClassifier(estimator, unlabeled=missing)
        assert calibrated.fit(X, names[partly]).classes_.tolist() == ["ham", "spam"]

    def test_a_classifier_without_scores_is_refused(self, data):
        X, _, partly = data
        with pytest.raises(TypeError, match="neither decision_function nor predict_proba"):
            audit_labels(Lonely(), X, partly)


PAIR = [("a", TransductiveSVC()), ("b", NewtonSVC())]
REFUSED = [
    VotingClassifier(PAIR),
    VotingClassifier(PAIR, n_jobs=2),
    StackingClassifier(PAIR),
    BaggingClassifier(TransductiveSVC()),
    BaggingClassifier(make_pipeline(StandardScaler(), TransductiveSVC())),
    AdaBoostClassifier(NewtonSVC()),
    OneVsRestClassifier(TransductiveSVC()),
    OneVsOneClassifier(TransductiveSVC()),
    OutputCodeClassifier(TransductiveSVC()),
    CalibratedClassifierCV(TransductiveSVC()),
    CalibratedClassifierCV(TransductiveSVC(), cv=PartialLabelKFold()),
    VotingClassifier([("a", CalibratedPartialClassifier())]),
]


class TestAround:
    @pytest.mark.parametrize("wrapper", REFUSED, ids=lambda w: type(w).__name__)
    def test_a_wrapper_that_takes_the_marker_for_a_class_is_refused(self, data, wrapper):
        X, _, partly = data
        name = type(wrapper).__name__
        with pytest.raises(ValueError, match=f"{name} treats the marker of unlabelled rows, -1"):
            wrapper.fit(X, partly)

    @pytest.mark.parametrize("inner", [NewtonSVC(), SemiSupervisedClassifier("svm")])
    @pytest.mark.parametrize(
        "wrap",
        [
            lambda model: VotingClassifier([("a", model)]),
            lambda model: VotingClassifier([("a", model), ("b", model)], n_jobs=2),
            lambda model: StackingClassifier([("a", model)]),
            OneVsRestClassifier,
            CalibratedClassifierCV,
            lambda model: make_pipeline(StandardScaler(), BaggingClassifier(model)),
        ],
    )
    def test_no_wrapper_around_a_model_takes_the_marker_for_a_class(self, data, inner, wrap):
        X, _, partly = data
        with pytest.raises(ValueError, match="treats the marker of unlabelled rows, -1"):
            wrap(inner).fit(X, partly)
        fitted = inner.fit(X, partly)
        for around in (
            StackingClassifier([("a", fitted)], cv="prefit"),
            CalibratedClassifierCV(FrozenEstimator(fitted)),
        ):
            name = type(around).__name__
            with pytest.raises(ValueError, match=f"{name} treats the marker of unlabelled rows"):
                around.fit(X, partly)

    def test_several_targets(self, data):
        """One fit a target is what we do too; a chain makes features of the markers."""
        X, y, partly = data
        both = np.column_stack([partly, 1 - y])
        with pytest.raises(ValueError, match="ClassifierChain treats the marker"):
            ClassifierChain(NewtonSVC()).fit(X, both)
        complete = np.column_stack([y, 1 - y])
        assert ClassifierChain(NewtonSVC()).fit(X, complete).score(X, complete) > 0.8
        found = MultiOutputClassifier(NewtonSVC()).fit(X, both).predict(X)
        np.testing.assert_array_equal(found[:, 0], NewtonSVC().fit(X, partly).predict(X))

    def test_scores_across_folds_are_refused(self, data):
        X, y, partly = data
        # the marker is no prediction
        assert np.mean(cross_val_predict(TransductiveSVC(), X, partly) == y) > 0.8
        with pytest.raises(ValueError, match="cross_val_predict treats the marker"):
            cross_val_predict(TransductiveSVC(), X, partly, method="decision_function")

    def test_labelled_rows_alone_are_welcome(self, data):
        X, y, partly = data
        known = partly >= 0
        for wrapper in (VotingClassifier(PAIR), OneVsRestClassifier(NewtonSVC())):
            assert wrapper.fit(X[known], y[known]).score(X, y) > 0.8

    def test_another_marker_frees_the_class(self, data):
        X, y, _ = data
        signs = 2 * y - 1
        with pytest.raises(ValueError, match="set unlabeled= to another value"):
            BaggingClassifier(NewtonSVC(), random_state=0).fit(X, signs)
        wrapper = BaggingClassifier(NewtonSVC(unlabeled=-9), random_state=0)
        assert wrapper.fit(X, signs).score(X, signs) > 0.8

    @pytest.mark.parametrize(
        "wrapper",
        [
            GridSearchCV(TransductiveSVC(), {"reg": [0.01, 0.1]}, cv=PartialLabelKFold(3)),
            make_pipeline(StandardScaler(), TransductiveSVC()),
            RFE(TransductiveSVC(), n_features_to_select=3),
            RFECV(TransductiveSVC(), cv=PartialLabelKFold(3)),
            make_pipeline(SelectFromModel(TransductiveSVC()), NewtonSVC()),
            SelfTrainingClassifier(CalibratedPartialClassifier(NewtonSVC())),
            SelfTrainingClassifier(SemiSupervisedClassifier("svm")),
        ],
        ids=lambda w: type(w).__name__,
    )
    def test_wrappers_that_pass_y_on_work(self, data, wrapper):
        X, y, partly = data
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wrapper.fit(X, partly)
        np.testing.assert_array_equal(wrapper.classes_, [0, 1])
        assert np.mean(wrapper.predict(X) == y) > 0.8
