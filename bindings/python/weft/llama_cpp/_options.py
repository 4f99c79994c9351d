"""The arguments of Llama(): what is honoured, accepted and refused."""

import math
import os
import warnings
from collections.abc import Mapping
from typing import Any, Optional

from .._errors import ArgumentError, UnsupportedError

# Arguments of older versions, at the values that change nothing.
_LEFT_OVERS = {"n_parts": (-1,), "f16_kv": (True,), "mul_mat_q": (True, False, None),
               "low_vram": (False, None), "n_gqa": (None,), "rms_norm_eps": (None,),
               "embeddings": (True, False)}
_CACHE_TYPES = {0: "F32", 1: "F16", 2: "Q4_0", 8: "Q8_0"}
_FLAGS = ("vocab_only", "use_mmap", "use_mlock", "logits_all", "embedding", "spm_infill")
# Integers, their minima, and what None means; None there: None is refused.
_INTEGERS: dict[str, tuple[int, Optional[int]]] = {
    "n_ctx": (0, None), "n_batch": (1, None), "n_ubatch": (1, None), "n_threads": (0, 0),
    "n_threads_batch": (0, 0), "last_n_tokens_size": (0, None), "yarn_orig_ctx": (0, None),
    "attention_type": (-1, None)}
# Numbers and their minima.
_NUMBERS = {"rope_freq_base": 0.0, "rope_freq_scale": 0.0, "yarn_ext_factor": -math.inf,
            "yarn_attn_factor": -math.inf, "yarn_beta_fast": 0.0, "yarn_beta_slow": 0.0,
            "lora_scale": -math.inf}


def refuse(name: str, why: str) -> None:
    """Raises the error of an argument that cannot be honoured."""
    raise UnsupportedError(f"{name}: {why}")


def check(given: Mapping[str, Any]) -> None:
    """Raises an error that names the first argument of Llama() that cannot be honoured, as far as
    that does not depend on the model."""
    _check_left_overs(given["kwargs"])
    path(given["model_path"], "model_path")
    for name in _FLAGS:
        _check_flag(name, given[name])
    for name, (minimum, none) in _INTEGERS.items():
        integer(name, given[name], minimum, none)
    for name, lowest in _NUMBERS.items():
        _check_number(name, given[name], lowest)
    _check_devices(given)
    _check_objects(given)
    for name in ("type_k", "type_v"):
        cache_type(name, given[name])
    check_overrides(given["kv_overrides"])
    if given["pooling_type"] not in (-1, 0, 1, 2, 3):
        refuse("pooling_type", f"{given['pooling_type']!r} cannot be honoured")
    if given["lora_base"] is not None:
        refuse("lora_base", "a LoRA is added to the weights of the model itself: use None")
    if given["lora_path"] is not None:
        path(given["lora_path"], "lora_path")


def _check_left_overs(more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if name not in _LEFT_OVERS:
            raise TypeError(f"Llama() got an unexpected keyword argument '{name}'")
        if value not in _LEFT_OVERS[name]:
            refuse(name, f"{value!r} cannot be honoured")


def _check_devices(given: Mapping[str, Any]) -> None:
    """Refuses devices and memory that Weft does not use."""
    if given["n_gpu_layers"] == -1:
        warnings.warn("n_gpu_layers=-1: Weft computes on CPUs, so no layer is on a GPU",
                      RuntimeWarning, stacklevel=4)
    elif given["n_gpu_layers"] != 0:
        refuse("n_gpu_layers", "Weft computes on CPUs: use 0")
    if given["split_mode"] not in (0, 1, 2):
        refuse("split_mode", f"{given['split_mode']!r} is unknown")
    if given["main_gpu"] != 0:
        refuse("main_gpu", "Weft computes on CPUs: use 0")
    if given["tensor_split"] is not None:
        refuse("tensor_split", "Weft computes on CPUs: use None")
    if given["numa"] not in (False, 0, None):
        refuse("numa", "memory is not placed by NUMA nodes: use False")
    if given["use_mlock"]:
        refuse("use_mlock", "pages are not locked: use False")


def _check_objects(given: Mapping[str, Any]) -> None:
    name = given["chat_format"]
    if name is not None and not isinstance(name, str):
        raise TypeError(f"chat_format must be str, not {type(name).__name__}")
    for name in ("chat_handler", "draft_model"):
        if given[name] is not None and not callable(given[name]):
            raise TypeError(f"{name} must be callable, not {type(given[name]).__name__}")
    words = given["tokenizer"]
    if words is not None and not all(
            callable(getattr(words, method, None)) for method in ("tokenize", "detokenize")):
        raise TypeError("tokenizer must have tokenize() and detokenize(), as a BaseLlamaTokenizer, "
                        f"not be {type(words).__name__}")


def path(value: Any, name: str) -> str:
    """A path as text."""
    result = os.fspath(value) if isinstance(value, os.PathLike) else value
    if not isinstance(result, str):
        raise TypeError(f"{name} must be str or os.PathLike, not {type(value).__name__}")
    return result


def _check_flag(name: str, value: Any) -> None:
    """None is the default of the argument."""
    if value is None or isinstance(value, bool):
        return
    if hasattr(value, "__index__") and value in (0, 1):
        return
    if type(value).__name__ not in ("bool_", "bool"):  # those of numpy
        raise TypeError(f"{name} must be a bool, not {type(value).__name__}")


def integer(name: str, value: Any, minimum: int, none: Optional[int] = None) -> int:
    """An argument that is an integer; `none` is what None means."""
    if value is None and none is not None:
        return none
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    number = int(value)
    if number < minimum:
        raise ArgumentError(f"{name} must be at least {minimum}, got {number}")
    return number


def _check_number(name: str, value: Any, minimum: float) -> None:
    is_number = hasattr(value, "__float__") or hasattr(value, "__index__")
    if isinstance(value, bool) or not is_number:
        raise TypeError(f"{name} must be a number, not {type(value).__name__}")
    number = float(value)
    if not math.isfinite(number) or number < minimum:
        want = "finite" if minimum == -math.inf else f"at least {minimum:g}"
        raise ArgumentError(f"{name} must be {want}, got {number}")


def cache_type(name: str, number: Any) -> Optional[str]:
    """The name of a GGML type that a cache can have."""
    if number is None:
        return None
    found = _CACHE_TYPES.get(integer(name, number, 0))
    if found is None:
        refuse(name, f"a cache cannot be of GGML type {number}; use 0 (F32), 1 (F16), 2 (Q4_0) or "
                     "8 (Q8_0)")
    return found


def check_overrides(given: Any) -> dict[str, Any]:
    """The argument kv_overrides; empty if it is None."""
    if given is not None and not isinstance(given, Mapping):
        raise TypeError(f"kv_overrides must be a dict, not {type(given).__name__}")
    for key, value in (given or {}).items():
        if not isinstance(key, str):
            raise TypeError(f"kv_overrides: keys must be str, not {type(key).__name__}")
        if not isinstance(value, (bool, int, float, str)):
            raise TypeError(f"kv_overrides: the value of {key!r} must be bool, int, float or str, "
                            f"not {type(value).__name__}")
        if isinstance(value, str) and len(value.encode()) > 128:
            raise ArgumentError(f"kv_overrides: the value of {key!r} has more than 128 bytes")
    return dict(given or {})
