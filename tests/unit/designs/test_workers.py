"""Threads: how rows are divided among them, and what they leave alone."""

from threading import Event

import numpy as np
import pytest
from threadpoolctl import ThreadpoolController, threadpool_limits

from semisvm.designs import Workers
from semisvm.designs.workers import balanced_blocks


def test_blocks_cover_and_balance():
    work = np.random.default_rng(0).integers(1, 100_000, 1000)
    for n_threads in (1, 2, 5):
        blocks = balanced_blocks(np.cumsum(work), n_threads)
        assert [k for start, stop in blocks for k in range(start, stop)] == list(range(1000))
        totals = [work[start:stop].sum() for start, stop in blocks]
        assert len(blocks) == n_threads
        assert max(totals) < 1.05 * sum(totals) / n_threads


def test_smaller_blocks_come_last():
    total = np.cumsum(np.random.default_rng(0).integers(1, 100_000, 1000))
    blocks = balanced_blocks(total, 3, late=0.25)
    assert [k for start, stop in blocks for k in range(start, stop)] == list(range(1000))
    work = np.diff([0, *(total[stop - 1] for _, stop in blocks)]) / total[-1]
    np.testing.assert_allclose(work, [0.25, 0.25, 0.25, 1 / 12, 1 / 12, 1 / 12], atol=0.002)


def test_threads_take_the_blocks_that_are_left():
    taken, gate = [], Event()

    def task(k, start, stop):
        if k == 0:
            # the others are done by the second thread while this one is busy
            assert gate.wait(30)
        taken.append(k)
        if k == 3:
            gate.set()

    with Workers(2) as pool:
        pool.run(task, ((0, 1), (1, 2), (2, 3), (3, 4)))
    assert taken == [1, 2, 3, 0]


def test_little_work_stays_on_one_thread():
    assert balanced_blocks(np.arange(1, 101), 4) == ((0, 100),)
    assert balanced_blocks(np.ones(0, dtype=int), 4) == ((0, 0),)


def test_error_in_a_worker_reaches_the_caller():
    def task(k, start, stop):
        if k == 1:
            raise RuntimeError("block failed")

    with Workers(2) as pool, pytest.raises(RuntimeError, match="block failed"):
        pool.run(task, ((0, 1), (1, 2)))


def blas_threads():
    return {
        library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()
    }


def test_blas_keeps_to_one_thread_while_workers_live():
    with threadpool_limits(2, user_api="blas"):
        with Workers(1):
            assert blas_threads() == {1}
            with Workers(2):
                assert blas_threads() == {1}
            assert blas_threads() == {1}, "the last to leave restores"
        assert blas_threads() == {2}


def test_blas_threads_come_back_whatever_the_order():
    with threadpool_limits(2, user_api="blas"):
        first, second = Workers(1), Workers(1)
        first.__enter__()
        second.__enter__()
        first.__exit__(None, None, None)
        assert blas_threads() == {1}
        second.__exit__(None, None, None)
        assert blas_threads() == {2}
