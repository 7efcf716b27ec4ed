"""Waiting for what happens in other threads and processes, whatever else the machine does."""

import time

PATIENCE = 400.0
"""Seconds after which a test fails rather than hangs; nothing may depend on being quicker.

In a new clone every process compiles what it runs: the first model of a sitting takes half a minute
on an idle core, and several times that on a busy machine.
"""


def wait_until(true, seconds=PATIENCE):
    """Wait until a function returns something true, and return that."""
    end = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.01)
    return found
