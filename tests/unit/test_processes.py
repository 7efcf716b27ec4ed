"""Fits in several threads, in forked and in spawned children."""

import multiprocessing
import os
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed

from problems import hide, sparse_text
from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.designs import workers


def job(seed=0, n_jobs=2):
    workers.MIN_WORK_PER_THREAD = 50
    X, y = sparse_text(150, 200, seed=seed)
    model = TransductiveSVC(n_jobs=n_jobs).fit(X, hide(y, 20))
    return model.coef_[0]


@pytest.fixture(autouse=True)
def many_small_blocks(monkeypatch):
    monkeypatch.setattr(workers, "MIN_WORK_PER_THREAD", 50)


def test_concurrent_fits_in_threads():
    expected = [job(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            found = list(pool.map(job, range(8)))
            for one, other in zip(expected, found, strict=True):
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_fits_in_children(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this platform has no {method}")
    expected = job()  # threads have run in the parent before
    context = multiprocessing.get_context(method)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # fork with threads about
        with context.Pool(2) as pool:
            for found in pool.starmap(job, [(0,), (0,)]):
                np.testing.assert_array_equal(found, expected)


def test_fits_through_joblib():
    expected = job()
    for found in Parallel(n_jobs=2)(delayed(job)() for _ in range(2)):
        np.testing.assert_allclose(found, expected, atol=1e-10)


def test_memory_mapped_data(tmp_path):
    X, y = sparse_text(150, 200)
    partly = hide(y, 20)
    np.save(tmp_path / "X.npy", X.toarray())
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = AnnealedSVC().fit(X.toarray(), partly).coef_
    np.testing.assert_array_equal(AnnealedSVC().fit(mapped, partly).coef_, expected)


def test_no_thread_outlives_its_fit():
    import threading

    before = threading.active_count()
    job()
    assert threading.active_count() == before


def test_import_is_lazy():
    code = "import sys, semisvm; print('numba' in sys.modules, 'sklearn' in sys.modules)"
    environment = {k: v for k, v in os.environ.items() if not k.startswith("COV_")}
    out = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )
    assert out.stdout.split() == ["False", "False"]


def test_public_names():
    import semisvm

    assert set(semisvm.__all__) <= set(dir(semisvm))
    for name in semisvm.__all__:
        assert getattr(semisvm, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = semisvm.nothing
