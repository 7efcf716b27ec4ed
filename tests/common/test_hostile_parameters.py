"""Numbers that are too large, for every parameter of every method."""

import numpy as np
import pytest

from problems import hide, two_blobs
from semisvm import NewtonSVC, TransductiveSVC
from semisvm.designs.workers import MAX_THREADS, thread_count
from semisvm.estimators import registry

EVERY = pytest.mark.parametrize("method", registry.methods(), ids=lambda method: method.name)
NO_NUMBERS = ("random_state", "unlabeled", "verbose", "warm_start", "fit_intercept", "refine")


def numeric(method):
    """Give the parameters whose values are numbers."""
    for name, value in method.make().get_params(deep=False).items():
        number = isinstance(value, (int, float)) and name not in NO_NUMBERS
        if number or name in ("reg", "n_components", "n_jobs"):
            yield name


@EVERY
@pytest.mark.parametrize("value", [10**400, 10**5000], ids=["400", "5000"])
def test_whole_numbers_beyond_all_floats_are_refused(method, value):
    X, y = two_blobs(20, 3)
    refused = []
    for name in numeric(method):
        kernel = {"kernel": "poly"} if hasattr(method.make(), "coef0") else {}
        with pytest.raises(ValueError, match=name) as caught:
            method.make(**kernel, **{name: value}).fit(X, hide(y, 6))
        assert len(str(caught.value)) < 400
        refused.append(name)
    assert refused


def test_weights_and_priors_beyond_all_floats_are_refused():
    X, y = two_blobs(20, 3)
    for weight in (10**400, [10**400] * 20):
        with pytest.raises(ValueError, match="sample_weight"):
            NewtonSVC().fit(X, y, sample_weight=weight)
    for prior in ([10**400, 1], {0: 10**400, 1: 1}):
        with pytest.raises(ValueError, match="class_prior"):
            TransductiveSVC(class_prior=prior).fit(X, hide(y, 6))


def test_threads_beyond_all_machines_are_refused():
    assert thread_count(MAX_THREADS) == MAX_THREADS
    assert thread_count(-(10**400)) == 1
    for n_jobs in (100_000, 10**5000, np.int64(2**40)):
        with pytest.raises(ValueError, match="n_jobs=-1 uses all"):
            thread_count(n_jobs)
