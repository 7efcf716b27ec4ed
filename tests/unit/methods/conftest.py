"""What tests of several methods share."""

import numpy as np
import pytest

from maxent_problems import blobs
from problems import hide


@pytest.fixture(params=[2, 4])
def problem(request):
    """Rows of two or four classes, some labels, and the shares of the others."""
    X, y = blobs(request.param)
    partly = hide(y, 5 * request.param)
    free = partly == -1
    return X, partly, np.bincount(y[free]) / free.sum()
