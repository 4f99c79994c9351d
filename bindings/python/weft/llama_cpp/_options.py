"""The arguments of Llama(): what is honoured, accepted and refused."""

import math
import os
import warnings
from collections.abc import Mapping
from typing import Any, Optional

from .._errors import ArgumentError, UnsupportedError

# Arguments of other versions that say how something is computed, and what asks for nothing.
_HOW: dict[str, tuple[Any, ...]] = {
    "f16_kv": (True, False), "mul_mat_q": (True, False), "low_vram": (False,), "n_parts": (-1, 1),
    "rpc_servers": ("",), "device": ("cpu", ""), "kv_unified": (True, False), "n_seq_max": (1,),
    "no_host": (False,), "use_direct_io": (False,), "warmup": (True, False),
    "use_extra_bufts": (True, False), "cont_batching": (True, False)}
# Arguments of older versions that change what is computed.
_WHAT = ("n_gqa", "rms_norm_eps")
# What asks for nothing of the arguments about devices and memory.
_PLACES: dict[str, tuple[Any, ...]] = {
    "n_gpu_layers": (0,), "split_mode": (0, 1, 2), "main_gpu": (0,), "tensor_split": (),
    "numa": (False, 0), "use_mlock": (False, 0)}
_CACHE_TYPES = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 6: "Q5_0", 7: "Q5_1", 8: "Q8_0"}
_FLAGS = ("vocab_only", "use_mmap", "use_mlock", "logits_all", "embedding", "spm_infill")
_ANY = -(1 << 63)
# Integers, their minima, and what None means; None there: None is refused.
_INTEGERS: dict[str, tuple[int, Optional[int]]] = {
    "n_ctx": (0, None), "n_batch": (1, None), "n_ubatch": (1, None), "n_threads": (0, 0),
    "n_threads_batch": (0, 0), "last_n_tokens_size": (0, None), "yarn_orig_ctx": (0, None),
    "attention_type": (-1, None), "n_gpu_layers": (_ANY, None), "split_mode": (_ANY, None),
    "main_gpu": (_ANY, None)}
# Numbers and their minima.
_NUMBERS = {"rope_freq_base": 0.0, "rope_freq_scale": 0.0, "yarn_ext_factor": -math.inf,
            "yarn_attn_factor": -math.inf, "yarn_beta_fast": 0.0, "yarn_beta_slow": 0.0,
            "lora_scale": -math.inf}


def refuse(name: str, why: str) -> None:
    """Raises the error of an argument that cannot be honoured."""
    raise UnsupportedError(f"{name}: {why}")


def with_defaults(given: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of Llama(), with the default instead of None."""
    return {name: defaults.get(name) if value is None else value for name, value in given.items()}


def check(given: Mapping[str, Any], warn: bool) -> None:
    """Raises an error that names the first argument of Llama() that cannot be honoured, as far as
    that does not depend on the model. Warns of what only places or speeds up work, once, if it asks
    for something that Weft does not do."""
    _check_left_overs(given["kwargs"])
    path(given["model_path"], "model_path")
    for name in _FLAGS:
        _check_flag(name, given[name])
    for name, (minimum, none) in _INTEGERS.items():
        integer(name, given[name], minimum, none)
    for name, lowest in _NUMBERS.items():
        _check_number(name, given[name], lowest)
    _check_places(given)
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
    if warn:
        _warn_of_places(given)


def _check_left_overs(more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if name in _WHAT and value is not None:
            refuse(name, f"{value!r} cannot be honoured: the file says it (see kv_overrides)")
        if name == "embeddings":
            _check_flag(name, value)
        elif name not in _HOW and name not in _WHAT:
            raise TypeError(f"Llama() got an unexpected keyword argument '{name}'")


def _check_places(given: Mapping[str, Any]) -> None:
    """Checks the types of arguments about devices and memory."""
    parts = given["tensor_split"]
    if parts is not None:
        if isinstance(parts, (str, bytes)) or not hasattr(parts, "__iter__"):
            raise TypeError("tensor_split must be a sequence of numbers, not "
                            f"{type(parts).__name__}")
        for part in parts:
            _check_number("tensor_split", part, 0.0)
    if given["numa"] is not None and not hasattr(given["numa"], "__index__"):
        raise TypeError(f"numa must be a bool or an integer, not {type(given['numa']).__name__}")


def _warn_of_places(given: Mapping[str, Any]) -> None:
    """One warning for all arguments that ask for devices and memory that Weft does not use."""
    asked = [(name, given[name], none) for name, none in _PLACES.items()]
    asked += [(name, value, _HOW[name]) for name, value in given["kwargs"].items() if name in _HOW]
    said = [f"{name}={value!r}" for name, value, none in asked
            if value is not None and not any(value is x or value == x for x in none)]
    if said:
        warnings.warn(f"{', '.join(said)}: without effect, because Weft computes on this machine's "
                      "CPUs and decides itself where memory is", RuntimeWarning, stacklevel=5)


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
        known = ", ".join(f"{n} ({of})" for n, of in _CACHE_TYPES.items())
        refuse(name, f"a cache cannot be of GGML type {number}; use one of {known}")
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
