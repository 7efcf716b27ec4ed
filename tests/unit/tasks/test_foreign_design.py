"""A design that has only the four products of the guide serves every smooth method."""

from types import SimpleNamespace

import numba
import numpy as np
import pytest

from semisvm import AnnealedSVC, TransductiveSVC
from semisvm.designs import Design, Workers, make_design
from semisvm.designs.base import read_only
from semisvm.labels.hierarchy import flat
from semisvm.losses import SQUARED_HINGE
from semisvm.methods import Recorder
from semisvm.tasks.many_classes import ManyClassTask
from semisvm.tasks.two_classes import TwoClassTask


@numba.njit
def scores(codes, w, bias, rows, start, stop, out):
    for position in range(start, stop):
        i = rows[position]
        total = bias * w[-1]
        for j in range(codes.shape[1]):
            total += w[codes[i, j]]
        out[i] = total


@numba.njit
def pull_back(codes, v, bias, rows, start, stop, out):
    for position in range(start, stop):
        i = rows[position]
        out[-1] += bias * v[i]
        for j in range(codes.shape[1]):
            out[codes[i, j]] += v[i]


@numba.njit
def curvature(codes, p, c, bias, rows, start, stop, out):
    for position in range(start, stop):
        i = rows[position]
        total = bias * p[-1]
        for j in range(codes.shape[1]):
            total += p[codes[i, j]]
        out[-1] += bias * c[i] * total
        for j in range(codes.shape[1]):
            out[codes[i, j]] += c[i] * total


@numba.njit
def column_scales(codes, c, bias, rows, start, stop, out):
    for position in range(start, stop):
        i = rows[position]
        out[-1] += bias * bias * c[i]
        for j in range(codes.shape[1]):
            out[codes[i, j]] += c[i]


class CodesDesign(Design):
    """Rows of category codes, each of which stands for a one."""

    _kernels = SimpleNamespace(
        scores=scores, pull_back=pull_back, curvature=curvature, column_scales=column_scales
    )

    def __init__(self, codes, n_columns, bias, workers):
        self._arrays = (read_only(codes),)
        super().__init__(len(codes), n_columns, bias, workers)

    def _total_work(self, index):
        return np.arange(1, len(index) + 1) * (self._arrays[0].shape[1] + 1)


def problem(m, n=400, k=6, values=8, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, m, n)
    favourites = rng.integers(0, values, (m, k))
    codes = np.where(rng.random((n, k)) < 0.45, favourites[y], rng.integers(0, values, (n, k)))
    codes = (codes + values * np.arange(k)).astype(np.uint32)
    X = np.zeros((n, k * values))
    np.put_along_axis(X, codes.astype(int), 1.0, axis=1)
    labeled = np.sort(rng.choice(n, 8 * m, replace=False))
    return codes, X, y, labeled


def task_of(design, y, labeled, m):
    unlabeled = np.setdiff1d(np.arange(len(y)), labeled)
    weight = np.full(len(labeled), 1 / len(labeled))
    data = (design, labeled, unlabeled)
    shared = {"loss": SQUARED_HINGE, "reg": 1e-2, "recorder": Recorder()}
    counts = np.bincount(y[unlabeled], minlength=m)
    if m == 2:
        positive, n_positive = y[labeled] == 1, int(counts[1])
        return TwoClassTask.of(*data, positive, weight, n_positive=n_positive, **shared)
    hierarchy = flat(np.arange(m))
    return ManyClassTask.of(*data, y[labeled], weight, counts=counts, hierarchy=hierarchy, **shared)


@pytest.mark.parametrize("method", [TransductiveSVC, AnnealedSVC])
@pytest.mark.parametrize("m", [2, 4])
def test_whole_fits(method, m):
    codes, X, y, labeled = problem(m)
    foreign = CodesDesign(codes, X.shape[1], 1.0, Workers())
    known = make_design(X, 1.0, Workers())
    ours, theirs = (
        method(reg=1e-2)._solve_task(task_of(design, y, labeled, m), None)
        for design in (foreign, known)
    )
    np.testing.assert_allclose(ours.w, theirs.w, rtol=1e-5, atol=1e-8)
    np.testing.assert_array_equal(ours.codes, theirs.codes)
    assert ours.objective == pytest.approx(theirs.objective, rel=1e-9)
