"""Functions of Python as tools of a chat."""

import json
from collections.abc import Callable
from typing import Any, Optional, Union

Tool = Union[Callable[..., Any], dict[str, Any]]

_TYPES = {str: "string", int: "integer", float: "number", bool: "boolean", list: "array",
          dict: "object"}


def _schema(annotation: Any) -> dict[str, Any]:
    """The JSON schema of an annotation; any value if it is none of the simple ones."""
    import typing
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation in _TYPES:
        return {"type": _TYPES[annotation]}
    if origin is list and arguments:
        return {"type": "array", "items": _schema(arguments[0])}
    if origin is dict:
        return {"type": "object"}
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin is Union or origin is not None and origin.__name__ == "UnionType":
        kinds = [{"type": "null"} if a is type(None) else _schema(a) for a in arguments]
        return {"anyOf": kinds}
    return {}


def description(tool: Tool) -> dict[str, Any]:
    """A tool in OpenAI's form: of a function, from its name, docstring and annotations."""
    if isinstance(tool, dict):
        return tool
    if not callable(tool):
        raise TypeError(f"a tool must be a function or a dict, not {type(tool).__name__}")
    import inspect
    import typing
    if not inspect.isroutine(tool) or inspect.iscoroutinefunction(tool):
        raise TypeError(f"a tool must be a function that is not async, not {tool!r}")
    kinds = typing.get_type_hints(tool)
    properties, required = {}, []
    for name, parameter in inspect.signature(tool).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD,
                              parameter.POSITIONAL_ONLY):
            raise TypeError(f"the tool {tool.__name__}() must take {name!r} by its name")
        properties[name] = _schema(kinds.get(name, Any))
        if parameter.default is parameter.empty:
            required.append(name)
    function = {"name": tool.__name__, "description": inspect.getdoc(tool) or "",
                "parameters": {"type": "object", "properties": properties, "required": required}}
    return {"type": "function", "function": function}


def called(functions: dict[str, Callable[..., Any]], call: dict[str, Any]) -> Optional[str]:
    """The result of a call as text; None if the tool is not a function."""
    function = functions.get(call["function"]["name"])
    if function is None:
        return None
    result = function(**json.loads(call["function"]["arguments"]))
    return result if isinstance(result, str) else json.dumps(result, ensure_ascii=False)
