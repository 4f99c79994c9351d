# mypy: ignore-errors
"""Calls of the library: their errors, and what their callbacks raised."""

from _thread import allocate_lock, get_ident, start_new_thread
from collections import deque
from ctypes import c_void_p

from . import functions as api
from .constants import WEFT_ERROR_CALLBACK, WEFT_ERROR_IO
from .errors import exception_of, failed, text_of
from .interpreter import ends_elsewhere, is_main_thread, others_inside, stay

# What callbacks raised in the call of a thread, by thread: the first exception counts.
kept = {}
# What callbacks on threads of the library raised, with their messages: the last few.
_remembered = deque(maxlen=8)


def keep(exception):
    """Keeps an exception, which finish() raises when the call has returned."""
    kept.setdefault(get_ident(), exception)


def remember(exception):
    """For callbacks on threads of the library: the message with which finish() finds it."""
    message = f"{type(exception).__name__}: {exception}"
    _remembered.append((message, exception))
    return message


def finish(status, error):
    """Raises the exception of a status (weft/_errors.py), or what a callback of this call raised."""
    if status or kept or _remembered:
        settle(status, error)


def settle(status, error):
    """finish(), if there may be something to raise."""
    if ends_elsewhere():
        stay()
    message, number = "", 0
    if error:
        message, number = text_of(api.weft_error_message(error)), api.weft_error_os_error(error)
        api.weft_error_free(error)
        error.value = None
    exception = kept.pop(get_ident(), None)
    if exception is None and status == 0:
        if _remembered and not others_inside():
            _remembered.clear()
        return
    if exception is None and status == WEFT_ERROR_CALLBACK:
        exception = _take_remembered(message)
    if exception is None:
        exception = exception_of(status, message)
        if status == WEFT_ERROR_IO:
            exception.errno = number
    try:
        raise exception
    finally:
        del exception  # its traceback has this frame


def _take_remembered(message):
    """The one with the longest message that is part of this one: "ValueError: a" is part of
    "ValueError: ab"."""
    found = [one for one in _remembered if one[0] in message]
    if not found:
        return None
    longest = max(reversed(found), key=lambda one: len(one[0]))
    _remembered.remove(longest)
    return longest[1]


def finish_watched(function):
    """Calls function(canceller, error), which does not look for signals itself: on another thread,
    while this one waits for Ctrl-C."""
    if not is_main_thread():
        error = c_void_p()
        finish(function(None, error), error)
        return
    canceller, error = c_void_p(), c_void_p()
    finish(api.weft_canceller_open(canceller, error), error)
    done, ended = allocate_lock(), []

    def work():
        try:
            ended.append((function(canceller, error), kept.pop(get_ident(), None)))
        finally:
            done.release()
    done.acquire()
    start_new_thread(work, ())
    interrupt = _wait(done, canceller)
    api.weft_canceller_free(canceller)
    status, raised = ended[0]
    first = interrupt or raised
    if first is not None:
        keep(first)
    finish(status, error)


def _wait(done, canceller):
    """Waits for the lock. What a handler of a signal raised meanwhile cancels the call."""
    interrupt = None
    while True:
        try:
            done.acquire()
            return interrupt
        except BaseException as e:  # noqa: BLE001 - it is raised later
            interrupt = interrupt or e
            api.weft_canceller_cancel(canceller)


def closed(noun):
    """For handles that are closed."""
    raise failed("closed", f"the {noun} is closed")
