"""How classes are named, ordered and listed must not change the answer."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC

MODEST = settings(max_examples=15)
CLASSIFIERS = [NewtonSVC, TransductiveSVC, AnnealedSVC]
NAMES = ["ash", "birch", "cedar", "elm"]
FLAT = {
    "nested": lambda names: {name: {} for name in names},
    "nested lists": lambda names: {name: [] for name in names},
    "paths": lambda names: [[name] for name in names],
    "parents": lambda names: dict.fromkeys(names),
}
TREES = {
    "nested": lambda names: (
        {"a": {n: {} for n in names if n in NAMES[:2]}}
        | {n: [] for n in names if n not in NAMES[:2]}
    ),
    "paths": lambda names: [["a", n] if n in NAMES[:2] else [n] for n in names],
    "parents": lambda names: {n: "a" if n in NAMES[:2] else None for n in names} | {"a": None},
}
seeds = st.integers(0, 10_000)


@st.composite
def class_problems(draw, classes=(2, 3, 4)):
    """Well separated clouds, 4 labelled and 20 other rows of each class."""
    rng = np.random.default_rng(draw(seeds))
    m = draw(st.sampled_from(classes))
    codes = rng.permutation(np.tile(np.arange(m), 24))
    X = rng.standard_normal((len(codes), 4))
    X[np.arange(len(codes)), codes] += 4.0
    labeled = np.zeros(len(codes), dtype=bool)
    for k in range(m):
        labeled[rng.permutation(np.flatnonzero(codes == k))[:4]] = True
    return X, codes, labeled


def named(codes, labeled, names):
    return np.where(labeled, np.array(names, dtype=object)[codes], None)


@pytest.mark.parametrize("cls", CLASSIFIERS)
@MODEST
@given(
    problem=class_problems(),
    form=st.sampled_from(sorted(FLAT)),
    order=st.permutations(NAMES),
    loss=st.sampled_from(["squared_hinge", "log"]),
)
def test_flat_hierarchy_is_none(cls, problem, form, order, loss):
    X, codes, labeled = problem
    y = named(codes, labeled, NAMES)
    used = [name for name in order if name in set(y)]
    plain = cls(0.01, loss=loss).fit(X, y)
    listed = cls(0.01, loss=loss, hierarchy=FLAT[form](used)).fit(X, y)
    np.testing.assert_array_equal(listed.coef_, plain.coef_)
    np.testing.assert_array_equal(listed.intercept_, plain.intercept_)
    np.testing.assert_array_equal(listed.transduction_, plain.transduction_)
    np.testing.assert_array_equal(listed.predict_at_depth(X, 1), plain.predict(X))


@pytest.mark.parametrize("cls", CLASSIFIERS)
@MODEST
@given(
    problem=class_problems(classes=(3, 4)),
    form=st.sampled_from(sorted(TREES)),
    order=st.permutations(NAMES),
)
def test_order_within_a_hierarchy(cls, problem, form, order):
    X, codes, labeled = problem
    y = named(codes, labeled, NAMES)
    one, two = ([n for n in names if n in set(y)] for names in (NAMES, order))
    first = cls(0.01, hierarchy=TREES["paths"](one)).fit(X, y)
    second = cls(0.01, hierarchy=TREES[form](two)).fit(X, y)
    np.testing.assert_array_equal(second.node_coef_, first.node_coef_)
    np.testing.assert_array_equal(second.coef_, first.coef_)
    assert second.hierarchy_.names == first.hierarchy_.names


@pytest.mark.parametrize("cls", CLASSIFIERS)
@MODEST
@given(
    problem=class_problems(),
    order=st.permutations(NAMES),
    loss=st.sampled_from(["squared_hinge", "squared", "log"]),
    tree=st.booleans(),
)
def test_names_of_classes(cls, problem, order, loss, tree):
    X, codes, labeled = problem
    m = codes.max() + 1

    def predictions(names):
        names = list(names[:m])
        hierarchy = {"a": names[:2]} | {name: [] for name in names[2:]} if tree else None
        # estimates round shares to counts in the order of the classes
        shares = {"class_prior": "labels"} if "class_prior" in cls().get_params() else {}
        model = cls(0.01, loss=loss, hierarchy=hierarchy, **shares)
        model.fit(X, named(codes, labeled, names))
        back = {name: code for code, name in enumerate(names)}
        return [[back[name] for name in found] for found in (model.predict(X), model.transduction_)]

    assert predictions(order) == predictions(NAMES)
