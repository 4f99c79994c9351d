"""Functions of ops that are called with arrays."""

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._errors import DTypeError
from ._graph import TYPES, Graph, Tensor

if TYPE_CHECKING:
    import inspect

    import numpy as np

    Array = np.ndarray[Any, Any]


class GraphFunction:
    """A function of ops that is called with arrays: see weft.graph."""

    def __init__(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"expected a function, not {type(function).__name__}")
        import inspect
        self._function = function
        self._signature = inspect.signature(function)
        self._graphs: dict[Any, tuple[Graph, Any]] = {}
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        graph, result, arrays = self._traced(args, kwargs)
        outputs = graph.run(arrays)
        if isinstance(result, dict):
            return {key: outputs[str(key)] for key in result}
        if isinstance(result, (tuple, list)):
            return tuple(outputs[f"y{i}"] for i in range(len(result)))
        return outputs["y"]

    def graph(self, *args: Any, **kwargs: Any) -> Graph:
        """The graph for arrays of these shapes and types."""
        return self._traced(args, kwargs)[0]

    def _arrays(self, args: Any, kwargs: Any) -> "tuple[inspect.BoundArguments, dict[str, Array]]":
        import numpy as np
        bound = self._signature.bind(*args, **kwargs)
        arrays: "dict[str, Array]" = {}
        for name, value in bound.arguments.items():
            parameter = self._signature.parameters[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                arrays.update((f"{name}{i}", x) for i, x in enumerate(value)
                              if isinstance(x, np.ndarray))
            elif parameter.kind is parameter.VAR_KEYWORD:
                arrays.update((key, x) for key, x in value.items() if isinstance(x, np.ndarray))
            elif isinstance(value, np.ndarray):
                arrays[name] = value
        return bound, arrays

    def _traced(self, args: Any, kwargs: Any) -> "tuple[Graph, Any, dict[str, Array]]":
        import numpy as np
        bound, arrays = self._arrays(args, kwargs)
        fixed = tuple((at, type(x), x) for at, x in (*enumerate(args), *kwargs.items())
                      if not isinstance(x, np.ndarray))
        key = (tuple((name, a.shape, a.dtype.str) for name, a in arrays.items()), fixed)
        try:
            known = self._graphs.get(key)
        except TypeError:  # an argument without a hash
            return (*self._built(bound, arrays), arrays)
        if known is None:
            known = self._graphs[key] = self._built(bound, arrays)
        return (*known, arrays)

    def _built(self, bound: "inspect.BoundArguments", arrays: "dict[str, Array]") -> tuple[Graph, Any]:
        graph = Graph()
        tensors = {name: graph.input(name, a.shape, _type_of(name, a)) for name, a in arrays.items()}
        arguments = bound.arguments
        for name, value in list(arguments.items()):
            parameter = self._signature.parameters[name]
            if parameter.kind is parameter.VAR_POSITIONAL:
                arguments[name] = tuple(tensors.get(f"{name}{i}", x) for i, x in enumerate(value))
            elif parameter.kind is parameter.VAR_KEYWORD:
                arguments[name] = {key: tensors.get(key, x) for key, x in value.items()}
            else:
                arguments[name] = tensors.get(name, value)
        result = self._function(*bound.args, **bound.kwargs)
        named = ({str(key): x for key, x in result.items()} if isinstance(result, dict) else
                 {f"y{i}": x for i, x in enumerate(result)} if isinstance(result, (tuple, list))
                 else {"y": result})
        for name, tensor in named.items():
            if not isinstance(tensor, Tensor):
                raise TypeError(f"{self._function.__name__}() must return tensors, "
                                f"not {type(tensor).__name__}")
            graph.output(tensor, name)
        return graph, result


def _type_of(name: str, array: "Array") -> str:
    if array.dtype.name not in TYPES:
        raise DTypeError(f"argument {name!r} must be one of {', '.join(TYPES)}, got {array.dtype}")
    return TYPES[array.dtype.name]


def graph(function: Callable[..., Any]) -> GraphFunction:
    """Makes a function of ops one of arrays. Its graph is built once for each set of shapes, types
    and further arguments.

        @weft.graph
        def block(x, w):
            return weft.ops.silu(weft.ops.linear(x, w))

        y = block(x, w)              # arrays
        block.graph(x, w)            # a picture in a notebook
    """
    return GraphFunction(function)
