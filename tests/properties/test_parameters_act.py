"""Every documented parameter of TransductiveSVC and AnnealedSVC acts, or is refused.

A parameter is changed, for every loss, with two and three classes in turns. Either the fit refuses
it, or on one of a few small problems the model, the labels or the number of rounds are others.
"""

import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from problems import hide
from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.losses import LOSSES

CLASSES = {"tsvm": TransductiveSVC, "da": AnnealedSVC}
NO_ANSWERS = {"unlabeled", "n_jobs", "verbose", "callback"}
"""They set how a fit is reported, watched or divided, and must not change its result."""
WITH_EVIDENCE = {"evidence_weight", "classes", "label_noise"}
"""They act where there is evidence, a class without labels or a wrong label: tests of these have
them."""

SHARES = {2: (0.6, 0.4), 3: (0.5, 0.3, 0.2)}
RBF, POLY = {"kernel": "rbf"}, {"kernel": "poly", "degree": 2}
CHANGES = {
    "reg": ({}, 0.3),
    "unlabeled_weight": ({}, 0.2),
    "class_prior": ({}, SHARES),
    "hierarchy": ({}, {2: {"both": [0, 1]}, 3: {"some": [0, 1], "rest": [2]}}),
    "annealing_rate": ({}, 4.0),
    "label_step": ({"annealing_rate": 1e6, "class_prior": "labels"}, "switching"),
    "max_switches": ({"annealing_rate": 1e6, "reg": None, "class_prior": "labels"}, 1),
    "balance_tol": ({"reg": 0.5, "unlabeled_weight": 0.1, "class_prior": SHARES}, 0.0),
    "temperature": ({}, 0.5),
    "last_temperature": ({}, 0.1),
    "refine": ({}, False),
    "entropy_tol": ({}, 1e-2),
    "kernel": ({}, "rbf"),
    "gamma": (RBF, 0.05),
    "degree": (POLY, 3),
    "coef0": (POLY, 0.2),
    "n_components": (RBF, 3),
    "kernel_tol": (RBF, 0.2),
    "fit_intercept": ({}, False),
    "intercept_scaling": ({}, 20.0),
    "tol": ({}, 1e-2),
    "max_iter": ({}, 1),
    "warm_start": ({}, True),
}
"""By parameter: where it acts, and another value; values in a dict are by the number of classes."""

SAME_FOR_TWO = "documented: for two classes the two label steps are the same"
ABOVE_BOTH = "a node above both classes adds the same to both scores, and the loss sees differences"
EXCEPTIONS = {
    **{("tsvm", loss, 2, "label_step"): SAME_FOR_TWO for loss in LOSSES},
    **{(name, "crammer_singer", 2, "hierarchy"): ABOVE_BOTH for name in CLASSES},
}
"""Where a parameter has no effect, and why."""

REFUSED = {
    *((name, loss, 3, "balance_tol") for name in CLASSES for loss in LOSSES),
    *((name, "crammer_singer", 2, "balance_tol") for name in CLASSES),
    *((name, "hinge", 2, "hierarchy") for name in CLASSES),
}

SENSITIVE = {("da", "crammer_singer", 2, "hierarchy")}
"""The parameter changes nothing but rounding, and that decides in which minimum a path ends."""


def in_turns():
    """Give each estimator, loss and parameter one number of classes; exceptions have their own.

    Over the losses a parameter has both, and so has a loss over the parameters.
    """
    for (i, name), (j, loss) in product(enumerate(CLASSES), enumerate(LOSSES)):
        for k, parameter in enumerate(("loss", *CHANGES)):
            if parameter in CLASSES[name]().get_params():
                for m in (2, 3):
                    case = name, loss, m, parameter
                    turn = m == (2 if loss == "hinge" else 2 + (i + j + k) % 2)
                    if case not in SENSITIVE and (turn or case in EXCEPTIONS or case in REFUSED):
                        yield case


CASES = [case for case in in_turns() if case[1:3] != ("hinge", 3)]


@cache
def problem(m, number):
    """Clusters that overlap, of unequal sizes: labels move while weights do."""
    rng = np.random.default_rng(number)
    y = np.minimum(rng.integers(0, m + 1, 60), m - 1)
    X = rng.standard_normal((60, 4))
    X[np.arange(60), y] += 1.0
    return X, hide(y, 12, number)


def fit(model, m, number):
    """Fit a problem; whether it converges is not what is tested here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return model.fit(*problem(m, number))


@cache
def plain(name, loss, m, number, **more):
    """A fit without the change, which many changes are compared to."""
    options = {"reg": 0.05, "loss": loss, "balance_tol": None} | more
    return fit(CLASSES[name](**options), m, number)


def changed_options(name, loss, m, parameter):
    """Where the parameter acts, and the change."""
    if parameter == "loss":
        return {}, {"loss": "log" if loss == "squared" else "squared"}
    where, value = CHANGES[parameter]
    return tuple(
        {key: one[m] if isinstance(one, dict) else one for key, one in options.items()}
        for options in (where, {parameter: value})
    )


def same_answer(one, other):
    return (
        len(one.trace_) == len(other.trace_)
        and one.coef_.shape == other.coef_.shape
        and np.allclose(one.coef_, other.coef_, rtol=1e-9, atol=1e-12)
        and np.allclose(one.intercept_, other.intercept_, rtol=1e-9, atol=1e-12)
        and np.array_equal(one.transduction_, other.transduction_)
    )


def acts(name, loss, m, parameter):
    """Tell whether a change of the parameter changes the answer to one of the problems."""
    where, change = changed_options(name, loss, m, parameter)
    for number in range(8):
        reference = plain(name, loss, m, number, **where)
        model = clone(reference).set_params(**change)
        if parameter == "warm_start":
            fit(model, m, number)
        if not same_answer(fit(model, m, number), reference):
            return True
    return False


def test_the_scan_has_all_parameters():
    for cls in CLASSES.values():
        assert set(cls().get_params()) <= {"loss", *CHANGES} | NO_ANSWERS | WITH_EVIDENCE
    known = {name for cls in CLASSES.values() for name in cls().get_params()}
    assert known == {"loss", *CHANGES} | NO_ANSWERS | WITH_EVIDENCE
    assert set(CASES) >= EXCEPTIONS.keys() - SENSITIVE


def test_every_parameter_and_every_loss_has_two_and_three_classes():
    for name, cls in CLASSES.items():
        ours = [case for case in CASES if case[0] == name]
        for parameter in cls().get_params().keys() - NO_ANSWERS - WITH_EVIDENCE:
            assert {m for _, _, m, changed in ours if changed == parameter} == {2, 3}
        for loss in LOSSES:
            wanted = {2} if loss == "hinge" else {2, 3}
            assert {m for _, used, m, _ in ours if used == loss} == wanted


@pytest.mark.parametrize("case", CASES, ids=lambda case: "-".join(map(str, case)))
def test_a_parameter_acts_or_is_refused(case):
    if case in REFUSED:
        with pytest.raises(ValueError, match=case[-1]):
            acts(*case)
        return
    assert acts(*case) == (case not in EXCEPTIONS), EXCEPTIONS.get(case)


@pytest.mark.parametrize("name", CLASSES)
def test_the_hinge_is_for_two_classes(name):
    with pytest.raises(ValueError, match="crammer_singer"):
        plain(name, "hinge", 3, 0)
