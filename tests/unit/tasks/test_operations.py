"""The declarations of the operations of blocks are complete, and true."""

import copy
import inspect
from functools import partial

import numpy as np
import pytest

from semisvm.designs import RowList, Workers, make_design
from semisvm.labels.hierarchy import flat
from semisvm.losses import LOSSES
from semisvm.tasks import ManyScoreBlock, OneScoreBlock, OneScoreRows
from semisvm.tasks.hard_labels import N_CELLS
from semisvm.tasks.operations import Call, operations_of, run_on, vectors

N, D, M, LAM, T = 60, 4, 3, 0.5, 0.7
KINDS = [OneScoreBlock, ManyScoreBlock]
# for methods that have a single block; a driver cannot call them on others
LOCAL = {
    OneScoreBlock: {"charged", "content", "take_scores"},
    ManyScoreBlock: {"label_costs", "scores_of", "take_labels", "take_scores"},
}


def block_of(kind, loss="squared_hinge"):
    """Return a block in which all parts of the state have been set."""
    rng = np.random.default_rng(0)
    design = make_design(rng.standard_normal((N, D)), 1.0, Workers(), renumber=False)
    labeled, unlabeled, weight = np.arange(12), np.arange(12, N), np.full(12, 1 / 12)
    u, many = N - 12, kind is ManyScoreBlock
    if many:
        block = kind(
            *(design, labeled, unlabeled, labeled % M, weight, u, LOSSES[loss].many),
            flat(np.arange(M)),
        )
    else:
        block = kind(design, labeled, unlabeled, labeled % 2 == 1, weight, u, LOSSES[loss].two)
    rng = np.random.default_rng(1)
    w, step = (rng.standard_normal(block.n_weights) for _ in range(2))
    block.score(w)
    if many:
        block.open_table(np.arange(M))
        block.assign(np.zeros(M))
        block.adopt_table()
    else:
        block.cut(0.1, 0)
    block.set_label_costs(LAM)
    if many:
        block.gibbs(np.zeros(M), T, LAM)
        block.respond(T, LAM)
        block.respond_to_step(step)
        # neither the labels nor the labels of the last gradient are those of the table
        block.take_labels(np.roll(block.labels, 1))
        block.open_table(np.arange(M))
        block.assign(np.array([0.2, 0.0, -0.2]))
    else:
        block.soften(0.0, T, LAM)
        block.keep_beliefs()
        block.soften(0.1, T, LAM)
        block.cut(0.0, 0)
        block.linearize()
    if not many:
        # directly, since an operation that sets a direction sets what others need
        block._step = block._scores(step, block._rows)
    return block


P = np.random.default_rng(2).standard_normal((D + 1) * M)
FEW = np.arange(3)
SPANS = np.array([[2, 9], [20, 31]])
ARGUMENTS = {
    OneScoreBlock: {
        "score": (P[: D + 1],),
        "score_labeled": (P[: D + 1],),
        "curvature": (P[: D + 1],),
        "set_direction": (P[: D + 1],),
        "shift": (0.3,),
        "copies": (P[: D + 1],),
        "probe": (P[: D + 1], np.ones(N_CELLS)),
        "leave_out": (0.2,),
        "outputs": (),
        "few_outputs": (-0.5, 0.5, 100),
        "weighed_outputs": (-0.5, 0.5),
        "count_above": ((0.0, 1.0),),
        "count_at": (0.0,),
        "extremes": (4,),
        "cut": (0.4, 0),
        "losses_of_cut": (0.4, 0),
        "switch": (FEW, FEW + 5),
        "soften": (0.2, T, LAM),
        "gap_range": (LAM,),
        "gap_spread": (LAM,),
        "soft_losses": (0.1, T, LAM),
        "follow_beliefs": (LAM,),
        "respond": (T, LAM, False),
    },
    ManyScoreBlock: {
        "score": (P,),
        "score_labeled": (P,),
        "curvature": (P,),
        "set_direction": (P,),
        "open_table": (np.arange(M),),
        "sample": (3, 1),
        "assign": (np.array([0.0, 0.3, 0.1]),),
        "balance": (np.zeros(M), np.zeros(M, dtype=np.int64), 1.0),
        "near": (np.zeros(M), 1.0),
        "relabel": (FEW, FEW % M),
        "cheapest_moves": (np.zeros(M), np.arange(M)),
        "gibbs": (np.array([0.0, 0.1, 0.0]), T, LAM),
        "respond": (T, LAM),
        "respond_to_step": (P,),
        "reduced_curvature": (np.array([0.1, 0.0, -0.1]),),
    },
}
BOTH = {
    "take_rows": (SPANS,),
    "set_number": (18, 1.5),
    "sample_curvature": (SPANS, 2.5),
    "along": ((0.0, 0.5),),
    "move": (0.5,),
    "advance": (0.01,),
    "set_label_costs": (LAM,),
    "set_belief_costs": (LAM,),
    "follow_labels": (1.0, LAM),
    "restore_beliefs": (LAM,),
    "divergence": (LAM,),
}


def arguments_of(kind, name):
    return copy.deepcopy({**BOTH, **ARGUMENTS[kind]}.get(name, ()))


CASES = [(kind, name) for kind in KINDS for name in operations_of(kind)]


def plain(value):
    """Return a value as lists of arrays and numbers, of whatever objects it consists."""
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if hasattr(value, "toarray"):
        return [value.toarray()]
    if hasattr(value, "__dict__"):
        known = {k: v for k, v in vars(value).items() if k not in ("workers", "design")}
        return [plain(known[name]) for name in sorted(known)]
    if isinstance(value, dict):
        return [plain(value[name]) for name in sorted(value)]
    return [] if value is None else value


