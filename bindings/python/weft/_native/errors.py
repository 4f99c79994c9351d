# mypy: ignore-errors
"""The exceptions of statuses."""

from . import functions as api

_ERRORS = {}  # by the names of statuses


def set_errors(by_status):
    _ERRORS.update(by_status)


def failed(status, message):
    """The exception of a status by its name."""
    return _ERRORS[status](message)


def exception_of(status, message):
    """The exception of a status, which is not WEFT_SUCCESS."""
    return failed(text_of(api.weft_status_name(status)), message)


def text_of(text):
    """A text of the library, with U+FFFD for bytes that are not UTF-8."""
    return text.decode("utf-8", "replace") if text else ""
