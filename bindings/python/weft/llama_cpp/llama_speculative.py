"""Drafts, which change how fast a text is written, never the text."""

import abc
from typing import Any


class LlamaDraftModel(abc.ABC):
    """Guesses the next ids."""

    @abc.abstractmethod
    def __call__(self, input_ids: Any, /, **kwargs: Any) -> Any:
        raise NotImplementedError


class LlamaPromptLookupDecoding(LlamaDraftModel):
    """Guesses that a text repeats what followed its last ids before."""

    def __init__(self, max_ngram_size: int = 2, num_pred_tokens: int = 10) -> None:
        self.max_ngram_size = max_ngram_size
        self.num_pred_tokens = num_pred_tokens

    @staticmethod
    def find_candidate_pred_tokens(input_ids: Any, max_ngram_size: int,
                                   num_pred_tokens: int) -> Any:
        """What followed the last ids where they were before; empty if they were not."""
        import numpy as np
        ids = np.asarray(input_ids, np.intc)
        for size in range(min(max_ngram_size, len(ids) - 1), 0, -1):
            for at in range(len(ids) - size):
                if (ids[at:at + size] == ids[-size:]).all():
                    return ids[at + size:at + size + num_pred_tokens]
        return np.array([], np.intc)

    def __call__(self, input_ids: Any, /, **kwargs: Any) -> Any:
        return self.find_candidate_pred_tokens(
            input_ids, self.max_ngram_size, self.num_pred_tokens)
