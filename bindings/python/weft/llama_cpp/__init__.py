"""The interface of llama-cpp-python on Weft: `from weft.llama_cpp import Llama`."""

from typing import Any

from .. import __version__
from ._constants import *  # noqa: F401,F403
from ._low_level import (
    llama_backend_free,
    llama_backend_init,
    llama_log_callback,
    llama_log_set,
    llama_max_devices,
    llama_numa_init,
    llama_print_system_info,
    llama_supports_gpu_offload,
    llama_supports_mlock,
    llama_supports_mmap,
    llama_supports_rpc,
    llama_time_us,
)
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
from .llama_tokenizer import BaseLlamaTokenizer, LlamaTokenizer

__all__ = [
    "BaseLlamaCache", "BaseLlamaTokenizer", "Llama", "LlamaCache", "LlamaDiskCache", "LlamaGrammar",
    "LlamaRAMCache", "LlamaState", "LlamaTokenizer", "LogitsProcessor", "LogitsProcessorList",
    "MinTokensLogitsProcessor", "StoppingCriteria", "StoppingCriteriaList", "__version__",
    "llama_backend_free", "llama_backend_init", "llama_log_callback", "llama_log_set",
    "llama_max_devices", "llama_numa_init", "llama_print_system_info", "llama_supports_gpu_offload",
    "llama_supports_mlock", "llama_supports_mmap", "llama_supports_rpc", "llama_time_us",
]


def __getattr__(name: str) -> Any:
    if name.startswith(("llama_", "ggml_")):
        raise AttributeError(
            f"weft.llama_cpp has no {name}(): C structs are not part of it; use weft.Session, or "
            "the C API of libweft (weft/weft.h)")
    raise AttributeError(f"module 'weft.llama_cpp' has no attribute {name!r}")
