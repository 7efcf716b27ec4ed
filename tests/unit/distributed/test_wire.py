"""What travels to the blocks, what is kept from before, and how much is on its way at once."""

from concurrent.futures import Future

import numpy as np
import pytest

from semisvm.distributed.connecting import AHEAD, in_order
from semisvm.distributed.wire import MOST_STEPS, Scored, Wire
from semisvm.tasks import OneScoreBlock
from semisvm.tasks.operations import Call, operations_of


class Counting:
    """One shard with one block, whose results are the number of the round."""

    def __init__(self):
        self.chunks = [[0]]
        self.rounds = []

    def run(self, calls, before):
        self.rounds.append([call.name for call in calls[0]])
        return [[[len(self.rounds)] for _ in own] for own in calls]


@pytest.fixture
def shards():
    return Counting()


@pytest.fixture
def wire(shards):
    """A wire that was called for a gradient, and got a curvature along with it."""
    wire = Wire(shards, OneScoreBlock)
    wire(Call("labeled_curvature", ()))
    wire(Call("linearize", ()))
    assert shards.rounds[-1] == ["linearize", "labeled_curvature"]
    return wire


@pytest.mark.parametrize(
    ("change", "argument"), [("score", np.ones(3)), ("move", 0.5), ("shift", 0.5), ("advance", 0.5)]
)
def test_what_an_operation_changed_is_computed_anew(wire, shards, change, argument):
    before = wire(Call("labeled_curvature", ()))
    assert before == wire(Call("labeled_curvature", ())) == [2]
    wire(Call("set_direction", (np.ones(3),)))
    wire(Call(change, (argument,)))
    assert wire(Call("labeled_curvature", ())) == [3]
    assert change in shards.rounds[2]


def test_what_no_operation_changed_is_not_computed_again(wire, shards):
    wire(Call("set_label_costs", (0.5,)))
    assert wire(Call("labeled_curvature", ())) == [2]
    assert len(shards.rounds) == 2


def test_after_many_steps_scores_are_those_of_the_weights_that_were_reached():
    scored, w, step = Scored(), np.arange(3.0), np.array([1.0, -2.0, 4.0])
    declared = operations_of(OneScoreBlock)
    scored.follow(declared["score"], (w,))
    lengths = 0.25 * np.arange(1, MOST_STEPS + 1)
    found = []
    for t in lengths:
        scored.follow(declared["set_direction"], (step,))
        found.append(scored.follow(declared["move"], (t,)))
    assert [again is None for again in found] == [True] * (MOST_STEPS - 1) + [False]
    np.testing.assert_array_equal(found[-1], w + lengths.sum() * step)
    np.testing.assert_array_equal(w, np.arange(3.0))
    # after a shift the weights are not known
    scored.follow(declared["shift"], (0.5,))
    assert scored.follow(declared["move"], (1.0,)) is None
    assert scored.w is None


def test_few_arguments_are_taken_ahead_of_the_results():
    class Client:
        def ncores(self):
            return {"one": 1, "two": 2}

        def submit(self, function, *arguments, pure):
            result = Future()
            result.set_result(function(*arguments))
            return result

    taken = []

    def arguments():
        for k in range(50):
            taken.append(k)
            yield (k,)

    results = in_order(Client(), lambda k: -k, arguments())
    for k in range(20):
        assert next(results) == -k
        assert len(taken) == k + 3 * AHEAD
    assert list(results) == [-k for k in range(20, 50)]
