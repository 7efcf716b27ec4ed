"""Compiled code where no cache can be written, in a process of its own."""

import errno
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numba
import pytest
from numba.core import caching

import semisvm
from semisvm import compiling
from semisvm.compiling import WorkClock

CODE = """
import warnings
import numba.core.caching as caching

def refuse(self):
    raise OSError(30, "Read-only file system")

# what a package folder and a home folder that cannot be written look like to numba
caching._CacheLocator.ensure_cache_path = refuse
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from semisvm import NewtonSVC
    model = NewtonSVC().fit([[0.0], [1.0], [3.0], [4.0]], [0, 0, 1, 1])
print([w.category.__name__ for w in caught if "NUMBA_CACHE_DIR" in str(w.message)])
print(model.predict([[0.0], [4.0]]).tolist())
"""


def test_without_a_folder_for_the_cache_everything_works_after_one_warning():
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("COV_", "NUMBA_"))}
    out = subprocess.run(
        [sys.executable, "-c", CODE], capture_output=True, text=True, env=environment
    )
    assert out.returncode == 0, out.stderr
    assert out.stdout.splitlines() == ["['RuntimeWarning']", "[0, 1]"]


KERNEL = """
def twice(x):
    return 2.0 * x
"""


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    """Return a function that compiles a kernel of a file anew, as another process would."""
    path = tmp_path / "kernel.py"
    path.write_text(KERNEL)
    spec = importlib.util.spec_from_file_location("kernel", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def fresh():
        monkeypatch.setattr(compiling, "_warned", False)
        return compiling.compiled(module.twice)

    return fresh


def files(kernel, suffix):
    return sorted(Path(kernel().stats.cache_path).glob(f"*{suffix}"))


def hits(function):
    return sum(function.stats.cache_hits.values())


@pytest.mark.parametrize("suffix", [".nbi", ".nbc"])
@pytest.mark.parametrize("damage", ["empty", "truncated", "zeros", "other"])
def test_damaged_files_of_the_cache_are_compiled_anew_with_a_warning(kernel, suffix, damage):
    assert kernel()(3.0) == 6.0
    function = kernel()
    assert function(3.0) == 6.0
    assert hits(function) == 1
    [path] = files(kernel, suffix)
    content = path.read_bytes()
    changed = {
        "empty": b"",
        "truncated": content[: len(content) // 2],
        "zeros": bytes(len(content)),
        "other": b"\x80\x04N.",  # a pickle of something else
    }
    path.write_bytes(changed[damage])
    function = kernel()
    if damage == "other":  # an index of another version of numba, or no code
        assert function(3.0) == 6.0
    else:
        with pytest.warns(RuntimeWarning, match=f"{re.escape(str(path.parent))} cannot be read"):
            assert function(3.0) == 6.0
    assert hits(function) == 0
    # and the files are whole again
    function = kernel()
    assert function(3.0) == 6.0
    assert hits(function) == 1


def test_a_full_disk_of_the_cache_is_a_warning(kernel, monkeypatch):
    def full(self, filepath):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    function = kernel()
    with monkeypatch.context() as patch:
        patch.setattr(caching.IndexDataCacheFile, "_open_for_write", full)
        with pytest.warns(RuntimeWarning, match=r"cache.* cannot be written .*No space") as warned:
            assert (function(3.0), function(3)) == (6.0, 6.0)
        assert len(warned) == 1
    assert files(kernel, ".nbi") == []
    # damaged, and full
    kernel()(3.0)
    [path] = files(kernel, ".nbi")
    path.write_bytes(b"")
    function = kernel()
    with monkeypatch.context() as patch:
        patch.setattr(caching.IndexDataCacheFile, "_open_for_write", full)
        with pytest.warns(RuntimeWarning, match="cannot be read") as warned:
            assert function(3.0) == 6.0
        assert len(warned) == 1


def test_all_compiled_code_has_the_one_decorator():
    package = Path(semisvm.__file__).parent
    direct = {path.name for path in package.rglob("*.py") if "numba.njit" in path.read_text()}
    assert direct == {"compiling.py"}


def test_the_clock_counts_what_is_compiled_while_it_runs():
    @numba.njit
    def inner(x):
        return x + 1.0

    @numba.njit
    def outer(x):
        return inner(x) * 2.0

    clock = WorkClock()
    assert outer(1) == 4.0
    assert clock.compiling == 0.0
    with clock.running():
        start = perf_counter()
        assert outer(1.0) == 4.0
        assert 0.0 < clock.compiling <= perf_counter() - start
        before = clock.compiling
        assert outer(2.0) == 6.0
    assert clock.compiling == before
