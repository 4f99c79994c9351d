# mypy: ignore-errors
"""Options from dicts, which several parts use."""

from ctypes import c_int32, sizeof

from . import functions as api
from . import structs
from .callbacks import log_of, poll, progress_of
from .tables import (WEFT_BEAM_OPTIONS, WEFT_BENCH_OPTIONS, WEFT_QUANTIZE_OPTIONS,
                     WEFT_SAMPLER_OPTIONS, WEFT_SESSION_OPTIONS)
from .values import id_of, ids_of, integer_of, number_of


def begun(struct, init):
    """A struct of options with their defaults."""
    options = struct()
    init(options, sizeof(options))
    return options


def take(options, members, given, function, by_hand=()):
    """Sets members from keywords, and gives those that code by hand takes. A None is the default.
    TypeError names a keyword that nobody takes."""
    rest = dict.fromkeys(by_hand)
    unknown = None
    for name, value in given.items():
        convert = members.get(name)
        if convert is not None:
            if value is not None:
                setattr(options, name, convert(value, name))
        elif name in rest:
            rest[name] = value
        elif unknown is None:
            unknown = name
    if unknown is not None:
        raise TypeError(f"{function} got an unexpected keyword argument '{unknown}'; it has "
                        f"{', '.join(sorted([*members, *by_hand]))}")
    return rest


def session_options(given):
    o = begun(structs.weft_session_options, api.weft_session_options_init)
    o.poll = poll()
    rest = take(o, WEFT_SESSION_OPTIONS, given, "Session()", ("progress",))
    if rest["progress"] is not None:
        o.progress = progress_of(rest["progress"])
    return o


def ids_array(ids):
    """Ids for a member of a struct, and how many there are."""
    given = [] if ids is None else ids_of(ids)
    return (c_int32 * len(given))(*given), len(given)


def sampler_options(given):
    o = begun(structs.weft_sampler_options, api.weft_sampler_options_init)
    rest = take(o, WEFT_SAMPLER_OPTIONS, given, "Sampler()", ("logit_bias", "dry_breakers"))
    if rest["logit_bias"] is not None:
        biases = [(id_of(integer_of(id, "an id of logit_bias")), number_of(bias, "a bias"))
                  for id, bias in dict(rest["logit_bias"]).items()]
        o.logit_bias = (structs.weft_logit_bias * len(biases))(*biases)
        o.n_logit_bias = len(biases)
    if rest["dry_breakers"] is not None:
        o.dry_breakers, o.n_dry_breakers = ids_array(rest["dry_breakers"])
    return o


def beam_options(given):
    o = begun(structs.weft_beam_options, api.weft_beam_options_init)
    take(o, WEFT_BEAM_OPTIONS, given, "search_json()")
    return o


def quantize_options(given):
    """With the callables `progress` and `log`."""
    o = begun(structs.weft_quantize_options, api.weft_quantize_options_init)
    rest = take(o, WEFT_QUANTIZE_OPTIONS, given, "quantize()", ("progress", "log"))
    o.progress = progress_of(rest["progress"])  # which looks for signals in any case
    if rest["log"] is not None:
        o.log = log_of(rest["log"])
    return o


def bench_options(given):
    """With those of the session as a dict."""
    o = begun(structs.weft_bench_options, api.weft_bench_options_init)
    rest = take(o, WEFT_BENCH_OPTIONS, given, "bench()", ("session",))
    if rest["session"] is not None:
        refer(o, "session", session_options(rest["session"]))
    return o


def refer(options, name, other):
    """Sets a member that is a pointer to other options, which it keeps; None: not."""
    if other is not None:
        setattr(options, name, (type(other) * 1).from_buffer(other))
