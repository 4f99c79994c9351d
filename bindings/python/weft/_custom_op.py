"""Ops that are defined by functions of numpy."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional, TypeVar, Union, overload

from . import _ops, _weft
from ._graph import Dim, dims_of, shape_of

F = TypeVar("F", bound=Callable[..., Any])
Dims = Sequence[tuple[int, int]]

# Names of types, which the module refers to as long as the process lives.
_NAMES = {"f32": "F32", "i32": "I32", "f16": "F16"}


class Spec(NamedTuple):
    """Shape and type of an input."""

    shape: tuple[int, ...]
    dtype: str


def _signature(function: Callable[..., Any]) -> tuple[list[str], dict[str, Any]]:
    """Inputs, and attributes with their defaults."""
    import inspect
    inputs: list[str] = []
    attributes: dict[str, Any] = {}
    for name, parameter in inspect.signature(function).parameters.items():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            raise TypeError(f"the function of an op must name its parameters, not *{name}")
        has_default = parameter.default is not parameter.empty
        if has_default or parameter.kind is parameter.KEYWORD_ONLY:
            attributes[name] = parameter.default if has_default else _ops.REQUIRED
        else:
            inputs.append(name)
    return inputs, attributes


def _keep_variables(shape: Sequence[int], specs: Sequence[Spec]) -> tuple[int, ...]:
    """A first dimension that is the bound of a varying one varies with it."""
    if shape and not isinstance(shape[0], Dim):
        for spec in specs:
            if spec.shape and isinstance(spec.shape[0], Dim) and spec.shape[0] == shape[0]:
                return (spec.shape[0], *shape[1:])
    return tuple(shape)


def _inference(name: str, infer: Optional[Callable[..., Any]]) -> Callable[..., Any]:
    def run(inputs: Sequence[tuple[str, Dims]], attributes: dict[str, Any]) -> tuple[str, Any]:
        specs = [Spec(shape_of(dims), dtype.lower()) for dtype, dims in inputs]
        shape: Any = specs[0].shape
        dtype = specs[0].dtype
        if infer is not None:
            result = infer(*specs, **attributes)
            if isinstance(result, Spec) or len(result) == 2 and isinstance(result[1], str):
                shape, dtype = result
            else:
                shape = result
        if dtype not in _NAMES:
            raise TypeError(f"op {name!r}: the output must be one of {', '.join(_NAMES)}, not {dtype}")
        return _NAMES[dtype], dims_of(_keep_variables(shape, specs))
    return run


def _computation(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    def run(inputs: Sequence[Any], attributes: dict[str, Any], shape: tuple[int, ...],
            dtype: Any) -> Any:
        import numpy as np
        for array in inputs:
            array.flags.writeable = False
        result = np.asarray(function(*inputs, **attributes))
        if result.shape != shape:
            raise ValueError(f"op {name!r} gave the shape {result.shape}, not {shape}")
        return result.astype(dtype, casting="same_kind", copy=False)
    return run


@overload
def register_op(function: F) -> F: ...
@overload
def register_op(*, name: Optional[str] = None,
                infer: Optional[Callable[..., Any]] = None,
                sharding: Optional[str] = None) -> Callable[[F], F]: ...
def register_op(function: Optional[F] = None, *, name: Optional[str] = None,
                infer: Optional[Callable[..., Any]] = None,
                sharding: Optional[str] = None) -> Union[F, Callable[[F], F]]:
    """A decorator: makes a function of arrays an op, weft.ops.NAME, that graphs and architectures
    can use. It is its own definition, and runs on one lane.

        @weft.register_op
        def shrink(x, *, by=0.5):
            return np.sign(x) * np.maximum(np.abs(x) - by, 0)

    Parameters with a default, and those after *, are attributes; the others are inputs. The output
    has shape and type of the first input, unless infer(*specs, **attributes) gives a shape, or a
    shape and a type; a spec has .shape and .dtype. Registering a name again replaces what Python
    registered; graphs that exist keep what they have.

    `sharding` says how ranks divide it: "elementwise" (any part of the output needs the same part
    of inputs of its shape), "heads" (each head of [T, H, E] is computed on its own), or "whole".
    Without it, every rank computes all of it, and loading a sharded model warns about that."""
    def register(function: F) -> F:
        if not callable(function):
            raise TypeError(f"expected a function, not {type(function).__name__}")
        op = str(name or getattr(function, "__name__", "op"))
        inputs, attributes = _signature(function)
        _weft.register_op(op, inputs, _inference(op, infer), _computation(op, function),
                          sharding)
        _ops.registered[op] = {
            "name": op, "variadic": False, "attributes": attributes,
            "inputs": [{"name": x, "optional": False} for x in inputs]}
        return function
    return register if function is None else register(function)
