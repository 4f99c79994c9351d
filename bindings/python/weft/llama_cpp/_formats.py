"""Formats of chats by the names of llama-cpp-python, for files without a template."""

import json
from typing import Any, NamedTuple, Optional

from .. import _weft

# Handlers that programs register. They come before the formats that Weft knows.
handlers: dict[str, Any] = {}


class Format(NamedTuple):
    """A template in Jinja or the name of a built-in one, and what ends an answer beside the end
    token. `jinja` is the template where that is a name."""

    template: str
    stops: tuple[str, ...] = ()
    jinja: str = ""


def _turns(user: str, assistant: str, system: str = "{{ m.content }}\n\n", *, ask: str,
           default: str = "") -> str:
    """A template whose messages follow each other. `ask` begins the answer."""
    branches = (f"{{% if m.role == 'system' %}}{system}{{% elif m.role == 'assistant' %}}"
                f"{assistant}{{% else %}}{user}{{% endif %}}")
    head = (f"{{% if messages[0].role != 'system' %}}{default}{{% endif %}}" if default else "")
    return (f"{head}{{% for m in messages %}}{branches}{{% endfor %}}"
            f"{{% if add_generation_prompt %}}{ask}{{% endif %}}")


def _turns_with_system(begin: str, end: str, assistant: str, *, ask: str) -> str:
    """A template of models without turns of the system: a system message at the beginning stands
    before the text of the first user, or is a turn if there is none."""
    user = (f"{begin}{{% if ns.system %}}{{{{ ns.system }}}}\n\n{{% set ns.system = '' %}}"
            f"{{% endif %}}{{{{ m.content }}}}{end}")
    alone = f"{{% if ns.system %}}{begin}{{{{ ns.system }}}}{end}{{% endif %}}"
    return ("{% set ns = namespace(system='') %}{% if messages[0].role == 'system' %}"
            "{% set ns.system = messages[0].content %}{% set messages = messages[1:] %}{% endif %}"
            f"{_turns(user, assistant, user, ask='')}{alone}"
            f"{{% if add_generation_prompt %}}{ask}{{% endif %}}")


_POLITE = ("A chat between a curious user and an artificial intelligence assistant. The assistant "
           "gives helpful, detailed, and polite answers to the user's questions.")

_CALLS = " The assistant calls functions with appropriate input when necessary"
_PROMPTED = ("The prompt below is a question to answer, a task to complete, or a conversation to "
             "respond to; decide which and write an appropriate response.")

_CHATML = Format(
    "chatml", ("<|im_end|>",),
    "{% for m in messages %}<|im_start|>{{ m.role }}\n{{ m.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}")
_LLAMA_3 = Format(
    "llama3", ("<|eot_id|>",),
    "{{ bos_token }}{% for m in messages %}<|start_header_id|>{{ m.role }}<|end_header_id|>\n\n"
    "{{ m.content | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}"
    "<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}")
# ChatML whose calls are written as models of the Hermes family do.
_CHATML_WITH_CALLS = Format(
    "{% if messages[0].role == 'system' %}{% set system = messages[0].content %}"
    "{% set messages = messages[1:] %}{% else %}{% set system = '' %}{% endif %}"
    "{% if system or tools %}<|im_start|>system\n{{ system }}{% if tools %}"
    "{% if system %}\n\n{% endif %}# Tools\n\nThese functions may be called:\n<tools>"
    "{% for tool in tools %}\n{{ tool | tojson }}{% endfor %}\n</tools>\n\nFor each call, write "
    "the name and the arguments as JSON within <tool_call></tool_call>:\n<tool_call>\n"
    '{"name": <name of the function>, "arguments": <object of arguments>}\n</tool_call>'
    "{% endif %}<|im_end|>\n{% endif %}{% for m in messages %}{% if m.role == 'tool' %}"
    "<|im_start|>user\n<tool_response>\n{{ m.content }}\n</tool_response><|im_end|>\n"
    "{% else %}<|im_start|>{{ m.role }}\n{{ m.content or '' }}{% for call in m.tool_calls or [] %}"
    "{% if m.content or not loop.first %}\n{% endif %}<tool_call>\n"
    '{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}'
    "\n</tool_call>{% endfor %}<|im_end|>\n{% endif %}{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}", ("<|im_end|>",))


def _baichuan(user: int) -> Format:
    """Marks of turns are tokens that are reserved, the next one for the assistant."""
    return Format(_turns(
        f"<reserved_{user}>{{{{ m.content }}}}", f"<reserved_{user + 1}>{{{{ m.content }}}}",
        "{{ m.content }}", ask=f"<reserved_{user + 1}>"), (f"<reserved_{user}>",))


