"""Files of models that are written: converted and quantized."""

import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any, Optional, Union

from . import _weft

# How far the caller of quantize() is from log(): the callback and the call are between them.
_CALLER = 6

Path = Union[str, "os.PathLike[str]"]
Progress = Optional[Callable[[float], Any]]


def quantize(input: Path, output: Path, type: str, *,
             tensor_types: Optional[Mapping[str, str]] = None, imatrix: Optional[Path] = None,
             progress: Progress = None, **options: Any) -> None:
    """Writes a GGUF file in other types: "Q4_K_M", ... `progress` is called with numbers from 0 to 1;
    False cancels. tensor_types: types by regular expressions of names, of which the first one that
    matches counts. imatrix: the path of an importance matrix. Keywords: pure, output_type,
    embedding_type, leave_output, allow_requantize, nonfinite_to_zero, workers."""
    rules = None if tensor_types is None else "\n".join(f"{k}={v}" for k, v in tensor_types.items())
    _weft.quantize(os.fsencode(input), os.fsencode(output), {
        **options, "type": type, "tensor_types": rules, "progress": progress,
        "imatrix": None if imatrix is None else os.fsencode(imatrix),
        "log": lambda line: warnings.warn(line, stacklevel=_CALLER)})


def convert(folder: Path, output: Path, type: Optional[str] = None, *,
            progress: Progress = None) -> None:
    """Writes a folder of safetensors as a GGUF file, in "F32", "F16" or "BF16"; None: unchanged.
    `progress` is called with numbers from 0 to 1; False cancels."""
    _weft.convert(os.fsencode(folder), os.fsencode(output), type, progress)
