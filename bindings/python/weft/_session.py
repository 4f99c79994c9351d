"""Sessions."""

import json
import operator
import os
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Protocol, Union

from . import _weft
from ._embedders import Embedders
from ._errors import ArgumentError, ClosedError
from ._objects import Lock, Unpicklable
from ._opened_model import OpenedModel
from ._plan import Plan, Profile
from ._sampler import Grammar, Sampler
from ._saved import Saved
from ._stream import FoundText, Stream, interleaved
from ._tokenizer import Ids, Tokenizer

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]

Stops = Union[str, Sequence[str]]
_WEIGHTS = {"auto": _weft.WEIGHTS_AUTO, "mapped": _weft.WEIGHTS_MAPPED,
            "resident": _weft.WEIGHTS_RESIDENT, "streamed": _weft.WEIGHTS_STREAMED}


def native_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options of a session as the native module takes them."""
    result = dict(options)
    weights = result.get("weights")
    if isinstance(weights, str):
        if weights not in _WEIGHTS:
            raise ArgumentError(f"weights must be one of {', '.join(_WEIGHTS)}, got {weights!r}")
        result["weights"] = _WEIGHTS[weights]
    if result.get("expert_usage") is not None:
        result["expert_usage"] = os.fsencode(result["expert_usage"])
    return result


class Drafts(Protocol):
    """Who guesses what follows: a weft.Speculation."""

    _native: _weft.Speculation


class Session(Unpicklable):
    """Sequences of tokens computed by a model, each with a memory of its own.

    context: positions per sequence (0: the model's, at most 4096). workers: 0 chooses. mem_budget:
    bytes for the session. Further keywords are those of SessionOptions in C++: cells,
    prefill_width (tokens of a step at most), logits_rows, weights ("auto", "mapped", "resident",
    "streamed"), expert_usage, backend, route, cache_k, cache_v, weight_cache, executor, passes_off,
    caller_bytes; for drafts (weft.Speculation) draft_layer, and rewind: how many guesses a step can
    check in a model with recurrent states. expert_usage: a file that keeps how often the experts of
    a streamed model were chosen, so that the next session begins with those; "auto": the path of
    the model with ".experts"."""

    _instead = "open one there, and move sequences with save() and restore()"

    def __init__(self, model: OpenedModel, *, context: int = 0, sequences: int = 1, workers: int = 0,
                 embeddings: bool = False, mem_budget: int = 0,
                 progress: Optional[Callable[[float], Any]] = None, **options: Any) -> None:
        if not isinstance(model, OpenedModel):
            raise TypeError(f"model must be a weft.Model, not {type(model).__name__}")
        self._model = model._opened().share()
        self._tokenizer = Tokenizer(self._model, model.n_vocab)
        self._name = repr(model)
        self._options = {"context": context, "sequences": sequences, "workers": workers,
                         "embeddings": embeddings, "mem_budget": mem_budget, **native_options(options)}
        self._native = _weft.Session.open(self._model, {**self._options, "progress": progress})
        self._embedders = Embedders(self._model, self._native, self._options)
        self._info = self._native.info()
        # Texts whose sequences may hold guesses behind them, by sequence.
        self._drafted: dict[int, Callable[[], Optional[Stream]]] = {}
        self._using = Lock()

    def __repr__(self) -> str:
        state = "closed" if self.closed else f"context {self._info['context']}"
        return f"<weft.Session of {self._name}, {state}>"

    def _sequence(self, sequence: int) -> int:
        if self.closed:
            raise ClosedError("the session is closed")
        if isinstance(sequence, bool) or not hasattr(sequence, "__index__"):
            raise TypeError(f"sequence must be an integer, not {type(sequence).__name__}")
        at = operator.index(sequence)
        if not 0 <= at < self._info["sequences"]:
            raise ArgumentError(f"sequence {at} is not in 0..{self._info['sequences'] - 1}")
        return at

    def _change(self, at: int) -> None:
        """Called before a sequence changes: it loses the guesses of a text. With _using, so that
        other threads wait."""
        text = self._drafted.pop(at, lambda: None)()
        if text is not None:
            text._leave()

    def feed(self, ids: Ids, *, sequence: int = 0, all_logits: bool = False) -> "Floats":
        """Appends tokens to a sequence. Gives the logits [V] of the last one, in the memory of the
        session, or of all of them [n, V], which are a copy."""
        at = self._sequence(sequence)
        given = self._ids(ids)
        with self._using:
            self._change(at)
            if all_logits:
                return self._feed_rows(given, at)
            self._native.feed(at, given)
            return self.logits

    def _ids(self, ids: Ids) -> list[int]:
        given: list[int] = _weft.ids(ids)
        if not given:
            raise ArgumentError("ids are empty")
        return given

    def _feed_rows(self, given: list[int], at: int) -> "Floats":
        import numpy as np
        rows = min(self._info["logits_rows"], self._info["prefill_width"])
        parts = []
        for begin in range(0, len(given), rows):
            part = given[begin:begin + rows]
            parts.append(self._native.step(at, part).copy())
        return np.concatenate(parts)

    @property
    def logits(self) -> "Floats":
        """The logits [V] of the last token fed: a view of the session's memory, which the next
        call overwrites, and which stays readable after close()."""
        return self._native.logits()

    def length(self, sequence: int = 0) -> int:
        """Tokens of a sequence, with the guesses of a text that is being written with a draft."""
        n: int = self._native.length(self._sequence(sequence))
        return n

    def tokens(self, sequence: int = 0) -> list[int]:
        """The ids of a sequence, as many as length() counts."""
        at = self._sequence(sequence)
        with self._using:
            ids: list[int] = self._native.tokens(at)
        return ids

    def match(self, ids: Ids) -> tuple[int, int]:
        """The sequence from which a text with these ids can continue with the fewest left to compute,
        and the length at which it does: copy() that much, and feed the rest. (-1, 0) if all
        sequences begin otherwise. At least the last id is left, for its logits."""
        wanted = list(ids)[:-1]
        best = (-1, 0)
        with self._using:
            for at in range(self._info["sequences"]):
                n = self._native.resume_point(at, self._native.common_prefix(at, wanted))
                if n > best[1]:
                    best = (at, n)
        return best

    def truncate(self, length: int, *, sequence: int = 0) -> None:
        """Removes all tokens from position `length` on."""
        at = self._sequence(sequence)
        n = operator.index(length)
        with self._using:
            self._change(at)
            self._native.truncate(at, n)

    def copy(self, source: int, target: int, length: Optional[int] = None) -> None:
        """Replaces sequence `target` by the first tokens of `source`, sharing their memory; without
        a length by all of them but guesses."""
        a, b = self._sequence(source), self._sequence(target)
        n = None if length is None else operator.index(length)
        if n is not None and n < 0:
            raise ArgumentError(f"length must be at least 0, got {n}")
        with self._using:
            self._change(b)
            self._native.copy(a, b, -1 if n is None else n)

    def set_lora_scales(self, scales: Sequence[float], *, sequence: int = 0) -> None:
        """One scale per LoRA of the model, for the tokens of a sequence from now on."""
        self._native.set_lora_scales(self._sequence(sequence), [float(x) for x in scales])

    def save(self, sequence: int = 0, *, note: bytes = b"") -> bytes:
        """A sequence as bytes, without guesses, for restore() in any session of the same model. A
        text that is being written goes on. The note is that of weft.Saved."""
        at = self._sequence(sequence)
        with self._using:
            return self._native.save(at, (), note)

    def save_file(self, path: Union[str, "os.PathLike[str]"], sequence: int = 0, *,
                  note: bytes = b"") -> None:
        """The same in a file, which appears when it is complete."""
        at = self._sequence(sequence)
        with self._using:
            self._native.save_file(at, (), note, os.fsencode(path))

    def restore(self, saved: Union[bytes, Saved], *, sequence: int = 0) -> None:
        """Replaces a sequence by a saved one."""
        at = self._sequence(sequence)
        if not isinstance(saved, (bytes, Saved)):
            raise TypeError(f"saved must be bytes or a weft.Saved, not {type(saved).__name__}")
        native = (Saved(saved) if isinstance(saved, bytes) else saved)._native
        with self._using:
            self._change(at)
            native.restore(self._native, at, -1)

    def stream(self, prompt: Union[str, Ids], *, max_tokens: int = 128,
               sampler: Optional[Sampler] = None, stop: Stops = (),
               grammar: Union[str, Grammar, None] = None,
               json_schema: Union[str, Mapping[str, Any], None] = None,
               sequence: int = 0, draft: Optional[Drafts] = None, context_end: str = "stop",
               keep: int = 4, discard: int = 0, cache_evict: int = 0) -> Stream:
        """The text after a prompt, piece by piece. What the sequence holds of the prompt is not
        computed again. With a `draft`, the sequence may hold guesses behind the text until it
        ends. When the context is full, the text ends, or goes on without some of its tokens, which
        is not exact: context_end is "stop", "shift", "window" or "evict" (docs/prompt_reuse.md)."""
        at = self._sequence(sequence)
        ids = self._tokenizer.encode(prompt, parse_special=True) if isinstance(prompt, str) \
            else _weft.ids(prompt)
        if grammar is not None and json_schema is not None:
            raise ArgumentError("grammar and json_schema exclude each other")
        rules = Grammar.from_json_schema(json_schema) if json_schema is not None \
            else Grammar(grammar) if isinstance(grammar, str) else grammar
        if rules is not None and not isinstance(rules, Grammar):
            raise TypeError(f"grammar must be str or a weft.Grammar, not {type(rules).__name__}")
        end: dict[str, Union[str, int]] = {
            "context_end": context_end, "keep": operator.index(keep),
            "discard": operator.index(discard), "cache_evict": operator.index(cache_evict)}
        return self._text(at, sampler, rules, stop, max_tokens, draft,
                          lambda text: text.begin(ids), end)

    def _text(self, at: int, sampler: Optional[Sampler], rules: Optional[Grammar], stop: Stops,
              max_tokens: int, draft: Optional[Drafts], begin: Callable[["_weft.Generation"], None],
              end: Optional[dict[str, Union[str, int]]] = None) -> Stream:
        """A text in sequence `at`, which reuses what the sequence holds."""
        if sampler is not None and not isinstance(sampler, Sampler):
            raise TypeError(f"sampler must be a weft.Sampler, not {type(sampler).__name__}")
        drafts = getattr(draft, "_native", None)
        if draft is not None and not isinstance(drafts, _weft.Speculation):
            raise TypeError(f"draft must be a weft.Speculation, not {type(draft).__name__}")
        stops = [stop] if isinstance(stop, str) else list(stop)
        for one in stops:
            if not isinstance(one, str):
                raise TypeError(f"stop must be str or a list of str, not {type(one).__name__}")
        native = _weft.Generation.open(
            self._native, at, (sampler or Sampler())._options,
            None if rules is None else rules._native, stops, drafts,
            {"max_tokens": operator.index(max_tokens), **(end or {})})
        with self._using:
            self._change(at)
            begin(native)
            stream = Stream(self, native)
            if draft is not None:
                self._drafted[at] = weakref.ref(stream)
            return stream

    def generate(self, prompt: Union[str, Ids], **options: Any) -> str:
        """The whole text of stream()."""
        return "".join(self.stream(prompt, **options))

    def interleave(self, streams: Iterable[Stream]) -> Iterator[tuple[Stream, str]]:
        """Writes streams of this session, each in its own sequence, in common steps: faster than one
        after the other, and the same texts. Gives each piece with its stream."""
        self._sequence(0)
        return interleaved(_weft.Batch.open(self._native), [self._own(stream) for stream in streams])

    def fork(self, stream: Stream, sequence: int, *, seed: Optional[int] = None) -> Stream:
        """A stream that continues from here in another sequence, which it replaces; with another
        seed, as another text."""
        at = self._sequence(sequence)
        native = self._own(stream)._native
        with self._using:
            self._change(at)
            fork = Stream(self, native.fork(at, None if seed is None else operator.index(seed)))
            fork._ids = stream.tokens
            return fork

    def _own(self, stream: Stream) -> Stream:
        if not isinstance(stream, Stream):
            raise TypeError(f"expected a weft.Stream, not {type(stream).__name__}")
        if stream._session is not self:
            raise ArgumentError("the stream belongs to another session")
        return stream

    def search(self, prompt: Union[str, Ids], *, beams: int = 4, length_penalty: float = 1.0,
               stopping: Optional[str] = None, **options: Any) -> list[FoundText]:
        """The most likely texts after a prompt, best first, by beam search. It needs one sequence per
        beam, whose contents are lost. A score is the logprob / the number of tokens to the power of
        length_penalty; stopping, with enough complete texts: "never", "likely" (the default) or
        "first". Options: max_tokens, sampler, stop, grammar, json_schema, as in stream()."""
        with self._using:
            for at in range(self._info["sequences"]):
                self._change(at)
        stream = self.stream(prompt, sequence=0, **options)
        try:
            found = stream._native.search_json({"beams": beams, "length_penalty": length_penalty,
                                                "stopping": stopping})
        finally:
            stream.close()
        return [FoundText(**one) for one in json.loads(found)]

    def embed(self, texts: Union[str, Sequence[str]], *, normalize: bool = False) -> "Floats":
        """The embedding [D] of a text, or of several [n, D]: the mean of its tokens, unless the
        file says otherwise. normalize: with length 1. Sequences are not touched."""
        import numpy as np
        self._sequence(0)
        rows, width = self._embedders.embed([texts] if isinstance(texts, str) else texts, normalize)
        if isinstance(texts, str):
            return rows[0]
        return np.stack(rows) if rows else np.empty((0, width), np.float32)

    def rerank(self, query: str, documents: Sequence[str], *,
               truncate: bool = False) -> list[tuple[int, float]]:
        """How well documents answer a query, by a model with a classifier: their indices with
        scores, best first. truncate: cuts what is too long. Sequences are not touched."""
        self._sequence(0)
        if isinstance(documents, str):
            raise TypeError("documents must be a list of str, not str")
        return self._embedders.rerank(query, documents, truncate)

    def plan(self, tokens: int = 1) -> Plan:
        """The plan that runs steps of that many tokens."""
        self._sequence(0)
        return Plan(self._native.plan_json(tokens), self._native.plan_svg(tokens),
                    self._native.plan_hash(tokens))

    def describe(self) -> dict[str, Any]:
        """Its options as resolved, its memory by purpose, and what had to give way to the budget."""
        self._sequence(0)
        described: dict[str, Any] = json.loads(self._native.json())
        return described

    def profile(self, ids: Ids, *, sequence: int = 0) -> Profile:
        """Appends tokens in one step (of at most prefill_width), as feed() does, and says where the
        time went."""
        at = self._sequence(sequence)
        given = self._ids(ids)
        with self._using:
            self._change(at)
            return Profile(*self._native.profile(at, given))

    def cancel(self) -> None:
        """Ends the running call, from any thread."""
        if not self.closed:
            self._native.cancel()
            self._embedders.cancel()

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        closed: bool = self._native.closed
        return closed

    def close(self) -> None:
        """Frees the session; arrays of it stay readable."""
        self._native.close()
        self._embedders.close()

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
