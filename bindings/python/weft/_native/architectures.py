# mypy: ignore-errors
"""Architectures whose builders are Python, and their check."""

from ctypes import c_int32, c_size_t, c_void_p, sizeof

from . import functions as api
from . import structs
from .callbacks import Callback
from .calls import finish
from .classes import Builder, Keys, Model
from .constants import WEFT_ARCHITECTURE_REPLACES, WEFT_ERROR_CALLBACK
from .handles import function, handle_of, method
from .options import begun, session_options, take
from .tables import WEFT_ATTEND_OPTIONS
from .values import (c_text_of, dict_of, ids_of, int32_of, int32s_of, int64_of, out_of, taken_str,
                     uint32_of)

_MOST_ROPE_VALUES = 32
_registered = []  # callbacks live as long as the process


@method(Builder, "rope")
def rope_of(builder):
    values = (structs.weft_value * _MOST_ROPE_VALUES)()
    n, error = c_size_t(), c_void_p()
    finish(api.weft_builder_get_rope(builder._handle, values, len(values), n, error), error)
    return dict_of(values, n.value)


@method(Builder, "attend")
def attend(builder, layer, qkv, options):
    at, ids = int64_of(layer, "layer"), int32s_of(qkv, "qkv")
    o = begun(structs.weft_attend_options, api.weft_attend_options_init)
    take(o, WEFT_ATTEND_OPTIONS, options, "attend()")
    if not 1 <= len(ids) <= 3:
        raise IndexError(f"qkv must have 1 to 3 tensors, not {len(ids)}")
    call = (api.weft_builder_attend_stored, api.weft_builder_attend_latent, api.weft_builder_attend)[len(ids) - 1]
    y, error = c_int32(), c_void_p()
    finish(call(builder._handle, at, *ids, o, y, error), error)
    return y.value


def _failing(message):
    """What a callback gives that raised."""
    return lambda *arguments: api.weft_error_make(WEFT_ERROR_CALLBACK, message, out_of(arguments[-1]))


def _configuring(configure):
    def call(_user, config, _error):
        configure(Keys(config))
        return 0
    return structs.weft_architecture_configure(
        Callback(call, _failing(b"configure() raised an exception")))


def _building(build):
    def call(_user, builder, result, _error):
        c_int32.from_address(result).value = int32_of(build(Builder(builder)), "what build() gives")
        return 0
    return structs.weft_architecture_build(Callback(call, _failing(b"build() raised an exception")))


@function("register_architecture")
def register_architecture(name, build, configure, flags):
    a = structs.weft_architecture()
    a.struct_size = sizeof(a)
    a.flags = uint32_of(flags, "flags") | WEFT_ARCHITECTURE_REPLACES
    a.name = c_text_of(name, "name")
    a.build = _building(build)
    if configure is not None:
        a.configure = _configuring(configure)
    _registered.append(a)
    error = c_void_p()
    finish(api.weft_register_architecture(a, error), error)


@function("verify_model")
def verify_model(model, ids, options):
    tokens, o = ids_of(ids), session_options(options)
    handle = handle_of(model, Model, "model")
    json, passed, error = structs.weft_text(), c_int32(), c_void_p()
    finish(api.weft_verify_json(handle, o, *tokens.buffer_info(), None, passed, json, error), error)
    return passed.value != 0, taken_str(json)
