"""Choosing the next token of a text."""

from collections.abc import Sequence
from typing import Any, Optional

import numpy as np

from .. import _weft
from .._errors import ArgumentError
from .._sampler import Grammar, Sampler
from ._evaluation import Evaluation
from ._lists import LogitsProcessorList, StoppingCriteriaList

# The stages of their sampler, in their order.
_ORDER = "penalties;top_k;tail_free;typ_p;top_p;min_p;temperature"


class Chooser:
    """Chooses the next id from logits: processors, then the grammar, then the sampler."""

    def __init__(self, llama: Evaluation, options: dict[str, Any], processors: Optional[Any],
                 grammar: Optional[Grammar], seed: Optional[int] = None,
                 logit_bias: Optional[dict[int, float]] = None) -> None:
        self._llama = llama
        self.options = options
        self.given = processors
        self.grammar = grammar
        if isinstance(processors, (list, tuple)):
            processors = LogitsProcessorList(processors)
        if processors is not None and not callable(processors):
            raise TypeError("logits_processor must be callable: a LogitsProcessorList")
        self._processors = processors
        self.seed = llama._random.getrandbits(63) if seed is None else seed
        self._sampler = Sampler(seed=self.seed, repeat_last_n=llama.last_n_tokens_size,
                                order=_ORDER, logit_bias=logit_bias, **options)
        self.constraint = None if grammar is None else _weft.Constraint.open(
            grammar._native, llama._weft_model._native)
        self.complete = False
        self.is_taken = False  # by a generate() that was asked for the text

    def is_for(self, options: dict[str, Any], processors: Optional[Any],
               grammar: Optional[Grammar]) -> bool:
        """Whether it chooses as these arguments ask."""
        return self.options == options and self.given is processors and self.grammar is grammar

    def begin(self, prompt: Sequence[int]) -> None:
        """Shows penalties the last tokens of a prompt."""
        n = self._llama.last_n_tokens_size
        for i in prompt[-n:] if n else ():
            self._sampler.accept(int(i))

    def choose(self, logits: Any) -> int:
        """The id that comes next after logits [V], which are not changed."""
        if self._processors is None and self.constraint is None:
            return self._sampler.sample(logits)
        row = np.array(logits, np.float32)
        if self._processors is not None:
            row = self._processed(row)
        if self.constraint is not None:
            self.constraint.apply(row)
        return self._sampler.sample(row)

    def _processed(self, row: Any) -> Any:
        assert self._processors is not None
        given = self._processors(np.array(self._llama._input_ids), row)
        if given is None:
            raise TypeError("a logits processor gave None instead of scores")
        result = np.ascontiguousarray(given, np.float32)
        if result.shape != row.shape:
            raise ArgumentError(f"a logits processor gave scores of shape {result.shape}, want "
                                f"{row.shape}")
        if np.isnan(result).any() or np.isposinf(result).any():
            raise ArgumentError("a logits processor gave NaN or +inf")
        if np.isneginf(result).all():
            raise ArgumentError("a logits processor left no token")
        return result.copy() if not result.flags.writeable else result

    def accept(self, token: int) -> None:
        """Appends an id to the text that penalties and the grammar follow."""
        self._sampler.accept(token)
        if self.constraint is not None and not self.complete:
            self.constraint.accept(token)
            may_end, may_continue = self.constraint.state()
            self.complete = may_end and not may_continue


def criteria_of(given: Optional[Any]) -> Optional[Any]:
    """The argument stopping_criteria; a list of them is one."""
    if isinstance(given, (list, tuple)):
        given = StoppingCriteriaList(given)
    if given is not None and not callable(given):
        raise TypeError("stopping_criteria must be callable: a StoppingCriteriaList")
    return given


def with_bias(processors: Optional[Any], bias: dict[int, float]) -> LogitsProcessorList:
    """Processors of which the last one adds a bias, for those who only take processors."""
    def add(ids: Any, scores: Any) -> Any:
        for token, value in bias.items():
            scores[token] += value
        return scores
    given = [] if processors is None else processors
    return LogitsProcessorList([*(given if isinstance(given, (list, tuple)) else [given]), add])
