# mypy: ignore-errors
"""Callbacks of the library in Python: what they raise leaves the call.

A handler of a signal may raise where Python begins to run, and that is before the first `try` of a
function: ctypes would print the exception, and it would be lost. A generator that waits inside its
`try` has no such place."""

import operator
import threading
from threading import get_ident

from . import structs
from .calls import keep, kept
from .interpreter import ends_elsewhere
from .values import text_at

_NESTED = 8  # polls of calls that handlers of signals make in a poll


def _keep_signal(exception):
    """Keeps what a handler raised in a generator, without the frame of that: who clears the frames of a
    traceback would end it."""
    exception.__traceback__ = exception.__traceback__.tb_next
    keep(exception)


class Callback(threading.local):
    """What ctypes calls for function(*arguments), or to give `failed`. ctypes asks for __call__ first,
    which runs the generator of this thread until it gives what to call."""

    __call__ = property(operator.methodcaller("_enter", None))

    def __init__(self, function, failed):
        self._function, self._failed = function, failed
        generator = self._entrance()
        next(generator)
        self._enter = generator.send

    def _entrance(self):
        answer = None
        while True:
            try:
                while True:
                    yield answer
                    answer = self._refuse if ends_elsewhere() else self._run
            except GeneratorExit:
                return
            except BaseException as e:  # noqa: BLE001 - it is raised when the call has returned
                _keep_signal(e)
                answer = self._refuse

    def _refuse(self, *arguments):
        return self._failed(*arguments) if callable(self._failed) else self._failed

    def _run(self, *arguments):
        # What is kept is aside meanwhile: calls that the callback makes do not raise it.
        try:
            aside = kept.pop(get_ident(), None)
            try:
                return self._function(*arguments)
            finally:
                if aside is not None:
                    kept[get_ident()] = aside
        except BaseException as e:  # noqa: BLE001 - it is raised when the call has returned
            keep(e)
        return self._refuse(*arguments)


class _Poll(threading.local):
    """For `poll`: lets handlers of signals run. 1: one raised, or the interpreter ends. As handlers may
    call the library, each poll takes a generator that waits, and puts it back."""

    __call__ = property(operator.methodcaller("_take"))

    def __init__(self):
        waiting = []
        for _ in range(_NESTED):
            _add_poll(waiting)
        self._take = waiting.pop


def _add_poll(waiting):
    def looks():
        answer = 0
        while True:
            try:
                while True:
                    yield answer
                    answer = int(ends_elsewhere())
                    waiting.append(send)
            except GeneratorExit:
                return
            except BaseException as e:  # noqa: BLE001 - it is raised when the call has returned
                _keep_signal(e)
                answer = 1
                if send not in waiting:
                    waiting.append(send)
    generator = looks()
    send = generator.send
    next(generator)
    waiting.append(send)


_poll = _Poll()
POLL = structs.weft_poll(_poll)


def poll():
    """POLL, ready on this thread."""
    _poll._take  # noqa: B018 - makes what the thread needs
    return POLL


def progress_of(function):
    """For `progress`: calls the callable with a share from 0 to 1. 1: it said False, or a signal ended
    the call."""
    def progress(_user, share):
        return int(function is not None and function(share) is False)
    return structs.weft_progress(_Progress(progress, 1))


class _Progress(Callback):
    """After an exception it is not called again."""

    def _run(self, *arguments):
        return 1 if get_ident() in kept else super()._run(*arguments)


def token_progress_of(function):
    """The same with numbers of tokens, for calls that look for signals themselves."""
    if function is None:
        return structs.weft_token_progress()
    return structs.weft_token_progress(Callback(
        lambda _user, done, total: int(function(done, total) is False), 1))


def log_of(function):
    """For `log`: calls the callable with a line."""
    return structs.weft_log(Callback(lambda _user, line: function(text_at(line)), None))
