"""The arguments of Llama(): what is honoured, accepted and refused."""

import os
import pathlib
import warnings
from typing import Any, Optional

from .._errors import ArgumentError, Error, UnsupportedError
from .._model import Model

# Arguments of older versions, at the values that change nothing.
_LEFT_OVERS = {"n_parts": (-1,), "f16_kv": (True,), "mul_mat_q": (True, False, None),
               "low_vram": (False, None), "n_gqa": (None,), "rms_norm_eps": (None,),
               "embeddings": (True, False)}
_ROPE_SCALINGS = {1: "linear", 2: "yarn", 3: "longrope"}
# Defaults of arguments, and the keys below ARCH.rope that override the file's.
_YARN = {"yarn_ext_factor": (-1.0, "scaling.yarn_ext_factor"),
         "yarn_attn_factor": (1.0, "scaling.yarn_attn_factor"),
         "yarn_beta_fast": (32.0, "scaling.yarn_beta_fast"),
         "yarn_beta_slow": (1.0, "scaling.yarn_beta_slow"),
         "yarn_orig_ctx": (0, "scaling.original_context_length")}
# What holds if a file lacks the key.
_ROPE_DEFAULTS = {"freq_base": 10000.0, "scaling.factor": 1.0, "scaling.type": "linear"}
_CACHE_TYPES = {0: "F32", 1: "F16", 2: "Q4_0", 8: "Q8_0"}


def refuse(name: str, why: str) -> None:
    """Raises the error of an argument that cannot be honoured."""
    raise UnsupportedError(f"{name}: {why}")


def check_left_overs(more: dict[str, Any]) -> None:
    """Refuses keywords that nobody knows."""
    for name, value in more.items():
        if name not in _LEFT_OVERS:
            raise TypeError(f"Llama() got an unexpected keyword argument '{name}'")
        if value not in _LEFT_OVERS[name]:
            refuse(name, f"{value!r} cannot be honoured")


def check_devices(n_gpu_layers: int, split_mode: int, main_gpu: int, tensor_split: Any,
                  numa: Any, use_mlock: bool) -> None:
    """Weft computes on CPUs."""
    if n_gpu_layers == -1:
        warnings.warn("n_gpu_layers=-1: Weft computes on CPUs, so no layer is on a GPU",
                      RuntimeWarning, stacklevel=4)
    elif n_gpu_layers != 0:
        refuse("n_gpu_layers", "Weft computes on CPUs: use 0")
    if split_mode not in (0, 1, 2):
        refuse("split_mode", f"{split_mode!r} is unknown")
    if main_gpu != 0:
        refuse("main_gpu", "Weft computes on CPUs: use 0")
    if tensor_split is not None:
        refuse("tensor_split", "Weft computes on CPUs: use None")
    if numa not in (False, 0, None):
        refuse("numa", "memory is not placed by NUMA nodes: use False")
    if use_mlock:
        refuse("use_mlock", "pages are not locked: use False")


def integer(name: str, value: Any, least: int, none: Optional[int] = None) -> int:
    """An argument that is a number of things."""
    if value is None and none is not None:
        return none
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise TypeError(f"{name} must be an integer, not {type(value).__name__}")
    number = int(value)
    if number < least:
        raise ArgumentError(f"{name} must be at least {least}, got {number}")
    return number


def cache_type(name: str, number: Optional[int]) -> Optional[str]:
    """The name of a GGML type that a cache can have."""
    if number is None:
        return None
    if number not in _CACHE_TYPES:
        refuse(name, f"a cache cannot be of GGML type {number}; use 0 (F32), 1 (F16), 2 (Q4_0) or "
                     "8 (Q8_0)")
    return _CACHE_TYPES[number]


def check_overrides(given: Optional[dict[str, Any]]) -> dict[str, Any]:
    """kv_overrides."""
    for key, value in (given or {}).items():
        if not isinstance(key, str):
            raise TypeError(f"kv_overrides: keys must be str, not {type(key).__name__}")
        if not isinstance(value, (bool, int, float, str)):
            raise TypeError(f"kv_overrides: the value of {key!r} must be bool, int, float or str, "
                            f"not {type(value).__name__}")
        if isinstance(value, str) and len(value.encode()) > 128:
            raise ArgumentError(f"kv_overrides: the value of {key!r} has more than 128 bytes")
    return dict(given or {})


def rope_overrides(model: Model, scaling_type: Optional[int], base: float, scale: float,
                   yarn: dict[str, Any]) -> dict[str, Any]:
    """Keys of rope that say something else than the file's."""
    given: dict[str, Any] = {}
    if scaling_type is not None and scaling_type not in (-1, 0):
        if scaling_type not in _ROPE_SCALINGS:
            refuse("rope_scaling_type", f"{scaling_type!r} is unknown")
        given["scaling.type"] = _ROPE_SCALINGS[scaling_type]
    if base != 0.0:
        given["freq_base"] = float(base)
    if scale != 0.0:
        given["scaling.factor"] = 1.0 / float(scale)
    for name, (default, key) in _YARN.items():
        if yarn[name] != default:
            given[key] = type(default)(yarn[name])
    prefix = f"{model.architecture}.rope."
    return {prefix + key: value for key, value in given.items()
            if value != model.metadata.get(prefix + key, _ROPE_DEFAULTS.get(key))}


def open_model(path: Any, use_mmap: bool, options: dict[str, Any]) -> Model:
    """Loads a model; whatever is wrong with the file is a ValueError."""
    name = os.fspath(path)
    if not os.path.exists(name):
        raise ArgumentError(f"Model path does not exist: {name}")
    try:
        if use_mmap or os.path.isdir(name):
            return Model(name, **options)
        return Model.from_bytes(pathlib.Path(name).read_bytes(), **options)
    except Error as error:
        for path, _ in options.get("loras", ()):
            if path in str(error):
                raise ArgumentError(f"lora_path: {error}") from error
        if isinstance(error, ValueError):
            raise
        raise ArgumentError(str(error)) from error
