# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""Functions of the C API that need no code of their own."""

from ctypes import c_float, c_int32, c_size_t, c_void_p

from . import functions as api
from . import structs, tables
from .calls import finish
from .classes import Constraint, Detokenizer, Grammar, Model, Sampler
from .handles import function, handle_of, method, optional_handle, static
from .options import sampler_options
from .values import (address_of, bytes_of, c_text_of, filled, id_of, int32_of, lent_bytes,
                     numbers_of, optional_text_at, size_t_of, taken_bytes, taken_str, text_of,
                     uint32_of, uint64_of, words_of)


@function("version")
def version():
    return text_of(api.weft_version())


@function("about_json")
def about_json():
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_about_json(c_json, error), error)
    return taken_str(c_json)


@function("guard_mappings")
def guard_mappings():
    error = c_void_p()
    finish(api.weft_guard_mappings(error), error)


@function("load_backend")
def load_backend(path):
    c_path = c_text_of(path, "path")
    error = c_void_p()
    finish(api.weft_load_backend(c_path, error), error)


@method(Model, "info")
def model_get_info(model):
    c_model = model._handle or model._refuse()
    c_info = filled(structs.weft_model_info)
    error = c_void_p()
    with model._lock:
        finish(api.weft_model_get_info(c_model, c_info, error), error)
        return tables.model_info_dict(c_info)


@method(Model, "metadata_json")
def model_metadata_json(model, max_elements):
    c_max_elements = size_t_of(max_elements, "max_elements")
    c_model = model._handle or model._refuse()
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_model_metadata_json(c_model, c_max_elements, c_json, error), error)
    return taken_str(c_json)


@method(Model, "warnings_json")
def model_warnings_json(model):
    c_model = model._handle or model._refuse()
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_model_warnings_json(c_model, c_json, error), error)
    return taken_str(c_json)


@method(Model, "chat_template")
def model_get_chat_template(model):
    c_model = model._handle or model._refuse()
    c_text = c_void_p()
    error = c_void_p()
    with model._lock:
        finish(api.weft_model_get_chat_template(c_model, c_text, error), error)
        return optional_text_at(c_text.value)


@method(Model, "check_files")
def model_check_files(model):
    c_model = model._handle or model._refuse()
    error = c_void_p()
    finish(api.weft_model_check_files(c_model, error), error)


@method(Model, "token_bytes")
def token_get_bytes(model, token):
    c_token = id_of(token)
    c_model = model._handle or model._refuse()
    c_data, c_size = c_void_p(), c_size_t()
    error = c_void_p()
    with model._lock:
        finish(api.weft_token_get_bytes(c_model, c_token, c_data, c_size, error), error)
        return lent_bytes(c_data, c_size)


@method(Model, "token_text")
def token_get_text(model, token):
    c_token = id_of(token)
    c_model = model._handle or model._refuse()
    c_data, c_size = c_void_p(), c_size_t()
    error = c_void_p()
    with model._lock:
        finish(api.weft_token_get_text(c_model, c_token, c_data, c_size, error), error)
        return lent_bytes(c_data, c_size)


@method(Model, "find_token")
def token_find(model, text):
    c_text = bytes_of(text, "text")
    c_model = model._handle or model._refuse()
    c_token = c_int32()
    error = c_void_p()
    finish(api.weft_token_find(c_model, c_text, len(c_text), c_token, error), error)
    return c_token.value


@method(Model, "special")
def token_get_special(model, which):
    c_which = int32_of(which, "which")
    c_model = model._handle or model._refuse()
    c_token = c_int32()
    error = c_void_p()
    finish(api.weft_token_get_special(c_model, c_which, c_token, error), error)
    return c_token.value


@static(Detokenizer, "open")
def detokenizer_open(model, flags):
    c_flags = uint32_of(flags, "flags")
    c_model = handle_of(model, Model, "model")
    c_detokenizer = c_void_p()
    error = c_void_p()
    finish(api.weft_detokenizer_open(c_model, c_flags, c_detokenizer, error), error)
    return Detokenizer(c_detokenizer.value)


@method(Detokenizer, "push")
def detokenizer_push(detokenizer, token):
    c_token = id_of(token)
    c_detokenizer = detokenizer._handle or detokenizer._refuse()
    c_text, c_size = c_void_p(), c_size_t()
    error = c_void_p()
    with detokenizer._lock:
        finish(api.weft_detokenizer_push(c_detokenizer, c_token, c_text, c_size, error), error)
        return text_of(lent_bytes(c_text, c_size))


@method(Detokenizer, "finish")
def detokenizer_finish(detokenizer):
    c_detokenizer = detokenizer._handle or detokenizer._refuse()
    c_text, c_size = c_void_p(), c_size_t()
    error = c_void_p()
    with detokenizer._lock:
        finish(api.weft_detokenizer_finish(c_detokenizer, c_text, c_size, error), error)
        return text_of(lent_bytes(c_text, c_size))


