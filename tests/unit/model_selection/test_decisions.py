"""Answers by thresholds, costs, and none."""

import numpy as np
import pytest

from semisvm.model_selection.decisions import Decision, labels_or_none, most_probable

CLASSES = np.array(["ham", "news", "spam"])
P = np.array([[0.5, 0.1, 0.4], [0.1, 0.2, 0.7], [0.34, 0.33, 0.33]])
USUAL = P.argmax(axis=1)


def answers(**rules):
    codes, answered = Decision.of(CLASSES, **rules).codes(P, USUAL)
    return labels_or_none(CLASSES, codes, answered).tolist()


def test_without_rules_the_predictions_stay():
    assert Decision.of(CLASSES).is_usual
    assert answers() == ["ham", "spam", "ham"]


def test_no_answer_below_a_probability():
    assert answers(abstain_below=0.5) == ["ham", "spam", None]
    assert answers(abstain_below=0.99) == [None, None, None]


def test_a_class_below_its_threshold_gives_way_to_the_next_one():
    assert answers(thresholds={"spam": 0.8}) == ["ham", "news", "ham"]
    assert answers(thresholds={"ham": 0.6}) == ["spam", "spam", "news"]
    assert answers(thresholds={"ham": 0.5}) == ["ham", "spam", "news"], "0.5 is reached"
    assert answers(thresholds=dict.fromkeys(CLASSES.tolist(), 0.45)) == ["ham", "spam", None]
    both = {"thresholds": {"spam": 0.8}, "abstain_below": 0.5}
    assert answers(**both) == ["ham", None, None]


def test_costs_choose_the_least_expected_cost():
    """The expected costs of the first row are 0.1 + 2.0, 0.5 + 0.4 and 0.5 + 0.1."""
    costs = {("spam", "ham"): 5.0}
    assert answers(costs=costs) == ["spam", "spam", "news"]
    assert answers(costs=costs, abstain_below=0.45) == [None, "spam", None]
    # where every error costs one, nothing changes
    assert answers(costs={("spam", "ham"): 1}) == answers()
    for least in (0.3, 0.45, 0.5, 0.6):
        ones = answers(costs={("spam", "ham"): 1}, abstain_below=least)
        assert ones == answers(abstain_below=least)


def test_the_least_cost_is_the_least_of_all():
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(3), 200)
    rules = Decision.of(CLASSES, costs={("spam", "ham"): 7.0, ("ham", "spam"): 0.2})
    codes, answered = rules.codes(p, p.argmax(axis=1))
    expected = np.array([[row @ rules.costs[:, k] for k in range(3)] for row in p])
    assert answered.all()
    np.testing.assert_allclose(expected[np.arange(200), codes], expected.min(axis=1))


@pytest.mark.parametrize(
    ("rules", "message"),
    [
        ({"abstain_below": 0.0}, "abstain_below must be above 0 and below 1"),
        ({"abstain_below": 1}, "above 0 and below 1"),
        ({"abstain_below": float("nan")}, "finite number"),
        ({"thresholds": {"spm": 0.5}}, "names the class 'spm'. Did you mean 'spam'"),
        ({"thresholds": {"spam": 1.5}}, "the threshold of 'spam' must be above 0"),
        ({"costs": {("spam", "junk"): 1}}, "names the class 'junk'"),
        ({"costs": {("spam", "ham"): -1}}, "the cost of 'spam' taken for 'ham'.*>= 0, got -1"),
        ({"costs": {("ham", "ham"): 1}}, "right answers cost nothing"),
        ({"costs": {("spam", "ham"): 2}, "thresholds": {"spam": 0.5}}, "give one of them"),
    ],
)
def test_rules_that_make_no_sense(rules, message):
    with pytest.raises(ValueError, match=message):
        Decision.of(CLASSES, **rules)


def test_classes_are_found_by_their_text_too():
    codes, answered = Decision.of(np.array([1, 2]), thresholds={"2": 0.9}).codes(
        np.array([[0.2, 0.8]]), np.array([1])
    )
    assert (codes.tolist(), answered.tolist()) == ([0], [True])


def test_the_most_probable_come_first():
    assert most_probable(P, 2).tolist() == [[0, 2], [2, 1], [0, 1]]
    assert most_probable(P, 9).shape == (3, 3)
