"""What travels to the blocks, what is known already, and how much is on its way at once."""

from concurrent.futures import Future

import numpy as np
import pytest

from semisvm.distributed.ordered import AHEAD, in_order
from semisvm.distributed.wire import MOST_STEPS, Scored, Wire


class Counting:
    """One shard with one block, which answers with the number of the round."""

    def __init__(self):
        self.chunks = [[0]]
        self.asked = []

    def ask(self, questions, before):
        self.asked.append([name for name, *_ in questions[0]])
        return [[[len(self.asked)] for _ in own] for own in questions]


@pytest.fixture
def shards():
    return Counting()


@pytest.fixture
def wire(shards):
    """Blocks that were asked for a gradient, and were asked along for a curvature."""
    wire = Wire(shards, one_score=True)
    wire("labeled_curvature")
    wire("linearize")
    assert shards.asked[-1] == ["linearize", "labeled_curvature"]
    return wire


@pytest.mark.parametrize(
    ("change", "argument"), [("score", np.ones(3)), ("move", 0.5), ("shift", 0.5), ("advance", 0.5)]
)
def test_what_a_question_changed_is_asked_anew(wire, shards, change, argument):
    before = wire("labeled_curvature")
    assert before == wire("labeled_curvature") == [2]
    wire("set_direction", np.ones(3))
    wire(change, argument)
    assert wire("labeled_curvature") == [3]
    assert change in shards.asked[2]


def test_what_no_question_changed_is_not_asked_again(wire, shards):
    wire("set_label_costs", 0.5)
    assert wire("labeled_curvature") == [2]
    assert len(shards.asked) == 2


def test_after_many_steps_scores_are_those_of_the_weights_that_were_reached():
    scored, w, step = Scored(), np.arange(3.0), np.array([1.0, -2.0, 4.0])
    scored.follow("score", (w,))
    lengths = 0.25 * np.arange(1, MOST_STEPS + 1)
    found = []
    for t in lengths:
        scored.follow("set_direction", (step,))
        found.append(scored.follow("move", (t,)))
    assert [again is None for again in found] == [True] * (MOST_STEPS - 1) + [False]
    np.testing.assert_array_equal(found[-1], w + lengths.sum() * step)
    np.testing.assert_array_equal(w, np.arange(3.0))
    # after a shift the weights are not known
    scored.follow("shift", (0.5,))
    assert scored.follow("move", (1.0,)) is None
    assert scored.w is None


def test_few_arguments_are_taken_ahead_of_the_answers():
    class Client:
        def ncores(self):
            return {"one": 1, "two": 2}

        def submit(self, function, *arguments, pure):
            answer = Future()
            answer.set_result(function(*arguments))
            return answer

    taken = []

    def arguments():
        for k in range(50):
            taken.append(k)
            yield (k,)

    answers = in_order(Client(), lambda k: -k, arguments())
    for k in range(20):
        assert next(answers) == -k
        assert len(taken) == k + 3 * AHEAD
    assert list(answers) == [-k for k in range(20, 50)]
