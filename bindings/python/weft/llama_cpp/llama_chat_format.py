"""Formats of chats."""

import dataclasses
import inspect
import json
import time
from collections.abc import Callable, Iterable
from typing import Any, Optional, Protocol, Union

from .. import _weft
from .._errors import ArgumentError, Error
from . import _chat
from ._formats import find_format, handlers, registered_format, registered_names
from ._lists import StoppingCriteriaList
from ._missing import refuse_name
from ._utils import Singleton
from ._vision import (
    Gemma4ChatHandler,
    Llama3VisionAlpha,
    Llama3VisionAlphaChatHandler,
    Llava15ChatHandler,
    Llava16ChatHandler,
    MiniCPMv26ChatHandler,
    MoondreamChatHandler,
    MTMDChatHandler,
    NanoLlavaChatHandler,
    ObsidianChatHandler,
    Qwen25VLChatHandler,
)
from .llama import Llama
from .llama_tokenizer import auto_tokenizer

CHATML_CHAT_TEMPLATE = registered_format("chatml").template
CHATML_BOS_TOKEN = "<s>"
CHATML_EOS_TOKEN = "<|im_end|>"
MISTRAL_INSTRUCT_CHAT_TEMPLATE = "{{ bos_token }}" + registered_format("mistral-instruct").template
MISTRAL_INSTRUCT_BOS_TOKEN = "<s>"
MISTRAL_INSTRUCT_EOS_TOKEN = "</s>"
MIXTRAL_INSTRUCT_CHAT_TEMPLATE = MISTRAL_INSTRUCT_CHAT_TEMPLATE
LLAMA3_INSTRUCT_CHAT_TEMPLATE = registered_format("llama-3").template


class LlamaChatCompletionHandlerNotFoundException(Exception):
    """No handler has this name."""


@dataclasses.dataclass
class ChatFormatterResponse:
    """The prompt of messages."""

    prompt: str
    stop: Optional[Union[str, list[str]]] = None
    stopping_criteria: Optional[Any] = None
    added_special: bool = False


class ChatFormatter(Protocol):
    """Makes the prompt of messages."""

    def __call__(self, *, messages: list[Any], **kwargs: Any) -> ChatFormatterResponse: ...


class LlamaChatCompletionHandler(Protocol):
    """Answers messages: called with the arguments of create_chat_completion(), and `llama`."""

    def __call__(self, *, llama: Any, messages: list[Any], **kwargs: Any) -> Any: ...


class LlamaChatCompletionHandlerRegistry(Singleton):
    """Handlers by their names."""

    def register_chat_completion_handler(self, name: str, chat_handler: Any,
                                         overwrite: bool = False) -> None:
        """Adds a handler."""
        if name in handlers and not overwrite:
            raise ArgumentError(f"a chat handler with the name {name!r} is registered")
        handlers[name] = chat_handler

    def unregister_chat_handler(self, name: str) -> None:
        """Removes a handler that was registered."""
        if name not in handlers:
            raise ArgumentError(f"no chat handler with the name {name!r} is registered")
        del handlers[name]

    def get_chat_completion_handler_by_name(self, name: str) -> Any:
        """The handler with a name."""
        return get_chat_completion_handler(name)


def register_chat_completion_handler(name: str) -> Callable[[Any], Any]:
    """A decorator for a function that answers messages."""
    def register(f: Any) -> Any:
        handlers[name] = f
        return f
    return register


def get_chat_completion_handler(name: str) -> Any:
    """The handler that was registered under a name, or that of a format."""
    if name in handlers:
        return handlers[name]
    if find_format(name) is None:
        valid = ", ".join(sorted({*handlers, *registered_names()}))
        raise LlamaChatCompletionHandlerNotFoundException(
            f"Invalid chat handler: {name} (valid: {valid})")

    def handle(*, llama: Any, messages: Iterable[Any], **arguments: Any) -> Any:
        given = _arguments(arguments)
        return _chat.answer(llama, _chat.plan_by_template(llama, messages, given, name), given)
    return handle


def chat_formatter_to_chat_completion_handler(formatter: Any) -> Any:
    """A handler that completes the prompt of a formatter. It takes the arguments of
    create_chat_completion(), with the same defaults."""
    def handle(*, llama: Any, messages: list[Any], **arguments: Any) -> Any:
        given = _arguments(arguments)
        return _chat.answer(
            llama, _chat.plan_by_formatter(llama, formatter, messages, given), given)
    return handle


