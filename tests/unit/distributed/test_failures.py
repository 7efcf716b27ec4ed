"""Workers that die, stop or run out of memory: the fit goes on, or ends with a clear error."""

import gc
import os
import signal
import threading
import time

import dask
import dask.array as da
import distributed
import numpy as np
import pytest

from dask_clusters import start_cluster
from semisvm import Checkpoint, TransductiveSVC
from semisvm.distributed import ClusterError
from semisvm.distributed import cluster as cluster_module
from semisvm.distributed.cluster import Cluster
from waiting import PATIENCE, wait_until


def blobs(m=2, n=600, d=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, m, n)
    X = 2.5 * rng.standard_normal((m, d))[y] + rng.standard_normal((n, d))
    labels = np.full(n, -1)
    known = rng.choice(n, 8 * m, replace=False)
    labels[known] = y[known]
    return X, labels


@pytest.fixture
def client():
    """Return a client of workers that no other test has killed: Dask may not start those again."""
    with start_cluster(3) as cluster, distributed.Client(cluster) as client:
        yield client


@pytest.fixture
def before_round(monkeypatch):
    """Have something happen before the n-th message of a fit."""
    plain = Cluster._round

    def plan(event, *moments):
        count = 0

        def counted(self, calls):
            nonlocal count
            count += 1
            if count in moments:
                event(self)
            return plain(self, calls)

        monkeypatch.setattr(Cluster, "_round", counted)
        return lambda: count

    return plan


def pid_of(client, address):
    return client.run(os.getpid, workers=[address])[address]


def kill(number):
    """Kill the worker that holds a shard."""

    def event(cluster):
        address = cluster._shards[number].address
        os.kill(pid_of(cluster.client, address), signal.SIGKILL)

    return event


@pytest.fixture
def hasty(monkeypatch):
    """Have workers, which are listed by their addresses, be given little time for an answer.

    Others have all the time they need: a busy machine is not to lose them.
    """
    listed, plain = set(), Cluster._response

    async def response(self, request, address):
        # the limit is read before anything else runs
        self._answer_seconds = 2.0 if address in listed else PATIENCE
        coroutine = plain(self, request, address)
        try:
            return await coroutine
        finally:
            self._answer_seconds = PATIENCE

    monkeypatch.setattr(Cluster, "_response", response)
    return listed


@pytest.fixture
def quick_clock(monkeypatch):
    """Have the driver's waits for a worker pass at once, however long they are."""
    skipped = [0.0]

    def sleep(seconds):
        skipped[0] += PATIENCE
        time.sleep(0.01)

    monkeypatch.setattr(cluster_module, "sleep", sleep)
    monkeypatch.setattr(cluster_module, "monotonic", lambda: time.monotonic() + skipped[0])


def check_same(model, whole):
    """Nannies may be slow to start workers, and the number of shards changes the last bits."""
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-8)
    np.testing.assert_array_equal(model.transduction_.compute(), whole.transduction_.compute())


def fit(method, X, y, **options):
    settings = {"reg": 1e-2, "annealing_rate": 5.0, "class_prior": [0.5, 0.5]}
    return method(**settings, **options).fit(da.from_array(X, chunks=(100, -1)), y)


