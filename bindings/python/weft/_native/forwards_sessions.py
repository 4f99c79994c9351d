# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""Functions of the C API that need no code of their own."""

from ctypes import c_float, c_int32, c_int64, c_size_t, c_uint64, c_void_p

from . import functions as api
from . import structs, tables
from .calls import finish
from .classes import Model, Saved, Session, Speculation
from .handles import handle_of, method, static
from .options import session_options
from .values import (address_of, bytes_of, c_text_of, filled, ids_of, int32_of, int64_of,
                     lent_bytes, list_of, numbers_of, only_bytes, optional_c_text_of, taken_bytes,
                     taken_str)


@static(Session, "open")
def session_open(model, options):
    c_options = session_options(options)
    c_model = handle_of(model, Model, "model")
    c_session = c_void_p()
    error = c_void_p()
    finish(api.weft_session_open(c_model, c_options, c_session, error), error)
    return Session(c_session.value)


@method(Session, "cancel")
def session_cancel(session):
    c_session = session._handle or session._refuse()
    api.weft_session_cancel(c_session)


@method(Session, "info")
def session_get_info(session):
    c_session = session._handle or session._refuse()
    c_info = filled(structs.weft_session_info)
    error = c_void_p()
    finish(api.weft_session_get_info(c_session, c_info, error), error)
    return tables.session_info_dict(c_info)


@method(Session, "json")
def session_json(session):
    c_session = session._handle or session._refuse()
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_session_json(c_session, c_json, error), error)
    return taken_str(c_json)


@method(Session, "plan_json")
def session_plan_json(session, n_tokens):
    c_n_tokens = int64_of(n_tokens, "n_tokens")
    c_session = session._handle or session._refuse()
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_session_plan_json(c_session, c_n_tokens, c_json, error), error)
    return taken_str(c_json)


@method(Session, "plan_hash")
def session_get_plan_hash(session, n_tokens):
    c_n_tokens = int64_of(n_tokens, "n_tokens")
    c_session = session._handle or session._refuse()
    c_hash = c_uint64()
    error = c_void_p()
    finish(api.weft_session_get_plan_hash(c_session, c_n_tokens, c_hash, error), error)
    return c_hash.value


@method(Session, "dot")
def session_dot(session, n_tokens):
    c_n_tokens = int64_of(n_tokens, "n_tokens")
    c_session = session._handle or session._refuse()
    c_dot = structs.weft_text()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_dot(c_session, c_n_tokens, c_dot, error), error)
        return taken_str(c_dot)


@method(Session, "plan_svg")
def session_plan_svg(session, n_tokens):
    c_n_tokens = int64_of(n_tokens, "n_tokens")
    c_session = session._handle or session._refuse()
    c_svg = structs.weft_text()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_plan_svg(c_session, c_n_tokens, c_svg, error), error)
        return taken_str(c_svg)


@method(Session, "profile")
def session_profile(session, sequence, tokens):
    c_sequence = int32_of(sequence, "sequence")
    c_tokens = ids_of(tokens)
    c_session = session._handle or session._refuse()
    c_json = structs.weft_text()
    c_svg = structs.weft_text()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_profile(c_session, c_sequence, *c_tokens.buffer_info(), c_json,
                                        c_svg, error), error)
        return (taken_str(c_json), taken_str(c_svg))


@method(Session, "encode")
def session_encode(session, sequence, tokens):
    c_sequence = int32_of(sequence, "sequence")
    c_tokens = ids_of(tokens)
    c_session = session._handle or session._refuse()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_encode(c_session, c_sequence, *c_tokens.buffer_info(), error),
                                       error)


@method(Session, "length")
def session_get_length(session, sequence):
    c_sequence = int32_of(sequence, "sequence")
    c_session = session._handle or session._refuse()
    c_length = c_int64()
    error = c_void_p()
    finish(api.weft_session_get_length(c_session, c_sequence, c_length, error), error)
    return c_length.value


@method(Session, "common_prefix")
def session_get_common_prefix(session, sequence, tokens):
    c_sequence = int32_of(sequence, "sequence")
    c_tokens = ids_of(tokens)
    c_session = session._handle or session._refuse()
    c_n_common = c_size_t()
    error = c_void_p()
    finish(api.weft_session_get_common_prefix(c_session, c_sequence, *c_tokens.buffer_info(),
                                              c_n_common, error), error)
    return c_n_common.value


@method(Session, "truncate")
def session_truncate(session, sequence, length):
    c_sequence = int32_of(sequence, "sequence")
    c_length = int64_of(length, "length")
    c_session = session._handle or session._refuse()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_truncate(c_session, c_sequence, c_length, error), error)


