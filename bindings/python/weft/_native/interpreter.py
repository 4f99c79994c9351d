# mypy: ignore-errors
"""The end of the interpreter, while threads are in the library.

A thread that asks for Python's lock after the end of the interpreter is ended where it stands, also in
the middle of C++. So before that end no thread may be in a call that may call back."""

import sys
import time
from threading import get_ident

from . import functions

_PACKAGE = __package__
_LONGEST_WAIT = 1.0  # seconds

_main_thread = 0
_ending_thread = 0  # 0: the interpreter goes on


def set_main_thread(ident):
    """At import, and in the child of a fork."""
    global _main_thread, _ending_thread
    _main_thread, _ending_thread = ident, 0


def is_main_thread():
    return get_ident() == _main_thread


def ends_elsewhere():
    """Whether another thread ends the interpreter."""
    return _ending_thread != 0 and _ending_thread != get_ident()


def stay():
    """For a thread that must not come back to Python, as its exceptions would be printed."""
    while True:
        time.sleep(60)


def others_inside():
    """Whether other threads are in calls of the library, or in callbacks of it."""
    own = get_ident()
    return any(_is_inside(frame) for ident, frame in sys._current_frames().items() if ident != own)


def _is_inside(frame):
    found = False
    while frame is not None:
        if frame.f_code is stay.__code__:
            return False
        found = found or frame.f_globals.get("__package__") == _PACKAGE
        frame = frame.f_back
    return found


def _refusing(function):
    """The same for the thread that ends the interpreter; other threads stay."""
    def call(*arguments):
        if ends_elsewhere():
            stay()
        return function(*arguments)
    return call


def begin_exit():
    """For Python's atexit: from now on, callbacks on other threads fail, and these threads do not come
    back to Python. Waits for them, for a second at most."""
    global _ending_thread
    _ending_thread = get_ident()
    names = vars(functions)
    names.update({name: _refusing(function) for name, function in names.items() if name.startswith("weft_")})
    limit = time.monotonic() + _LONGEST_WAIT
    while others_inside() and time.monotonic() < limit:
        time.sleep(0.001)
