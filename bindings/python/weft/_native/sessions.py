# mypy: ignore-errors
"""Sessions and their sequences."""

from array import array
from ctypes import c_float, c_int32, c_size_t, c_void_p

from . import functions as api
from . import structs
from .calls import finish
from .classes import Session
from .handles import Owner, method
from .values import filled, ids_of, int32_of, list_of, numpy

_NO_PROGRESS = structs.weft_token_progress()
_MOST_KEPT = 4  # places of rows: a session has one or two

Session._waits = False  # running calls have their own hold on it
Session.closed = property(lambda session: session._handle is None)


def _shared(handle):
    """Another hold on a session, which stays if it is closed."""
    shared, error = c_void_p(), c_void_p()
    finish(api.weft_session_share(handle, shared, error), error)
    return Owner(api.weft_session_free, shared.value)


def _rows_of(session, handle, address, shape):
    """Floats [shape] in the memory of a session, which they keep."""
    n = 1
    for extent in shape:
        n *= extent
    if n == 0:
        return numpy().empty(shape, numpy().float32)
    known = session._state
    if known is None:
        known = session._state = {}
    place = known.get((address, n))
    if place is None:
        if len(known) == _MOST_KEPT:
            known.clear()
        place = (c_float * n).from_address(address)
        place.keeps = _shared(handle)
        known[address, n] = place
    rows = numpy().frombuffer(place, numpy().float32)
    return rows if len(shape) == 1 else rows.reshape(shape)


@method(Session, "logits")
def logits(session):
    handle = session._handle or session._refuse()
    data, n, error = c_void_p(), c_size_t(), c_void_p()
    with session._lock:
        finish(api.weft_session_get_logits(handle, data, n, error), error)
        return _rows_of(session, handle, data.value, (n.value,))


@method(Session, "feed")
def feed(session, sequence, ids):
    tokens, at = ids_of(ids), int32_of(sequence, "sequence")
    handle, error = session._handle or session._refuse(), c_void_p()
    with session._lock:
        finish(api.weft_session_feed(handle, at, *tokens.buffer_info(), _NO_PROGRESS, None, error), error)


@method(Session, "step")
def step(session, sequence, ids):
    """One step, with a row for every token."""
    at = int32_of(sequence, "sequence")
    given = ids_of(ids)
    # weft_step_token: token, sequence, logits, type.
    tokens = array("i", [x for id in given for x in (id, at, 1, 0)])
    first = structs.weft_step_token.from_buffer(tokens) if given else None
    handle = session._handle or session._refuse()
    rows, n, error, info = c_void_p(), c_size_t(), c_void_p(), filled(structs.weft_session_info)
    with session._lock:
        finish(api.weft_session_step(handle, first, len(given), rows, n, error), error)
        finish(api.weft_session_get_info(handle, info, error), error)
        return _rows_of(session, handle, rows.value, (n.value, info.row_width))


@method(Session, "tokens")
def tokens(session, sequence):
    """The ids that a sequence holds."""
    at, handle = int32_of(sequence, "sequence"), session._handle or session._refuse()
    data, n, error = c_void_p(), c_size_t(), c_void_p()
    with session._lock:
        keeps = _shared(handle)  # stays if another thread closes the session
        finish(api.weft_session_get_tokens(keeps._handle, at, data, n, error), error)
        return list_of(c_int32, data, n)
