"""Fits to answers: from the last weights, with the classes that there are."""

import dataclasses

import numpy as np
import pytest

from problems import two_blobs
from semisvm.labelling import fits
from semisvm.labelling.fits import fit_answers, labels_of
from semisvm.preparing import Prepared

X, Y = two_blobs(200, seed=0)[:2]
TRUTH = ["spam" if code > 0 else "ham" for code in np.asarray(Y).tolist()]
PREPARED = Prepared(X, np.full(len(X), None, dtype=object))


def answers(n):
    rows = np.random.default_rng(0).permutation(len(X))[:n]
    return {int(row): TRUTH[row] for row in rows}


def test_a_fit_goes_on_from_the_last_weights_and_leaves_them_alone():
    first = fit_answers(PREPARED, answers(20))
    before = first.estimator.coef_.copy()
    second = fit_answers(PREPARED, answers(25), first)
    cold = fit_answers(PREPARED, answers(25))
    assert second.estimator.n_iter_ < cold.estimator.n_iter_
    assert np.array_equal(first.estimator.coef_, before)
    assert (second.number, second.n_labels) == (2, 25)
    guesses = [second.guess(row) for row in range(len(X))]
    assert np.mean(np.array(guesses) == TRUTH) > 0.9


def test_a_poor_valley_is_left():
    """A model that a few wrong answers have led astray does not lead the next one."""
    wrong = {row: "spam" if value == "ham" else "ham" for row, value in answers(20).items()}
    astray = fit_answers(PREPARED, wrong)
    found, cold = fit_answers(PREPARED, answers(25), astray), fit_answers(PREPARED, answers(25))
    assert found.estimator.objective_ <= 1.01 * cold.estimator.objective_
    guesses = [found.guess(row) for row in range(len(X))]
    assert np.mean(np.array(guesses) == TRUTH) > 0.9


def test_a_new_class_begins_again():
    first = fit_answers(PREPARED, answers(20))
    more = {**answers(20), 0: "other", 1: "other"}
    second = fit_answers(PREPARED, more, first)
    assert second.classes == ["ham", "other", "spam"]
    assert second.scores.shape == (len(X), 3)


def test_rows_are_in_the_order_of_their_margins():
    found = fit_answers(PREPARED, answers(20))
    assert sorted(found.order.tolist()) == list(range(len(X)))
    assert np.all(np.diff(found.margins[found.order]) >= 0)


def test_shares_of_many_rows_are_estimated_when_the_labels_have_grown(monkeypatch):
    monkeypatch.setattr(fits, "MANY_ROWS", 100)
    first = fit_answers(PREPARED, answers(40))
    second = fit_answers(PREPARED, answers(45), first)
    assert np.array_equal(second.estimator.class_prior_, first.estimator.class_prior_)
    assert second.estimator.class_prior is None
    third = fit_answers(PREPARED, answers(52), second)
    assert not np.array_equal(third.estimator.class_prior_, first.estimator.class_prior_)
    assert [fit.labels_of_shares for fit in (first, second, third)] == [40, 40, 52]
    monkeypatch.setattr(fits, "MANY_ROWS", 1000)
    assert fit_answers(PREPARED, answers(45), first).labels_of_shares == 45


def test_labels_are_numbers_if_all_are():
    assert labels_of({0: "3", 2: "10"}, 3).tolist() == [3, None, 10]
    assert labels_of({0: "3", 1: "x"}, 3).tolist() == ["3", "x", None]
    assert labels_of({0: "1", 1: "1.0"}, 2).tolist() == ["1", "1.0"]


@pytest.mark.parametrize("method", ["svm", "da"])
def test_other_methods(method):
    first = fit_answers(PREPARED, answers(20), None, method)
    second = fit_answers(PREPARED, answers(25), first, method)
    assert (second.method, second.number) == (method, 2)
    assert dataclasses.replace(second).guess(0) in ("spam", "ham")
