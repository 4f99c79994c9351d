# mypy: ignore-errors
"""Samplers."""

from ctypes import c_size_t, c_void_p

from . import functions as api
from . import structs
from .calls import finish
from .classes import Sampler
from .handles import function, method
from .values import address_of, numbers_of, size_t_of


def structs_at(struct, address, n):
    """What the library lends at an address."""
    return (struct * n).from_address(address) if n else ()


@method(Sampler, "candidates")
def candidates(sampler):
    """What the stages kept at the last sample: (id, logit, probability)."""
    handle = sampler._handle or sampler._refuse()
    kept, n, error = c_void_p(), c_size_t(), c_void_p()
    with sampler._lock:
        finish(api.weft_sampler_get_candidates(handle, kept, n, error), error)
        return [(c.token, c.logit, c.probability)
                for c in structs_at(structs.weft_candidate, kept.value, n.value)]


@function("top_logprobs")
def top_logprobs(logits, n_top):
    row, n = numbers_of(logits, "logits"), size_t_of(n_top, "n_top")
    top, error = (structs.weft_logprob * min(n, row.size))(), c_void_p()  # it refuses more
    finish(api.weft_top_logprobs(address_of(row), row.size, top, n, error), error)
    return [(one.token, one.logprob) for one in top]
