# mypy: ignore-errors
"""Drafts."""

from ctypes import c_void_p

from . import functions as api
from . import structs
from .callbacks import log_of
from .calls import finish
from .classes import Model, Session, Speculation
from .handles import handle_of, optional_handle, static
from .options import begun, refer, session_options, take
from .tables import WEFT_SPECULATION_OPTIONS


@static(Speculation, "open")
def open_speculation(session, draft_model, draft_session, options):
    """The speculation, and what the library says about types that it leaves out."""
    lines = []
    o = begun(structs.weft_speculation_options, api.weft_speculation_options_init)
    take(o, WEFT_SPECULATION_OPTIONS, options, "Speculation()")
    if draft_session is not None:
        refer(o, "draft_session", session_options(draft_session))
    o.draft_model = optional_handle(draft_model, Model, "draft_model")
    o.log = log_of(lines.append)
    handle = handle_of(session, Session, "session")
    speculation, error = c_void_p(), c_void_p()
    finish(api.weft_speculation_open(handle, o, speculation, error), error)
    return Speculation(speculation.value, session._lock), lines
