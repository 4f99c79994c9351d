# Made by bindings/c/interface/generate.py from the .toml files beside it. Do not edit it.
# mypy: ignore-errors
"""Functions of the C API that need no code of their own."""

from ctypes import c_int32, c_void_p

from . import functions as api
from . import structs, tables
from .callbacks import token_progress_of
from .calls import finish
from .classes import Batch, Diffusion, Generation, Grammar, Session
from .handles import handle_of, method, optional_handle, static
from .options import beam_options, sampler_options
from .values import filled, ids_of, int32_of, optional_c_text_of, optional_uint64_of, taken_str


@method(Generation, "prefill")
def generation_prefill(generation, progress):
    c_progress = token_progress_of(progress)
    c_generation = generation._handle or generation._refuse()
    error = c_void_p()
    with generation._lock:
        finish(api.weft_generation_prefill(c_generation, c_progress, None, error), error)


@method(Generation, "fork")
def generation_fork(generation, to_sequence, seed):
    c_to_sequence = int32_of(to_sequence, "to_sequence")
    c_seed = optional_uint64_of(seed, "seed")
    c_generation = generation._handle or generation._refuse()
    c_fork = c_void_p()
    error = c_void_p()
    with generation._lock:
        finish(api.weft_generation_fork(c_generation, c_to_sequence, c_seed, c_fork, error), error)
        return Generation(c_fork.value, generation._lock)


@method(Generation, "set_sampler")
def generation_set_sampler(generation, sampler):
    c_sampler = sampler_options(sampler)
    c_generation = generation._handle or generation._refuse()
    error = c_void_p()
    with generation._lock:
        finish(api.weft_generation_set_sampler(c_generation, c_sampler, error), error)


@method(Generation, "set_grammar")
def generation_set_grammar(generation, grammar):
    c_generation = generation._handle or generation._refuse()
    c_grammar = optional_handle(grammar, Grammar, "grammar")
    error = c_void_p()
    with generation._lock:
        finish(api.weft_generation_set_grammar(c_generation, c_grammar, error), error)


@method(Generation, "info")
def generation_get_info(generation):
    c_generation = generation._handle or generation._refuse()
    c_info = filled(structs.weft_generation_info)
    error = c_void_p()
    with generation._lock:
        finish(api.weft_generation_get_info(c_generation, c_info, error), error)
        return tables.generation_info_dict(c_info)


@static(Batch, "open")
def batch_open(session):
    c_session = handle_of(session, Session, "session")
    c_batch = c_void_p()
    error = c_void_p()
    with session._lock:
        finish(api.weft_batch_open(c_session, c_batch, error), error)
        return Batch(c_batch.value, session._lock)


@method(Generation, "search_json")
def generation_search_json(generation, options):
    c_options = beam_options(options)
    c_generation = generation._handle or generation._refuse()
    c_json = structs.weft_text()
    error = c_void_p()
    finish(api.weft_generation_search_json(c_generation, c_options, c_json, error), error)
    return taken_str(c_json)


@method(Diffusion, "begin")
def diffusion_begin(diffusion, prompt):
    c_prompt = ids_of(prompt)
    c_diffusion = diffusion._handle or diffusion._refuse()
    error = c_void_p()
    with diffusion._lock:
        finish(api.weft_diffusion_begin(c_diffusion, *c_prompt.buffer_info(), error), error)


@method(Diffusion, "step")
def diffusion_step(diffusion):
    c_diffusion = diffusion._handle or diffusion._refuse()
    c_more = c_int32()
    error = c_void_p()
    with diffusion._lock:
        finish(api.weft_diffusion_step(c_diffusion, c_more, error), error)
        return c_more.value != 0


@method(Diffusion, "text")
def diffusion_get_text(diffusion, masked):
    c_masked = optional_c_text_of(masked, "masked")
    c_diffusion = diffusion._handle or diffusion._refuse()
    c_text = structs.weft_text()
    error = c_void_p()
    finish(api.weft_diffusion_get_text(c_diffusion, c_masked, c_text, error), error)
    return taken_str(c_text)


@method(Diffusion, "info")
def diffusion_get_info(diffusion):
    c_diffusion = diffusion._handle or diffusion._refuse()
    c_info = filled(structs.weft_diffusion_info)
    error = c_void_p()
    with diffusion._lock:
        finish(api.weft_diffusion_get_info(c_diffusion, c_info, error), error)
        return tables.diffusion_info_dict(c_info)