def _arguments(given: dict[str, Any]) -> dict[str, Any]:
    """All arguments of create_chat_completion(), for those that a handler got."""
    known = _defaults()
    for name in given:
        if name not in known:
            raise TypeError(f"the handler got an unexpected keyword argument '{name}'")
    return {**known, **given}


def _defaults() -> dict[str, Any]:
    """The arguments of create_chat_completion() and their defaults."""
    parameters = inspect.signature(Llama.create_chat_completion).parameters
    return {name: p.default for name, p in parameters.items() if p.default is not p.empty}


def register_chat_format(name: str) -> Callable[[Any], Any]:
    """A decorator for a function that makes the prompt of messages."""
    def register(f: Any) -> Any:
        handlers[name] = chat_formatter_to_chat_completion_handler(f)
        return f
    return register


class Jinja2ChatFormatter:
    """Makes prompts with a template in Jinja."""

    def __init__(self, template: str, eos_token: str, bos_token: str,
                 add_generation_prompt: bool = True,
                 stop_token_ids: Optional[list[int]] = None) -> None:
        self.template = template
        self.eos_token = eos_token
        self.bos_token = bos_token
        self.add_generation_prompt = add_generation_prompt
        self.stop_token_ids = set(stop_token_ids or [])

    def __call__(self, *, messages: list[Any], functions: Optional[list[Any]] = None,
                 function_call: Optional[Any] = None, tools: Optional[list[Any]] = None,
                 tool_choice: Optional[Any] = None, **kwargs: Any) -> ChatFormatterResponse:
        variables = {"messages": messages, "eos_token": self.eos_token,
                     "bos_token": self.bos_token,
                     "add_generation_prompt": self.add_generation_prompt, "functions": functions,
                     "function_call": function_call, "tools": tools, "tool_choice": tool_choice,
                     "strftime_now": time.strftime("%Y-%m-%dT%H:%M:%S")}
        given = {key: value for key, value in variables.items() if value is not None}
        prompt = _weft.render_template(self.template, json.dumps(given))
        criteria = None
        if self.stop_token_ids:
            criteria = StoppingCriteriaList([
                lambda ids, logits: int(ids[-1]) in self.stop_token_ids])
        return ChatFormatterResponse(prompt=prompt, stop=[self.eos_token],
                                     stopping_criteria=criteria, added_special=True)

    def to_chat_handler(self) -> Any:
        """A handler for chat_handler, which completes the prompts of this template."""
        return chat_formatter_to_chat_completion_handler(self)


def hf_tokenizer_config_to_chat_formatter(tokenizer_config: dict[str, Any],
                                          add_generation_prompt: bool = True) -> ChatFormatter:
    """A formatter with the template of a tokenizer_config.json, as a dict."""
    template = tokenizer_config.get("chat_template")
    if isinstance(template, list):
        named = {entry["name"]: entry["template"] for entry in template}
        template = named.get("default")
    if not isinstance(template, str):
        raise ArgumentError("tokenizer_config has no chat_template")
    tokens = [_token_of(tokenizer_config, name) for name in ("eos_token", "bos_token")]
    formatter = Jinja2ChatFormatter(template, tokens[0], tokens[1], add_generation_prompt)

    def format_config(*, messages: list[Any], **kwargs: Any) -> ChatFormatterResponse:
        made = formatter(messages=messages, **kwargs)
        made.stop = [token for token in tokens if token]
        return made
    return format_config


def _token_of(config: dict[str, Any], name: str) -> str:
    """A token, which may be described by a dict; "" if there is none."""
    token = config.get(name)
    text = token.get("content") if isinstance(token, dict) else token
    return text if isinstance(text, str) else ""


def hf_tokenizer_config_to_chat_completion_handler(
        tokenizer_config: dict[str, Any], add_generation_prompt: bool = True) -> Any:
    """A handler with the template of a tokenizer_config.json, as a dict."""
    return chat_formatter_to_chat_completion_handler(
        hf_tokenizer_config_to_chat_formatter(tokenizer_config, add_generation_prompt))


