"""The interface of llama-cpp-python on Weft: `from weft.llama_cpp import Llama`."""

import importlib
import sys as _sys
from typing import Any

from .. import __version__
from ._constants import *  # noqa: F401,F403
from ._low_level import *  # noqa: F401,F403
from ._missing import refuse_name
from ._missing import register_package as _register_package
from .llama import (
    Llama,
    LlamaState,
    LogitsProcessor,
    LogitsProcessorList,
    MinTokensLogitsProcessor,
    StoppingCriteria,
    StoppingCriteriaList,
)
from .llama_cache import BaseLlamaCache, LlamaCache, LlamaDiskCache, LlamaRAMCache
from .llama_grammar import LlamaGrammar
from .llama_tokenizer import BaseLlamaTokenizer, LlamaHFTokenizer, LlamaTokenizer

_register_package(_sys.modules[__name__])

__all__ = [
    "BaseLlamaCache", "BaseLlamaTokenizer", "Llama", "LlamaCache", "LlamaDiskCache", "LlamaGrammar",
    "LlamaHFTokenizer", "LlamaRAMCache", "LlamaState", "LlamaTokenizer", "LogitsProcessor",
    "LogitsProcessorList", "MinTokensLogitsProcessor", "StoppingCriteria", "StoppingCriteriaList",
    "__version__",
]
__all__ += [name for name in dict(globals()) if name.startswith(("GGML_", "LLAMA_", "llama_"))
            and name.upper() not in ("LLAMA_CACHE", "LLAMA_GRAMMAR", "LLAMA_TOKENIZER")]

# Modules that are imported when they are used.
_MODULES = ("_internals", "_logger", "_utils", "llama", "llama_cache", "llama_chat_format",
            "llama_cpp", "llama_grammar", "llama_speculative", "llama_tokenizer", "llama_types",
            "llava_cpp", "mtmd_cpp", "server")


def __getattr__(name: str) -> Any:
    """Modules, and the types of messages and answers."""
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name[:1].isupper() or name == "JsonType":
        from . import llama_types
        found = getattr(llama_types, name, None)
        if found is not None:
            globals()[name] = found
            return found
    from .llama_cpp import NO_STRUCTS
    is_of_c = name.startswith(("llama_", "ggml_", "LLAMA_", "GGML_"))
    refuse_name(__name__, name, NO_STRUCTS if is_of_c else "it is not part of weft.llama_cpp")
