"""Rows in several blocks, reached through messages, give what rows in a single one give."""

import pickle
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse

from problems import hide, two_blobs
from semisvm import AnnealedSVC, NewtonSVC, TransductiveSVC
from semisvm.designs import Workers, make_design
from semisvm.labels.evidence import evidence_costs, with_evidence
from semisvm.labels.hierarchy import build, flat
from semisvm.labels.partial import encode, prior_counts
from semisvm.losses import LOSSES
from semisvm.methods import Recorder
from semisvm.tasks import ManyScoreBlock, ManyScoreRows, OneScoreBlock, OneScoreRows
from semisvm.tasks import one_score_driver as one_score_rows
from semisvm.tasks.hard_labels import N_CELLS
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask

RESULTS_OF_A_FIT = {"chosen_labels", "beliefs", "predictions"}
# rows near a tie, judged on their own
GATHERED = {"near", "relabel"}
# equal rows, counted in cells, whatever the number of rows
COUNTED = {"copies", "probe"}
MAX_GATHERED = 60
CUTS = (0, 130, 131, 700, 1200)


class Wire:
    """Remote blocks: all that passes is copied, and its size is checked."""

    def __init__(self, blocks, limit):
        self.blocks = blocks
        self.limit = limit
        self.rounds = 0
        self.near = []

    def __call__(self, call):
        self.rounds += 1
        each = [call.arguments] * len(self.blocks) if call.each is None else call.each
        found = []
        for block, arguments in zip(self.blocks, each, strict=True):
            sent = self._pass(call.name, arguments)
            found.append(self._pass(call.name, getattr(block, call.name)(*sent)))
        if call.name == "near":
            self.near.append(sum(len(part.rows) for part in found))
        return found

    def _pass(self, name, message):
        data = pickle.dumps(message)
        if name not in RESULTS_OF_A_FIT | GATHERED:
            limit = self.limit + 8 * N_CELLS * (name in COUNTED)
            assert len(data) < limit, f"{name} moves {len(data)} bytes"
        return pickle.loads(data)


def parts(X, labels):
    """Cut rows and their labels into blocks, one of them with a single row."""
    for start, stop in pairwise(CUTS):
        codes = labels.codes[start:stop]
        design = make_design(X[start:stop], 1.0, Workers(), renumber=False)
        yield design, np.flatnonzero(codes >= 0), np.flatnonzero(codes < 0), codes


def with_costs(blocks, costs):
    """Give blocks what evidence adds to the costs of labels."""
    sizes = [len(block.unlabeled) for block in blocks]
    for block, own in zip(blocks, np.split(costs, np.cumsum(sizes)[:-1]), strict=True):
        block.evidence = own


def two_class_task(X, y, loss, reg, prior):
    labels = encode(y, -1)
    n, u = len(labels.labeled), len(labels.unlabeled)
    blocks = [
        OneScoreBlock(design, given, free, codes[given] == 1, np.full(len(given), 1 / n), u, loss)
        for design, given, free, codes in parts(X, labels)
    ]
    wire = Wire(blocks, 8 * (X.shape[1] + 1) * 4 + 8 * 4 * MAX_GATHERED)
    n_positive = int(prior_counts(prior, u)[1])
    return TwoClassTask(OneScoreRows(blocks, wire), n_positive, loss, reg, Recorder()), wire


def many_class_task(X, y, loss, reg, prior, hierarchy):
    labels = encode(y, -1)
    n, u = len(labels.labeled), len(labels.unlabeled)
    blocks = [
        ManyScoreBlock(
            design, given, free, codes[given], np.full(len(given), 1 / n), u, loss, hierarchy
        )
        for design, given, free, codes in parts(X, labels)
    ]
    m = len(prior)
    # a table of costs of a sample may travel, not one of all rows
    wire = Wire(blocks, 8 * m * (X.shape[1] + 1 + 400))
    counts = prior_counts(prior, u)
    return ManyClassTask(
        ManyScoreRows(blocks, wire), counts, loss, hierarchy, reg, Recorder()
    ), wire


