"""Calls of the library that are running: finding them, and Ctrl-C during one."""

import os
import pathlib
import signal
import sys
import threading
import traceback

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


def _functions(frame):
    """The names of the functions of the package's calls of the library that a thread is in, the
    innermost first."""
    names = []
    while frame is not None:
        if pathlib.Path(frame.f_code.co_filename).parent.name == "_native":
            names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names


def ctrl_c_ends(work, call):
    """Whether Ctrl-C ends the call of this name that `work`, which goes on forever, makes of the
    library. A call that does not look for it returns, and the interpreter raises the exception."""
    main = threading.get_ident()

    def send():
        eventually(lambda: call in _functions(sys._current_frames()[main]), call)
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=send)
    trace = None
    try:
        thread.start()
        work()
    except KeyboardInterrupt as e:
        trace = e.__traceback__
    thread.join()
    names = [frame.f_code.co_name for frame, _ in traceback.walk_tb(trace)]
    # Where it was raised: by the call, for what its poll kept, or in what waits for the call.
    return call in names and names[-1] in ("settle", "_wait")