# As the models' own pages describe them.
_FORMATS = {
    "alpaca": Format(_turns(
        "### Instruction:\n{{ m.content }}\n\n", "### Response:\n{{ m.content }}\n\n",
        ask="### Response:\n"), ("### Instruction:",)),
    "baichuan": _baichuan(102),
    "baichuan-2": _baichuan(106),
    "chatglm3": Format(_turns(
        "<|user|>\n {{ m.content }}", "<|assistant|>\n {{ m.content }}",
        "<|system|>\n {{ m.content }}", ask="<|assistant|>"), ("<|user|>", "<|observation|>")),
    "chatml": _CHATML,
    "chatml-function-calling": _CHATML_WITH_CALLS,
    "functionary": Format(_turns(
        "user:\n</s>{{ m.content }}</s>\n", "assistant:\n{{ m.content }}\n",
        "system:\n{{ m.content }}\n", ask="assistant:\n",
        default=f"system:\n{_POLITE}{_CALLS}\n"), ("user:",)),
    "functionary-v1": Format(_turns(
        "user:\n{{ m.content }}<|END_OF_USER|>\n",
        "assistant:\n{{ m.content }}<|END_OF_ASSISTANT|>\n",
        "system:\n{{ m.content }}<|END_OF_SYSTEM|>\n", ask="assistant:\n",
        default=f"system:\n{_POLITE}{_CALLS}<|END_OF_SYSTEM|>\n"), ("<|END_OF_ASSISTANT|>",)),
    "functionary-v2": Format(_turns(
        "<|from|>user\n<|recipient|>all\n<|content|>{{ m.content }}\n",
        "<|from|>assistant\n<|recipient|>all\n<|content|>{{ m.content }}<|stop|>\n",
        "<|from|>system\n<|recipient|>all\n<|content|>{{ m.content }}\n",
        ask="<|from|>assistant\n<|recipient|>all\n<|content|>",
        default=f"<|from|>system\n<|recipient|>all\n<|content|>{_POLITE}{_CALLS}\n"),
        ("<|stop|>", "<|from|>")),
    "gemma": Format(_turns_with_system(
        "<start_of_turn>user\n", "<end_of_turn>\n",
        "<start_of_turn>model\n{{ m.content }}<end_of_turn>\n", ask="<start_of_turn>model\n"),
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
    "llama-3": _LLAMA_3,
    "mistral-instruct": Format(_turns_with_system(
        "[INST] ", " [/INST]", "{{ m.content }}{{ eos_token }}", ask=""), ("[INST]",)),
    "mistrallite": Format(_turns(
        "<|prompter|>{{ m.content }}</s>", "<|assistant|>{{ m.content }}</s>",
        "<|system|>{{ m.content }}</s>", ask="<|assistant|>"), ("<|prompter|>",)),
    "oasst_llama": Format(_turns(
        "<|prompter|>{{ m.content }}</s>", "<|assistant|>{{ m.content }}</s>",
        "<|system|>{{ m.content }}</s>", ask="<|assistant|>"), ("<|prompter|>",)),
    "open-orca": Format(_turns(
        "User: {{ m.content }}<|end_of_turn|>\n", "Assistant: {{ m.content }}<|end_of_turn|>\n",
        "{{ m.content }}<|end_of_turn|>\n", ask="Assistant:"), ("<|end_of_turn|>", "User:")),
    "openbuddy": Format(_turns(
        "User: {{ m.content }}\n", "Assistant: {{ m.content }}\n", ask="Assistant:"), ("User:",)),
    "openchat": Format(_turns(
        "GPT4 Correct User: {{ m.content }}<|end_of_turn|>",
        "GPT4 Correct Assistant: {{ m.content }}<|end_of_turn|>", "{{ m.content }}<|end_of_turn|>",
        ask="GPT4 Correct Assistant:"), ("<|end_of_turn|>",)),
    "phind": Format(_turns(
        "### User Message\n{{ m.content }}\n\n", "### Assistant\n{{ m.content }}\n\n",
        "### System Prompt\n{{ m.content }}\n\n", ask="### Assistant\n"), ("### User Message",)),
    "pygmalion": Format(_turns(
        "<|user|>{{ m.content }}", "<|model|>{{ m.content }}", "<|system|>{{ m.content }}",
        ask="<|model|>"), ("<|user|>",)),
    "qwen": _CHATML,
    "redpajama-incite": Format(_turns(
        "<human>: {{ m.content }}\n", "<bot>: {{ m.content }}\n", "{{ m.content }}\n",
        ask="<bot>:"),
        ("<human>:",)),
    "saiga": Format(_turns(
        "{{ bos_token }}user\n{{ m.content }}{{ eos_token }}",
        "{{ bos_token }}bot\n{{ m.content }}{{ eos_token }}",
        "{{ bos_token }}system\n{{ m.content }}{{ eos_token }}", ask="{{ bos_token }}bot\n")),
    "snoozy": Format(_turns(
        "### Prompt:\n{{ m.content }}\n", "### Response:\n{{ m.content }}\n",
        "### Instruction:\n{{ m.content }}\n", ask="### Response:\n",
        default=f"### Instruction:\n{_PROMPTED}\n"), ("### Prompt:",)),
    "vicuna": Format(_turns(
        "USER: {{ m.content }} ", "ASSISTANT: {{ m.content }}{{ eos_token }}", "{{ m.content }} ",
        ask="ASSISTANT:", default=_POLITE + " "), ("USER:",)),
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


def registered_names() -> list[str]:
    """The names of llama-cpp-python."""
    return sorted(_FORMATS)


def registered_format(name: str) -> Format:
    """The format with one of those names, whose template is in Jinja."""
    known = _FORMATS[name]
    return known._replace(template=known.jinja or known.template)
