"""Linear models as objects of scikit-learn, which need this package no more."""

from operator import itemgetter
from typing import Any

from semisvm.columns import ColumnFeatures
from semisvm.columns.text import TextBlock
from semisvm.exporting.linear import LinearModel, linear_model


def to_sklearn(model: Any, *, columns: bool = False) -> Any:
    """Make a fitted classifier of scikit-learn that predicts the same.

    It can be pickled, and used where semisvm is not installed.

    Parameters
    ----------
    model : Model or fitted estimator of this package
        Linear ones. Of a model with column features, the classifier takes the rows of features
        that ``model.features.transform`` returns, unless ``columns`` says otherwise.
    columns : bool, default=False
        Whether to include the way from columns to features, so that it takes a data frame, or a
        dict of columns, in which no text is missing. Only for models whose columns are all text.

    Returns
    -------
    classifier : LogisticRegression, LinearSVC, or a Pipeline
        A logistic regression if there are probabilities, which are the same then; a ``LinearSVC``
        otherwise. If the model turned counts into tf-idf, a ``TfidfTransformer`` comes first.

    Raises
    ------
    ValueError
        If the model is not linear, or has columns that are not text.

    Examples
    --------
    >>> from semisvm import TransductiveSVC, to_sklearn
    >>> X = [[0.0, 1.0], [1.0, 0.0], [0.1, 0.9], [0.9, 0.2]]
    >>> fitted = TransductiveSVC().fit(X, [0, 1, -1, -1])
    >>> plain = to_sklearn(fitted)
    >>> plain.predict([[0.0, 0.8], [0.7, 0.1]]).tolist()
    [0, 1]
    """
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.pipeline import make_pipeline

    linear = linear_model(model)
    classifier = _classifier(linear)
    if columns:
        return make_pipeline(_words(getattr(model, "features", None)), classifier)
    if linear.rarities is None:
        return classifier

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


def takes_columns(features: ColumnFeatures | None) -> bool:
    """Tell whether scikit-learn has all that makes the features."""
    return features is not None and set(features.kinds_.values()) == {"text"}


def _words(features: ColumnFeatures | None) -> Any:
    """Make a transformer from columns of text to the features of a model."""
    from sklearn.pipeline import FeatureUnion, make_pipeline
    from sklearn.preprocessing import FunctionTransformer

    if features is None or not takes_columns(features):
        raise ValueError(
            "with columns=True all columns of the model must be text; leave it out to have the "
            "classifier take features."
        )
    texts = [block for block in features.blocks_ if isinstance(block, TextBlock)]
    # numbered, because a column may have a name that no step may have
    parts = [
        (f"text{k}", make_pipeline(FunctionTransformer(itemgetter(block.column)), block.plain()))
        for k, block in enumerate(texts)
    ]
    scales = dict(zip((name for name, _ in parts), features.scales_.tolist(), strict=True))
    return FeatureUnion(parts, transformer_weights=scales)
