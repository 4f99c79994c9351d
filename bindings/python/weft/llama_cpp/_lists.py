"""Processors of logits and criteria that end a text."""

from collections.abc import Callable
from typing import Any, Optional

import numpy as np

LogitsProcessor = Callable[[Any, Any], Any]
StoppingCriteria = Callable[[Any, Any], bool]

class LogitsProcessorList(list[LogitsProcessor]):
    """Callables (ids, scores) -> scores, one after the other."""

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        for processor in self:
            scores = processor(input_ids, scores)
        return scores


class StoppingCriteriaList(list[StoppingCriteria]):
    """Callables (ids, logits) -> bool, any of which ends the text."""

    def __call__(self, input_ids: Any, logits: Any) -> bool:
        return any([criterion(input_ids, logits) for criterion in self])


class MinTokensLogitsProcessor:
    """Forbids the end token until the text has that many tokens."""

    def __init__(self, min_tokens: int, token_eos: int) -> None:
        self.min_tokens = min_tokens
        self.token_eos = token_eos
        self.prompt_tokens: Optional[int] = None

    def __call__(self, input_ids: Any, scores: Any) -> Any:
        if self.prompt_tokens is None:
            self.prompt_tokens = len(input_ids)
        if len(input_ids) - self.prompt_tokens < self.min_tokens:
            scores[self.token_eos] = -np.inf
        return scores
