"""Every message and list that names losses names those that are accepted there."""

import re
from types import SimpleNamespace

import numpy as np
import pytest

from semisvm.designs import Design
from semisvm.estimators import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.losses import LOSSES
from semisvm.tasks.driver import Rows

SMOOTH = {name for name, loss in LOSSES.items() if loss.smooth}
machines = pytest.mark.parametrize("cls", [NewtonSVC, TransductiveSVC, AnnealedSVC])


def named(message):
    return {word for word in re.findall(r"""["'](\w+)["']""", str(message)) if word in LOSSES}


@machines
def test_docstrings(cls):
    _, described = re.split(r"\nloss : .*\n", cls.__doc__)
    assert named(re.split(r"\n(?=\w)", described)[0]) == set(LOSSES)
    default = re.search(r'1e-4 for "(\w+)" and "(\w+)", otherwise 1e-3', cls.__doc__)
    smaller = {name for name, loss in LOSSES.items() if loss.default_reg == 1e-4}
    assert set(default.groups()) == smaller
    assert {LOSSES[name].default_reg for name in LOSSES.keys() - smaller} == {1e-3}


@machines
def test_an_unknown_loss(cls):
    with pytest.raises(ValueError, match="loss must be") as raised:
        cls(loss="hinges").fit(np.eye(4), [0, 1, -1, -1])
    assert named(raised.value) == set(LOSSES)


@machines
@pytest.mark.parametrize("loss", LOSSES)
def test_losses_that_can_go_on_from_a_checkpoint(cls, loss):
    refused = cls(loss=loss)._why_no_checkpoint_of_loss()
    assert (refused is None) == (loss in SMOOTH)
    if refused is not None:
        assert named(refused) - {loss} == SMOOTH


def test_losses_of_rows_in_several_blocks():
    several = SimpleNamespace(blocks=[None, None], remote=True)
    with pytest.raises(TypeError, match="one process") as raised:
        Rows.single_shard(several)
    assert named(raised.value) == SMOOTH


def test_losses_of_rows_that_are_too_many_for_one_process():
    rows = SimpleNamespace(shape=(9, 1), can_load=lambda rows: False, nbytes=2**32)
    with pytest.raises(TypeError, match="more than 1 GiB") as raised:
        NewtonSVC(loss="hinge")._gathered(rows)
    assert named(raised.value) - {"hinge"} == SMOOTH


def test_losses_that_need_rows_in_order():
    with pytest.raises(TypeError, match="row by row") as raised:
        Design.sweep(SimpleNamespace(), None, None, None)
    assert named(raised.value) == LOSSES.keys() - SMOOTH
