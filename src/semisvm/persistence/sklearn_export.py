"""Linear models as objects of scikit-learn, which do not need this package.

Whatever the method, scores are linear in the columns, plus a sum over training rows for every
kernel. A committee of such models is one again.
"""

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from semisvm.designs.validation import is_sparse
from semisvm.maps.feature_maps import ExpansionMap, KernelMap
from semisvm.maps.kernels import Kernel
from semisvm.maps.latent import LATENT, LatentMap
from semisvm.model import Model
from semisvm.tables.features import ColumnFeatures
from semisvm.tables.scaling import COUNTS, MatrixScaling
from semisvm.tables.text_columns import TextBlock
from semisvm.text import series

Floats = NDArray[np.float64]

MOST_ENTRIES = 1 << 26
"""Of the rows of a kernel: half a gigabyte in double precision."""
NOT_LINEAR = (
    "this {} is not linear: it has a kernel, or members with one. An object of scikit-learn is "
    "made of linear models only; fit one with kernel='linear' and a method such as tsvm or da."
)
NOT_EXPORTED = (
    "this {} cannot be exported: its scores of new rows need the rows of the fit, or a kernel that "
    "other programs do not have. Fit a linear method instead, such as tsvm or da, or one with the "
    "kernel rbf, poly, cosine or latent, which ONNX files hold. Where the method is chosen, "
    "exportable=True keeps to such methods."
)


@dataclass(frozen=True)
class KernelTerm:
    """A sum over rows p of a_p k(p, x) for every score.

    For latent directions the rows are these, and k(p, x) is p . x over the length of x along them.

    Attributes
    ----------
    kernel : Kernel
    rows : array of shape (r, d)
    weights : array of shape (s, r)
    """

    kernel: Kernel
    rows: Floats
    weights: Floats


@dataclass(frozen=True)
class LinearModel:
    """Scores X w + b of rows, perhaps with kernels, and how they become classes.

    Attributes
    ----------
    classes : array of shape (m,)
    coef, intercept : arrays of shape (s, d) and (s,)
        One score for two classes (s = 1), one score per class for more.
    rarities : array of shape (d,), optional
        Counts become tf-idf with these weights before: 1 + log(count), rows of length one.
    slope, offset : arrays of shape (1,) or (s,), optional
        Log-odds of the scores; None if there are no probabilities.
    shared : bool
        Whether probabilities are the softmax of the log-odds; else each is a sigmoid, and they are
        divided by their sum. For two classes it is the same.
    moved : bool
        Whether the class is the likeliest one, rather than that of the highest score.
    terms : tuple of KernelTerm
        To be added to the linear scores.
    scaling : MatrixScaling, optional
        (x - centre) * scale, of the rows of the terms; the linear weights are for rows as they are.
    """

    classes: NDArray[Any]
    coef: Floats
    intercept: Floats
    rarities: Floats | None = None
    slope: Floats | None = None
    offset: Floats | None = None
    shared: bool = True
    moved: bool = False
    terms: tuple[KernelTerm, ...] = ()
    scaling: MatrixScaling | None = None

    @property
    def n_features(self) -> int:
        """Number of columns of the rows."""
        return int(self.coef.shape[1])

    def times(self, factor: float) -> "LinearModel":
        """Return the model of scores times a factor."""
        terms = tuple(replace(term, weights=factor * term.weights) for term in self.terms)
        coef, intercept = factor * self.coef, factor * self.intercept
        return replace(self, coef=coef, intercept=intercept, terms=terms)

    def calibrated(self) -> tuple[Floats, Floats]:
        """Return weights and intercepts of the log-odds."""
        assert self.slope is not None
        assert self.offset is not None
        return self.coef * self.slope[:, None], self.intercept * self.slope + self.offset


def linear_model(model: Any, *, kernels: bool = False) -> LinearModel:
    """Take a model apart.

    A committee of linear members is linear. Columns of a matrix that were standardised before the
    fit are part of the weights.

    Parameters
    ----------
    model : Model or fitted estimator of this package
        Of a model with column features, the result is for the rows of features.
    kernels : bool, default=False
        Whether it may have kernels that are made of products of matrices.

    Raises
    ------
    ValueError
        If it has a kernel that is not taken, or several labels per row.
    """
    bundle = model if isinstance(model, Model) else Model.of(model)
    if bundle.shift is not None:
        raise ValueError(
            "a model that was adapted to other class shares cannot be exported: export the model "
            "before adapt(), and re-weigh its probabilities there."
        )
    check_is_fitted(bundle.estimator)
    if hasattr(bundle.estimator, "label_names_"):
        raise ValueError(
            "a model of several labels per row is not exported: its labels are no classes of one. "
            "Its weights are coef_ and intercept_, one row per label."
        )
    parts = _parts(bundle.estimator)
    if parts.terms and not kernels:
        raise ValueError(NOT_LINEAR.format(type(bundle.estimator).__name__))
    coef, intercept, rarities = _unscaled(bundle.scaling, parts.coef, parts.intercept)
    scaling = bundle.scaling if parts.terms and rarities is None else None
    linear = replace(parts, coef=coef, intercept=intercept, rarities=rarities, scaling=scaling)
    return _with_probabilities(linear, bundle)


