"""Linear models as objects of scikit-learn, which need this package no more."""

from typing import Any

from semisvm.exporting.linear import LinearModel, linear_model


def to_sklearn(model: Any) -> Any:
    """Make a fitted classifier of scikit-learn that predicts the same.

    It can be pickled, and used where semisvm is not installed.

    Parameters
    ----------
    model : Model or fitted estimator of this package
        Linear ones. Of a model with column features, the classifier takes the rows of features
        that ``model.features.transform`` returns.

    Returns
    -------
    classifier : LogisticRegression, LinearSVC, or a Pipeline
        A logistic regression if there are probabilities, which are the same then; a `LinearSVC`
        otherwise. If the model turned counts into tf-idf, a `TfidfTransformer` comes first.

    Raises
    ------
    ValueError
        If the model is not linear.

    Examples
    --------
    >>> from semisvm import TransductiveSVC, to_sklearn
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> fitted = TransductiveSVC().fit(X, [0, 1, -1, -1])
    >>> plain = to_sklearn(fitted)
    >>> plain.predict([[0.0, 0.8], [0.7, 0.1]]).tolist()
    [0, 1]
    """
    linear = linear_model(model)
    classifier = _classifier(linear)
    if linear.rarities is None:
        return classifier
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline

    weights = TfidfTransformer(sublinear_tf=True)
    weights.idf_ = linear.rarities
    return make_pipeline(weights, classifier)


def _classifier(linear: LinearModel) -> Any:
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    has_odds = linear.slope is not None
    made = LogisticRegression() if has_odds and linear.shared else LinearSVC()
    made.coef_, made.intercept_ = linear.coef, linear.intercept
    if has_odds and (linear.shared or linear.moved):
        made.coef_, made.intercept_ = linear.calibrated()
    made.classes_ = linear.classes
    made.n_features_in_ = linear.n_features
    made.n_iter_ = 0
    return made
