import numpy as np
import pytest
from scipy.special import entr

from problems import hide
from semisvm import AnnealedSVC
from semisvm.methods.cooling import Cooling
from semisvm.solvers.aitken import Extrapolation


def test_a_geometric_sequence_is_summed():
    move, extrapolation = np.array([3.0, -1.0, 0.5]), Extrapolation()
    assert extrapolation.ahead(move) == 0.0
    assert extrapolation.ahead(0.8 * move) == pytest.approx(4.0)


def test_after_a_skip_two_moves_are_needed_again():
    move, extrapolation = np.ones(4), Extrapolation()
    extrapolation.ahead(move)
    assert extrapolation.ahead(0.5 * move) > 0.0
    assert extrapolation.ahead(0.25 * move) == 0.0
    assert extrapolation.ahead(0.125 * move) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "second",
    [[0.1, 0.0], [-0.8, 0.0], [0.5, 0.6], [0.0, 0.0], [0.95, 0.0], [1.5, 0.0]],
    ids=["fast", "back", "turn", "still", "stuck", "growing"],
)
def test_no_skip_without_a_direction(second):
    extrapolation = Extrapolation()
    extrapolation.ahead(np.array([1.0, 0.0]))
    assert extrapolation.ahead(np.array(second)) == 0.0


def three_classes(seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, 240)
    X = rng.standard_normal((240, 8))
    X[np.arange(240), y] += 2.5
    return X, hide(y, 9, seed)


def test_annealing_takes_fewer_rounds_to_the_same_labels(monkeypatch):
    X, labels = three_classes()
    model = AnnealedSVC(reg=1e-2).fit(X, labels)
    monkeypatch.setattr(Extrapolation, "ahead", lambda self, move: 0.0)
    plain = AnnealedSVC(reg=1e-2).fit(X, labels)
    assert model.n_iter_ < plain.n_iter_
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    np.testing.assert_array_equal(model.transduction_, plain.transduction_)


def test_a_skip_that_does_not_gain_is_taken_back(monkeypatch):
    X, labels = three_classes(1)
    monkeypatch.setattr(Extrapolation, "ahead", lambda self, move: 0.0)
    expected = AnnealedSVC(reg=1e-2).fit(X, labels)
    # far beyond the fixed point, where the free energy is higher
    monkeypatch.setattr(Extrapolation, "ahead", lambda self, move: 1e6)
    model = AnnealedSVC(reg=1e-2).fit(X, labels)
    assert model.n_iter_ == expected.n_iter_
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)


def test_free_energy_is_the_objective_less_the_entropy(monkeypatch):
    X, labels = three_classes(2)
    seen, original = [], Cooling._free_energy

    def spy(cooling, w):
        task, value = cooling.task, original(cooling, w)
        [block] = task.rows.blocks
        p, o = task.rows.beliefs(), task.rows.blocks[0].scores_of(w)
        given = task.loss.costs(o[block.labeled])[np.arange(len(block.codes)), block.codes]
        soft = np.sum(p * task.loss.costs(o[block.unlabeled])) / len(p)
        entropy = cooling.temperature * np.mean(entr(p).sum(axis=1))
        direct = task.reg / 2 * w @ w + block.weight @ given + cooling.lam * soft - entropy
        seen.append((value, direct))
        return value

    monkeypatch.setattr(Cooling, "_free_energy", spy)
    monkeypatch.setattr(Extrapolation, "ahead", lambda self, move: 0.5)
    AnnealedSVC(reg=1e-1, unlabeled_weight=0.7, entropy_tol=1e-4).fit(X, labels)
    assert len(seen) >= 4
    for value, direct in seen:
        assert value == pytest.approx(direct, rel=1e-9)
