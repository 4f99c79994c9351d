"""The sampling arguments of llama-cpp-python as options of weft.Sampler."""

from collections.abc import Mapping
from typing import Any

# Arguments that have the same name there, and what None means.
_SAME_NAMES = {"top_p": 0.95, "min_p": 0.05, "typical_p": 1.0, "tfs_z": 1.0, "repeat_penalty": 1.0,
               "frequency_penalty": 0.0, "presence_penalty": 0.0, "mirostat_tau": 5.0,
               "mirostat_eta": 0.1}


def sampler_options(arguments: Mapping[str, Any], temperature: float = 0.8) -> dict[str, Any]:
    """Options for the arguments of create_completion(), create_chat_completion(), sample() or
    generate(). Other arguments may be among them; None is the default."""
    def given(name: str, default: Any) -> Any:
        return default if arguments[name] is None else arguments[name]
    heat = given("temp" if "temp" in arguments else "temperature", temperature)
    return {"temperature": heat, "top_k": max(given("top_k", 40), 0),
            "mirostat": given("mirostat_mode", 0),
            **{name: given(name, default) for name, default in _SAME_NAMES.items()}}


def sample_arguments(options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of sample() and generate() that give these options."""
    return {"temp": options["temperature"], "top_k": options["top_k"],
            "mirostat_mode": options["mirostat"],
            **{name: options[name] for name in _SAME_NAMES}}
