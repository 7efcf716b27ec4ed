"""Whose turn it is, and that random rows are random."""

from collections import Counter

import numpy as np
import pytest

from semisvm.labelling.policy import FIRST, HANDFUL, SHARES, WORDS, Policy, least_certain

N = 400


def play(n, seed=0, classes=2, skip=()):
    """Ask for n rows with full queues; return the rows and reasons."""
    policy = Policy(N, np.random.default_rng(seed))
    done, requested, found = set(skip), Counter(), []
    for _ in range(n):
        rng = np.random.default_rng(len(done))
        policy.fill("cluster", rng.permutation(N)[:10])
        policy.fill("uncertain", range(20))
        row, reason = policy.next(requested, classes, lambda row: row not in done)
        done.add(row)
        requested[reason] += 1
        found.append((row, reason))
    return found


def test_clusters_come_first_then_all_take_turns():
    reasons = [reason for _, reason in play(FIRST + 10)]
    assert set(reasons[:FIRST]) == {"cluster"}
    later = Counter(reasons[FIRST:])
    assert later == {reason: round(10 * share) for reason, share in SHARES.items() if share}
    assert set(WORDS) >= set(later)


def test_no_kind_is_ever_a_row_off_its_share():
    reasons = [reason for _, reason in play(FIRST + 25)][FIRST:]
    assert reasons[0] == max(SHARES, key=SHARES.get)
    for n in range(1, 26):
        counts = Counter(reasons[:n])
        assert all(abs(counts[reason] - share * n) < 1.0 for reason, share in SHARES.items())


def test_uncertain_rows_are_the_least_certain_of_a_random_handful():
    rng = np.random.default_rng(0)
    margins = rng.permutation(N).astype(np.float32)
    rows = np.arange(100, N)
    found = least_certain(margins, rows, 1000, rng)
    assert len(found) == len(set(found.tolist())) == len(rows) // HANDFUL
    assert set(found.tolist()) <= set(rows.tolist())
    # the best of a hand of ten is within the best tenth on the mean, but seldom the very best
    ranks = np.searchsorted(np.sort(margins[rows]), margins[found]) / len(rows)
    assert 0.06 < ranks.mean() < 0.13
    assert len(least_certain(margins, rows, 3, rng)) == 3
    # fewer rows than a handful are one hand
    few = rows[:4]
    assert least_certain(margins, few, 5, rng).tolist() == [few[margins[few].argmin()]]
    assert least_certain(margins, rows[:0], 5, rng).tolist() == []


def test_more_classes_have_a_longer_start():
    reasons = [reason for _, reason in play(30, classes=10)]
    assert set(reasons[:20]) == {"cluster"}


def test_no_row_comes_twice_and_all_come():
    rows = [row for row, _ in play(N)]
    assert sorted(rows) == list(range(N))
    policy = Policy(3, np.random.default_rng(0))
    assert policy.next({}, 2, lambda row: False) is None


def test_without_candidates_rows_are_random():
    policy = Policy(N, np.random.default_rng(0))
    assert policy.next({}, 2, lambda row: True)[1] == "random"


def test_a_row_that_is_free_again_comes_again():
    policy = Policy(3, np.random.default_rng(0))
    rows = [policy.next({}, 2, lambda row: True)[0] for _ in range(3)]
    assert policy.next({}, 2, lambda row: row == rows[0])[0] == rows[0]


@pytest.mark.parametrize("seed", [0, 1])
def test_random_rows_are_drawn_alike_whatever_else_is_drawn(seed):
    """Every open row has the same chance: here, rows of the first quarter a quarter."""
    firsts = []
    for k in range(300):
        found = play(FIRST + 8, seed=1000 * seed + k, skip=range(20, 40))
        firsts += [row for row, reason in found if reason == "random"][:1]
    share = np.mean(np.array(firsts) < N / 4)
    # of the first hundred, twenty are skipped and about eight of twenty are asked for before
    assert abs(share - 0.21) < 0.08
