"""Completions: stop strings, answers and chunks in OpenAI's form."""

import bisect
import time
import warnings
from collections.abc import Iterable, Iterator
from typing import Any, Optional, Union

from .._errors import ArgumentError, BudgetError, CancelledError, ClosedError, Error
from ._chooser import Chooser, criteria_of, with_bias
from ._context import Context
from ._logprobs import Characters, Row, TokenNames, row_of
from ._sampling import sample_arguments
from .llama_cache import BaseLlamaCache, StateKey, common_prefix
from .llama_grammar import native_grammar


class Text:
    """The text of tokens, cut at stop strings, in whole characters."""

    def __init__(self, stops: list[bytes]) -> None:
        self._stops = stops
        self._raw = bytearray()
        self._given = 0
        self._counted, self._characters = 0, Characters()
        self.stopped = False

    def add(self, piece: bytes) -> None:
        """Appends bytes; `stopped` becomes true at the first stop string."""
        before = len(self._raw)
        self._raw += piece
        # What was there before has no stop string, but may have the beginning of one.
        found = [at for at in (self._raw.find(stop, max(0, before - len(stop) + 1))
                               for stop in self._stops) if at >= 0]
        if found:
            del self._raw[min(found):]
            self.stopped = True

    def _safe(self, at_end: bool) -> int:
        """How many bytes can be shown: no part of a stop string, and no half character."""
        if self.stopped or at_end:
            return len(self._raw)
        held = 0
        for stop in self._stops:
            for n in range(min(len(stop) - 1, len(self._raw)), held, -1):
                if self._raw.endswith(stop[:n]):
                    held = n
                    break
        end = len(self._raw) - held
        for back in range(1, min(4, end) + 1):
            lead = self._raw[end - back]
            if lead >= 0xC0:
                size = 2 if lead < 0xE0 else 3 if lead < 0xF0 else 4
                return end - back if size > back else end
            if lead < 0x80:
                break
        return end

    def take(self, at_end: bool = False) -> str:
        """What can be shown now and was not given yet."""
        end = max(self._safe(at_end), self._given)
        piece = self._raw[self._given:end]
        self._given = end
        return piece.decode("utf-8", "ignore")

    @property
    def size(self) -> int:
        """Bytes of the text so far."""
        return len(self._raw)

    def n_characters(self, n_bytes: int) -> int:
        """Characters of the text before a byte, which is not before that of the last call."""
        self._characters.add(bytes(self._raw[self._counted:n_bytes]))
        self._counted = n_bytes
        return self._characters.n

    @property
    def n_given(self) -> int:
        """Bytes that take() has given."""
        return self._given

    @property
    def whole(self) -> str:
        """The text so far, up to the first stop string, without a half character at its end."""
        return self._raw.decode("utf-8", "ignore")


def stops_of(stop: Optional[Union[str, Iterable[str]]]) -> list[bytes]:
    """The argument `stop` as bytes; empty ones are dropped."""
    given = [] if stop is None else [stop] if isinstance(stop, str) else list(stop)
    for s in given:
        if not isinstance(s, str):
            raise TypeError(f"stop must be str or a list of str, not {type(s).__name__}")
    return [s.encode() for s in given if s]


def bias_of(llama: Context, logit_bias: Optional[dict[Any, float]]) -> Optional[dict[int, float]]:
    """The argument `logit_bias`, whose ids may be text."""
    if logit_bias is None:
        return None
    result = {}
    for key, value in logit_bias.items():
        token = int(key)
        if not 0 <= token < llama.n_vocab():
            raise ArgumentError(f"logit_bias: token {token} is not in the vocabulary")
        result[token] = float(value)
    return result