def _parts(estimator: Any) -> LinearModel:
    """Return weights and terms of an estimator, without what was done to rows before."""
    features, classes = estimator.kernel_map_, np.asarray(estimator.classes_)
    coef, intercept = np.asarray(estimator.coef_), np.asarray(estimator.intercept_)
    if features is None:
        return LinearModel(classes, coef, intercept)
    if hasattr(estimator, "not_exportable"):
        return _of_committee(estimator)
    kinds = (ExpansionMap, KernelMap, LatentMap)
    if type(features) not in kinds or not estimator.is_exportable:
        raise ValueError(NOT_EXPORTED.format(type(estimator).__name__))
    if features.rank * estimator.n_features_in_ > MOST_ENTRIES:
        raise ValueError(
            f"the kernel of this {type(estimator).__name__} keeps {features.rank:,} rows of "
            f"{estimator.n_features_in_:,} columns, which are too many for an ONNX file. Fit with "
            "kernel='linear', or with a smaller n_components."
        )
    none = np.zeros((len(coef), estimator.n_features_in_))
    if isinstance(features, LatentMap):
        latent = KernelTerm(Kernel(LATENT, {}), features.directions.T, coef)
        return LinearModel(classes, none, intercept, terms=(latent,))
    rows = features.rows.toarray() if is_sparse(features.rows) else np.asarray(features.rows)
    term = KernelTerm(features.kernel, rows.astype(np.float64), features.expansion(coef))
    return LinearModel(classes, none, intercept, terms=(term,))


def _of_committee(estimator: Any) -> LinearModel:
    """Add up the members, which all must be exportable."""
    names = estimator.not_exportable
    if names:
        raise ValueError(
            f"this committee cannot be exported: other programs cannot compute the scores of "
            f"{series(names)}. exportable=True keeps to methods that can be exported."
        )
    factors = estimator.coef_[0, :: len(estimator.coef_)].tolist()
    each = [_parts(one).times(f) for f, one in zip(factors, estimator.estimators_, strict=True)]
    return LinearModel(
        np.asarray(estimator.classes_),
        np.sum([part.coef for part in each], axis=0),
        np.sum([part.intercept for part in each], axis=0) + np.asarray(estimator.intercept_),
        terms=tuple(term for part in each for term in part.terms),
    )


def _unscaled(
    scaling: MatrixScaling | None, coef: Floats, intercept: Floats
) -> tuple[Floats, Floats, Floats | None]:
    """Return weights for rows as they are in files, and the weights of counts, if they are."""
    if scaling is None:
        return coef, intercept, None
    if scaling.kind == COUNTS:
        return coef, intercept, scaling.scale
    scaled = coef * scaling.scale
    if scaling.centre is not None:
        intercept = intercept - scaled @ scaling.centre
    return scaled, intercept, None


def _with_probabilities(linear: LinearModel, bundle: Model) -> LinearModel:
    found = bundle.calibrator
    if found is None:
        if not bundle.has_probabilities:
            return linear
        return replace(linear, slope=np.ones(1), offset=np.zeros(1))
    if not found.slope.all():  # scores without information: all classes are equally likely
        return linear
    two = len(linear.classes) == 2
    shared = found.method == "temperature" or two
    return replace(
        linear,
        slope=found.slope,
        offset=found.offset,
        shared=shared,
        moved=found.moves_boundary,
    )


def to_sklearn(model: Any, *, columns: bool = False) -> Any:
    """Make a fitted classifier of scikit-learn that predicts the same.

    It can be pickled, and used where semisvm is not installed.

    Parameters
    ----------
    model : Model or fitted estimator of this package
        Linear ones. Of a model with column features, the classifier takes the rows of features
        that ``model.features.transform`` returns, unless ``columns`` is given.
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
    """Return whether scikit-learn has all that makes the features."""
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
