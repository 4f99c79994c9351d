"""What all objects of the library share."""

import os
import threading
from typing import Any, NoReturn


class Lock:
    """A lock for with, which its thread may take again. In the child of a fork it is free: the
    thread that held it does not exist there."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._process = os.getpid()

    def __enter__(self) -> None:
        if self._process != os.getpid():
            self._lock, self._process = threading.RLock(), os.getpid()
        self._lock.acquire()

    def __exit__(self, *exception: Any) -> None:
        self._lock.release()


class Unpicklable:
    """An object of this process, which cannot be copied or pickled."""

    _instead = "open it again where it is needed"

    def _refuse(self) -> NoReturn:
        name = type(self).__name__
        raise TypeError(f"a {name} cannot be pickled or copied: {self._instead}")

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        self._refuse()

    def __copy__(self) -> NoReturn:
        self._refuse()

    def __deepcopy__(self, memo: Any) -> NoReturn:
        self._refuse()