@static(Grammar, "open")
def grammar_open(kind, text, model):
    c_kind = int32_of(kind, "kind")
    c_text = bytes_of(text, "text")
    c_model = optional_handle(model, Model, "model")
    c_grammar = c_void_p()
    error = c_void_p()
    finish(api.weft_grammar_open(c_kind, c_text, len(c_text), c_model, c_grammar, error), error)
    return Grammar(c_grammar.value)


@method(Grammar, "accepts")
def grammar_accepts(grammar, text):
    c_text = bytes_of(text, "text")
    c_grammar = grammar._handle or grammar._refuse()
    c_accepts = c_int32()
    error = c_void_p()
    finish(api.weft_grammar_accepts(c_grammar, c_text, len(c_text), c_accepts, error), error)
    return c_accepts.value != 0


@static(Constraint, "open")
def constraint_open(grammar, model):
    c_grammar = handle_of(grammar, Grammar, "grammar")
    c_model = handle_of(model, Model, "model")
    c_constraint = c_void_p()
    error = c_void_p()
    finish(api.weft_constraint_open(c_grammar, c_model, c_constraint, error), error)
    return Constraint(c_constraint.value)


@method(Constraint, "mask")
def constraint_get_mask(constraint):
    c_constraint = constraint._handle or constraint._refuse()
    c_words, c_n_words = c_void_p(), c_size_t()
    error = c_void_p()
    with constraint._lock:
        finish(api.weft_constraint_get_mask(c_constraint, c_words, c_n_words, error), error)
        return words_of(c_words, c_n_words)


@method(Constraint, "accept")
def constraint_accept(constraint, token):
    c_token = id_of(token)
    c_constraint = constraint._handle or constraint._refuse()
    error = c_void_p()
    with constraint._lock:
        finish(api.weft_constraint_accept(c_constraint, c_token, error), error)


@method(Constraint, "reset")
def constraint_reset(constraint):
    c_constraint = constraint._handle or constraint._refuse()
    error = c_void_p()
    with constraint._lock:
        finish(api.weft_constraint_reset(c_constraint, error), error)


@method(Constraint, "state")
def constraint_get_state(constraint):
    c_constraint = constraint._handle or constraint._refuse()
    c_may_end = c_int32()
    c_may_continue = c_int32()
    error = c_void_p()
    finish(api.weft_constraint_get_state(c_constraint, c_may_end, c_may_continue, error), error)
    return (c_may_end.value != 0, c_may_continue.value != 0)


@method(Constraint, "forced")
def constraint_get_forced(constraint, max_bytes):
    c_max_bytes = size_t_of(max_bytes, "max_bytes")
    c_constraint = constraint._handle or constraint._refuse()
    c_text = structs.weft_text()
    error = c_void_p()
    finish(api.weft_constraint_get_forced(c_constraint, c_max_bytes, c_text, error), error)
    return taken_bytes(c_text)


@static(Sampler, "open")
def sampler_open(options):
    c_options = sampler_options(options)
    c_sampler = c_void_p()
    error = c_void_p()
    finish(api.weft_sampler_open(c_options, c_sampler, error), error)
    return Sampler(c_sampler.value)


@method(Sampler, "sample")
def sampler_sample(sampler, logits):
    c_logits = numbers_of(logits, "logits")
    c_sampler = sampler._handle or sampler._refuse()
    c_token = c_int32()
    error = c_void_p()
    with sampler._lock:
        finish(api.weft_sampler_sample(c_sampler, address_of(c_logits), c_logits.size, c_token,
                                       error), error)
        return c_token.value


@method(Sampler, "accept")
def sampler_accept(sampler, token):
    c_token = id_of(token)
    c_sampler = sampler._handle or sampler._refuse()
    error = c_void_p()
    with sampler._lock:
        finish(api.weft_sampler_accept(c_sampler, c_token, error), error)


@method(Sampler, "reset")
def sampler_reset(sampler):
    c_sampler = sampler._handle or sampler._refuse()
    error = c_void_p()
    with sampler._lock:
        finish(api.weft_sampler_reset(c_sampler, error), error)


@method(Sampler, "reseed")
def sampler_reseed(sampler, seed):
    c_seed = uint64_of(seed, "seed")
    c_sampler = sampler._handle or sampler._refuse()
    error = c_void_p()
    with sampler._lock:
        finish(api.weft_sampler_reseed(c_sampler, c_seed, error), error)


@method(Sampler, "copy")
def sampler_copy(sampler):
    c_sampler = sampler._handle or sampler._refuse()
    c_copy = c_void_p()
    error = c_void_p()
    with sampler._lock:
        finish(api.weft_sampler_copy(c_sampler, c_copy, error), error)
        return Sampler(c_copy.value)


@function("logprob_of")
def logprob_of(logits, token):
    c_logits = numbers_of(logits, "logits")
    c_token = id_of(token)
    c_logprob = c_float()
    error = c_void_p()
    finish(api.weft_logprob_of(address_of(c_logits), c_logits.size, c_token, c_logprob, error),
                               error)
    return c_logprob.value
