# mypy: ignore-errors
"""Handles of the library as objects, and how functions become their methods."""

import operator
import threading
from functools import partial

from .calls import closed

FUNCTIONS = {}  # of the module
# __del__ without code of Python: what a handler of a signal raises there would be lost.
_END = property(operator.attrgetter("_end"))
_NOTHING = int
_LONGEST_WAIT = 0.1  # seconds; copies of results take microseconds


class Owner:
    """Frees a handle with the last object that has it."""

    __slots__ = ("_end", "_handle")
    __del__ = _END

    def __init__(self, free, handle):
        self._handle = handle
        self._end = partial(free, handle)


class Lent:
    """A handle that is valid until the callback which gets it returns."""

    __slots__ = ("_handle", "_lock")

    def __init__(self, handle):
        self._handle = handle
        self._lock = threading.RLock()

    def _refuse(self):
        closed("builder")


class Handle:
    """A handle, which close() frees. Messages call it `_noun`.

    _lock keeps other calls out while results are copied that the library lends; calls of a session and
    of all that belongs to it change each other's results."""

    __slots__ = ("__weakref__", "_end", "_handle", "_lock", "_owner", "_state")
    __del__ = _END
    _waits = True  # whether close() waits for a running call

    def __init__(self, handle, lock=None):
        self._handle = handle
        self._lock = threading.RLock() if lock is None else lock
        self._owner = self._state = None
        self._end = partial(self._free, handle)

    def _refuse(self):
        closed(self._noun)

    def _close(self):
        handle, self._handle = self._handle, None
        if not handle:
            return
        # A call that is running goes on with its own hold on the object.
        locked = self._lock.acquire(timeout=-1 if self._waits else _LONGEST_WAIT)
        try:
            end, self._end = self._end, _NOTHING
            self._owner = self._state = None
            end()
        finally:
            if locked:
                self._lock.release()

    def _share(self):
        """Another handle of the same object."""
        handle = self._handle or self._refuse()
        if self._owner is None:
            self._end, self._owner = _NOTHING, Owner(self._free, handle)
        other = type(self)(handle, self._lock)
        other._end, other._owner = _NOTHING, self._owner
        return other


def handle_of(value, kind, name):
    """The handle of an argument."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} must be a {kind.__name__}, not {type(value).__name__}")
    return value._handle or value._refuse()


def optional_handle(value, kind, name):
    return None if value is None else handle_of(value, kind, name)


def _named(function, kind, name):
    """The function with the name that tracebacks show."""
    function.__code__ = function.__code__.replace(co_name=name)
    function.__name__, function.__qualname__ = name, f"{kind.__name__}.{name}" if kind else name
    return function


def method(kind, name):
    """Makes a function a method of a class."""
    def add(function):
        setattr(kind, name, _named(function, kind, name))
        return function
    return add


def static(kind, name):
    """Makes a function a static method of a class."""
    def add(function):
        setattr(kind, name, staticmethod(_named(function, kind, name)))
        return function
    return add


def function(name):
    """Makes a function one of the module."""
    def add(one):
        FUNCTIONS[name] = _named(one, None, name)
        return one
    return add