class Request:
    """One completion: call answer() or chunks(), once."""

    def __init__(self, llama: Context, prompt: Union[str, list[int]], sampling: dict[str, Any],
                 *, seed: Optional[int], max_tokens: Optional[int], logprobs: Optional[int],
                 stop: Optional[Union[str, list[str]]], model: Optional[str],
                 criteria: Optional[Any], processors: Optional[Any], grammar: Optional[Any],
                 logit_bias: Optional[dict[Any, float]], suffix: Optional[str] = None,
                 echo: bool = False) -> None:
        llama._opened()
        llama._weft_model._check_generates()
        self.llama = llama
        self.echo = echo
        self.suffix = suffix
        self.logprobs = logprobs
        self.model = model if model is not None else llama.model_path
        self._begin(prompt)
        room = llama.n_ctx() - len(self.ids)
        self.max_tokens = room if max_tokens is None or max_tokens <= 0 else min(max_tokens, room)
        self.text = Text(stops_of(stop))
        self.criteria = criteria_of(criteria)
        self.shown: set[int] = set()  # control tokens that appear in the text
        self.tokens: list[int] = []
        self._begins: list[int] = []  # bytes of the text before each token
        self.logs: list[Row] = []  # of the tokens, if logprobs are requested
        self.names = TokenNames(llama, self.ids)
        self.n_given = 0  # tokens whose text chunks() has given
        self.reason: Optional[str] = None
        if logprobs is not None and not 0 <= logprobs <= llama.n_vocab():
            raise ArgumentError(f"logprobs must be from 0 to {llama.n_vocab()}, got {logprobs}")
        import uuid  # takes milliseconds
        self.id = f"cmpl-{uuid.uuid4()}"
        self.created = int(time.time())
        if seed is not None and seed < 0:
            seed = None
        bias = bias_of(llama, logit_bias)
        self._is_replaced = llama._is_replaced("generate")
        if self._is_replaced and bias:
            processors, bias = with_bias(processors, bias), None
        self._given_grammar = grammar
        self.chooser = Chooser(llama, sampling, processors, native_grammar(grammar), seed, bias)

    def _begin(self, prompt: Union[str, list[int]]) -> None:
        """Sets the ids of the prompt, and its text."""
        llama = self.llama
        self.ids = self._prompt_ids(prompt)
        if self.suffix is not None and llama._can_infill():
            self.ids = llama._infill_ids(self.ids, self.suffix)
            self.suffix = None
        if not self.ids:
            raise ArgumentError("prompt is empty: it has no tokens")
        if len(self.ids) >= llama.n_ctx():
            raise ArgumentError(f"Requested tokens ({len(self.ids)}) exceed context window of "
                                f"{llama.n_ctx()}")
        self.prompt_text = prompt if isinstance(prompt, str) else \
            llama.detokenize(self.ids, special=True).decode("utf-8", "ignore")

    def _prompt_ids(self, prompt: Union[str, list[int]]) -> list[int]:
        llama = self.llama
        if not isinstance(prompt, str):
            return llama._checked(prompt)
        ids = llama.tokenize(prompt.encode(), add_bos=True, special=True)
        bos = llama.token_bos()
        if len(ids) > 1 and bos >= 0 and ids[0] == ids[1] == bos:
            warnings.warn("the prompt begins with the token that begins every text (BOS)",
                          RuntimeWarning, stacklevel=5)
        return ids or ([bos] if bos >= 0 else [])

    # ---- writing

    def _steps(self) -> Iterator[int]:
        """Generates the text token by token; gives the ids."""
        llama = self.llama
        if llama.cache is not None:
            self._load_cached()
        steps = self._replaced_steps() if self._is_replaced else llama._generate(
            list(self.ids), True, self.chooser, self.criteria)
        while True:
            with llama._lock:
                token = next(steps, None)
                is_end = token is not None and llama._ends_text(token)
                if token is not None and not is_end and self.logprobs is not None:
                    self.logs.append(row_of(llama._last_row(), token, self.logprobs))
            if token is None:
                break
            if is_end:
                self.reason = "stop"
                return
            self.tokens.append(token)
            self._begins.append(self.text.size)
            self.text.add(llama.detokenize([token], prev_tokens=self.ids,
                                           special=token in self.shown))
            yield token
            if self.text.stopped or self.chooser.complete:
                self.reason = "stop"
                return
            if len(self.tokens) >= self.max_tokens:
                self.reason = "length"
                return
        self.reason = "stop"

    def _replaced_steps(self) -> Iterator[int]:
        """The ids of a generate() of a subclass, or of a patch. It may ask this package's for
        them, with these arguments or others, or find them in another way."""
        llama, chooser = self.llama, self.chooser
        llama._asked = chooser
        try:
            steps = iter(llama.generate(
                list(self.ids), **sample_arguments(chooser.options), grammar=self._given_grammar,
                logits_processor=chooser.given, stopping_criteria=self.criteria))
            token = next(steps, None)
        finally:
            llama._asked = None
        while token is not None:
            token = llama._checked([int(token)])[0]
            if not chooser.is_taken and not llama._ends_text(token):
                chooser.accept(token)
            yield token
            token = next(steps, None)

    def _load_cached(self) -> None:
        """Loads a state with a longer prefix than what is evaluated. One that does not fit, as one
        of another model does not, is a miss."""
        llama = self.llama
        assert llama.cache is not None
        key = StateKey(self.ids, llama._identity())
        with llama._lock:
            held = common_prefix(llama._input_ids.tolist(), self.ids)
        most = llama.cache._common(key) if isinstance(llama.cache, BaseLlamaCache) else None
        if most is not None and most <= held:
            return  # without putting a state together for nothing
        try:
            state = llama.cache[key]
        except KeyError:
            return
        cached = common_prefix(state.input_ids[:state.n_tokens].tolist(), self.ids)
        with llama._lock:
            if cached <= common_prefix(llama._input_ids.tolist(), self.ids):
                return
            try:
                llama.load_state(state)
            except (BudgetError, CancelledError, ClosedError):
                raise
            except Error:
                return

    def _store(self) -> None:
        llama = self.llama
        if llama.cache is None:
            return
        with llama._lock:
            ids = llama._input_ids.tolist()
            if ids[:len(self.ids)] != self.ids:
                return  # another text has the object now
            state = llama.save_state()
        llama.cache[StateKey(ids, llama._identity())] = state

    # ---- answers

    def _choice(self, text: str, reason: Optional[str], logprobs: Any) -> dict[str, Any]:
        return {"id": self.id, "object": "text_completion", "created": self.created,
                "model": self.model,
                "choices": [{"text": text, "index": 0, "logprobs": logprobs,
                             "finish_reason": reason}]}

    def answer(self) -> dict[str, Any]:
        """The answer in OpenAI's form."""
        with self.llama._lock:
            return self._answer()

    def _answer(self) -> dict[str, Any]:
        prompt = None
        if self.echo and self.logprobs is not None:
            prompt = self.names.completion(self._prompt_rows(), 0)
        for _ in self._steps():
            pass
        self._store()
        text = (self.prompt_text if self.echo else "") + self.text.whole + (self.suffix or "")
        begin = len(self.prompt_text)
        if prompt is not None and prompt["tokens"]:
            first = int(self.ids[:1] == [self.llama.token_bos()])
            shown = Characters()
            shown.add(b"".join(map(self.names.bytes_of, self.ids[first:])))
            begin = shown.n
        logprobs = None if self.logprobs is None else self.names.completion(self.rows(), begin)
        if prompt is not None and logprobs is not None:
            logprobs = {name: prompt[name] + logprobs[name] for name in logprobs}
        return {**self._choice(text, self.reason, logprobs), "usage": self.usage()}

    def usage(self) -> dict[str, int]:
        """The member `usage` of an answer."""
        return {"prompt_tokens": len(self.ids), "completion_tokens": len(self.tokens),
                "total_tokens": len(self.ids) + len(self.tokens)}

    def chunks(self) -> Iterator[dict[str, Any]]:
        """The answer as chunks in OpenAI's form; the last one has the reason of its end."""
        if self.echo:
            yield self._choice(self.prompt_text, None, None)
        for _ in self._steps():
            piece = self.text.take()
            if not piece:
                continue
            begun = bisect.bisect_left(self._begins, self.text.n_given)
            yield self._choice(piece, None, self._logprobs_up_to(begun))
        self._store()
        rest = self.text.take(at_end=True) + (self.suffix or "")
        logprobs = self._logprobs_up_to(self.n_text_tokens())
        if rest or (logprobs is not None and logprobs["tokens"]):
            yield self._choice(rest, None, logprobs)
        yield self._choice("", self.reason, None)

    # ---- log-probabilities

    def _logprobs_up_to(self, end: int) -> Optional[dict[str, list[Any]]]:
        """Those of the tokens that were not given yet."""
        begin, self.n_given = self.n_given, end
        if self.logprobs is None:
            return None
        before = self.text.n_characters(self._begins[begin]) if begin < end else 0
        return self.names.completion(self.rows(begin, end), len(self.prompt_text) + before)

    def rows(self, begin: int = 0, end: Optional[int] = None) -> list[Row]:
        """What the model said of the tokens of the text; not of those of a stop string."""
        whole = self.n_text_tokens()
        return self.logs[begin:whole if end is None else min(end, whole)]

    def n_text_tokens(self) -> int:
        """How many tokens the text has, of which the last may be cut by a stop string."""
        if not self.text.stopped:
            return len(self.tokens)
        return bisect.bisect_left(self._begins, self.text.size)

    def _prompt_rows(self) -> Iterator[Row]:
        """Those of the prompt, without BOS; of its first token nothing is known."""
        assert self.logprobs is not None
        row = None
        first = int(self.ids[:1] == [self.llama.token_bos()])
        for i, after in enumerate(self.llama._rows_of(self.ids)):
            before, row = row, after
            if i == first:
                yield Row(self.ids[i], None, [])
            elif i > first:
                yield row_of(before, self.ids[i], self.logprobs)