@method(Session, "resume_point")
def session_get_resume_point(session, sequence, length):
    c_sequence = int32_of(sequence, "sequence")
    c_length = int64_of(length, "length")
    c_session = session._handle or session._refuse()
    c_resume_point = c_int64()
    error = c_void_p()
    finish(api.weft_session_get_resume_point(c_session, c_sequence, c_length, c_resume_point,
                                             error), error)
    return c_resume_point.value


@method(Session, "copy")
def session_copy(session, from_, to, length):
    c_from = int32_of(from_, "from")
    c_to = int32_of(to, "to")
    c_length = int64_of(length, "length")
    c_session = session._handle or session._refuse()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_copy(c_session, c_from, c_to, c_length, error), error)


@method(Session, "set_lora_scales")
def session_set_lora_scales(session, sequence, scales):
    c_sequence = int32_of(sequence, "sequence")
    c_scales = numbers_of(scales, "scales")
    c_session = session._handle or session._refuse()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_set_lora_scales(c_session, c_sequence, address_of(c_scales),
                                                c_scales.size, error), error)


@method(Session, "lora_scales")
def session_get_lora_scales(session, sequence):
    c_sequence = int32_of(sequence, "sequence")
    c_session = session._handle or session._refuse()
    c_scales, c_n = c_void_p(), c_size_t()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_get_lora_scales(c_session, c_sequence, c_scales, c_n, error), error)
        return list_of(c_float, c_scales, c_n)


@method(Session, "save")
def session_save(session, sequence, tokens, note):
    c_sequence = int32_of(sequence, "sequence")
    c_tokens = ids_of(tokens)
    c_note = bytes_of(note, "note")
    c_session = session._handle or session._refuse()
    c_bytes = structs.weft_text()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_save(c_session, c_sequence, *c_tokens.buffer_info(), c_note,
                                     len(c_note), c_bytes, error), error)
        return taken_bytes(c_bytes)


@method(Session, "save_file")
def session_save_file(session, sequence, tokens, note, path):
    c_sequence = int32_of(sequence, "sequence")
    c_tokens = ids_of(tokens)
    c_note = bytes_of(note, "note")
    c_path = c_text_of(path, "path")
    c_session = session._handle or session._refuse()
    error = c_void_p()
    with session._lock:
        finish(api.weft_session_save_file(c_session, c_sequence, *c_tokens.buffer_info(), c_note,
                                          len(c_note), c_path, error), error)


@static(Saved, "open_memory")
def saved_open_memory(data):
    c_data = only_bytes(data, "data")
    c_saved = c_void_p()
    error = c_void_p()
    finish(api.weft_saved_open_memory(c_data, len(c_data), c_saved, error), error)
    return Saved(c_saved.value)


@static(Saved, "open")
def saved_open(path):
    c_path = c_text_of(path, "path")
    c_saved = c_void_p()
    error = c_void_p()
    finish(api.weft_saved_open(c_path, c_saved, error), error)
    return Saved(c_saved.value)


@method(Saved, "tokens")
def saved_get_tokens(saved):
    c_saved = saved._handle or saved._refuse()
    c_tokens, c_n = c_void_p(), c_size_t()
    error = c_void_p()
    with saved._lock:
        finish(api.weft_saved_get_tokens(c_saved, c_tokens, c_n, error), error)
        return list_of(c_int32, c_tokens, c_n)


@method(Saved, "note")
def saved_get_note(saved):
    c_saved = saved._handle or saved._refuse()
    c_note, c_size = c_void_p(), c_size_t()
    error = c_void_p()
    with saved._lock:
        finish(api.weft_saved_get_note(c_saved, c_note, c_size, error), error)
        return lent_bytes(c_note, c_size)


@method(Saved, "restore")
def saved_restore(saved, session, sequence, n_tokens):
    c_sequence = int32_of(sequence, "sequence")
    c_n_tokens = int64_of(n_tokens, "n_tokens")
    c_saved = saved._handle or saved._refuse()
    c_session = handle_of(session, Session, "session")
    error = c_void_p()
    with saved._lock:
        finish(api.weft_saved_restore(c_saved, c_session, c_sequence, c_n_tokens, error), error)


@method(Saved, "resume_point")
def saved_get_resume_point(saved, session, n_tokens):
    c_n_tokens = int64_of(n_tokens, "n_tokens")
    c_saved = saved._handle or saved._refuse()
    c_session = handle_of(session, Session, "session")
    c_resume_point = c_int64()
    error = c_void_p()
    finish(api.weft_saved_get_resume_point(c_saved, c_session, c_n_tokens, c_resume_point, error),
                                           error)
    return c_resume_point.value


@method(Speculation, "info")
def speculation_get_info(speculation, type):
    c_type = optional_c_text_of(type, "type")
    c_speculation = speculation._handle or speculation._refuse()
    c_info = filled(structs.weft_speculation_info)
    error = c_void_p()
    with speculation._lock:
        finish(api.weft_speculation_get_info(c_speculation, c_type, c_info, error), error)
        return tables.speculation_info_dict(c_info)