def test_a_worker_that_is_killed_costs_only_time(client, before_round):
    client.wait_for_workers(3, PATIENCE)
    X, y = blobs()
    rounds = before_round(lambda _: None)
    whole = fit(TransductiveSVC, X, y)
    n = rounds()
    before_round(kill(1), 2, n // 2)
    broken = fit(TransductiveSVC, X, y)
    np.testing.assert_array_equal(broken.coef_, whole.coef_)
    np.testing.assert_array_equal(broken.transduction_.compute(), whole.transduction_.compute())
    assert broken.objective_ == whole.objective_


def test_a_worker_that_is_killed_while_it_computes(client, before_round):
    client.wait_for_workers(2, PATIENCE)
    X, y = blobs()
    whole = fit(TransductiveSVC, X, y)

    def stop_then_kill(cluster):
        pid = pid_of(client, cluster._shards[1].address)
        os.kill(pid, signal.SIGSTOP)
        threading.Timer(0.3, os.kill, (pid, signal.SIGKILL)).start()

    before_round(stop_then_kill, 40)
    broken = fit(TransductiveSVC, X, y)
    check_same(broken, whole)


def test_a_worker_that_stops_answering_is_replaced(client, before_round, hasty):
    client.wait_for_workers(2, PATIENCE)
    X, y = blobs()
    whole = fit(TransductiveSVC, X, y)
    stopped = []

    def stop(cluster):
        address = cluster._shards[1].address
        stopped.append(pid_of(client, address))
        os.kill(stopped[0], signal.SIGSTOP)
        hasty.add(address)

    before_round(stop, 40)
    try:
        slow = fit(TransductiveSVC, X, y)
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
    check_same(slow, whole)


def test_a_fit_without_workers_ends_and_can_go_on(client, before_round, quick_clock, tmp_path):
    client.wait_for_workers(2, PATIENCE)
    X, y = blobs()
    whole = fit(TransductiveSVC, X, y, callback=Checkpoint(tmp_path / "whole"))
    path = tmp_path / "kept"
    # workers of their own that are not started again: a nanny can be quicker than the fit
    with start_cluster(2) as doomed, distributed.Client(doomed):

        def kill_all(_):
            for nanny in doomed.workers.values():
                nanny.close_gracefully()
                os.kill(nanny.pid, signal.SIGKILL)

        before_round(kill_all, 60)
        with pytest.raises(ClusterError, match="no worker left") as error:
            fit(TransductiveSVC, X, y, callback=Checkpoint(path))
    assert "holds the fit up to its last round" in error.value.__notes__[0]
    late = fit(TransductiveSVC, X, y, callback=Checkpoint(path, resume=True))
    check_same(late, whole)


def test_a_source_that_is_gone(client, before_round):
    client.wait_for_workers(2, PATIENCE)
    X, y = blobs()
    workers = sorted(client.nthreads())[:2]
    parts = [
        client.scatter(part, workers=[worker], hash=False)
        for part, worker in zip(np.split(X, 2), workers, strict=True)
    ]
    rows = [da.from_delayed(part, (300, 6), dtype=float) for part in parts]
    before_round(kill(1), 40)
    with pytest.raises(ClusterError, match="source is gone"):
        TransductiveSVC(reg=1e-2).fit(da.concatenate(rows), y)


def test_a_cluster_that_goes_away(before_round):
    X, y = blobs()
    with start_cluster(2) as cluster, distributed.Client(cluster, set_as_default=True):
        before_round(lambda _: cluster.close(timeout=PATIENCE), 30)
        with pytest.raises(ClusterError, match="scheduler of the cluster"):
            fit(TransductiveSVC, X, y)


def test_nothing_is_left_on_the_workers(client, before_round):
    X, y = blobs()
    fit(TransductiveSVC, X, y)

    def fail(_):
        raise KeyboardInterrupt

    before_round(fail, 30)
    with pytest.raises(KeyboardInterrupt):
        fit(TransductiveSVC, X, y)

    def held(dask_worker):
        return [*dask_worker.state.actors, *dask_worker.data]

    def nothing():
        gc.collect()  # an exception that was caught may hold what its frames held
        return not any(client.run(held).values())

    wait_until(nothing)


def test_workers_without_enough_memory():
    X, y = blobs()

    def hungry(part):
        kept = np.ones(10**8)
        time.sleep(10 * PATIENCE)  # it ends when its nanny has looked, however late
        return part + 0.0 * kept[0]

    # a second try would end in the same way
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 0}),
        start_cluster(1, memory_limit="500MB") as cluster,
        distributed.Client(cluster),
    ):
        # without a meta it would be called here, too
        rows = da.from_array(X, chunks=(300, -1)).map_blocks(hungry, meta=np.empty((0, 0)))
        with pytest.raises(ClusterError, match="memory limit"):
            TransductiveSVC(reg=1e-2).fit(rows, y)


class ClosingClient:
    """A client that is closed while a function waits for it, as Dask's `sync` ends then."""

    status = "running"

    def sync(self, function, *arguments, **options):
        self.status = "closed"
        raise UnboundLocalError("cannot access local variable 'result'")


def test_a_client_that_is_closed_while_it_waits():
    cluster = Cluster.__new__(Cluster)
    cluster.client, cluster.bytes = ClosingClient(), 0
    with pytest.raises(ClusterError, match="the client is 'closed'"):
        cluster._round({0: ("ask", ())})
