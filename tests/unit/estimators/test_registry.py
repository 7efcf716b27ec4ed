"""The registry agrees with the estimators."""

import inspect

import pytest

import semisvm
from semisvm import estimators
from semisvm.estimators import registry


@pytest.mark.parametrize("method", registry.methods(), ids=lambda method: method.name)
def test_entries_are_true(method):
    signature = inspect.signature(method.load()).parameters
    for parameter in method.parameters:
        assert method.default(parameter) == signature[parameter].default
    assert set(method.fixed) <= set(signature)
    assert method.suits.uses_prior == ("class_prior" in signature)
    assert registry.find(method.make()) is method
    assert registry.get(method.name) is method


def test_names():
    names = [n for method in registry.methods() for n in (method.name, *method.aliases)]
    assert len(set(names)) == len(names)
    assert registry.get("DA").name == "da"
    assert registry.get("maxent").name == "tsvm-log"
    with pytest.raises(ValueError, match=r"no method 'tsmv'. Did you mean 'tsvm'\? The methods"):
        registry.get("tsmv")
    with pytest.raises(ValueError, match="fixes loss"):
        registry.get("maxent").make(loss="squared")


def test_every_public_estimator_is_there():
    assert set(registry.estimator_classes()) == set(estimators.__all__)
    assert set(estimators.__all__) <= set(semisvm.__all__)
