"""Parts of a Llama that are not documented, and that wrappers and functions of llama.h use."""

import ctypes
from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from .. import _weft
from .._errors import UnsupportedError
from .._objects import Unpicklable
from ._evaluation import Evaluation

_TOKEN_NORMAL, _TOKEN_CONTROL = 1, 3
# Types of tokens in files, and llama.h's flags for them.
_ATTRIBUTES = {1: 1 << 2, 2: 1 << 0, 3: 1 << 3, 4: 1 << 4, 5: 1 << 1, 6: 1 << 5}
_VOCABULARIES = {"none": 0, "no_vocab": 0, "llama": 1, "gpt2": 2, "bert": 3, "t5": 4, "rwkv": 5,
                 "plamo2": 6}


class _Handle(Unpicklable):
    """A part of a Llama. Two of the same kind and Llama are equal."""

    _instead = "pickle or copy the Llama"

    def __init__(self, llama: Evaluation) -> None:
        self._llama = llama

    def __eq__(self, other: Any) -> bool:
        return type(other) is type(self) and other._llama is self._llama

    def __hash__(self) -> int:
        return hash((type(self), id(self._llama)))

    def _refuse_name(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} has no attribute {name!r}: only what programs beside "
            "llama-cpp-python itself use is part of weft.llama_cpp")

    def __getattr__(self, name: str) -> Any:
        self._refuse_name(name)


class Batch:
    """llm._batch: the tokens of a step."""

    def __init__(self) -> None:
        self.ids: list[int] = []
        self.n_past = 0
        self.logits_all = False

    @property
    def batch(self) -> "Batch":
        """Itself, in place of a C struct."""
        return self

    def n_tokens(self) -> int:
        """Tokens of the step."""
        return len(self.ids)

    def reset(self) -> None:
        """Removes the tokens."""
        self.ids = []

    def set_batch(self, batch: Sequence[int], n_past: int, logits_all: bool) -> None:
        """Takes the tokens behind the first n_past; with logits_all the step has the logits of all
        of them, otherwise those of the last one."""
        self.ids, self.n_past = [int(i) for i in batch], int(n_past)
        self.logits_all = bool(logits_all)


class ContextHandle(_Handle):
    """llm._ctx and llm.ctx: what wrappers touch."""

    @property
    def ctx(self) -> "ContextHandle":
        """Itself, in place of a pointer."""
        return self

    @ctx.setter
    def ctx(self, value: Any) -> None:
        if value != self:
            raise UnsupportedError("_ctx.ctx: another context cannot be put in; use another Llama, "
                                   "or save_state() and load_state()")

    @property
    def model(self) -> "ModelHandle":
        """The model of the context."""
        return ModelHandle(self._llama)

    def n_ctx(self) -> int:
        """Positions of the context."""
        return self._llama.n_ctx()

    def pooling_type(self) -> int:
        """The argument pooling_type."""
        return int(getattr(self._llama, "_pooling_type", -1))

    def kv_cache_clear(self) -> None:
        """Forgets all tokens."""
        self._llama.reset()

    def kv_cache_seq_rm(self, seq_id: int, p0: int, p1: int) -> bool:
        """Forgets the tokens from p0 on, up to p1, which must be behind the last one; a negative p1
        is. The sequence of a Llama is 0; a negative seq_id means every sequence, and others have no
        tokens."""
        llama = self._llama
        with llama._lock:
            llama._opened()
            begin, end = max(p0, 0), llama.n_tokens if p1 < 0 else min(p1, llama.n_tokens)
            if seq_id > 0 or begin >= end:
                return True
            if end < llama.n_tokens:
                raise UnsupportedError("kv_cache_seq_rm: only the end of a sequence can be removed")
            llama.n_tokens = begin
        return True

    def decode(self, batch: Batch) -> None:
        """A step of the tokens of a batch. Who calls it counts them, in n_tokens and input_ids."""
        with self._llama._lock:
            self._llama._decode(self._llama._checked(batch.ids), batch.n_past,
                                batch.logits_all)

    def get_logits(self) -> Any:
        """The logits of the last step, as a pointer to floats: a row for each of its tokens that
        has one, in their order."""
        llama = self._llama
        with llama._lock:
            llama._opened()
            return _pointer(np.array(llama._last_step.rows(llama.scores), np.float32))

    def get_logits_ith(self, i: int) -> Any:
        """The logits after token i of the last step, as a pointer to floats. Negative numbers count
        the rows from the end: -1 is the last one."""
        llama = self._llama
        with llama._lock:
            llama._opened()
            row = llama._last_step.rows(llama.scores)[llama._last_step.row_of(i)]
            return _pointer(np.array(row, np.float32))

    def set_n_threads(self, n_threads: int, n_threads_batch: int) -> None:
        """Nothing: the workers are those of Llama(n_threads=...). They change no result."""

    def reset_timings(self) -> None:
        """Nothing to do."""

    def print_timings(self) -> None:
        """Nothing to print."""


def _pointer(rows: Any) -> Any:
    return np.ascontiguousarray(rows).ctypes.data_as(ctypes.POINTER(ctypes.c_float))


