"""What tests of several solvers share."""

import pytest

from semisvm.solvers import crammer_singer


@pytest.fixture
def ascent_alone(monkeypatch):
    """Take no Newton steps."""
    monkeypatch.setattr(crammer_singer, "PATIENCE", 10**9)
