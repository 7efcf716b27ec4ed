import numpy as np
import pytest

from semisvm.labels.hierarchy import build, flat

CLASSES = np.array(["cat", "dog", "oak"])
FORMS = {
    "nested": {"animal": ["cat", "dog"], "oak": {}},
    "nested dicts": {"animal": {"cat": {}, "dog": {}}, "oak": []},
    "paths": [["animal", "dog"], ["animal", "cat"], ["oak"]],
    "parents": {"cat": "animal", "dog": "animal", "oak": None, "animal": None},
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_mean_the_same(form):
    tree = build(FORMS[form], CLASSES)
    assert set(tree.names) == {"animal", "cat", "dog", "oak"}
    above = {
        label: [tree.names[k] for k in path]
        for label, path in zip(CLASSES, tree.ancestors, strict=True)
    }
    assert above == {"cat": ["animal", "cat"], "dog": ["animal", "dog"], "oak": ["oak"]}
    np.testing.assert_array_equal(tree.paths.sum(axis=0), [2, 2, 1])
    assert not tree.flat


def test_no_hierarchy_is_the_identity():
    tree = build(None, CLASSES)
    assert tree.flat
    np.testing.assert_array_equal(tree.paths, np.eye(3))
    scores = np.arange(6.0).reshape(2, 3)
    assert tree.class_scores(scores) is scores


@pytest.mark.parametrize("order", [["oak", "dog", "cat"], ["dog", "cat", "oak"]])
def test_classes_alone_are_flat_in_any_order(order):
    tree = build([[name] for name in order], CLASSES)
    assert tree.flat
    assert tree.names == ("cat", "dog", "oak")
    np.testing.assert_array_equal(tree.paths, np.eye(3))


def test_as_many_nodes_as_classes_need_not_be_flat():
    tree = build([["dog"], ["dog", "cat"], ["oak"]], CLASSES)
    assert not tree.flat
    nodes = np.array([[1.0, 10.0, 100.0]])
    by_name = dict(zip(tree.names, nodes[0], strict=True))
    wanted = [by_name["dog"] + by_name["cat"], by_name["dog"], by_name["oak"]]
    np.testing.assert_array_equal(tree.class_scores(nodes), [wanted])


def test_scores_and_slopes_are_adjoint():
    tree = build(FORMS["nested"], CLASSES)
    rng = np.random.default_rng(0)
    nodes, slopes = rng.standard_normal((5, 4)), rng.standard_normal((5, 3))
    left = np.sum(tree.class_scores(nodes) * slopes)
    assert left == pytest.approx(np.sum(nodes * tree.node_slopes(slopes)))


def test_depth():
    tree = build(FORMS["nested"], CLASSES)
    names = np.array(tree.names, dtype=object)
    assert names[tree.at_depth(1)].tolist() == ["animal", "animal", "oak"]
    assert names[tree.at_depth(2)].tolist() == ["cat", "dog", "oak"]
    assert names[tree.at_depth(9)].tolist() == ["cat", "dog", "oak"]
    assert flat(CLASSES).at_depth(1).tolist() == [0, 1, 2]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"animal": ["cat", "dog"]}, r"hierarchy lacks the classes \['oak'\]"),
        ({"animal": ["cat", "dog", "elk"], "oak": []}, r"leaves \['elk'\] that are not classes"),
        ([["a", "cat"], ["a", "dog"], ["b", "cat"], ["oak"]], "'cat' in two places"),
        ([["a", "b", "cat"], ["b", "dog"], ["oak"]], "'b' in two places"),
        ([["cat"], ["cat"], ["dog"], ["oak"]], "two places"),
        ({"cat": "a", "a": "b", "b": "a", "dog": None, "oak": None}, "cycle"),
        ({"cat": "a", "dog": None, "oak": None}, "no entry for 'a', the parent of 'cat'"),
        ("animal", "must be a nested dict"),
        ([["dog"], "cat"], "must be a nested dict"),
    ],
)
def test_bad_hierarchies(spec, message):
    with pytest.raises(ValueError, match=message):
        build(spec, CLASSES)
