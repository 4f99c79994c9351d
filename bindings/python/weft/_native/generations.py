# mypy: ignore-errors
"""Texts."""

from array import array
from ctypes import c_size_t, c_void_p, string_at

from . import functions as api
from . import structs
from .calls import finish
from .classes import Batch, ChatPlan, Diffusion, Generation, Grammar, Session, Speculation
from .errors import exception_of
from .handles import function, handle_of, method, optional_handle, static
from .options import begun, ids_array, sampler_options, session_options, refer, take
from .samplers import structs_at
from .tables import WEFT_DIFFUSION_OPTIONS, WEFT_GENERATION_OPTIONS
from .values import bytes_of, filled, ids_of, int32_of, size_t_of, strings_of


def _list_of(given, name):
    if given is None:
        return []
    if isinstance(given, (str, bytes)):
        raise TypeError(f"{name} must be a list of str")
    return [bytes_of(text, name) for text in given]


@static(Generation, "open")
def open_text(session, sequence, sampler, grammar, stops, speculation, options):
    at = int32_of(sequence, "sequence")
    o = begun(structs.weft_generation_options, api.weft_generation_options_init)
    rest = take(o, WEFT_GENERATION_OPTIONS, options, "generate()", ("banned", "stop_tokens"))
    stop_texts, banned = _list_of(stops, "stops"), _list_of(rest["banned"], "banned")
    o.stops, o.n_stops = strings_of(stop_texts), len(stop_texts)
    o.banned, o.n_banned = strings_of(banned), len(banned)
    o.stop_tokens, o.n_stop_tokens = ids_array(rest["stop_tokens"])
    refer(o, "sampler", sampler_options(sampler))
    o.grammar = optional_handle(grammar, Grammar, "grammar")
    o.speculation = optional_handle(speculation, Speculation, "speculation")
    handle, text, error = handle_of(session, Session, "session"), c_void_p(), c_void_p()
    finish(api.weft_generation_open(handle, at, o, text, error), error)
    return Generation(text.value, session._lock)


@method(Generation, "begin")
def begin(generation, ids):
    prompt, handle, error = ids_of(ids), generation._handle or generation._refuse(), c_void_p()
    with generation._lock:
        finish(api.weft_generation_begin(handle, *prompt.buffer_info(), 0, error), error)


@method(Generation, "begin_chat")
def begin_chat(generation, plan):
    of = handle_of(plan, ChatPlan, "plan")
    handle, error = generation._handle or generation._refuse(), c_void_p()
    with generation._lock:
        finish(api.weft_generation_begin_chat(handle, of, 0, error), error)


def _tuple_of(event):
    """(text, token, stop). Models may generate any bytes."""
    size = event.text_size
    text = string_at(event.text, size).decode("utf-8", "replace") if size else ""
    return text, event.token, event.stop


@method(Generation, "next")
def next_event(generation):
    handle = generation._handle or generation._refuse()
    with generation._lock:
        state = generation._state
        if state is None:
            state = generation._state = filled(structs.weft_generation_event), c_void_p()
        event, error = state
        finish(api.weft_generation_next(handle, event, error), error)
        if generation._handle is None:  # a handler of a signal closed it, which freed the text
            generation._refuse()
        size = event.text_size
        text = string_at(event.text, size).decode("utf-8", "replace") if size else ""
        return text, event.token, event.stop


@method(Batch, "step")
def step_together(batch, generations):
    """For each text its event, None, or the exception of its rules or its sampler."""
    texts = list(generations)
    handles = array("Q", [handle_of(text, Generation, "generations") for text in texts])
    n, handle, error = len(texts), batch._handle or batch._refuse(), c_void_p()
    events = (structs.weft_generation_event * n)(*(filled(structs.weft_generation_event) for _ in texts))
    has_event = array("i", bytes(4 * n))
    with batch._lock:
        finish(api.weft_batch_step(handle, handles.buffer_info()[0], n, events,
                                   structs.c_int32.from_buffer(has_event) if n else None, error), error)
        return [None if has == 0 else _tuple_of(event) if has > 0
                else exception_of(-has, _tuple_of(event)[0]) for has, event in zip(has_event, events)]


@method(Generation, "prompt_logprobs")
def prompt_logprobs(generation):
    """(id, logprob, the most likely ones) of the tokens of the prompt, from the second one on."""
    handle = generation._handle or generation._refuse()
    data, n, error = c_void_p(), c_size_t(), c_void_p()
    with generation._lock:
        finish(api.weft_generation_get_prompt_logprobs(handle, data, n, error), error)
        return [(t.token, t.logprob, [(t.top[i].token, t.top[i].logprob) for i in range(t.n_top)])
                for t in structs_at(structs.weft_token_logprobs, data.value, n.value)]


def _diffusion_options(given):
    o = begun(structs.weft_diffusion_options, api.weft_diffusion_options_init)
    take(o, WEFT_DIFFUSION_OPTIONS, given, "Diffusion()")
    return o


@static(Diffusion, "open")
def open_diffusion(session, sequence, sampler, options):
    """A text of a diffusion language model."""
    at, o = int32_of(sequence, "sequence"), _diffusion_options(options)
    refer(o, "sampler", sampler_options(sampler))
    handle, diffusion, error = handle_of(session, Session, "session"), c_void_p(), c_void_p()
    finish(api.weft_diffusion_open(handle, at, o, diffusion, error), error)
    return Diffusion(diffusion.value, session._lock)


@function("diffusion_session")
def diffusion_session(options, n_prompt, session):
    """The options of a session whose steps are wide enough for such texts."""
    o, n = _diffusion_options(options), size_t_of(n_prompt, "n_prompt")
    wide, error = session_options(session), c_void_p()
    finish(api.weft_diffusion_fit_session(o, n, wide, error), error)
    return {**session, "prefill_width": wide.prefill_width, "logits_rows": wide.logits_rows}
