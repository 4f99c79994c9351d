"""Formats of chats by the names of llama-cpp-python, for files without a template."""

import json
from typing import NamedTuple, Optional

from .. import _weft


class Format(NamedTuple):
    """A template in Jinja or the name of a built-in one, and what ends an answer beside the end
    token."""

    template: str
    stops: tuple[str, ...] = ()


def _turns(user: str, assistant: str, system: str = "{{ m.content }}\n\n", *, ask: str,
           default: str = "") -> str:
    """A template whose messages follow each other. `ask` begins the answer."""
    branches = (f"{{% if m.role == 'system' %}}{system}{{% elif m.role == 'assistant' %}}"
                f"{assistant}{{% else %}}{user}{{% endif %}}")
    head = (f"{{% if messages[0].role != 'system' %}}{default}{{% endif %}}" if default else "")
    return (f"{head}{{% for m in messages %}}{branches}{{% endfor %}}"
            f"{{% if add_generation_prompt %}}{ask}{{% endif %}}")


_POLITE = ("A chat between a curious user and an artificial intelligence assistant. The assistant "
           "gives helpful, detailed, and polite answers to the user's questions. ")

# As the models' own pages describe them.
_FORMATS = {
    "alpaca": Format(_turns(
        "### Instruction:\n{{ m.content }}\n\n", "### Response:\n{{ m.content }}\n\n",
        ask="### Response:\n"), ("### Instruction:",)),
    "chatml": Format("chatml"),
    "gemma": Format(_turns(
        "<start_of_turn>user\n{{ m.content }}<end_of_turn>\n",
        "<start_of_turn>model\n{{ m.content }}<end_of_turn>\n",
        "<start_of_turn>user\n{{ m.content }}<end_of_turn>\n", ask="<start_of_turn>model\n"),
        ("<end_of_turn>",)),
    "intel": Format(_turns(
        "### User:\n{{ m.content }}\n", "### Assistant:\n{{ m.content }}\n",
        "### System:\n{{ m.content }}\n", ask="### Assistant:\n"), ("### User:",)),
    "llama-2": Format(
        "{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
        "{% set messages = messages[1:] %}{% endif %}{% for m in messages %}"
        "{% if m.role == 'assistant' %} {{ m.content }} {{ eos_token }}{% else %}"
        "{% if not loop.first %}{{ bos_token }}{% endif %}[INST] "
        "{% if loop.first and system is defined %}<<SYS>>\n{{ system }}\n<</SYS>>\n\n{% endif %}"
        "{{ m.content }} [/INST]{% endif %}{% endfor %}", ("[INST]",)),
    "llama-3": Format("llama3"),
    "mistral-instruct": Format(_turns(
        "[INST] {{ m.content }} [/INST]", "{{ m.content }}{{ eos_token }}",
        "[INST] {{ m.content }} [/INST]", ask=""), ("[INST]",)),
    "openchat": Format(_turns(
        "GPT4 Correct User: {{ m.content }}<|end_of_turn|>",
        "GPT4 Correct Assistant: {{ m.content }}<|end_of_turn|>", "{{ m.content }}<|end_of_turn|>",
        ask="GPT4 Correct Assistant:"), ("<|end_of_turn|>",)),
    "phind": Format(_turns(
        "### User Message\n{{ m.content }}\n\n", "### Assistant\n{{ m.content }}\n\n",
        "### System Prompt\n{{ m.content }}\n\n", ask="### Assistant\n"), ("### User Message",)),
    "qwen": Format("chatml"),
    "redpajama-incite": Format(_turns(
        "<human>: {{ m.content }}\n", "<bot>: {{ m.content }}\n", "{{ m.content }}\n",
        ask="<bot>:"),
        ("<human>:",)),
    "saiga": Format(_turns(
        "{{ bos_token }}user\n{{ m.content }}{{ eos_token }}",
        "{{ bos_token }}bot\n{{ m.content }}{{ eos_token }}",
        "{{ bos_token }}system\n{{ m.content }}{{ eos_token }}", ask="{{ bos_token }}bot\n")),
    "vicuna": Format(_turns(
        "USER: {{ m.content }} ", "ASSISTANT: {{ m.content }}{{ eos_token }}", "{{ m.content }} ",
        ask="ASSISTANT:", default=_POLITE), ("USER:",)),
    "zephyr": Format(_turns(
        "<|user|>\n{{ m.content }}{{ eos_token }}\n",
        "<|assistant|>\n{{ m.content }}{{ eos_token }}\n",
        "<|system|>\n{{ m.content }}{{ eos_token }}\n", ask="<|assistant|>\n")),
}


def find_format(name: str) -> Optional[Format]:
    """A format by their name, or by that of a built-in template; None if there is none."""
    if name in _FORMATS:
        return _FORMATS[name]
    return Format(name) if name in json.loads(_weft.chat_templates_json()) else None


def format_names() -> list[str]:
    """The names that find_format() knows, sorted."""
    return sorted({*_FORMATS, *json.loads(_weft.chat_templates_json())})
