# mypy: ignore-errors
"""Models and their tokens."""

from array import array
from ctypes import CFUNCTYPE, c_int32, c_size_t, c_void_p

from . import functions as api
from . import structs
from .callbacks import Callback, progress_of
from .calls import finish
from .classes import Model
from .constants import (WEFT_DETOKENIZE_SHOW_SPECIAL, WEFT_DETOKENIZE_STRIP_SPACE_PREFIX,
                        WEFT_ERROR_CAPACITY, WEFT_TOKEN_ENDS_TEXT, WEFT_TOKENIZE_ADD_SPECIAL,
                        WEFT_TOKENIZE_PARSE_SPECIAL)
from .handles import Handle, method, static
from .library import short
from .options import begun, take
from .tables import WEFT_MODEL_OPTIONS
from .values import (address_of, bytes_of, c_text_of, filled, id_of, ids_of, int32_of, int64_of,
                     number_of, numpy, taken_bytes, taken_str, values_of)

_SHORT_TEXT = 1 << 12  # bytes, for which letting others run would take longer than encoding them
_short_tokenize = short("weft_tokenize", c_int32, *api.weft_tokenize.argtypes)
_lent = {}  # bytes that models use in place, by the `user` of their release


def _adapters(given, name):
    """A list of pairs of a path and a scale."""
    return [(c_text_of(path, name), number_of(scale, "a scale")) for path, scale in given]


def _model_options(given):
    o = begun(structs.weft_model_options, api.weft_model_options_init)
    rest = take(o, WEFT_MODEL_OPTIONS, given, "Model()",
                ("progress", "overrides", "loras", "control_vectors", "control_layers"))
    if rest["progress"] is not None:
        o.progress = progress_of(rest["progress"])
    if rest["overrides"] is not None:
        o.override_values = values = values_of(rest["overrides"], all_integers=False)
        o.n_override_values = len(values)
    if rest["loras"] is not None:
        all_of = _adapters(rest["loras"], "loras")
        o.loras, o.n_loras = (structs.weft_adapter * len(all_of))(*all_of), len(all_of)
    if rest["control_vectors"] is not None:
        all_of = _adapters(rest["control_vectors"], "control_vectors")
        o.control_vectors = (structs.weft_adapter * len(all_of))(*all_of)
        o.n_control_vectors = len(all_of)
    if rest["control_layers"] is not None:
        first, last = rest["control_layers"]
        o.control_first_layer = int32_of(first, "control_layers")
        o.control_last_layer = int32_of(last, "control_layers")
    return o


@static(Model, "open")
def open_path(path, options):
    name, o = c_text_of(path, "path"), _model_options(options)
    model, error = c_void_p(), c_void_p()
    finish(api.weft_model_open(name, o, model, error), error)
    return Model(model.value)


@static(Model, "open_descriptor")
def open_descriptor(descriptor, options):
    number, o = int32_of(descriptor, "descriptor"), _model_options(options)
    model, error = c_void_p(), c_void_p()
    finish(api.weft_model_open_descriptor(number, None, o, model, error), error)
    return Model(model.value)


_release = CFUNCTYPE(None, c_void_p)(Callback(lambda user: _lent.pop(user, None) and None, None))


@static(Model, "open_buffer")
def open_buffer(buffer, options):
    """Bytes, which cannot change, are used in place; other buffers are copied."""
    o = _model_options(options)
    data = buffer if type(buffer) is bytes else bytes(memoryview(buffer))
    user = id(data) if id(data) not in _lent else id(data := bytes(bytearray(data)))
    _lent[user] = data
    model, error = c_void_p(), c_void_p()
    finish(api.weft_model_open_memory(data, len(data), None, _release, user, o, model, error), error)
    return Model(model.value)


@method(Model, "encode")
def encode(model, text, add_special, parse_special):
    data = bytes_of(text, "text")
    flags = (WEFT_TOKENIZE_ADD_SPECIAL if add_special else 0) | (WEFT_TOKENIZE_PARSE_SPECIAL if parse_special else 0)
    handle = model._handle or model._refuse()
    tokenize = _short_tokenize if len(data) <= _SHORT_TEXT else api.weft_tokenize
    n, capacity = c_size_t(), len(data) + 8
    while True:
        ids, error = array("i", bytes(4 * capacity)), c_void_p()
        status = tokenize(handle, data, len(data), flags, ids.buffer_info()[0], capacity, n, error)
        if status != WEFT_ERROR_CAPACITY or n.value <= capacity:
            break
        api.weft_error_free(error)
        capacity = n.value
    finish(status, error)
    return ids[:n.value].tolist()


@method(Model, "decode")
def decode(model, ids, show_special, strip):
    tokens = ids_of(ids)
    flags = (WEFT_DETOKENIZE_SHOW_SPECIAL if show_special else 0) | (
        WEFT_DETOKENIZE_STRIP_SPACE_PREFIX if strip else 0)
    handle = model._handle or model._refuse()
    text, error = structs.weft_text(), c_void_p()
    finish(api.weft_detokenize(handle, *tokens.buffer_info(), flags, text, error), error)
    return taken_bytes(text)


@method(Model, "ends_text")
def ends_text(model, id):
    token, handle = id_of(id), model._handle or model._refuse()
    info, error = filled(structs.weft_token_info), c_void_p()
    finish(api.weft_token_get_info(handle, token, info, error), error)
    return info.flags & WEFT_TOKEN_ENDS_TEXT != 0


@method(Model, "render")
def render(model, messages, tools, variables, add_generation_prompt):
    """The text of a turn, whose parts are JSON."""
    handle = model._handle or model._refuse()
    turn = begun(structs.weft_chat_turn, api.weft_chat_turn_init)
    turn.messages = c_text_of(messages, "messages")
    turn.tools = None if tools is None else c_text_of(tools, "tools")
    turn.variables = None if variables is None else c_text_of(variables, "variables")
    turn.without_generation_prompt = not add_generation_prompt
    turn.answer_final_message = 1
    chat, text, error = c_void_p(), structs.weft_text(), c_void_p()
    finish(api.weft_chat_open(handle, None, chat, error), error)
    try:
        finish(api.weft_chat_render(chat, turn, text, error), error)
    finally:
        api.weft_chat_free(chat)
    return taken_str(text)


@method(Model, "dot")
def dot(model, n_tokens):
    n, handle = int64_of(n_tokens, "n_tokens"), model._handle or model._refuse()
    text, error = structs.weft_text(), c_void_p()
    finish(api.weft_model_dot(handle, None, n, text, error), error)
    return taken_str(text)


@method(Model, "read_tensor")
def read_tensor(model, name):
    path, handle = c_text_of(name, "name"), model._handle or model._refuse()
    info, n, error = filled(structs.weft_tensor_info), c_size_t(), c_void_p()
    status = api.weft_model_read_tensor(handle, path, info, None, 0, n, error)
    if status == WEFT_ERROR_CAPACITY:
        api.weft_error_free(error)
        status, error = 0, c_void_p()
    finish(status, error)
    values = numpy().empty([info.dims[i].bound for i in range(info.rank)], numpy().float32)
    finish(api.weft_model_read_tensor(handle, path, None, address_of(values), n.value, n, error), error)
    return values


method(Model, "share")(lambda model: Handle._share(model))
Model.closed = property(lambda model: model._handle is None)
