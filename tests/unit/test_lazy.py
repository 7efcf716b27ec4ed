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


def test_what_was_imported_starts_no_search_for_garbage():
    searched = []
    gc.collect()
    gc.callbacks.append(lambda phase, info: searched.append(info["generation"]))
    try:
        with uncollected():
            kept = [[] for _ in range(10 * gc.get_threshold()[0])]
        more = [[] for _ in range(gc.get_threshold()[0] // 2)]
    finally:
        gc.callbacks.pop()
    assert searched == []
    assert len(kept) > len(more)


def test_objects_that_somebody_froze_stay_frozen():
    gc.freeze()
    try:
        with uncollected():
            pass
        assert gc.get_freeze_count() > 0
    finally:
        gc.unfreeze()