class ModelHandle(_Handle):
    """llm._model and llm.model: what wrappers touch. It is its own vocabulary, too."""

    @property
    def model(self) -> "ModelHandle":
        """Itself, in place of a pointer."""
        return self

    @property
    def vocab(self) -> "ModelHandle":
        """Itself, in place of a pointer."""
        return self

    def _key(self, name: str, default: Any = 0) -> Any:
        """A key of the file below its architecture."""
        model = self._llama._weft_model
        return model.metadata.get(f"{model.architecture}.{name}", default)

    def _vocabulary_key(self, name: str, default: Any) -> Any:
        return self._llama._weft_model.metadata.get(f"tokenizer.ggml.{name}", default)

    def vocab_type(self) -> int:
        """A LLAMA_VOCAB_TYPE_*."""
        return _VOCABULARIES.get(self._vocabulary_key("model", "none"), 0)

    def n_vocab(self) -> int:
        """Tokens of the vocabulary."""
        return self._llama.n_vocab()

    def n_ctx_train(self) -> int:
        """Positions that the model was trained for."""
        return self._llama._weft_model.context

    def n_embd(self) -> int:
        """Numbers of a hidden state."""
        return self._llama.n_embd()

    def n_params(self) -> int:
        """Elements of all weights."""
        return self._llama._weft_model.n_params

    def size(self) -> int:
        """Bytes of all weights."""
        size: int = self._llama._weft_model._info["weight_bytes"]
        return size

    def desc(self) -> str:
        """The architecture and the name."""
        model = self._llama._weft_model
        return f"{model.architecture} {model.name}".strip()

    def metadata(self) -> dict[str, str]:
        """The keys of the file as text."""
        return dict(self._llama.metadata)

    def token_get_text(self, token: int) -> str:
        """The text of a token."""
        return self._llama.detokenize([token], special=True).decode("utf-8", "replace")

    def token_get_score(self, token: int) -> float:
        """The score of a token in the file; 0.0 if there is none."""
        scores = self._vocabulary_key("scores", [])
        self._llama._checked([token])
        return float(scores[token]) if token < len(scores) else 0.0

    def token_get_attr(self, token: int) -> int:
        """The LLAMA_TOKEN_ATTR_* of a token."""
        return _ATTRIBUTES.get(self._type(token), 0)

    def _type(self, token: int) -> int:
        self._llama._checked([token])
        types = self._vocabulary_key("token_type", [])
        return int(types[token]) if token < len(types) else _TOKEN_NORMAL

    def is_control(self, token: int) -> bool:
        """Whether a token is a control token rather than text."""
        return self._type(token) == _TOKEN_CONTROL

    def is_eog(self, token: int) -> bool:
        """Whether a token ends a text."""
        return self._llama._ends_text(self._llama._checked([token])[0])

    def _id(self, *names: str) -> int:
        found = (self._vocabulary_key(f"{name}_token_id", None) for name in names)
        return next((int(i) for i in found if i is not None), -1)

    def token_bos(self) -> int:
        """The token that begins a text; -1: none. So are the others."""
        return self._llama.token_bos()

    def token_eos(self) -> int:
        """The token that ends a text."""
        return self._llama.token_eos()

    def token_eot(self) -> int:
        """The token that ends a turn."""
        return self._llama._special(_weft.SPECIAL_EOT)

    def token_nl(self) -> int:
        """The token of a line break."""
        return self._llama.token_nl()

    def token_cls(self) -> int:
        """The token that begins a text for a classifier."""
        return self._id("cls", "bos")

    def token_sep(self) -> int:
        """The token between two texts."""
        return self._id("seperator", "separator")

    def token_pad(self) -> int:
        """The token that fills up."""
        return self._id("padding")

    def token_mask(self) -> int:
        """The token to be guessed."""
        return self._id("mask")

    def token_prefix(self) -> int:
        """The token before what precedes a gap."""
        return self._llama._special(_weft.SPECIAL_FIM_PREFIX)

    def token_middle(self) -> int:
        """The token before what fills a gap."""
        return self._llama._special(_weft.SPECIAL_FIM_MIDDLE)

    def token_suffix(self) -> int:
        """The token before what follows a gap."""
        return self._llama._special(_weft.SPECIAL_FIM_SUFFIX)

    def add_bos_token(self) -> bool:
        """Whether texts begin with BOS."""
        return self._llama._adds_bos()

    def add_eos_token(self) -> bool:
        """Whether texts end with EOS."""
        end = self._llama.token_eos()
        ids: list[int] = self._llama._words().encode("a", add_special=True)
        return end >= 0 and ids[-1:] == [end]

    def tokenize(self, text: bytes, add_bos: bool, special: bool) -> list[int]:
        """The ids of a text."""
        return self._llama.tokenize(text, add_bos, special)

    def detokenize(self, tokens: Sequence[int], special: bool = False) -> bytes:
        """The bytes of ids."""
        return self._llama.detokenize(tokens, special=special)

    def token_to_piece(self, token: int, special: bool = False) -> bytes:
        """The bytes of a token."""
        self._llama._checked([token])
        piece: bytes = self._llama._words()._native.decode([token], special, False)
        return piece


class ContextParams:
    """llm.context_params."""

    def __init__(self, n_ctx: int, n_batch: int, logits_all: bool) -> None:
        self.n_ctx = n_ctx
        self.n_batch = n_batch
        self.logits_all = logits_all


class ModelParams:
    """llm.model_params."""

    def __init__(self, given: dict[str, Any]) -> None:
        for name in ("n_gpu_layers", "split_mode", "main_gpu", "vocab_only", "use_mmap",
                     "use_mlock"):
            setattr(self, name, given[name])
