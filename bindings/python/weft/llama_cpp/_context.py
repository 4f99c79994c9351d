"""What may follow the tokens of a Llama: sampling and generation."""

from collections.abc import Generator, Iterable, Sequence
from typing import Any, Optional

import numpy as np

from .._errors import ArgumentError
from ._chooser import Chooser, criteria_of
from ._evaluation import Evaluation, same_ids
from ._sampling import sample_arguments, sampler_options
from ._scores import MAX_ROWS
from .llama_cache import common_prefix
from .llama_grammar import LlamaGrammar, native_grammar

_Ids = Generator[int, Optional[Sequence[int]], None]


class Context(Evaluation):
    """One sequence of tokens of a model, and what may follow it."""

    chat_format: Optional[str]
    chat_handler: Optional[Any]

    def _is_replaced(self, method: str) -> bool:
        """Whether eval, sample or generate is a subclass's, or patched."""
        return getattr(getattr(self, method), "__func__", None) is not _OWN[method]

    def sample(self, top_k: int = 40, top_p: float = 0.95, min_p: float = 0.05,
               typical_p: float = 1.0, temp: float = 0.80, repeat_penalty: float = 1.0,
               frequency_penalty: float = 0.0, presence_penalty: float = 0.0, tfs_z: float = 1.0,
               mirostat_mode: int = 0, mirostat_eta: float = 0.1, mirostat_tau: float = 5.0,
               penalize_nl: bool = True, logits_processor: Optional[Any] = None,
               grammar: Optional[LlamaGrammar] = None, idx: Optional[int] = None) -> int:
        """An id from the logits of the last position, or of position `idx`. Of a text of
        generate(), the next one."""
        options = sampler_options(locals())
        native = native_grammar(grammar)
        with self._lock:
            self._opened()
            if self.n_tokens == 0:
                raise ArgumentError("nothing is evaluated")
            at = self.n_tokens - 1 if idx is None else idx
            if not -self.n_tokens <= at < self.n_tokens:
                raise ArgumentError(f"idx {at} is not evaluated")
            is_last = at in (-1, self.n_tokens - 1)
            row = self._last_row() if is_last else self._scores[at]
            running = self._running
            if running is not None and is_last and \
                    running.is_for(options, logits_processor, native):
                chosen: int = running.choose(row)
                return chosen
            chooser = Chooser(self, options, logits_processor, native)
            chooser.begin(self._input_ids.tolist())
            if running is not None and running.grammar is native:
                chooser.constraint = running.constraint
            return chooser.choose(row)

    def generate(self, tokens: Iterable[int], top_k: int = 40, top_p: float = 0.95,
                 min_p: float = 0.05, typical_p: float = 1.0, temp: float = 0.80,
                 repeat_penalty: float = 1.0, reset: bool = True, frequency_penalty: float = 0.0,
                 presence_penalty: float = 0.0, tfs_z: float = 1.0, mirostat_mode: int = 0,
                 mirostat_tau: float = 5.0, mirostat_eta: float = 0.1, penalize_nl: bool = True,
                 logits_processor: Optional[Any] = None, stopping_criteria: Optional[Any] = None,
                 grammar: Optional[LlamaGrammar] = None) -> _Ids:
        """The ids that follow `tokens`, one by one, until a criterion ends them or the context is
        full; an end token does not. send(ids) appends ids after the one that was just given."""
        options = sampler_options(locals())
        native = native_grammar(grammar)
        self._opened()
        ids = self._checked(tokens)
        with self._lock:
            if not ids and reset:
                raise ArgumentError("tokens are empty")
            if not ids and self.n_tokens == 0:
                raise ArgumentError("nothing is evaluated, and tokens are empty")
            asked, self._asked = self._asked, None
            if asked is not None and asked.is_for(options, logits_processor, native):
                chooser, asked.is_taken = asked, True
            else:
                chooser = Chooser(self, options, logits_processor, native,
                                              seed=None if asked is None else asked.seed)
        criteria = criteria_of(stopping_criteria)
        return self._locked(self._generate(ids, reset, chooser, criteria))

    def _locked(self, steps: _Ids) -> _Ids:
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
        if same_ids(self._input_ids, mine):
            return []
        ids: list[int] = mine.tolist()
        return self._reuse(ids)

    def _generate(self, ids: list[int], reset: bool, chooser: Chooser,
                  criteria: Optional[Any]) -> _Ids:
        self._weft_model._check_generates()
        chooser.begin(ids)
        if reset:
            ids = self._reuse(ids)
        while True:
            rows, guess = self._eval_drafted(ids)
            for at, logits in enumerate(rows):
                if criteria is not None and criteria(self._input_ids, logits):
                    return
                mine = self._input_ids.copy()
                token = self._choose(chooser, logits)
                chooser.accept(token)
                more = yield token
                is_next = at < len(guess) and guess[at] == token and more is None
                if not is_next or not same_ids(self._input_ids, mine):
                    break
                self.n_tokens += 1  # the guess was evaluated with the others
            ids = [token]
            if more is not None:
                ids += self._checked(more)
            ids = self._take_back(mine) + ids
            if self.n_tokens + len(ids) > self._n_ctx:
                return

    def _choose(self, chooser: Chooser, logits: Any) -> int:
        """The next id: that of the chooser, or of the sample() that replaces this class's."""
        if not self._is_replaced("sample"):
            return chooser.choose(logits)
        before, self._running = self._running, chooser
        grammar: Any = chooser.grammar
        try:
            token = int(self.sample(**sample_arguments(chooser.options), grammar=grammar,
                                    logits_processor=chooser.given, idx=self.n_tokens - 1))
        finally:
            self._running = before
        return self._checked([token])[0]

    def _eval_drafted(self, ids: list[int]) -> tuple[list[Any], list[int]]:
        """Evaluates ids, and what the draft model guesses to follow, in one step; gives the logits
        after the last id and after each guess. n_tokens counts no guesses."""
        if self.draft_model is None or not ids or self._is_replaced("eval"):
            self.eval(ids)
            if self.n_tokens == 0:
                raise ArgumentError("nothing is evaluated")
            return [self._last_row()], []
        known = np.concatenate([self._input_ids, np.array(ids, np.intc)])
        room = max(0, min(self._n_ctx - len(known), min(self.n_batch, MAX_ROWS) - 1))
        guess = self._checked([int(i) for i in self.draft_model(known)])[:room]
        if len(ids) > 1:
            self.eval(ids[:-1])
        with self._lock:
            self._sync()
            part = [*ids[-1:], *guess]
            rows = self._opened().step(0, part).copy()
            begin = self.n_tokens
            self._keep(begin, rows, len(part))
            self.input_ids[begin:begin + len(part)] = part
            self.n_tokens = begin + 1
        return list(rows), guess


_OWN: dict[str, Any] = {
    "eval": Context.eval, "sample": Context.sample, "generate": Context.generate}
