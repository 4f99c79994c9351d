"""Opening the model of a Llama, with the arguments that override keys of its file."""

import hashlib
import json
import os
import pathlib
import re
from typing import Any, Optional

from .. import _weft
from .._errors import (
    ArgumentError,
    DTypeError,
    Error,
    FormatError,
    IoError,
    ShapeError,
    UnsupportedError,
)
from .._model import Model
from ._constants import (
    LLAMA_ATTENTION_TYPE_CAUSAL,
    LLAMA_ATTENTION_TYPE_NON_CAUSAL,
    LLAMA_ATTENTION_TYPE_UNSPECIFIED,
    LLAMA_ROPE_SCALING_TYPE_NONE,
)
from ._options import refuse

_ROPE_SCALINGS = {0: "none", 1: "linear", 2: "yarn", 3: "longrope"}
# Defaults of arguments, and the keys below ARCH.rope that override the file's.
_YARN = {"yarn_ext_factor": (-1.0, "scaling.yarn_ext_factor"),
         "yarn_attn_factor": (1.0, "scaling.yarn_attn_factor"),
         "yarn_beta_fast": (32.0, "scaling.yarn_beta_fast"),
         "yarn_beta_slow": (1.0, "scaling.yarn_beta_slow"),
         "yarn_orig_ctx": (0, "scaling.original_context_length")}
# What holds if a file lacks the key.
_ROPE_DEFAULTS = {"freq_base": 10000.0, "scaling.factor": 1.0, "scaling.type": "linear",
                  "scaling.yarn_ext_factor": 1.0}
_PART_OF_SPLIT = re.compile(r"-\d{5}-of-\d{5}\.gguf$")
_ABOUT_THE_FILE = (ArgumentError, DTypeError, FormatError, IoError, ShapeError, UnsupportedError)


def open_model(name: str, use_mmap: bool, options: dict[str, Any]) -> Model:
    """Loads a model. Whatever is wrong with its file is a ValueError; other errors of the library,
    such as BudgetError, are passed on."""
    if not os.path.exists(name):
        raise ArgumentError(f"Model path does not exist: {name}")
    # Only a path leads to the other parts of a split file.
    by_path = use_mmap or os.path.isdir(name) or _PART_OF_SPLIT.search(name) is not None
    try:
        if by_path:
            return Model(name, **options)
        return Model.from_bytes(pathlib.Path(name).read_bytes(), **options)
    except _ABOUT_THE_FILE as error:
        for lora, _ in options.get("loras", ()):
            if lora in str(error):
                raise ArgumentError(f"lora_path: {error}") from error
        if isinstance(error, ValueError):
            raise
        raise ArgumentError(str(error)) from error
    except OSError as error:
        if isinstance(error, Error):
            raise
        raise ArgumentError(f"model_path: {error}") from error


def check_attention(model: Model, given: int) -> None:
    """Refuses an attention_type other than the model's own."""
    if given == LLAMA_ATTENTION_TYPE_UNSPECIFIED:
        return
    own = LLAMA_ATTENTION_TYPE_CAUSAL if model._info["flags"] & _weft.MODEL_CAUSAL \
        else LLAMA_ATTENTION_TYPE_NON_CAUSAL
    if given != own:
        refuse("attention_type", f"{given} cannot be honoured: that of the model is {own}")


def _scales_rope(model: Model) -> bool:
    """Whether a file says that rope is scaled."""
    prefix = f"{model.architecture}.rope."
    kind = model.metadata.get(prefix + "scaling.type", "linear")
    factor = model.metadata.get(prefix + "scaling.factor",
                                model.metadata.get(prefix + "scale_linear", 0))
    return kind != "none" and (kind != "linear" or factor not in (0, 1))


def rope_overrides(model: Model, scaling_type: Optional[int], base: float, scale: float,
                   yarn: dict[str, Any]) -> dict[str, Any]:
    """Keys of rope that say something else than the file's."""
    given: dict[str, Any] = {}
    if scaling_type == LLAMA_ROPE_SCALING_TYPE_NONE:
        if scale not in (0.0, 1.0):
            refuse("rope_freq_scale", f"{scale} contradicts rope_scaling_type=0, no scaling")
        if _scales_rope(model):
            given["scaling.type"] = "none"
    elif scaling_type is not None and scaling_type != -1:
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
    own = {key: model.metadata.get(prefix + key, default) for key, default in
           {**dict.fromkeys(given), **_ROPE_DEFAULTS}.items()}
    _check_yarn(yarn, {**own, **given})
    return {prefix + key: value for key, value in given.items() if value != own[key]}


def _check_yarn(yarn: dict[str, Any], rope: dict[str, Any]) -> None:
    """Refuses arguments of YaRN that the scaling of rope does not use."""
    kind = rope["scaling.type"]
    unused = {"yarn": (), "longrope": ("yarn_ext_factor", "yarn_beta_fast", "yarn_beta_slow")}.get(
        kind, ("yarn_ext_factor", "yarn_beta_fast", "yarn_beta_slow", "yarn_orig_ctx"))
    for name in unused:
        if yarn[name] != _YARN[name][0]:
            refuse(name, f"rope is scaled by {kind!r}, not by 'yarn': set rope_scaling_type")
    if kind == "yarn" and rope["scaling.yarn_ext_factor"] != 0 \
            and yarn["yarn_attn_factor"] != _YARN["yarn_attn_factor"][0]:
        refuse("yarn_attn_factor", "it only applies with yarn_ext_factor=0")


def model_identity(path: str, metadata: dict[str, Any], computing: Any) -> str:
    """A hash that tells models apart in caches: over the metadata, the size of the file, and
    `computing`, what else changes the states of a model."""
    try:
        file = pathlib.Path(path)
        files = file.iterdir() if file.is_dir() else iter([file])
        sizes = sorted(f.stat().st_size for f in files if f.is_file())
    except OSError:  # removed since it was loaded
        sizes = []
    shown = {key: len(value) if isinstance(value, (list, dict)) else value
             for key, value in metadata.items()}
    text = json.dumps([shown, sizes, computing], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:32]