def blobs(m, n=1200, d=8, seed=0):
    rng = np.random.default_rng(seed)
    centres = 2.2 * rng.standard_normal((m, d))
    y = rng.integers(0, m, n)
    X = centres[y] + rng.standard_normal((n, d))
    labels = np.full(n, -1)
    known = rng.choice(n, 8 * m, replace=False)
    labels[known] = y[known]
    prior = np.bincount(y[labels < 0], minlength=m) / np.count_nonzero(labels < 0)
    return X, labels, prior


METHODS = [NewtonSVC, TransductiveSVC, AnnealedSVC]


def check_same(model, solution, task):
    """A fit on a single block and one by messages must agree, in weights and in labels."""
    coef = np.column_stack([model.node_coef_, model.node_intercept_])
    found = solution.w.reshape(coef.shape[1], -1).T
    np.testing.assert_allclose(found, coef, rtol=1e-5, atol=1e-7)
    assert solution.objective == pytest.approx(model.objective_, rel=1e-6)
    here = model.transduction_[np.concatenate([np.zeros(0, int), unlabeled_rows(task)])]
    assert np.mean(model.classes_[solution.codes] != here) < 1e-3


def unlabeled_rows(task):
    begins = np.array(CUTS[:-1])
    return np.concatenate(
        [first + block.unlabeled for first, block in zip(begins, task.rows.blocks, strict=True)]
    )


@pytest.fixture(autouse=True)
def few_may_travel(monkeypatch):
    monkeypatch.setattr(one_score_rows, "MAX_GATHERED", MAX_GATHERED)


@pytest.mark.parametrize("loss", ["squared_hinge", "squared", "log"])
@pytest.mark.parametrize("method", METHODS)
def test_two_classes(method, loss):
    X, labels, prior = blobs(2)
    given = {} if method is NewtonSVC else {"class_prior": prior}
    model = method(reg=1e-2, loss=loss, **given).fit(X, labels)
    reg = 1e-2 * LOSSES[loss].reg_of_two
    task, wire = two_class_task(X, labels, LOSSES[loss].two, reg, prior)
    check_same(model, method(reg=1e-2, loss=loss, **given)._solve_task(task, None), task)
    assert wire.rounds > 5


@pytest.mark.parametrize("pairs", [1, 7])
def test_pairs_are_switched_across_blocks(pairs):
    X, labels, prior = blobs(2)
    model = TransductiveSVC(reg=1e-2, class_prior=prior, max_switches=pairs).fit(X, labels)
    task, _ = two_class_task(X, labels, LOSSES["squared_hinge"].two, 1e-2, prior)
    there = TransductiveSVC(reg=1e-2, class_prior=prior, max_switches=pairs)._solve_task(task, None)
    check_same(model, there, task)


@pytest.mark.parametrize("loss", ["squared_hinge", "log"])
@pytest.mark.parametrize("method", METHODS)
def test_many_classes(method, loss):
    X, labels, prior = blobs(4)
    given = {} if method is NewtonSVC else {"class_prior": prior}
    model = method(reg=1e-2, loss=loss, **given).fit(X, labels)
    hierarchy = flat(np.arange(4))
    task, wire = many_class_task(X, labels, LOSSES[loss].many, 1e-2, prior, hierarchy)
    check_same(model, method(reg=1e-2, loss=loss, **given)._solve_task(task, None), task)
    # most label steps move few rows, and only rows near a tie travel
    assert method is NewtonSVC or np.median(wire.near) < 0.3 * len(X)


def test_a_hierarchy():
    X, labels, prior = blobs(4)
    spec = {"left": [0, 1], "right": [2, 3]}
    tight = {"reg": 1e-2, "tol": 1e-10}
    model = TransductiveSVC(**tight, class_prior=prior, hierarchy=spec).fit(X, labels)
    hierarchy = build(spec, np.arange(4))
    task, _ = many_class_task(X, labels, LOSSES["squared_hinge"].many, 1e-2, prior, hierarchy)
    check_same(model, TransductiveSVC(**tight, class_prior=prior)._solve_task(task, None), task)


