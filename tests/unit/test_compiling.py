"""Compiled code where no cache can be written, in a process of its own."""

import os
import subprocess
import sys
from pathlib import Path
from time import perf_counter

import numba

import semisvm
from semisvm.compiling import CompilationClock

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

    clock = CompilationClock()
    assert outer(1) == 4.0
    assert clock.seconds == 0.0
    with clock.running():
        start = perf_counter()
        assert outer(1.0) == 4.0
        assert 0.0 < clock.seconds <= perf_counter() - start
        before = clock.seconds
        assert outer(2.0) == 6.0
    assert clock.seconds == before
