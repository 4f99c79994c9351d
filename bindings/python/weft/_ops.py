"""The functions of weft.ops, from what the library says about its ops."""

import functools
import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn, Optional

from . import _weft
from ._graph import Tensor

# The default of an attribute that has none.
REQUIRED = object()

# Inputs and attributes of ops that were registered by Python.
registered: dict[str, dict[str, Any]] = {}


@functools.lru_cache(maxsize=None)
def built_in() -> dict[str, dict[str, Any]]:
    """Name, inputs and attributes of the ops of the library."""
    return {op["name"]: op for op in json.loads(_weft.ops_json())}


class _Arguments:
    """The arguments of one call, by inputs and attributes."""

    def __init__(self, op: dict[str, Any]) -> None:
        self.op = op
        self.names = [x["name"] for x in op["inputs"]]
        self.optional = [x["optional"] for x in op["inputs"]]
        self.inputs: list[Optional[Tensor]] = []
        self.attributes: dict[str, Any] = {}
        self.left = list(op["attributes"])

    def fail(self, problem: str) -> NoReturn:
        raise TypeError(f"{self.op['name']}() {problem}")

    def positional(self, value: Any) -> None:
        if isinstance(value, Tensor) or value is None:
            if len(self.inputs) == len(self.names) and not self.op["variadic"]:
                self.fail(f"takes {len(self.names)} tensors, got another one")
            self.inputs.append(value)
        elif self.op["variadic"] and isinstance(value, (list, tuple)):
            for tensor in value:
                self.positional(tensor)
        elif not all(self.optional[len(self.inputs):]):
            self.fail(f"needs a weft.Tensor as {self.names[len(self.inputs)]!r}, "
                      f"not {type(value).__name__}")
        elif isinstance(value, Mapping):
            for name, x in value.items():
                self.attribute(name, x)
        elif not self.left:
            self.fail(f"takes {len(self.op['attributes'])} attributes, got another one: {value!r}")
        else:
            self.attribute(self.left[0], value)

    def attribute(self, name: str, value: Any) -> None:
        if name not in self.left:
            given = name in self.attributes
            self.fail(f"got {name!r} twice" if given else f"has no input or attribute {name!r}")
        self.left.remove(name)
        default = self.op["attributes"][name]
        if isinstance(default, float) and isinstance(value, int):
            value = float(value)
        self.attributes[name] = value

    def keyword(self, name: str, value: Any) -> None:
        if name not in self.names:
            self.attribute(name, value)
            return
        if not isinstance(value, Tensor) and value is not None:
            self.fail(f"needs a weft.Tensor as {name!r}, not {type(value).__name__}")
        at = self.names.index(name)
        self.inputs += [None] * (at + 1 - len(self.inputs))
        if self.inputs[at] is not None:
            self.fail(f"got {name!r} twice")
        self.inputs[at] = value

    def call(self) -> Tensor:
        self.inputs += [None] * (len(self.names) - len(self.inputs))
        for i, tensor in enumerate(self.inputs):
            if tensor is None and not (i < len(self.optional) and self.optional[i]):
                name = self.names[min(i, len(self.names) - 1)]
                self.fail(f"needs a weft.Tensor as {name!r}")
        for name in self.left:
            if self.op["attributes"][name] is REQUIRED:
                self.fail(f"needs the attribute {name!r}")
        while self.inputs[-1] is None:
            self.inputs.pop()
        first = next(tensor for tensor in self.inputs if tensor is not None)
        return first._graph._op(self.op["name"], self.inputs, self.attributes)


def _function(op: dict[str, Any]) -> Callable[..., Tensor]:
    def function(*args: Any, **kwargs: Any) -> Tensor:
        given = _Arguments(op)
        for value in args:
            given.positional(value)
        for name, value in kwargs.items():
            given.keyword(name, value)
        return given.call()

    inputs = [f"{x['name']}=None" if x["optional"] else x["name"] for x in op["inputs"]]
    if op["variadic"]:
        inputs.append(f"*more_{inputs.pop()}" if len(inputs) > 1 else f"*{inputs.pop()}")
    attributes = [name if value is REQUIRED else f"{name}={value!r}"
                  for name, value in op["attributes"].items()]
    function.__name__ = function.__qualname__ = op["name"]
    function.__doc__ = f"{op['name']}({', '.join(inputs + attributes)}) -> Tensor"
    return function


@functools.lru_cache(maxsize=None)
def _built_in_function(name: str) -> Callable[..., Tensor]:
    return _function(built_in()[name])


def find_op(name: str) -> Callable[..., Tensor]:
    """The function of an op; AttributeError for other names."""
    if name in registered:
        return _function(registered[name])
    if name.startswith("_") or name not in built_in():
        raise AttributeError(f"weft.ops has no op {name!r}: dir(weft.ops) lists them all")
    return _built_in_function(name)


def names() -> list[str]:
    """All ops, in the order of their names."""
    return sorted([*built_in(), *registered])
