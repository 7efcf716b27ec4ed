import numpy as np
import pytest
from scipy.special import entr

from problems import hide, two_blobs
from semisvm import AnnealedSVC
from semisvm.estimators.creeping import Creeping
from semisvm.estimators.task import BinaryTask


def test_a_geometric_sequence_is_summed():
    move, creeping = np.array([3.0, -1.0, 0.5]), Creeping()
    assert creeping.ahead(move) == 0.0
    assert creeping.ahead(0.8 * move) == pytest.approx(4.0)


def test_after_a_skip_two_moves_are_needed_again():
    move, creeping = np.ones(4), Creeping()
    creeping.ahead(move)
    assert creeping.ahead(0.5 * move) > 0.0
    assert creeping.ahead(0.25 * move) == 0.0
    assert creeping.ahead(0.125 * move) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "second",
    [[0.1, 0.0], [-0.8, 0.0], [0.5, 0.6], [0.0, 0.0], [0.95, 0.0], [1.5, 0.0]],
    ids=["fast", "back", "turn", "still", "stuck", "growing"],
)
def test_no_skip_without_a_direction(second):
    creeping = Creeping()
    creeping.ahead(np.array([1.0, 0.0]))
    assert creeping.ahead(np.array(second)) == 0.0


def test_annealing_takes_fewer_rounds_to_the_same_labels(monkeypatch):
    X, y = two_blobs(300, 30, gap=1.5, seed=3)
    labels = hide(y, 6)
    model = AnnealedSVC(reg=1e-2).fit(X, labels)
    monkeypatch.setattr(Creeping, "ahead", lambda self, move: 0.0)
    plain = AnnealedSVC(reg=1e-2).fit(X, labels)
    assert model.n_iter_ < plain.n_iter_
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    np.testing.assert_array_equal(model.transduction_, plain.transduction_)


def test_a_skip_that_does_not_gain_is_taken_back(monkeypatch):
    X, y = two_blobs(200, 10, seed=1)
    labels = hide(y, 6)
    monkeypatch.setattr(Creeping, "ahead", lambda self, move: 0.0)
    expected = AnnealedSVC(reg=1e-2).fit(X, labels)
    # far beyond the fixed point, where the free energy is higher
    monkeypatch.setattr(Creeping, "ahead", lambda self, move: 1e6)
    model = AnnealedSVC(reg=1e-2).fit(X, labels)
    assert model.n_iter_ == expected.n_iter_
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-9)


def test_free_energy_is_the_objective_less_the_entropy():
    X, y = two_blobs(40, 5)
    labels = hide(y, 6)
    seen = []
    original = BinaryTask.free_energy

    def spy(task, w, scores, lam, p, q, temperature):
        value = original(task, w, scores, lam, p, q, temperature)
        o = scores[task.unlabeled]
        fit = (
            0.5
            * task.weight
            @ task.loss.values(np.where(task.positive, 1, -1) * scores[task.labeled])
        )
        rest = p * task.loss.values(o) + q * task.loss.values(-o)
        entropy = entr(p) + entr(q)
        direct = 0.5 * task.reg * w @ w + fit
        direct += 0.5 * np.mean(lam * rest - temperature * entropy)
        seen.append((value, direct))
        return value

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BinaryTask, "free_energy", spy)
        patch.setattr(Creeping, "ahead", lambda self, move: 0.5)
        AnnealedSVC(reg=1e-1, unlabeled_weight=0.7, entropy_tol=1e-4).fit(X, labels)
    assert len(seen) >= 4
    for value, direct in seen:
        assert value == pytest.approx(direct, rel=1e-9)
