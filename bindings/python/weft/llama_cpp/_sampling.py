"""The sampling arguments of llama-cpp-python as options of weft.Sampler."""

from collections.abc import Mapping
from typing import Any

# Arguments that have the same name there.
_SAME_NAMES = ("top_p", "min_p", "typical_p", "tfs_z", "repeat_penalty", "frequency_penalty",
               "presence_penalty", "mirostat_tau", "mirostat_eta")


def sampler_options(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Options for the arguments of create_completion(), create_chat_completion(), sample() or
    generate(). Other arguments may be among them."""
    name = "temp" if "temp" in arguments else "temperature"
    return {"temperature": arguments[name], "top_k": max(arguments["top_k"], 0),
            "mirostat": arguments["mirostat_mode"],
            **{same: arguments[same] for same in _SAME_NAMES}}
