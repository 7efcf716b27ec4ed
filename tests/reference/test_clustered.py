"""CVS3VM on the paper's data, where they are at hand; `python -m papers clustered` has more."""

import numpy as np
import pytest
from papers.clustered import load_complete, plain_rlp
from sklearn.preprocessing import scale

from semisvm import ClusteredSVC, RobustLPC


@pytest.mark.parametrize(("name", "bar"), [("wbc", 0.94), ("housing", 0.80)])
def test_a_tenth_of_the_labels(name, bar, dataset):
    X, y = dataset(name)
    X, y = scale(X), (y == y.max()).astype(int)
    model = ClusteredSVC(random_state=0).fit(X, oracle=y)
    rest = np.setdiff1d(np.arange(len(y)), model.queried_)
    assert len(model.queried_) == round(0.1 * len(y))
    assert np.mean(model.transduction_[rest] == y[rest]) > bar


def test_rows_with_missing_values_are_left_out(dataset, tmp_path):
    X, y = dataset("heart_cleveland")
    (tmp_path / "heart_cleveland").mkdir()
    np.save(tmp_path / "heart_cleveland" / "X.npy", X)
    np.save(tmp_path / "heart_cleveland" / "y.npy", y)
    complete, classes = load_complete(tmp_path, "heart_cleveland")
    assert complete.shape == (297, 25)
    assert set(classes) == {0, 1}


def test_plain_rlp_has_the_least_errors():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), rng.integers(0, 2, 40)
    plane = plain_rlp(X, y)
    signs = np.where(y == 1, 1.0, -1.0)
    errors = np.maximum(0.0, 1.0 - signs * (X @ plane.w + plane.b)).sum()
    assert errors == pytest.approx(RobustLPC().fit(X, y).objective_, rel=1e-5)
