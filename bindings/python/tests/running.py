"""Calls of the library that are running: finding them, and Ctrl-C during one."""

import os
import pathlib
import signal
import sys
import threading

import weft

sys.path.insert(0, str(pathlib.Path(os.environ["WEFT_SOURCE"]) / "tests/system"))
from waiting import eventually  # noqa: E402


def is_busy(session):
    """Whether another thread is in a call of the session."""
    try:
        session.length()
    except weft.BusyError:
        return True
    return False


def ctrl_c_ends(work, call):
    """Whether Ctrl-C ends the call of this name that `work`, which goes on forever, makes of the
    library. A call that does not look for it returns, and the interpreter raises the exception."""
    open_calls, ended = [], []
    main = threading.get_ident()

    def profile(_frame, event, function):
        if getattr(function, "__name__", "") != call:
            return
        if event == "c_call":
            open_calls.append(call)
        else:
            open_calls.clear()
            ended.append(event)

    def computes():
        """The main thread is in the call: profile() has returned to the package's code."""
        file = pathlib.Path(sys._current_frames()[main].f_code.co_filename)
        return open_calls and file.parent.name == "weft"

    def send():
        eventually(computes, call)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=send)
    try:
        thread.start()
        sys.setprofile(profile)
        work()
    except KeyboardInterrupt:
        pass
    finally:
        sys.setprofile(None)
    thread.join()
    return ended[-1:] == ["c_exception"]
