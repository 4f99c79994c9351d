"""Waits for what other threads and processes do. Only this module of the tests sleeps."""

import time

# Seconds until a test that waits in vain fails. No test passes or fails by a shorter time, because
# any step may take long on a busy machine.
PATIENCE = 240


def eventually(condition, what):
    """The value of condition() once it is true. `what` is a text for the error, or a function that
    returns one."""
    end = time.monotonic() + PATIENCE
    while not (value := condition()):
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what() if callable(what) else what}")
        time.sleep(0.01)
    return value
