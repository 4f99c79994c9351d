# mypy: ignore-errors
"""Constraints, chats and replies."""

from ctypes import addressof, c_char, c_void_p, string_at

from . import calls
from . import functions as api
from . import structs
from .callbacks import Callback
from .classes import Chat, ChatPlan, Constraint, Reply
from .constants import WEFT_STOP_END_OF_TEXT, WEFT_STOP_NONE
from .handles import handle_of, method, static
from .options import begun, take
from .tables import WEFT_CHAT_TURN
from .values import bytes_of, numpy


@method(Constraint, "apply")
def apply_constraint(constraint, logits):
    """Sets the logits of tokens that may not come next to -inf, in the array."""
    np = numpy()
    if not isinstance(logits, np.ndarray) or logits.dtype != np.float32 or not logits.flags.c_contiguous:
        raise TypeError("logits must be a contiguous array of float32")
    if not logits.flags.writeable:
        raise ValueError("logits cannot be written to")
    handle, error = constraint._handle or constraint._refuse(), c_void_p()
    data = addressof(c_char.from_buffer(logits)) if logits.size else None
    with constraint._lock:
        calls.finish(api.weft_constraint_apply(handle, data, logits.size, error), error)


@static(ChatPlan, "open")
def open_plan(chat, turn):
    o = begun(structs.weft_chat_turn, api.weft_chat_turn_init)
    take(o, WEFT_CHAT_TURN, turn, "plan()")
    handle, plan, error = handle_of(chat, Chat, "chat"), c_void_p(), c_void_p()
    calls.finish(api.weft_chat_plan_open(handle, o, plan, error), error)
    return ChatPlan(plan.value)


class _Events:
    """The events of a reply, from its callback."""

    def __init__(self):
        self.found = []
        self.callback = structs.weft_on_reply(Callback(self._keep, 1))

    def _keep(self, _user, event):
        one = event[0]
        text = string_at(one.text, one.text_size).decode() if one.text_size else ""
        self.found.append((one.kind, text, one.call, (one.id or b"").decode()))
        return 0


@method(Reply, "push")
def push_text(reply, text, finish, truncated=False):
    """Events as (kind, text, call, id). `truncated`: a limit or the caller ended the reply, not the
    model."""
    data, handle, error = bytes_of(text, "text"), reply._handle or reply._refuse(), c_void_p()
    with reply._lock:
        events = reply._state = reply._state or _Events()
        events.found = found = []
        calls.finish(api.weft_reply_push(handle, data, len(data), events.callback, None, error), error)
        if finish:
            stop = WEFT_STOP_NONE if truncated else WEFT_STOP_END_OF_TEXT
            calls.finish(api.weft_reply_end(handle, stop, events.callback, None, error), error)
    return found
