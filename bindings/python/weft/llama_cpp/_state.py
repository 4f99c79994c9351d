"""States of a Llama, and the checks before one is loaded."""

from typing import Any

import numpy as np

from .._errors import ArgumentError, FormatError, ShapeError


class LlamaState:
    """What save_state() gives; plain values, which can be pickled. `model` tells models apart in
    caches; "" if it is not known."""

    def __init__(self, input_ids: Any, scores: Any, n_tokens: int, llama_state: bytes,
                 llama_state_size: int, seed: int, model: str = "") -> None:
        self.input_ids = input_ids
        self.scores = scores
        self.n_tokens = n_tokens
        self.llama_state = llama_state
        self.llama_state_size = llama_state_size
        self.seed = seed
        self.model = model


def check_state(state: LlamaState, n_ctx: int, n_vocab: int) -> None:
    """Raises an error if a state is inconsistent or does not fit."""
    n = state.n_tokens
    if isinstance(n, bool) or not hasattr(n, "__index__") or n < 0:
        raise FormatError(f"n_tokens of the state is {n!r}, want a number of tokens")
    if n > n_ctx:
        raise ArgumentError(f"the state has {n} tokens, the context {n_ctx}")
    if not isinstance(state.llama_state, bytes):
        raise TypeError(f"llama_state must be bytes, not {type(state.llama_state).__name__}")
    if len(state.llama_state) != state.llama_state_size:
        raise FormatError(f"llama_state has {len(state.llama_state)} bytes, llama_state_size is "
                          f"{state.llama_state_size}")
    shape = np.shape(state.input_ids)
    if len(shape) != 1 or shape[0] < n:
        raise ShapeError(f"input_ids of the state have shape {shape}, want [{n}] or more")
    shape = np.shape(state.scores)
    if len(shape) != 2 or shape[1] != n_vocab:
        raise ShapeError(f"scores of the state have shape {shape}, want [n, {n_vocab}]")
    if np.asarray(state.scores).dtype.kind != "f":
        raise FormatError("scores of the state are not floats")
    if isinstance(state.seed, bool) or not hasattr(state.seed, "__index__"):
        raise FormatError(f"seed of the state is {state.seed!r}, want an integer")
