"""Llama, with the interface of llama-cpp-python."""

import copy
import copyreg
import os
from collections.abc import Sequence
from typing import Any, Optional, Union

import numpy as np

from .._errors import ArgumentError, UnsupportedError
from .._model import Model
from .._objects import Lock
from . import _chat, _completion, _embeddings, _loading, _options
from ._constants import LLAMA_DEFAULT_SEED
from ._handles import ModelParams
from ._lists import (
    LogitsProcessor,
    LogitsProcessorList,
    MinTokensLogitsProcessor,
    StoppingCriteria,
    StoppingCriteriaList,
)
from ._missing import package_name, refuse_name
from ._parts import Parts
from ._sampling import sampler_options
from ._state import LlamaState
from .llama_cache import BaseLlamaCache, common_prefix
from .llama_grammar import LlamaGrammar
from .llama_tokenizer import BaseLlamaTokenizer, LlamaTokenizer


# Arguments that programs read from the object.
_READABLE = ("kv_overrides", "lora_base", "lora_path", "lora_scale", "n_threads", "n_threads_batch",
             "numa", "spm_infill", "tensor_split")


class Llama(Parts):
    """A model with one sequence of tokens. docs/python.md lists which arguments are honoured."""

    def __init__(
            self, model_path: Union[str, "os.PathLike[str]"], *, n_gpu_layers: int = 0,
            split_mode: int = 1, main_gpu: int = 0, tensor_split: Optional[list[float]] = None,
            vocab_only: bool = False, use_mmap: bool = True, use_mlock: bool = False,
            kv_overrides: Optional[dict[str, Union[bool, int, float, str]]] = None,
            seed: int = LLAMA_DEFAULT_SEED, n_ctx: int = 512, n_batch: int = 512,
            n_ubatch: int = 512, n_threads: Optional[int] = None,
            n_threads_batch: Optional[int] = None, rope_scaling_type: Optional[int] = -1,
            pooling_type: int = -1, attention_type: int = -1, rope_freq_base: float = 0.0,
            rope_freq_scale: float = 0.0, yarn_ext_factor: float = -1.0,
            yarn_attn_factor: float = 1.0, yarn_beta_fast: float = 32.0,
            yarn_beta_slow: float = 1.0, yarn_orig_ctx: int = 0, logits_all: bool = False,
            embedding: bool = False, offload_kqv: bool = True, flash_attn: bool = False,
            op_offload: Optional[bool] = None, swa_full: Optional[bool] = None,
            no_perf: bool = False, last_n_tokens_size: int = 64, lora_base: Optional[str] = None,
            lora_scale: float = 1.0, lora_path: Optional[str] = None,
            numa: Union[bool, int] = False, chat_format: Optional[str] = None,
            chat_handler: Optional[Any] = None, draft_model: Optional[Any] = None,
            tokenizer: Optional[BaseLlamaTokenizer] = None, type_k: Optional[int] = None,
            type_v: Optional[int] = None, spm_infill: bool = False, verbose: bool = True,
            **kwargs: Any) -> None:
        given = dict(locals())
        for name in ("self", "__class__"):
            given.pop(name, None)
        self._begin(given, warn=True)

    def _begin(self, given: dict[str, Any], warn: bool, model: Optional[Model] = None) -> None:
        """Opens the file, or shares a model that is open, as the arguments say."""
        self._session: Any = None
        self._closed = False
        self._lock = Lock()
        given = _options.with_defaults(given, Llama.__init__.__kwdefaults__)
        _options.check(given, warn)
        self._given = given
        self._open(given, model)
        self._configure(given)
        self._prepare(given)
        _chat.check_format(self)
        self._own_names = frozenset([*self.__dict__, "_own_names"])

    def _open(self, given: dict[str, Any], shared: Optional[Model]) -> None:
        self.model_path = _options.path(given["model_path"], "model_path")
        lora = given["lora_path"]
        loras = [] if lora is None else [(os.fspath(lora), float(given["lora_scale"]))]
        options: dict[str, Any] = {
            "vocabulary_only": bool(given["vocab_only"]), "loras": loras,
            "overrides": _options.check_overrides(given["kv_overrides"])}
        self._computing = [loras, given["type_k"], given["type_v"]]
        if shared is not None:
            self._set_model(shared)
            return
        use_mmap = bool(given["use_mmap"])
        model = _loading.open_model(self.model_path, use_mmap, options)
        yarn = {name: value for name, value in given.items() if name.startswith("yarn_")}
        try:
            more = _loading.rope_overrides(model, given["rope_scaling_type"],
                                           given["rope_freq_base"], given["rope_freq_scale"], yarn)
            _loading.check_attention(model, given["attention_type"])
        except BaseException:
            model.close()
            raise
        if more:
            model.close()
            options["overrides"] = {**options["overrides"], **more}
            model = _loading.open_model(self.model_path, use_mmap, options)
        self._set_model(model)

    def _set_model(self, model: Model) -> None:
        self._weft_model = model
        self._tokens = model.tokenizer

    def _configure(self, given: dict[str, Any]) -> None:
        if given["spm_infill"] and not self._can_infill():
            self.close()
            _options.refuse("spm_infill", "the model has no tokens for infilling")
        self._spm_infill = bool(given["spm_infill"])
        self.metadata = {key: _as_text(value) for key, value in self._weft_model.metadata.items()
                         if not isinstance(value, (list, dict))}
        self._n_ctx = int(given["n_ctx"]) or max(self._weft_model.context, 1)
        self.n_batch = min(self._n_ctx, int(given["n_batch"]))
        self.last_n_tokens_size = int(given["last_n_tokens_size"])
        self._logits_all = bool(given["logits_all"])
        self._embedding = bool(given["embedding"] or given["kwargs"].get("embeddings"))
        self._pooling_type = given["pooling_type"]
        self._embedder: Any = None
        self._own_tokenizer = given["tokenizer"]
        for name in _READABLE:
            setattr(self, name, given[name])
        self.model_params = ModelParams(given)
        self.draft_model = given["draft_model"]
        self.chat_format = given["chat_format"]
        self.chat_handler = given["chat_handler"]
        self.verbose = given["verbose"]
        self._identity_text: Optional[str] = None
        self.cache: Optional[BaseLlamaCache] = None
        self.set_seed(given["seed"])

    def _identity(self) -> str:
        """What tells the states of this model from those of others in a cache."""
        if self._identity_text is None:
            self._identity_text = _loading.model_identity(
                self.model_path, self._weft_model.metadata, self._computing)
        return self._identity_text

    # ---- texts

    def create_completion(
            self, prompt: Union[str, list[int]], suffix: Optional[str] = None,
            max_tokens: Optional[int] = 16, temperature: float = 0.8, top_p: float = 0.95,
            min_p: float = 0.05, typical_p: float = 1.0, logprobs: Optional[int] = None,
            echo: bool = False, stop: Optional[Union[str, list[str]]] = [],
            frequency_penalty: float = 0.0, presence_penalty: float = 0.0,
            repeat_penalty: float = 1.0, top_k: int = 40, stream: bool = False,
            seed: Optional[int] = None, tfs_z: float = 1.0, mirostat_mode: int = 0,
            mirostat_tau: float = 5.0, mirostat_eta: float = 0.1, model: Optional[str] = None,
            stopping_criteria: Optional[Any] = None, logits_processor: Optional[Any] = None,
            grammar: Optional[LlamaGrammar] = None,
            logit_bias: Optional[dict[Any, float]] = None) -> Any:
        """The text after a prompt: an answer in OpenAI's form, or an iterator of chunks."""
        options = sampler_options(locals())
        request = _completion.Request(
            self, prompt, options, seed=seed, suffix=suffix, max_tokens=max_tokens,
            logprobs=logprobs, echo=echo, stop=stop, model=model, criteria=stopping_criteria,
            processors=logits_processor, grammar=grammar, logit_bias=logit_bias)
        return request.chunks() if stream else request.answer()

    def __call__(
            self, prompt: Union[str, list[int]], suffix: Optional[str] = None,
            max_tokens: Optional[int] = 16, temperature: float = 0.8, top_p: float = 0.95,
            min_p: float = 0.05, typical_p: float = 1.0, logprobs: Optional[int] = None,
            echo: bool = False, stop: Optional[Union[str, list[str]]] = [],
            frequency_penalty: float = 0.0, presence_penalty: float = 0.0,
            repeat_penalty: float = 1.0, top_k: int = 40, stream: bool = False,
            seed: Optional[int] = None, tfs_z: float = 1.0, mirostat_mode: int = 0,
            mirostat_tau: float = 5.0, mirostat_eta: float = 0.1, model: Optional[str] = None,
            stopping_criteria: Optional[Any] = None, logits_processor: Optional[Any] = None,
            grammar: Optional[LlamaGrammar] = None,
            logit_bias: Optional[dict[Any, float]] = None) -> Any:
        """As create_completion()."""
        arguments = {key: value for key, value in locals().items() if key != "self"}
        return self.create_completion(**arguments)

    def create_chat_completion(
            self, messages: list[Any], functions: Optional[list[Any]] = None,
            function_call: Optional[Any] = None, tools: Optional[list[Any]] = None,
            tool_choice: Optional[Any] = None, temperature: float = 0.2, top_p: float = 0.95,
            top_k: int = 40, min_p: float = 0.05, typical_p: float = 1.0, stream: bool = False,
            stop: Optional[Union[str, list[str]]] = [], seed: Optional[int] = None,
            response_format: Optional[Any] = None, max_tokens: Optional[int] = None,
            presence_penalty: float = 0.0, frequency_penalty: float = 0.0,
            repeat_penalty: float = 1.0, tfs_z: float = 1.0, mirostat_mode: int = 0,
            mirostat_tau: float = 5.0, mirostat_eta: float = 0.1, model: Optional[str] = None,
            logits_processor: Optional[Any] = None, grammar: Optional[LlamaGrammar] = None,
            logit_bias: Optional[dict[Any, float]] = None, logprobs: Optional[bool] = None,
            top_logprobs: Optional[int] = None, parallel_tool_calls: Optional[bool] = None
            ) -> Any:
        """The answer to messages, in OpenAI's form, or an iterator of chunks.
        parallel_tool_calls=False allows one call in it."""
        arguments = {key: value for key, value in locals().items() if key != "self"}
        return _chat.complete(self, **arguments)

    def embed(self, input: Union[str, list[str]], normalize: bool = False, truncate: bool = True,
              return_count: bool = False) -> Any:
        """The embedding of a text, or of each of several. Without pooling, as chat models are, a
        row per token: pooling_type=LLAMA_POOLING_TYPE_MEAN gives one vector."""
        rows, count = _embeddings.embed(self, input, normalize, truncate)
        return (rows, count) if return_count else rows

    def create_embedding(self, input: Union[str, list[str]], model: Optional[str] = None) -> Any:
        """Embeddings in OpenAI's form."""
        return _embeddings.create_embedding(self, input, model)

    def create_chat_completion_openai_v1(self, *arguments: Any, **keywords: Any) -> Any:
        """The answer as an object of the package openai."""
        try:
            from openai.types.chat import (  # type: ignore[import]
                ChatCompletion,
                ChatCompletionChunk,
            )
        except ImportError as error:
            raise ImportError(
                "create_chat_completion_openai_v1() needs the package openai") from error
        answer = self.create_chat_completion(*arguments, **keywords)
        if keywords.get("stream"):
            return (ChatCompletionChunk(**chunk) for chunk in answer)
        return ChatCompletion(**answer)

    @staticmethod
    def logits_to_logprobs(logits: Any, axis: int = -1) -> Any:
        """The logarithms of the probabilities that softmax makes of logits, along an axis."""
        maximum = np.amax(logits, axis=axis, keepdims=True)
        shifted = np.subtract(logits, np.where(np.isfinite(maximum), maximum, 0), dtype=np.float64)
        return (shifted - np.log(np.sum(np.exp(shifted), axis=axis, keepdims=True))).astype(
            np.float32)

    @staticmethod
    def longest_token_prefix(a: Sequence[int], b: Sequence[int]) -> int:
        """How many ids two texts have in common."""
        return common_prefix(a, b)

    @classmethod
    def from_pretrained(cls, repo_id: str, filename: Optional[str],
                        additional_files: Optional[list[str]] = None,
                        local_dir: Optional[Any] = None,
                        local_dir_use_symlinks: Union[bool, str] = "auto",
                        cache_dir: Optional[Any] = None, **kwargs: Any) -> "Llama":
        """The one file of a folder that matches a pattern."""
        import fnmatch
        import pathlib
        folder = pathlib.Path(repo_id)
        if not folder.is_dir():
            raise UnsupportedError(f"{repo_id} is not a folder, and Weft downloads nothing: fetch "
                                   "the file, and give the folder that it is in")
        names = sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())
        found = [n for n in names if fnmatch.fnmatch(n, filename or "*.gguf")]
        if len(found) != 1:
            raise ArgumentError(f"{len(found)} files of {repo_id} match {filename!r}; there are: "
                                f"{', '.join(names)}")
        return cls(model_path=folder / found[0], **kwargs)

    def pooling_type(self) -> int:
        """The argument pooling_type, a LLAMA_POOLING_TYPE_*."""
        return self._ctx.pooling_type()

    @property
    def tokenizer_(self) -> BaseLlamaTokenizer:
        """The argument tokenizer, or the tokenizer of the model."""
        own = self._own_tokenizer
        return self.tokenizer() if own is None else own

    # ---- the end

    def close(self) -> None:
        """Frees the model; any number of times."""
        if getattr(self, "_closed", True):
            return
        self._closed = True
        if self._session is not None:
            self._session.close()
        if getattr(self, "_embedder", None) is not None:
            self._embedder.close()
        if hasattr(self, "_weft_model"):
            self._weft_model.close()

    def __del__(self) -> None:
        try:
            self.close()
        except Exception:  # noqa: BLE001 - the interpreter may be ending
            pass

    # ---- copies

    def _described(self) -> dict[str, Any]:
        """The arguments of another Llama like this one."""
        self._words()  # it is not closed
        current = {name: getattr(self, name) for name in (
            "verbose", "chat_format", "chat_handler", "draft_model")}
        return {**self._given, **current, "seed": self._seed}

    def _added(self) -> dict[str, Any]:
        """Attributes that a subclass or a program added."""
        return {name: value for name, value in self.__dict__.items()
                if name not in self._own_names}

    def __getstate__(self) -> dict[str, Any]:
        return {"arguments": self._described(), "added": self._added()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Opens the file again. Tokens and caches are not part of a pickle: see save_state()."""
        self._begin(state["arguments"], warn=False)
        self.__dict__.update(state["added"])

    def __reduce_ex__(self, protocol: Any) -> Any:
        return copyreg.__newobj__, (type(self),), self.__getstate__()  # type: ignore[attr-defined]

    def __copy__(self) -> "Llama":
        """Another object on the same weights, without the tokens of this one."""
        made = self._shared()
        made.__dict__.update(self._added())
        return made

    def __deepcopy__(self, memo: dict[int, Any]) -> "Llama":
        """As copy(): the weights are shared."""
        # Attributes may refer to the object itself.
        made = memo[id(self)] = self._shared()
        made.__dict__.update(copy.deepcopy(self._added(), memo))
        return made

    def _shared(self) -> "Llama":
        """Another object on the same weights, without attributes that were added."""
        made = type(self).__new__(type(self))
        model = Model._made(self._weft_model._opened().share())
        try:
            made._begin(self._described(), warn=False, model=model)
        except BaseException:
            model.close()
            raise
        return made


def _open_vocabulary(path: str) -> Llama:
    """A Llama without weights."""
    return Llama(model_path=path, vocab_only=True, verbose=False)


LlamaTokenizer._open_vocabulary = _open_vocabulary


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)


__all__ = [
    "Llama", "LlamaState", "LogitsProcessor", "LogitsProcessorList", "MinTokensLogitsProcessor",
    "StoppingCriteria", "StoppingCriteriaList",
]


def __getattr__(name: str) -> Any:
    """Other names of the package, which programs take from here as well."""
    if not name.startswith("_"):
        found = package_name(name)
        if found is not None:
            return found
    refuse_name(__name__, name, "it is not part of weft.llama_cpp")