def test_a_class_without_unlabeled_rows():
    X, labels, prior = blobs(3)
    prior = np.array([0.5, 0.5, 0.0])
    with pytest.warns(UserWarning, match="zero rows"):
        model = TransductiveSVC(reg=1e-2, class_prior=prior).fit(X, labels)
    task, _ = many_class_task(
        X, labels, LOSSES["squared_hinge"].many, 1e-2, prior, flat(np.arange(3))
    )
    check_same(model, TransductiveSVC(reg=1e-2, class_prior=prior)._solve_task(task, None), task)


def evidence_for(labels, m):
    """Return probabilities, some of them zero, and the costs they make."""
    q = np.random.default_rng(1).dirichlet(np.ones(m), len(labels))
    q[::9, 0] = 0.0
    q[4::9] = np.eye(m)[1]
    return q, evidence_costs(with_evidence(encode(labels, -1), q), 0.2)


@pytest.mark.parametrize("method", [TransductiveSVC, AnnealedSVC])
def test_evidence_of_two_classes(method):
    X, labels, prior = blobs(2)
    q, costs = evidence_for(labels, 2)
    model = method(reg=1e-2, class_prior=prior).fit(X, labels, evidence=q)
    task, _ = two_class_task(X, labels, LOSSES["squared_hinge"].two, 1e-2, prior)
    with_costs(task.rows.blocks, costs[:, 1] - costs[:, 0])
    check_same(model, method(reg=1e-2, class_prior=prior)._solve_task(task, None), task)


@pytest.mark.parametrize("method", [TransductiveSVC, AnnealedSVC])
def test_evidence_of_many_classes(method):
    X, labels, prior = blobs(4)
    q, costs = evidence_for(labels, 4)
    model = method(reg=1e-2, class_prior=prior).fit(X, labels, evidence=q)
    hierarchy = flat(np.arange(4))
    task, _ = many_class_task(X, labels, LOSSES["squared_hinge"].many, 1e-2, prior, hierarchy)
    with_costs(task.rows.blocks, costs)
    check_same(model, method(reg=1e-2, class_prior=prior)._solve_task(task, None), task)


def test_all_but_the_rows_that_must_be_positive_are_negative():
    X, labels, _ = blobs(2)
    _, costs = evidence_for(labels, 2)
    forced = np.count_nonzero(np.isinf(costs[:, 0]))
    task, _ = two_class_task(X, labels, LOSSES["squared_hinge"].two, 1e-2, np.array([0.5, 0.5]))
    with_costs(task.rows.blocks, costs[:, 1] - costs[:, 0])
    task.rows.all.score(np.ones(task.n_weights))
    task.rows.label_largest(forced)
    np.testing.assert_array_equal(task.rows.all.chosen_labels(), np.isinf(costs[:, 0]))


def test_what_needs_all_rows_is_refused_on_several_blocks():
    X, labels, prior = blobs(2)
    task, _ = two_class_task(X, labels, LOSSES["hinge"].two, 1e-2, prior)
    with pytest.raises(TypeError, match="all rows in the memory of one process"):
        TransductiveSVC(loss="hinge")._solve_task(task, None)


def test_repeated_runs_are_equal_bit_for_bit():
    X, labels, prior = blobs(2)

    def fitted():
        task, _ = two_class_task(X, labels, LOSSES["squared_hinge"].two, 1e-2, prior)
        return AnnealedSVC(reg=1e-2)._solve_task(task, None)

    one, two = fitted(), fitted()
    np.testing.assert_array_equal(one.w, two.w)
    np.testing.assert_array_equal(one.codes, two.codes)


def test_sparse_blocks():
    X, y = two_blobs(1200, 30)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    labels = hide(y, 20)
    prior = np.array([0.5, 0.5])
    model = TransductiveSVC(reg=1e-2, class_prior=prior).fit(sparse.csr_matrix(X), labels)
    thin = sparse.csr_matrix(X)
    task, _ = two_class_task(thin, labels, LOSSES["squared_hinge"].two, 1e-2, prior)
    check_same(model, TransductiveSVC(reg=1e-2, class_prior=prior)._solve_task(task, None), task)
