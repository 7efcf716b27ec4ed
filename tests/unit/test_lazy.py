"""Names that are imported when they are first used."""

import gc

import pytest

from semisvm._lazy import attributes, uncollected


def test_names_are_found_where_they_live():
    find = attributes("somewhere", {"sqrt": "math"})
    assert find("sqrt")(4.0) == 2.0
    with pytest.raises(AttributeError, match="module 'somewhere' has no attribute 'root'"):
        find("root")


def test_the_garbage_collector_rests_and_comes_back():
    assert gc.isenabled()
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()
    with pytest.raises(ImportError), uncollected():
        raise ImportError
    assert gc.isenabled()


def test_a_collector_that_is_off_stays_off():
    gc.disable()
    try:
        with uncollected():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
