"""The exceptions of the library: what went wrong, and what Python calls it."""

from . import _weft


class Error(Exception):
    """Anything that the library refuses; its message is the library's."""


class ArgumentError(Error, ValueError):
    """An argument or option is out of range."""


class FormatError(Error, ValueError):
    """A file, text or message is malformed."""


class ShapeError(Error, ValueError):
    """Dimensions do not fit."""


class DTypeError(Error, TypeError):
    """An element type does not fit, or is unknown."""


class UnsupportedError(Error, NotImplementedError):
    """Well-formed, but not implemented."""


class IoError(Error, OSError):
    """The system refused; `errno` says why."""

    def __init__(self, message: str = "") -> None:
        super().__init__(message)
        self.errno = 0

    def __str__(self) -> str:
        return str(self.args[0]) if self.args else ""


class BudgetError(Error, MemoryError):
    """It needs more memory than it may use."""


class CancelledError(Error):
    """The call was cancelled."""


class ClosedError(Error, ValueError):
    """The object is closed, or the process is ending."""


class BusyError(Error, RuntimeError):
    """Another thread uses the object."""


class ForkedError(Error, RuntimeError):
    """The object belongs to the parent process."""


class NanError(Error, ArithmeticError):
    """Logits are not numbers: the file or a kernel is wrong."""


class CallbackError(Error, RuntimeError):
    """A callback, a custom op or a plug-in failed."""


class InternalError(Error, RuntimeError):
    """A defect of the library: please report it."""


_weft.set_errors({
    "argument": ArgumentError, "format": FormatError, "shape": ShapeError, "dtype": DTypeError,
    "unsupported": UnsupportedError, "io": IoError, "budget": BudgetError, "memory": BudgetError,
    "cancelled": CancelledError, "nan": NanError, "handle": ClosedError, "busy": BusyError,
    "forked": ForkedError, "closed": ClosedError, "callback": CallbackError,
    "capacity": InternalError, "internal": InternalError, "unknown": InternalError,
})
