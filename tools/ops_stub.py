#!/usr/bin/env python3
"""Writes the types of weft.ops (bindings/python/weft/ops.pyi), from the ops of the library.

    PYTHONPATH=build/release/python /usr/bin/python3 tools/ops_stub.py"""

import keyword
import pathlib
import sys

from weft import _ops

STUB = pathlib.Path(__file__).resolve().parents[1] / "bindings/python/weft/ops.pyi"
HEAD = '''\
"""The ops of graphs. Written by tools/ops_stub.py."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Optional, Union, overload

from ._graph import Tensor

def __getattr__(name: str) -> Callable[..., Tensor]: ...  # of weft.register_op()
'''


def definition(name, parameters):
    lines, indent = [f"def {name}("], " " * len(f"def {name}(")
    for i, parameter in enumerate(parameters):
        end = ") -> Tensor: ..." if i + 1 == len(parameters) else ","
        lead = "" if lines[-1].endswith("(") else " "
        if len(lines[-1] + lead + parameter + end) > 100 and not lines[-1].endswith("("):
            lines.append(indent)
            lead = ""
        lines[-1] += lead + parameter + end
    return "\n".join(lines)


def parameter_name(name, taken=()):
    """Words of Python, and attributes with the name of an input, can only come by place."""
    return name + "_" if keyword.iskeyword(name) or name in taken else name


def tensors_of(op):
    """Parameters, and whether each may be left out: optional tensors behind all that are needed."""
    inputs = op["inputs"]
    needed = max((i for i, x in enumerate(inputs) if not x["optional"]), default=-1)
    found = []
    for i, x in enumerate(inputs):
        kind = "Optional[Tensor]" if x["optional"] else "Tensor"
        default = " = None" if i > needed else ""
        found.append((f"{parameter_name(x['name'])}: {kind}{default}", i > needed))
    if op["variadic"]:
        found[-1] = (f"*{inputs[-1]['name']}: Union[Tensor, Sequence[Tensor]]", False)
    return found


def stub_of(op):
    """One op: its tensors, then its attributes, which may also come as a mapping."""
    tensors = tensors_of(op)
    inputs = [x["name"] for x in op["inputs"]]
    attributes = [f"{parameter_name(name, inputs)}: {type(default).__name__} = {default!r}"
                  for name, default in op["attributes"].items()]
    if not attributes:
        return definition(op["name"], [t for t, _ in tensors])
    needed = [t for t, may_lack in tensors if not may_lack]
    others = [t for t, may_lack in tensors if may_lack]
    ways = [[*needed, *others, *attributes]]
    if others:
        ways.append([*needed, *attributes, *others])
    ways.append([*needed, "attributes: Mapping[str, Any]", *others, *attributes])
    return "\n".join(f"@overload\n{definition(op['name'], way)}" for way in ways)


def stub():
    parts = [stub_of(op) for _, op in sorted(_ops.built_in().items())]
    return HEAD + "\n" + "\n".join(parts) + "\n"


def main():
    STUB.write_text(stub(), encoding="utf-8")
    print(f"wrote {STUB.name}, {len(_ops.built_in())} ops", file=sys.stderr)


if __name__ == "__main__":
    main()