def equal(one, two):
    if isinstance(one, list) or isinstance(two, list):
        same = isinstance(one, list) and isinstance(two, list) and len(one) == len(two)
        return same and all(map(equal, one, two))
    return np.shape(one) == np.shape(two) and np.allclose(one, two, rtol=1e-12, atol=1e-14)


def state_of(block, whole=False):
    """Return the parts of the state, with what is computed when it is first read."""
    block = copy.copy(block)
    for name in (name for names in block.STATE.values() for name in names):
        # lists of rows are never changed
        if not isinstance(getattr(block, name), RowList):
            setattr(block, name, copy.deepcopy(getattr(block, name)))
    if isinstance(block, OneScoreBlock):
        block._costs()
    elif len(block.scores):
        block.label_costs()
    found = {
        part: [plain(getattr(block, name)) for name in names] for part, names in block.STATE.items()
    }
    if whole and len(block._costs()[0]) == N == len(block.scores):
        found["curvature"] = plain([block._curvatures(), block._active_rows(), block._responding])
    return found


def forget(block, part):
    """Make a part of the state what it is in a block that nothing was called of."""
    fresh = empty(type(block))
    for name in block.STATE[part]:
        setattr(block, name, getattr(fresh, name))
    if part == "scores" and isinstance(block, OneScoreBlock):
        block._scored = None


def empty(kind):
    known = block_of(kind)
    given = (known.design, known.labeled, known.unlabeled)
    rest = (known.weight, known.n_unlabeled, known.loss)
    if kind is ManyScoreBlock:
        return kind(*given, known.codes, *rest, known.hierarchy)
    return kind(*given, known.positive, *rest)


@pytest.mark.parametrize("kind", KINDS)
def test_every_public_method_is_declared(kind):
    methods = {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}
    assert methods == operations_of(kind).keys() | LOCAL[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_the_state_has_all_attributes_that_change(kind):
    named = {name for names in kind.STATE.values() for name in names}
    before, after = vars(empty(kind)), vars(block_of(kind))
    changed = {
        name
        for name in after
        if name not in ("design", "_whole", "loss", "hierarchy")
        and (name not in before or not equal(plain(before[name]), plain(after[name])))
    }
    assert changed - {"_scored"} <= named
    parts = {
        part
        for known in operations_of(kind).values()
        for part in known.reads | known.effects | known.frees
    }
    assert parts == kind.STATE.keys()


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_only_what_is_declared_changes(kind, name):
    block, declared = block_of(kind), operations_of(kind)[name]
    whole = kind is OneScoreBlock
    before = state_of(block, whole)
    getattr(block, name)(*arguments_of(kind, name))
    after = state_of(block, whole)
    changed = {part for part in before if not equal(before[part], after[part])}
    # the curvature is a function of what was changed
    follows = {"curvature"} if declared.effects & {"scores", "costs", "spared"} else set()
    assert changed <= declared.effects | declared.frees | follows


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_only_what_is_declared_is_read(kind, name):
    declared = operations_of(kind)[name]
    whole = block_of(kind)
    expected = plain(getattr(whole, name)(*arguments_of(kind, name)))
    state = state_of(whole)
    for part in kind.STATE.keys() - declared.reads:
        block = block_of(kind)
        forget(block, part)
        found = plain(getattr(block, name)(*arguments_of(kind, name)))
        if not declared.effects:
            assert equal(found, expected), f"the result depends on {part!r}"
        after = state_of(block)
        for other in declared.effects - ({part} - declared.sets):
            assert equal(after[other], state[other]), f"{other!r} depends on {part!r}"


@pytest.mark.parametrize("kind", KINDS)
def test_results_that_are_sent_along_are_small_and_take_no_arguments(kind):
    operations = operations_of(kind)
    for declared in operations.values():
        assert declared.follows <= operations.keys()
        if declared.follows:
            assert not declared.parameters
            assert not declared.effects
            assert declared.combine is not vectors


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_result_has_one_way_to_be_combined(kind, name):
    declared = operations_of(kind)[name]
    assert declared.combine is None or declared.join is None
    if declared.silent:
        assert declared.combine is declared.join is None
        assert declared.effects


def test_all_blocks_write_into_vectors_of_the_driver():
    one, blocks = block_of(OneScoreBlock), [block_of(OneScoreBlock) for _ in range(2)]
    rows, p, out = OneScoreRows(blocks), P[: D + 1], np.full(D + 1, np.nan)
    found = rows.all.curvature(p, out=out)
    assert found is out
    np.testing.assert_allclose(out, 2.0 * one.curvature(p))
    onto = np.ones(D + 1)
    value, n_active, gradient = rows.all.advance(0.01, onto)
    mine = one.advance(0.01)
    assert value == pytest.approx(2.0 * mine[0])
    assert n_active == 2 * mine[1]
    assert gradient is onto
    np.testing.assert_allclose(onto, 1.0 + 2.0 * mine[2])


def test_what_is_no_operation_is_refused():
    block = block_of(OneScoreBlock)
    rows = OneScoreRows([block], partial(run_on, [block]))
    with pytest.raises(AttributeError, match="only a single block has it"):
        rows.all.take_scores(np.zeros(N))
    with pytest.raises(AssertionError, match=r"stay apart: use Rows.each"):
        rows.all.count_at(0.0)
    assert rows.each(OneScoreBlock.count_at, 0.0) == [0]


def test_a_call_can_name_its_arguments():
    calls = []

    def run(call):
        calls.append(call)
        return [np.zeros(2)]

    rows = OneScoreRows([block_of(OneScoreBlock)], run)
    rows.all.outputs(high=1.0)
    assert calls == [Call("outputs", (-np.inf, 1.0, False))]
