"""Formats of chats."""

import dataclasses
import inspect
import json
import time
from collections.abc import Callable
from typing import Any, Optional, Union

from .. import _weft
from . import _chat

handlers: dict[str, Any] = {}


class LlamaChatCompletionHandlerNotFoundException(Exception):
    """No handler has this name."""


@dataclasses.dataclass
class ChatFormatterResponse:
    """The prompt of messages."""

    prompt: str
    stop: Optional[Union[str, list[str]]] = None
    stopping_criteria: Optional[Any] = None
    added_special: bool = False


def register_chat_completion_handler(name: str) -> Callable[[Any], Any]:
    """A decorator for a function that answers messages."""
    def register(f: Any) -> Any:
        handlers[name] = f
        return f
    return register


def get_chat_completion_handler(name: str) -> Any:
    """The handler that was registered under a name."""
    if name not in handlers:
        raise LlamaChatCompletionHandlerNotFoundException(
            f"Invalid chat handler: {name} (valid: {', '.join(sorted(handlers))})")
    return handlers[name]


def chat_formatter_to_chat_completion_handler(formatter: Any) -> Any:
    """A handler that completes the prompt of a formatter. It takes the arguments of
    create_chat_completion(), with the same defaults."""
    def handle(*, llama: Any, messages: list[Any], **arguments: Any) -> Any:
        known = _defaults()
        for name in arguments:
            if name not in known:
                raise TypeError(f"the handler got an unexpected keyword argument '{name}'")
        given = {**known, **arguments}
        return _chat.answer(
            llama, _chat.plan_by_formatter(llama, formatter, messages, given), given)
    return handle


def _defaults() -> dict[str, Any]:
    """The arguments of create_chat_completion() and their defaults."""
    from .llama import Llama
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
            from .llama import StoppingCriteriaList
            criteria = StoppingCriteriaList([
                lambda ids, logits: int(ids[-1]) in self.stop_token_ids])
        return ChatFormatterResponse(prompt=prompt, stop=[self.eos_token],
                                     stopping_criteria=criteria, added_special=True)

    def to_chat_handler(self) -> Any:
        """A handler for chat_handler, which completes the prompts of this template."""
        return chat_formatter_to_chat_completion_handler(self)
