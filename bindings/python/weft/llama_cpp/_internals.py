"""The parts of a Llama by the names of llama-cpp-python's internal classes."""

from typing import NoReturn

from ._handles import Batch as LlamaBatch
from ._handles import ContextHandle as LlamaContext
from ._handles import ModelHandle as LlamaModel
from ._missing import refuse_name

__all__ = ["LlamaBatch", "LlamaContext", "LlamaModel"]


def __getattr__(name: str) -> NoReturn:
    refuse_name(__name__, name, "samplers are weft.Sampler, and arguments of create_completion()")
