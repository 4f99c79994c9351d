"""The arguments of create_chat_completion(): what they ask for, and which exclude each other."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, Optional, Union

from .. import _weft
from .._errors import ArgumentError, UnsupportedError

_CHOICES = ("none", "auto", "required")


class Tools(NamedTuple):
    """The tools that are offered, and "none", "auto", "required" or the name of one."""

    offered: list[Any]
    choice: str
    argument: str  # which said so
    is_single: bool = False  # at most one call

    @property
    def is_forced(self) -> bool:
        """Whether the answer has to be a call."""
        return self.choice not in ("none", "auto")


class Constraint(NamedTuple):
    """What the answer has to be, as the text of a grammar and its kind."""

    text: Optional[str]
    kind: int


def list_of(messages: Any) -> list[Any]:
    """The argument messages: any iterable of them."""
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise ArgumentError("messages must be a list with at least one message")
    return list(messages)


def texts_of(messages: Any) -> list[dict[str, Any]]:
    """Messages whose contents are text."""
    messages = list_of(messages)
    if not messages:
        raise ArgumentError("messages must be a list with at least one message")
    return [_with_text(message) for message in messages]


def _with_text(message: Any) -> dict[str, Any]:
    if not isinstance(message, Mapping) or not isinstance(message.get("role"), str):
        raise ArgumentError("messages: a message must be a dict with a role")
    message = dict(message)
    content = message.get("content")
    if content is None or isinstance(content, str):
        return message
    if not isinstance(content, (list, tuple)):
        raise ArgumentError("messages: content must be str or a list of parts, not "
                            f"{type(content).__name__}")
    return {**message, "content": "".join(_text_of_part(part) for part in content)}


def _text_of_part(part: Any) -> str:
    if not isinstance(part, dict):
        raise ArgumentError("messages: a part of content must be a dict with a type, not "
                            f"{type(part).__name__}")
    if part.get("type") != "text":
        raise UnsupportedError(f"messages: content of type {part.get('type')!r} is not supported, "
                               "only text")
    if not isinstance(part.get("text"), str):
        raise ArgumentError("messages: a part of type 'text' must have a text")
    text: str = part["text"]
    return text


def tools_of(a: Mapping[str, Any]) -> Tools:
    """The arguments tools and tool_choice, or functions and function_call."""
    if a["functions"] is None:
        _check_unused(a, "function_call", "functions")
        tools = _tools("tools", a["tools"], "tool_choice", a["tool_choice"])
        return tools._replace(is_single=_single_call(a))
    if a["tools"] is not None:
        raise UnsupportedError("functions: tools are given, too")
    _check_unused(a, "tool_choice", "tools")
    functions = a["functions"]
    if isinstance(functions, (list, tuple)):
        functions = [{"type": "function", "function": f} for f in functions]
    called = a["function_call"]
    if isinstance(called, dict):
        called = {"type": "function", "function": called}
    tools = _tools("functions", functions, "function_call", called)
    # An answer has one function_call.
    return tools._replace(is_single=_single_call(a) or tools.is_forced)


def _single_call(a: Mapping[str, Any]) -> bool:
    """Whether the argument parallel_tool_calls allows one call only."""
    given = a["parallel_tool_calls"]
    if given is not None and not isinstance(given, bool):
        raise TypeError(f"parallel_tool_calls must be a bool, not {type(given).__name__}")
    return given is False


def _check_unused(a: Mapping[str, Any], name: str, needed: str) -> None:
    """Refuses a choice among tools that were not given."""
    if a[name] is None:
        return
    if a["tools"] is None and a["functions"] is None and a[name] in ("none", "auto"):
        return
    raise ArgumentError(f"{name}: {a[name]!r} needs {needed}")


def _tools(name: str, given: Any, choice_name: str, choice: Any) -> Tools:
    if given is not None and not isinstance(given, (list, tuple)):
        raise TypeError(f"{name} must be a list, not {type(given).__name__}")
    offered = list(given or [])
    names = [_tool_name(name, tool) for tool in offered]
    if choice is None:
        return Tools(offered, "auto" if offered else "none", choice_name)
    if isinstance(choice, str):
        if choice not in _CHOICES:
            raise ArgumentError(f"{choice_name}: {choice!r} is unknown (known: "
                                f"{', '.join(_CHOICES)})")
        if choice == "required" and not offered:
            raise ArgumentError(f"{choice_name}: 'required' needs {name}")
        return Tools(offered, choice, choice_name)
    function = choice.get("function") if isinstance(choice, dict) else None
    wanted = function.get("name") if isinstance(function, dict) else None
    if not isinstance(wanted, str):
        raise ArgumentError(f"{choice_name}: {choice!r} must be a str, or a dict that names a "
                            "function")
    if wanted not in names:
        raise ArgumentError(f"{choice_name}: {wanted!r} is not among the {name}")
    return Tools(offered, wanted, choice_name)


def _tool_name(argument: str, tool: Any) -> str:
    function = tool.get("function") if isinstance(tool, dict) else None
    name = function.get("name") if isinstance(function, dict) else None
    if not isinstance(name, str):
        raise ArgumentError(f"{argument}: {tool!r} is not a function with a name")
    return name


def constraint_of(a: Mapping[str, Any]) -> Optional[Constraint]:
    """The argument response_format; None if the answer may be any text."""
    given = a["response_format"]
    if given is None:
        return None
    if not isinstance(given, dict) or not isinstance(given.get("type"), str):
        raise ArgumentError(f"response_format: {given!r} is not a dict with a type")
    kind = given["type"]
    if kind == "text":
        return None
    if a["grammar"] is not None:
        raise UnsupportedError("grammar: response_format asks for another one")
    if kind == "json_object" and given.get("schema") is None:
        return Constraint(None, _weft.GRAMMAR_JSON_OBJECT)
    if kind == "json_object":
        return _schema(given["schema"], "schema")
    if kind == "json_schema":
        described = given.get("json_schema")
        if not isinstance(described, dict) or "schema" not in described:
            raise ArgumentError("response_format: type 'json_schema' needs json_schema with a "
                                "schema")
        return _schema(described["schema"], "json_schema.schema")
    raise UnsupportedError(f"response_format: type {kind!r} is unknown")


def _schema(schema: Any, name: str) -> Constraint:
    if not isinstance(schema, (dict, bool)):
        raise ArgumentError(f"response_format: {name} must be a dict, not {type(schema).__name__}")
    return Constraint(json.dumps(schema), _weft.GRAMMAR_JSON_SCHEMA)


def n_logprobs(a: Mapping[str, Any]) -> Optional[int]:
    """How many alternatives of each token are listed; None: no log-probabilities."""
    if a["logprobs"]:
        return a["top_logprobs"] or 0
    if a["top_logprobs"]:
        raise UnsupportedError("top_logprobs: needs logprobs=True")
    return None


def stops_of(given: Optional[Union[str, list[str], tuple[str, ...]]]) -> list[str]:
    """The argument stop as a list."""
    return [given] if isinstance(given, str) else list(given or [])
