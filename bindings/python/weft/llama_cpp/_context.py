"""Evaluation, sampling and states of a Llama."""

import random
from collections import deque
from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, Optional

import numpy as np

from .. import _weft
from .._errors import ArgumentError, FormatError, UnsupportedError
from .._objects import Lock
from .._sampler import Sampler
from . import _completion
from ._constants import LLAMA_DEFAULT_SEED
from ._handles import ContextHandle, ContextParams, ModelHandle
from ._options import cache_type
from ._sampling import sampler_options
from ._state import LlamaState, check_state
from ._words import Words
from .llama_cache import BaseLlamaCache, common_prefix
from .llama_grammar import LlamaGrammar, native_grammar

# The stages of their sampler, in their order.
_ORDER = "penalties;top_k;tail_free;typ_p;top_p;min_p;temperature"

# Rows of logits in a step, without logits_all.
_ROWS = 16


def _same(a: Any, b: Any) -> bool:
    # For short texts several times as fast as np.array_equal().
    return bool(a.tobytes() == b.tobytes())


class Context(Words):
    """One sequence of tokens of a model."""

    _logits_all: bool
    model_path: str
    n_batch: int
    last_n_tokens_size: int
    cache: Optional[BaseLlamaCache]
    draft_model: Optional[Any]

    _lock: Lock  # one call at a time; streams take it for each step

    def _identity(self) -> str:
        raise NotImplementedError

    def _prepare(self, given: dict[str, Any]) -> None:
        """Opens a session for the arguments of Llama()."""
        self.context_params = ContextParams(self._n_ctx, self.n_batch)
        self.n_tokens = 0
        self.input_ids = np.zeros(self._n_ctx, np.intc)
        # What the session holds, in front of a buffer.
        self._fed_ids, self._n_fed = np.zeros(self._n_ctx, np.intc), 0
        rows = 1 if given["vocab_only"] else self._n_ctx
        self.scores = np.zeros((rows, self.n_vocab()), np.float32)
        if not given["vocab_only"]:
            width = min(self.n_batch, 8192)
            self._session = self._weft_model.session(
                context=self._n_ctx, workers=int(given["n_threads"] or 0), prefill_width=width,
                logits_rows=width if self._logits_all else min(width, _ROWS),
                cache_k=cache_type("type_k", given["type_k"]),
                cache_v=cache_type("type_v", given["type_v"]))._native

    @property
    def _ctx(self) -> ContextHandle:
        return ContextHandle(self)

    @property
    def _model(self) -> ModelHandle:
        return ModelHandle(self)

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
            return deque(rows.tolist(), maxlen=self._n_ctx if self._logits_all else 1)

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
        ids: list[int] = _weft.ids(tokens)
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
        if _same(want, self._fed):
            return
        keep = common_prefix(want.tolist(), self._fed.tolist())
        if keep < len(self._fed):
            try:
                native.truncate(0, keep)
            except UnsupportedError:
                native.truncate(0, 0)
                keep = 0
            self._n_fed = keep
        if keep < len(want):
            native.feed(0, want[keep:])
            self._append_fed(want[keep:])

    @property
    def _fed(self) -> Any:
        return self._fed_ids[:self._n_fed]

    def _append_fed(self, ids: Any) -> None:
        end = self._n_fed + len(ids)
        self._fed_ids[self._n_fed:end] = ids
        self._n_fed = end

    def eval(self, tokens: Sequence[int]) -> None:
        """Appends ids to the text and computes their logits. If it raises, n_tokens counts
        the ids of the steps that were complete."""
        with self._lock:
            self._eval(tokens)

    def _eval(self, tokens: Sequence[int]) -> None:
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
                self.scores[self.n_tokens:end] = native.step(0, part)
            else:
                native.feed(0, part)
                self.scores[end - 1] = native.logits()
            self._append_fed(part)
            self.input_ids[self.n_tokens:end] = part
            self.n_tokens = end

    def _rows_of(self, ids: list[int]) -> list[Any]:
        """The logits after each of the ids, which are all that is evaluated then."""
        native = self._opened()
        self.n_tokens = 0
        self._sync()
        rows: list[Any] = []
        width = min(self.n_batch, _ROWS)
        for begin in range(0, len(ids), width):
            part = ids[begin:begin + width]
            rows += list(native.step(0, part).copy())
            self._append_fed(part)
        self.n_tokens = len(ids)
        self.input_ids[:len(ids)] = ids
        self.scores[:len(ids)] = rows
        return rows

    def _sampler(self, *, seed: Optional[int] = None, **options: Any) -> Sampler:
        if seed is None:
            seed = self._random.getrandbits(63)
        return Sampler(seed=seed, repeat_last_n=self.last_n_tokens_size, order=_ORDER, **options)

    def sample(self, top_k: int = 40, top_p: float = 0.95, min_p: float = 0.05,
               typical_p: float = 1.0, temp: float = 0.80, repeat_penalty: float = 1.0,
               frequency_penalty: float = 0.0, presence_penalty: float = 0.0, tfs_z: float = 1.0,
               mirostat_mode: int = 0, mirostat_eta: float = 0.1, mirostat_tau: float = 5.0,
               penalize_nl: bool = True, logits_processor: Optional[Any] = None,
               grammar: Optional[LlamaGrammar] = None, idx: Optional[int] = None) -> int:
        """An id from the logits of the last position, or of position `idx`; evaluates nothing."""
        options = sampler_options(locals())
        native = native_grammar(grammar)
        with self._lock:
            self._opened()
            if self.n_tokens == 0:
                raise ArgumentError("nothing is evaluated")
            at = self.n_tokens - 1 if idx is None else idx
            if not -self.n_tokens <= at < self.n_tokens:
                raise ArgumentError(f"idx {at} is not evaluated")
            sampler = self._sampler(**options)
            for i in self._input_ids[-self.last_n_tokens_size or self.n_tokens:]:
                sampler.accept(int(i))
            chooser = _completion.Chooser(self, sampler, logits_processor, native)
            return chooser.choose(self._scores[at])

    def generate(self, tokens: Sequence[int], top_k: int = 40, top_p: float = 0.95,
                 min_p: float = 0.05, typical_p: float = 1.0, temp: float = 0.80,
                 repeat_penalty: float = 1.0, reset: bool = True, frequency_penalty: float = 0.0,
                 presence_penalty: float = 0.0, tfs_z: float = 1.0, mirostat_mode: int = 0,
                 mirostat_tau: float = 5.0, mirostat_eta: float = 0.1, penalize_nl: bool = True,
                 logits_processor: Optional[Any] = None, stopping_criteria: Optional[Any] = None,
                 grammar: Optional[LlamaGrammar] = None
                 ) -> Generator[int, Optional[Sequence[int]], None]:
        """The ids that follow `tokens`, one by one, until a criterion ends them or the context is
        full; an end token does not. send(ids) appends ids after the one that was just given."""
        options = sampler_options(locals())
        self._opened()
        ids = self._checked(tokens)
        with self._lock:
            if not ids and reset:
                raise ArgumentError("tokens are empty")
            if not ids and self.n_tokens == 0:
                raise ArgumentError("nothing is evaluated, and tokens are empty")
            chooser = _completion.Chooser(self, self._sampler(**options), logits_processor,
                                          native_grammar(grammar))
        return self._locked(self._generate(ids, reset, chooser, stopping_criteria))

    def _locked(self, steps: Generator[int, Optional[Sequence[int]], None]
                ) -> Generator[int, Optional[Sequence[int]], None]:
        """The same steps, each of them under the lock."""
        more: Optional[Sequence[int]] = None
        while True:
            with self._lock:
                try:
                    token = steps.send(more)
                except StopIteration:
                    return
            more = yield token

    def _reuse(self, ids: list[int]) -> list[int]:
        """Keeps what is evaluated of the ids, and gives the rest, at least one."""
        keep = min(common_prefix(self._input_ids.tolist(), ids), len(ids) - 1)
        self.n_tokens = keep
        return ids[keep:]

    def _take_back(self, mine: Any) -> list[int]:
        """Makes the object hold this text again, after others used it; gives what is missing."""
        if _same(self._input_ids, mine):
            return []
        ids: list[int] = mine.tolist()
        return self._reuse(ids)

    def _generate(self, ids: list[int], reset: bool, chooser: "_completion.Chooser",
                  criteria: Optional[Any]) -> Generator[int, Optional[Sequence[int]], None]:
        chooser.begin(ids)
        if reset:
            ids = self._reuse(ids)
        while True:
            rows, guess = self._eval_drafted(ids)
            for at, logits in enumerate(rows):
                if criteria is not None and criteria(self._input_ids, logits):
                    return
                mine = self._input_ids.copy()
                token = chooser.choose(logits)
                chooser.accept(token)
                more = yield token
                is_next = at < len(guess) and guess[at] == token and more is None
                if not is_next or not _same(self._input_ids, mine):
                    break
                self.n_tokens += 1  # the guess was evaluated with the others
            ids = [token]
            if more is not None:
                ids += self._checked(more)
            ids = self._take_back(mine) + ids
            if self.n_tokens + len(ids) > self._n_ctx:
                return

    def _eval_drafted(self, ids: list[int]) -> tuple[list[Any], list[int]]:
        """Evaluates ids, and what the draft model guesses to follow, in one step; gives the logits
        after the last id and after each guess. n_tokens counts no guesses."""
        if self.draft_model is None or not ids:
            self.eval(ids)
            if self.n_tokens == 0:
                raise ArgumentError("nothing is evaluated")
            return [self._scores[-1]], []
        known = np.concatenate([self._input_ids, np.array(ids, np.intc)])
        room = max(0, min(self._n_ctx - len(known), min(self.n_batch, _ROWS) - 1))
        guess = self._checked([int(i) for i in self.draft_model(known)])[:room]
        if len(ids) > 1:
            self.eval(ids[:-1])
        with self._lock:
            self._sync()
            part = [*ids[-1:], *guess]
            rows = self._opened().step(0, part).copy()
            begin, end = self.n_tokens, self.n_tokens + len(part)
            self._append_fed(part)
            self.input_ids[begin:end] = part
            self.scores[begin:end] = rows
            self.n_tokens = begin + 1
        return list(rows), guess

    # ---- states

    def save_state(self) -> LlamaState:
        """A copy of all that is evaluated."""
        with self._lock:
            native = self._opened()
            self._sync()
            raw = native.save(0, self._fed)
            rows = self._scores if self._logits_all else self._scores[-1:]
            return LlamaState(self.input_ids.copy(), rows.copy(), self.n_tokens, raw, len(raw),
                              self._seed, self._identity())

    def load_state(self, state: LlamaState) -> None:
        """Goes on from a state of the same model. If the state is refused, the tokens of the object
        are as before."""
        with self._lock:
            self._load_state(state)

    def _load_state(self, state: LlamaState) -> None:
        native = self._opened()
        check_state(state, self._n_ctx, self.n_vocab())
        fed = np.array(native.restore(0, state.llama_state), np.intc)
        said = np.asarray(state.input_ids)[:state.n_tokens]
        if not np.array_equal(fed, said):
            native.truncate(0, 0)
            self._n_fed = 0  # the tokens of before are evaluated again when they are needed
            raise FormatError("the tokens in llama_state are not the first n_tokens of input_ids")
        self._n_fed = 0
        self._append_fed(fed)
        self.n_tokens = len(fed)
        self.input_ids[:self.n_tokens] = fed
        n = min(len(state.scores), self.n_tokens)
        if n > 0:
            self.scores[self.n_tokens - n:self.n_tokens] = state.scores[-n:]
        self.set_seed(state.seed)
