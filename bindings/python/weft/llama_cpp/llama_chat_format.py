"""Formats of chats."""

import dataclasses
import json
import time
from collections.abc import Callable
from typing import Any, Optional, Union

from .. import _weft

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
    """The handler of a name."""
    if name not in handlers:
        raise LlamaChatCompletionHandlerNotFoundException(
            f"Invalid chat handler: {name} (valid: {', '.join(sorted(handlers))})")
    return handlers[name]


def chat_formatter_to_chat_completion_handler(formatter: Any) -> Any:
    """A handler that completes the prompt of a formatter."""
    def handle(*, llama: Any, messages: list[Any], model: Optional[str] = None,
               stop: Any = (), stream: bool = False, **arguments: Any) -> Any:
        formatted = formatter(messages=messages, functions=arguments.get("functions"),
                              function_call=arguments.get("function_call"),
                              tools=arguments.get("tools"),
                              tool_choice=arguments.get("tool_choice"))
        stops = [stop] if isinstance(stop, str) else list(stop or [])
        more = formatted.stop
        stops += [more] if isinstance(more, str) else list(more or [])
        names = ("temperature", "top_p", "top_k", "min_p", "typical_p", "seed", "max_tokens",
                 "presence_penalty", "frequency_penalty", "repeat_penalty", "tfs_z",
                 "mirostat_mode", "mirostat_tau", "mirostat_eta", "logits_processor", "grammar",
                 "logit_bias")
        prompt = llama.tokenize(formatted.prompt.encode(), add_bos=not formatted.added_special,
                                special=True)
        raw = llama.create_completion(
            prompt, stop=stops, stream=stream, model=model,
            stopping_criteria=formatted.stopping_criteria,
            **{n: arguments[n] for n in names if n in arguments})
        return _as_chunks(raw) if stream else _as_chat(raw)
    return handle


def _as_chat(raw: dict[str, Any]) -> dict[str, Any]:
    choice = raw["choices"][0]
    return {"id": "chat" + raw["id"], "object": "chat.completion", "created": raw["created"],
            "model": raw["model"],
            "choices": [{"index": 0, "message": {"role": "assistant", "content": choice["text"]},
                         "logprobs": None, "finish_reason": choice["finish_reason"]}],
            "usage": raw["usage"]}


def _as_chunks(chunks: Any) -> Any:
    first = True
    for raw in chunks:
        choice = raw["choices"][0]
        base = {"id": "chat" + raw["id"], "object": "chat.completion.chunk",
                "created": raw["created"], "model": raw["model"]}
        if first:
            first = False
            yield {**base, "choices": [{"index": 0, "delta": {"role": "assistant"},
                                        "logprobs": None, "finish_reason": None}]}
        delta = {} if choice["finish_reason"] else {"content": choice["text"]}
        yield {**base, "choices": [{"index": 0, "delta": delta, "logprobs": None,
                                    "finish_reason": choice["finish_reason"]}]}


def register_chat_format(name: str) -> Callable[[Any], Any]:
    """A decorator for a function that makes the prompt of messages."""
    def register(f: Any) -> Any:
        handlers[name] = chat_formatter_to_chat_completion_handler(f)
        return f
    return register


class Jinja2ChatFormatter:
    """A template in Jinja."""

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
        """A handler with this template."""
        return chat_formatter_to_chat_completion_handler(self)
