"""Guesses for answers by models that have not seen them."""

import numpy as np

from problems import two_blobs
from semisvm.labelling.fits import HeldOut, fit_answers, hold_out
from semisvm.preparing import Prepared

X, Y = two_blobs(200, seed=0)[:2]
TRUTH = ["spam" if code > 0 else "ham" for code in np.asarray(Y).tolist()]
PREPARED = Prepared(X, np.full(len(X), None, dtype=object))


def test_the_strongest_contradiction_comes_first():
    scores = np.array([[0.0, 1.0], [3.0, 0.0], [0.0, 2.0], [0.0, 4.0]])
    found = HeldOut(np.array([4, 7, 8, 9]), np.array([0, 1, 0, 1]), ["a", "b"], scores)
    assert found.contradicted() == [7, 8, 4]
    assert (found.n_right, found.n_of_largest) == (1, 2)
    assert found.of([9, 5, 4]).tolist() == [3, 0]
    assert found.margins.tolist() == [1.0, 3.0, 2.0, 4.0]


def test_a_wrong_answer_is_guessed_without_it():
    """The last model may have followed the wrong answer; those without it do not."""
    rows = np.random.default_rng(0).permutation(len(X))[:40].tolist()
    answers = {row: TRUTH[row] for row in rows}
    wrong = max(rows, key=lambda row: abs(X[row].sum()))
    answers[wrong] = "ham" if TRUTH[wrong] == "spam" else "spam"
    found = hold_out(PREPARED, fit_answers(PREPARED, answers))
    assert sorted(found.rows.tolist()) == sorted(rows)
    guesses = dict(zip(found.rows.tolist(), found.guesses.tolist(), strict=True))
    assert found.classes[guesses[wrong]] == TRUTH[wrong]
    assert wrong in found.contradicted()


def test_few_answers_are_not_held_out():
    answers = {row: TRUTH[row] for row in range(9)}
    assert len(hold_out(PREPARED, fit_answers(PREPARED, answers))) == 0


def test_nothing_is_found_if_it_is_stopped():
    fitted = fit_answers(PREPARED, {row: TRUTH[row] for row in range(30)})
    assert hold_out(PREPARED, fitted, stop=lambda: True) is None
