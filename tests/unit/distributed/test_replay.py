"""A block that is lost and made anew is what it was, bit for bit, at whatever moment."""

import pickle

import numpy as np
import pytest

from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.designs import Workers
from semisvm.distributed import wire as wires
from semisvm.distributed.rows import DistributedRows
from semisvm.distributed.shard import Form, Shard
from semisvm.distributed.wire import needed
from semisvm.labels.hierarchy import flat
from semisvm.labels.partial import encode, prior_counts
from semisvm.losses import LOSSES
from semisvm.methods import Recorder
from semisvm.tasks import OneScoreBlock
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.operations import Call
from semisvm.tasks.two_classes import TwoClassTask


class Losing:
    """Shards in this process, of which one or all are lost before some of the rounds."""

    def __init__(self, parts, lose):
        self.parts = parts
        self.chunks = [[0, 2], [1]]
        self.lose = lose
        self.rounds = 0
        self.repeated = 0
        self.lasting = []
        self.shards = [self.made(own) for own in self.chunks]

    def made(self, own):
        return Shard([self.parts[k] for k in own])

    def call(self, method, arguments, lasting=False):
        if lasting:
            self.lasting.append((method, arguments))
        return [
            getattr(shard, method)(*own) for shard, own in zip(self.shards, arguments, strict=True)
        ]

    def run(self, calls, before):
        self.rounds += 1
        for number in self.lose(self.rounds):
            shard = self.shards[number] = self.made(self.chunks[number])
            for method, arguments in self.lasting:
                getattr(shard, method)(*arguments[number])
            again = before(number)
            self.repeated += len(again)
            shard.run(_travelled(again))
        return [
            _travelled(shard.run(_travelled(own)))
            for shard, own in zip(self.shards, calls, strict=True)
        ]

    def rows_read(self):
        return 0


def _travelled(message):
    return pickle.loads(pickle.dumps(message))


def blobs(m, n=260, d=5, seed=1):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, m, n)
    X = 1.5 * rng.standard_normal((m, d))[y] + rng.standard_normal((n, d))
    labels = np.full(n, -1)
    known = rng.choice(n, 6 * m, replace=False)
    labels[known] = y[known]
    return X, labels


def solved(method, m, loss, lose, **given):
    X, y = blobs(m)
    labels, shards = encode(y, -1), Losing([X[:90], X[90:91], X[91:]], lose)
    rows, u = DistributedRows(shards), len(labels.unlabeled)
    shares = np.full(m, 1 / m)
    hierarchy, counts, known = flat(np.arange(m)), prior_counts(shares, u), LOSSES[loss]
    form = Form(m == 2, loss, 1.0, u, hierarchy)
    weight = np.full(len(labels.labeled), 1 / len(labels.labeled))
    blocks = rows.rows(form, labels.labeled, labels.codes[labels.labeled], weight, Workers())
    if m == 2:
        reg = 1e-2 * known.reg_of_two
        task = TwoClassTask(blocks, int(counts[1]), known.two, reg, Recorder())
    else:
        task = ManyClassTask(blocks, counts, known.many, hierarchy, 1e-2, Recorder())
    return method(reg=1e-2, loss=loss, **given)._solve_task(task, None), shards


def never(round_number):
    return ()


CASES = [
    (NewtonSVC, 2, "squared_hinge", {}),
    (TransductiveSVC, 2, "squared_hinge", {}),
    (TransductiveSVC, 2, "log", {}),
    (TransductiveSVC, 2, "squared_hinge", {"max_switches": 3}),
    (AnnealedSVC, 2, "squared_hinge", {}),
    (AnnealedSVC, 2, "squared", {}),
    (TransductiveSVC, 3, "squared_hinge", {}),
    (AnnealedSVC, 3, "squared_hinge", {}),
    (AnnealedSVC, 3, "log", {}),
]


@pytest.mark.parametrize(("method", "m", "loss", "given"), CASES)
def test_shards_that_are_always_lost(method, m, loss, given, monkeypatch):
    """Before every round the shards are made anew, each from what is left of the log."""
    monkeypatch.setattr(wires, "MOST_STEPS", 6)
    monkeypatch.setattr(wires, "PRUNE_AFTER", 8)
    whole, _ = solved(method, m, loss, never, **given)
    broken, shards = solved(method, m, loss, lambda k: (k % 2,), **given)
    np.testing.assert_array_equal(broken.w, whole.w)
    np.testing.assert_array_equal(broken.codes, whole.codes)
    assert broken.objective == whole.objective
    # a log of all calls would be hundreds long in the end
    assert shards.repeated < 50 * shards.rounds


def test_what_changes_nothing_is_not_repeated():
    vector = np.zeros(3)
    log = [
        Call("score", (vector,)),
        Call("cut", (), [(0.0, 1), (0.0, 0)]),
        Call("set_label_costs", (0.1,)),
        Call("set_direction", (vector,)),
        Call("advance", (1.0,)),
        Call("score", (vector + 1,)),
        Call("cut", (), [(0.5, 0), (0.5, 0)]),
        Call("set_label_costs", (0.2,)),
        Call("linearize", ()),
    ]

    def kept(calls):
        found = needed(calls, OneScoreBlock)
        return [next(k for k, one in enumerate(log) if one is call) for call in found]

    assert kept(log) == [5, 6, 7, 8]
    # the labels of the last gradient were chosen before the scores were computed anew
    assert kept([*log[:3], *log[5:7], log[-1]]) == [0, 1, 2, 5, 6, 8]