def hf_autotokenizer_to_chat_formatter(pretrained_model_name_or_path: Any) -> ChatFormatter:
    """A formatter with the template of a tokenizer of the package transformers."""
    tokenizer = auto_tokenizer(pretrained_model_name_or_path)

    def format_by_tokenizer(*, messages: list[Any], **kwargs: Any) -> ChatFormatterResponse:
        tools = kwargs.get("tools")
        more = {} if tools is None else {"tools": tools}
        prompt = tokenizer.apply_chat_template(
            messages, tokenize=False, add_generation_prompt=True, **more)
        return ChatFormatterResponse(prompt=prompt, stop=tokenizer.eos_token, added_special=True)
    return format_by_tokenizer


def hf_autotokenizer_to_chat_completion_handler(pretrained_model_name_or_path: Any) -> Any:
    """A handler with the template of a tokenizer of the package transformers."""
    return chat_formatter_to_chat_completion_handler(
        hf_autotokenizer_to_chat_formatter(pretrained_model_name_or_path))


def guess_chat_format_from_gguf_metadata(metadata: dict[str, str]) -> Optional[str]:
    """The name of the format of a file whose template writes the same prompts as one of those
    above, whatever its wording; otherwise None."""
    template = metadata.get("tokenizer.chat_template")
    if not template:
        return None
    known = {CHATML_CHAT_TEMPLATE: "chatml", MISTRAL_INSTRUCT_CHAT_TEMPLATE: "mistral-instruct",
             LLAMA3_INSTRUCT_CHAT_TEMPLATE: "llama-3"}
    plain, with_system = _PROBE[1:], _PROBE
    for other, name in known.items():
        # Templates of models without turns of the system refuse them.
        if _probed(template, plain) == _probed(other, plain) and (
                _probed(template, with_system) in (None, _probed(other, with_system))):
            return name
    return None


_PROBE = [{"role": "system", "content": "S"}, {"role": "user", "content": "A"},
          {"role": "assistant", "content": "B"}, {"role": "user", "content": "C"}]


def _probed(template: str, messages: list[Any]) -> Optional[str]:
    """The prompt of a template without the beginning of the text, which the tokenizer may add as
    well; None if the template refuses the messages."""
    begin = "<begin>"
    try:
        prompt: str = Jinja2ChatFormatter(template, "<end>", begin)(messages=messages).prompt
    except Error:
        return None
    return prompt.removeprefix(begin)


def _formatter_of(name: str, bos_token: str = "<s>") -> Any:
    """The function that makes the prompts of a format, with EOS as Llama 2 has it."""
    known = registered_format(name)
    formatter = Jinja2ChatFormatter(known.template, "</s>", bos_token)

    def format_messages(messages: list[Any], **kwargs: Any) -> ChatFormatterResponse:
        made = formatter(messages=messages)
        return ChatFormatterResponse(made.prompt, list(known.stops) if known.stops else "</s>",
                                     added_special=made.prompt.startswith("<s>"))
    format_messages.__doc__ = f"The prompt of messages in the format {name!r}."
    return format_messages


format_alpaca = _formatter_of("alpaca")
format_baichuan = _formatter_of("baichuan")
format_baichuan2 = _formatter_of("baichuan-2")
format_chatglm3 = _formatter_of("chatglm3")
format_chatml = _formatter_of("chatml")
format_gemma = _formatter_of("gemma")
format_intel = _formatter_of("intel")
format_llama2 = _formatter_of("llama-2")
format_llama3 = _formatter_of("llama-3", bos_token="")
format_mistral_instruct = _formatter_of("mistral-instruct")
format_mistrallite = _formatter_of("mistrallite")
format_oasst_llama = _formatter_of("oasst_llama")
format_open_orca = _formatter_of("open-orca")
format_openbuddy = _formatter_of("openbuddy")
format_openchat = _formatter_of("openchat")
format_phind = _formatter_of("phind")
format_pygmalion = _formatter_of("pygmalion")
format_qwen = _formatter_of("qwen")
format_redpajama_incite = _formatter_of("redpajama-incite")
format_saiga = _formatter_of("saiga")
format_snoozy = _formatter_of("snoozy")
format_zephyr = _formatter_of("zephyr")
format = _formatter_of("vicuna")
functionary_chat_handler = get_chat_completion_handler("functionary")
functionary_v1_v2_chat_handler = get_chat_completion_handler("functionary-v2")
chatml_function_calling = get_chat_completion_handler("chatml-function-calling")


def __getattr__(name: str) -> Any:
    refuse_name(__name__, name, "it is not part of weft.llama_cpp")
