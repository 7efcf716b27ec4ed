"""Paths that begin on a sample of rows that are spread over workers."""

import dask.array as da
import numpy as np
import pytest

from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.distributed import rows as remote_rows
from semisvm.methods import sample_sizes

CHUNKS = (300, 1, 419, 280)


@pytest.fixture
def early(monkeypatch):
    """Take samples of small data."""
    monkeypatch.setattr(sample_sizes, "WHOLE_BELOW", 100)
    monkeypatch.setattr(sample_sizes, "SMALLEST", 60)
    monkeypatch.setattr(sample_sizes, "CURVATURE_ROWS", 100)


def blobs(m, seed=0):
    rng = np.random.default_rng(seed)
    n = sum(CHUNKS)
    y = rng.integers(0, m, n)
    X = 1.6 * np.eye(m, 8)[y] + rng.standard_normal((n, 8)) / np.sqrt(8)
    labels = np.full(n, -1)
    known = rng.choice(n, 8 * m, replace=False)
    labels[known] = y[known]
    return X, labels, y


@pytest.mark.parametrize("brought", [True, False])
@pytest.mark.parametrize("m", [2, 4])
@pytest.mark.parametrize("kind", [TransductiveSVC, AnnealedSVC])
def test_a_cluster_finds_what_one_process_finds(kind, m, brought, client, early, monkeypatch):
    X, labels, y = blobs(m)
    model = kind(reg=1e-2, class_prior=np.bincount(y) / len(y), unlabeled_weight=0.8)
    model.fit(X, labels)
    found = {name: np.array(getattr(model, name)) for name in ("coef_", "transduction_")}
    sampled, objective = model.trace_["sampled_rows"], model.objective_
    assert np.isfinite(sampled).any()
    if not brought:
        monkeypatch.setattr(remote_rows, "MOST_GATHERED", 0)
    model.fit(da.from_array(X, chunks=(CHUNKS, -1)), labels)
    np.testing.assert_array_equal(model.trace_["sampled_rows"], sampled)
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    assert np.mean(model.transduction_.compute() == found["transduction_"]) > 0.999
    np.testing.assert_allclose(model.coef_, found["coef_"], atol=0.02)
    if brought:
        # rounds are for the levels on all rows only
        rounds = model.trace_["rounds"]
        assert rounds[np.flatnonzero(np.isfinite(sampled))].max() <= 3


def test_a_worker_that_is_lost_changes_nothing(client, early, monkeypatch):
    monkeypatch.setattr(remote_rows, "MOST_GATHERED", 0)
    X, labels, y = blobs(2)
    parameters = {"reg": 1e-2, "class_prior": np.bincount(y) / len(y), "unlabeled_weight": 0.8}
    chunks = da.from_array(X, chunks=(CHUNKS, -1))
    expected = TransductiveSVC(**parameters).fit(chunks, labels)
    times = iter([5, 12])
    wanted = [next(times)]

    def restart(row):
        if len(seen) == wanted[0]:
            workers = sorted(client.scheduler_info(n_workers=-1)["workers"])
            client.restart_workers(workers[:1], timeout=60)
            wanted[0] = next(times, -1)
        seen.append(row)
        return False

    seen = []
    model = TransductiveSVC(**parameters, callback=restart).fit(chunks, labels)
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    assert model.objective_ == expected.objective_
