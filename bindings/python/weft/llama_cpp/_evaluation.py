"""Evaluation and states of a Llama."""

import random
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any, Optional

import numpy as np

from .. import _weft
from .._errors import ArgumentError, BudgetError, FormatError
from .._objects import Lock
from ._constants import LLAMA_DEFAULT_SEED
from ._options import cache_type
from ._scores import MAX_ROWS, LastStep, Scores
from ._state import LlamaState, check_state
from ._words import Words, ids_of
from .llama_cache import BaseLlamaCache


def same_ids(a: Any, b: Any) -> bool:
    # For short texts several times as fast as np.array_equal().
    return bool(a.tobytes() == b.tobytes())


class Evaluation(Words):
    """One sequence of tokens of a model, and their logits."""

    _logits_all: bool
    model_path: str
    n_batch: int
    last_n_tokens_size: int
    cache: Optional[BaseLlamaCache]
    draft_model: Optional[Any]
    _embedding: bool
    _pooling_type: Any
    _embedder: Any

    _lock: Lock  # one call at a time; streams take it for each step

    def _identity(self) -> str:
        raise NotImplementedError

    def _prepare(self, given: dict[str, Any]) -> None:
        """Opens a session for the arguments of Llama()."""
        # What completions ask of generate(), and generate() of sample(), where a subclass or a
        # patch replaces these: Choosers, otherwise None.
        self._asked: Any = None
        self._running: Any = None
        self.scores: Any = self._new_scores(bool(given["vocab_only"]))
        self.n_tokens = 0
        self.input_ids = np.zeros(self._n_ctx, np.intc)
        self._last_step = LastStep(0, 0, 0)
        if not given["vocab_only"]:
            width = min(self.n_batch, 8192)
            self._max_rows = width if self._logits_all else min(width, MAX_ROWS)
            self._session = self._weft_model.session(
                context=self._n_ctx, workers=int(given["n_threads"] or 0), prefill_width=width,
                logits_rows=self._max_rows,
                cache_k=cache_type("type_k", given["type_k"]),
                cache_v=cache_type("type_v", given["type_v"]))._native

    def _new_scores(self, is_empty: bool) -> Any:
        """Where logits go: an array of all rows with logits_all, otherwise the last rows."""
        if is_empty or not self._logits_all:
            return Scores(self._n_ctx, self.n_vocab())
        try:
            return np.zeros((self._n_ctx, self.n_vocab()), np.float32)
        except MemoryError as error:
            gib = self._n_ctx * self.n_vocab() * 4 / 2**30
            raise BudgetError(f"logits_all=True needs {gib:.1f} GiB for the logits of n_ctx="
                              f"{self._n_ctx} tokens: use a smaller n_ctx") from error

    # ---- evaluation

    @property
    def _input_ids(self) -> Any:
        return self.input_ids[:self.n_tokens]

    @property
    def _scores(self) -> Any:
        return self.scores[:self.n_tokens]

    @property
    def eval_tokens(self) -> "deque[int]":
        """The ids that are evaluated, as a copy."""
        with self._lock:
            return deque(self._input_ids.tolist(), maxlen=self._n_ctx)

    @property
    def eval_logits(self) -> "deque[list[float]]":
        """The logits of all ids with logits_all, otherwise of the last one."""
        with self._lock:
            rows = self._scores if self._logits_all else self._scores[-1:]
            return deque(np.asarray(rows).tolist(), maxlen=self._n_ctx if self._logits_all else 1)

    def reset(self) -> None:
        """Forgets all tokens, so that the next evaluation begins a text."""
        self._opened()
        with self._lock:
            self.n_tokens = 0

    def set_seed(self, seed: int) -> None:
        """Begins another sequence of random numbers; -1 and the default: a random one."""
        if isinstance(seed, bool) or not hasattr(seed, "__index__"):
            raise TypeError(f"seed must be an integer, not {type(seed).__name__}")
        is_random = int(seed) in (-1, 0, LLAMA_DEFAULT_SEED)
        with self._lock:
            self._seed = int(seed)
            self._random = random.Random(None if is_random else self._seed)

    def set_cache(self, cache: Optional[BaseLlamaCache]) -> None:
        """Looks for states of completions in a cache, and stores them there; None: no cache."""
        self.cache = cache

    def _checked(self, tokens: Any) -> list[int]:
        ids = ids_of(tokens)
        n = self.n_vocab()
        for i in ids:
            if not 0 <= i < n:
                raise ArgumentError(f"token {i} is not in the vocabulary of {n}")
        return ids

    def _sync(self) -> None:
        """Makes the session hold what n_tokens and input_ids say."""
        native = self._opened()
        if not 0 <= self.n_tokens <= self._n_ctx:
            raise ArgumentError(f"n_tokens is {self.n_tokens}, the context has {self._n_ctx}")
        want = self._input_ids
        keep = native.common_prefix(0, want)
        if keep < native.length(0):
            keep = native.resume_point(0, keep)  # recurrent states are those of some lengths only
            native.truncate(0, keep)
        if keep < len(want):
            native.feed(0, want[keep:])

    def eval(self, tokens: Iterable[int]) -> None:
        """Appends ids to the text and computes their logits. If it raises, n_tokens counts
        the ids of the steps that were complete."""
        with self._lock:
            self._eval(tokens)

    def _eval(self, tokens: Iterable[int]) -> None:
        native = self._opened()
        ids = self._checked(tokens)
        self._sync()
        if self.n_tokens + len(ids) > self._n_ctx:
            raise ArgumentError(f"{self.n_tokens} and {len(ids)} tokens exceed the context window "
                                f"of {self._n_ctx}")
        for begin in range(0, len(ids), self.n_batch):
            part = ids[begin:begin + self.n_batch]
            end = self.n_tokens + len(part)
            if self._logits_all:
                self._keep(self.n_tokens, native.step(0, part), len(part))
            else:
                native.feed(0, part)
                self._keep(end - 1, native.logits().copy()[None], len(part))
            self.input_ids[self.n_tokens:end] = part
            self.n_tokens = end

    def _keep(self, begin: int, rows: Any, n_fed: int) -> None:
        """Stores the logits of the positions from `begin` on, of a step over n_fed ids."""
        self._last_step = LastStep(n_fed, begin, len(rows))
        if isinstance(self.scores, Scores):
            self.scores.put(begin, rows)
        else:
            self.scores[begin:begin + len(rows)] = rows

    def _decode(self, ids: list[int], n_past: int, logits_all: bool) -> None:
        """A step of ids behind the first n_past of input_ids, with the logits of all of them or of
        the last one. Counts no tokens."""
        native, n_tokens = self._opened(), self.n_tokens
        self.n_tokens = n_past
        try:
            self._sync()
        finally:
            self.n_tokens = n_tokens
        if not logits_all:
            native.feed(0, ids)
            self._keep(n_past + len(ids) - 1, native.logits().copy()[None], len(ids))
            return
        # `scores` may keep fewer rows than the step has.
        whole = np.empty((len(ids), self.n_vocab()), np.float32)
        for begin in range(0, len(ids), self._max_rows):
            part = ids[begin:begin + self._max_rows]
            rows = whole[begin:begin + len(part)]
            rows[:] = native.step(0, part)
            self._keep(n_past + begin, rows.copy(), len(part))
        self._last_step = LastStep(len(ids), n_past, len(ids), whole)

    def _last_row(self) -> Any:
        """The logits after the last token. The token is evaluated again if they are not kept."""
        at = self.n_tokens - 1
        if isinstance(self.scores, Scores) and not self.scores.has(at):
            last = int(self.input_ids[at])
            self.n_tokens = at
            self._eval([last])
        return self._scores[-1]

    def _rows_of(self, ids: list[int]) -> Iterator[Any]:
        """The logits after each of the ids, which are all that is evaluated then."""
        native = self._opened()
        self.n_tokens = 0
        self._sync()
        width = min(self.n_batch, MAX_ROWS)
        for begin in range(0, len(ids), width):
            part = ids[begin:begin + width]
            rows = native.step(0, part).copy()
            self.n_tokens = begin + len(part)
            self.input_ids[begin:self.n_tokens] = part
            self._keep(begin, rows, len(part))
            yield from rows

    # ---- states

    def save_state(self) -> LlamaState:
        """A copy of all that is evaluated."""
        with self._lock:
            native = self._opened()
            self._sync()
            if self.n_tokens > 0:
                self._last_row()
            raw = native.save(0, (), b"")
            rows = self._scores[-1:] if isinstance(self.scores, Scores) else self._scores
            return LlamaState(np.array(self.input_ids), np.array(rows), self.n_tokens, raw,
                              len(raw), self._seed, self._identity())

    def load_state(self, state: LlamaState) -> None:
        """Goes on from a state of the same model. If the state is refused, the tokens of the object
        are as before."""
        with self._lock:
            self._load_state(state)

    def _load_state(self, state: LlamaState) -> None:
        native = self._opened()
        check_state(state, self._n_ctx, self.n_vocab())
        _weft.Saved.open_memory(state.llama_state).restore(native, 0, -1)
        fed = np.array(native.tokens(0), np.intc)
        said = np.asarray(state.input_ids)[:state.n_tokens]
        if not np.array_equal(fed, said):
            native.truncate(0, 0)  # those of before are evaluated again when they are needed
            raise FormatError("the tokens in llama_state are not the first n_tokens of input_ids")
        self.n_tokens = len(fed)
        self.input_ids[:self.n_tokens] = fed
        self._load_scores(np.asarray(state.scores))
        self.set_seed(state.seed)

    def _load_scores(self, rows: Any) -> None:
        """Takes the logits of a state, which are those of its last tokens."""
        rows = rows[:self.n_tokens]
        begin = self.n_tokens - len(rows)
        self._last_step = LastStep(len(rows), begin, len(rows))
        if isinstance(self.scores, Scores):
            self.scores.put(begin, np.array(rows, np.float32))
            return
        self.scores[:begin] = 0.0
        self.scores[begin:self.n_tokens] = rows
