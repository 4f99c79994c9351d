"""States."""

from typing import Any


class LlamaState:
    """What save_state() gives; plain values, which can be pickled."""

    def __init__(self, input_ids: Any, scores: Any, n_tokens: int, llama_state: bytes,
                 llama_state_size: int, seed: int) -> None:
        self.input_ids = input_ids
        self.scores = scores
        self.n_tokens = n_tokens
        self.llama_state = llama_state
        self.llama_state_size = llama_state_size
        self.seed = seed
