"""Graphs of ops: built node by node, drawn, and run on arrays."""

import json
import numbers
import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

from . import _weft
from ._errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from ._objects import Lock, Unpicklable
from ._plan import Plan
from ._report import Proof

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_HERE = os.path.dirname(os.path.abspath(__file__)) + os.sep
_NUMPY_TYPES = {"f32": "float32", "i32": "int32", "f16": "float16"}
TYPES = {numpy: dtype for dtype, numpy in _NUMPY_TYPES.items()}


def _line() -> Optional[tuple[str, int]]:
    """The line of the program that called the package."""
    frame = sys._getframe(1)
    while frame.f_code.co_filename.startswith(_HERE):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return frame.f_code.co_filename, frame.f_lineno


class Dim(int):
    """A dimension that varies from run to run: the number is its bound. Graph.variable() makes it."""

    _number: int

    def __new__(cls, bound: int, number: int) -> "Dim":
        dim = super().__new__(cls, bound)
        dim._number = number
        return dim

    def __repr__(self) -> str:
        return f"<={int(self)}"


Shape = Sequence[int]


def dims_of(shape: Shape) -> list[tuple[int, int]]:
    """Bounds and variables, as the module takes them."""
    if isinstance(shape, (int, str)):
        raise TypeError(f"shape must be a sequence of integers, not {type(shape).__name__}")
    return [(operator.index(dim), getattr(dim, "_number", 0)) for dim in shape]


def _text(value: str, name: str) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be str, not {type(value).__name__}")
    return value


def shape_of(dims: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """The inverse of dims_of()."""
    return tuple(Dim(bound, number) if number else bound for bound, number in dims)


class Tensor:
    """A node of a graph: what the functions of weft.ops take and give. + and * are ops as well."""

    # Arrays of numpy leave + and * to the tensor.
    __array_ufunc__ = None

    def __init__(self, graph: "Graph", id: int) -> None:
        self._graph = graph
        self._id = id

    def _info(self) -> tuple[str, str, list[tuple[int, int]]]:
        info: tuple[str, str, list[tuple[int, int]]] = self._graph._native.info(self._id)
        return info

    @property
    def path(self) -> str:
        """The name in pictures, plans and messages."""
        return self._info()[0]

    @property
    def dtype(self) -> str:
        """The type of the elements: "f32", "i32", "q4_k", ..."""
        return self._info()[1].lower()

    @property
    def shape(self) -> tuple[int, ...]:
        """The dimensions, the slowest first. Those that vary are Dim, with their bound."""
        return shape_of(self._info()[2])

    def named(self, path: str) -> "Tensor":
        """This tensor, under that name within the current block."""
        self._graph._native.set_name(self._id, _text(path, "path"))
        return self

    def __add__(self, other: "Tensor") -> "Tensor":
        return self._graph._op("add", [self, other], {}) if isinstance(other, Tensor) else NotImplemented

    def __mul__(self, other: Union["Tensor", float]) -> "Tensor":
        if isinstance(other, Tensor):
            return self._graph._op("mul", [self, other], {})
        if isinstance(other, numbers.Real):
            return self._graph._op("scale", [self], {"factor": float(other)})
        return NotImplemented

    def __rmul__(self, other: float) -> "Tensor":
        return self.__mul__(other)

    def __repr__(self) -> str:
        path, dtype, dims = self._info()
        return f"<weft.Tensor {path!r} {dtype.lower()} {shape_of(dims)}>"


class Node(NamedTuple):
    """What a graph says about one of its nodes."""

    path: str
    op: str  # or "input", "weight", "state"
    shape: tuple[int, ...]
    dtype: str
    inputs: tuple[int, ...]
    attributes: dict[str, Any]
    where: str  # the line of source that made it
    made_by: str  # the pass that made it; "" otherwise


class Graph(Unpicklable):
    """A graph of ops.

        g = weft.Graph()
        x = g.input("x", (3, 64))
        g.output(weft.ops.silu(x), "y")
        y = g.run({"x": array})["y"]
    """

    _instead = "build it again in the other process"

    def __init__(self) -> None:
        self._open(_weft.Graph.open())

    def _open(self, native: Any) -> None:
        self._native = native
        self._at: Optional[tuple[str, int]] = None
        self._inputs: dict[str, Tensor] = {}
        self._weights: dict[str, Tensor] = {}
        self._states: dict[str, Tensor] = {}
        self._outputs: list[str] = []
        self._computation: Any = None
        self._options: dict[str, Any] = {}
        self._picture: Optional[str] = None  # in place of that of the nodes
        self._running = Lock()

    @classmethod
    def _made(cls, native: Any) -> "Graph":
        graph = cls.__new__(cls)
        graph._open(native)
        return graph

    def _change(self) -> None:
        """Before a node is added: notes the line of source that adds it."""
        self._computation = self._picture = None
        at = _line()
        if at is not None and at != self._at:
            self._native.set_line(*at)
            self._at = at

    def _op(self, name: str, inputs: Sequence[Optional[Tensor]], attributes: dict[str, Any]) -> Tensor:
        ids = [-1 if tensor is None else self._id(tensor) for tensor in inputs]
        self._change()
        return Tensor(self, self._native.op(name, ids, attributes))

    def _id(self, tensor: Tensor) -> int:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"expected a weft.Tensor, not {type(tensor).__name__}")
        if tensor._graph is not self:
            raise ArgumentError(f"tensor {tensor.path!r} belongs to another graph")
        return tensor._id

    def _leaf(self, add: Callable[..., int], name: str, shape: Shape, dtype: str) -> Tensor:
        if any(_text(name, "name") in leaves for leaves in (self._inputs, self._weights, self._states)):
            raise ArgumentError(f"the graph has {name!r} already")
        self._change()
        return Tensor(self, add(name, _text(dtype, "dtype").upper(), dims_of(shape)))

    def input(self, name: str, shape: Shape, dtype: str = "f32") -> Tensor:
        """An array that each run gets."""
        self._inputs[name] = tensor = self._leaf(self._native.input, name, shape, dtype)
        return tensor

    def weight(self, name: str, shape: Shape, dtype: str = "f32") -> Tensor:
        """An array that run() is given with the first one, in any type of files: "q4_k", ..."""
        self._weights[name] = tensor = self._leaf(self._native.weight, name, shape, dtype)
        return tensor

    def state(self, name: str, shape: Shape, dtype: str = "f32") -> Tensor:
        """Memory that outlives a run, zero at first: state_array()."""
        self._states[name] = tensor = self._leaf(self._native.state, name, shape, dtype)
        return tensor

    def variable(self, name: str, bound: int) -> Dim:
        """A first dimension that varies from run to run, up to a bound."""
        return Dim(bound, self._native.variable(_text(name, "name"), operator.index(bound)))

    def output(self, tensor: Tensor, name: str) -> None:
        """Makes a tensor a result of run()."""
        self._change()
        self._native.output(_text(name, "name"), self._id(tensor))
        self._outputs.append(name)

    def run(self, inputs: "Mapping[str, Array]", **options: Any) -> "dict[str, Array]":
        """Computes the outputs from arrays for all inputs, and for all weights in the first run.
        Options: workers, backend, route, passes_off, mem_budget, separate_tensors (for value());
        others than those of the last run need the weights again."""
        with self._running:
            computation, extents = self._ready(inputs, options)
            computation.run(extents)
            return {name: computation.output(name) for name in self._outputs}

    def verify(self, inputs: "Mapping[str, Array]", **options: Any) -> Proof:
        """Runs like run(), and compares every node with its scalar definition. Outputs and states
        become those of this run."""
        with self._running:
            computation, extents = self._ready(inputs, options)
            return Proof(*computation.verify(extents))

    def value(self, path: str) -> "Array":
        """A copy of any node by its path, after a run with separate_tensors=True."""
        _text(path, "path")
        with self._running:
            if self._computation is None:
                raise ArgumentError(f"the graph has not run yet, so {path!r} has no value")
            array: "Array" = self._computation.tensor(path)
            return array

    def state_array(self, name: str) -> "Array":
        """The memory of a state between runs, which may be changed. A graph with weights must have
        run. Blocks of quantized types are bytes."""
        import numpy as np
        if _text(name, "name") not in self._states:
            raise ArgumentError(f"the graph has no state {name!r}")
        _, dtype, dims = self._states[name]._info()
        with self._running:
            if self._computation is None and self._weights:
                raise ArgumentError(f"the graph has not run yet, so state {name!r} has no memory")
            raw: "Array" = self._opened({}, {}).state(name)
        numpy = _NUMPY_TYPES.get(dtype.lower())
        return raw if numpy is None else raw.view(np.dtype(numpy)).reshape(shape_of(dims))

    def _ready(self, inputs: "Mapping[str, Array]", options: dict[str, Any]) -> tuple[Any, list[int]]:
        """The computation with its inputs, and the extents of a run."""
        if not isinstance(inputs, Mapping):
            raise TypeError(f"inputs must be a dict of arrays, not {type(inputs).__name__}")
        for name in inputs:
            if name not in self._inputs and name not in self._weights:
                raise ArgumentError(f"the graph has no input {name!r}")
        extents: dict[int, tuple[int, str]] = {}
        arrays = {name: self._checked(name, inputs, tensor, extents)
                  for name, tensor in self._inputs.items()}
        computation = self._opened(inputs, options)
        for name, array in arrays.items():
            computation.set_input(name, array)
        return computation, [extents[number][0] for number in sorted(extents)]

    def _opened(self, inputs: "Mapping[str, Array]", options: dict[str, Any]) -> Any:
        if self._computation is not None and (not options or options == self._options):
            for name in self._weights:
                if name in inputs:
                    raise ArgumentError(f"weight {name!r} was given with the first run; what changes "
                                        "from run to run is an input")
            return self._computation
        if self._computation is not None and self._states:
            raise ArgumentError("the graph has states, so its options are those of the first run")
        computation = _weft.Computation.open(self._native, options)
        for name, tensor in self._weights.items():
            computation.set_weight(name, self._weight(name, inputs, tensor))
        self._computation, self._options = computation, dict(options)
        return computation

    def _weight(self, name: str, inputs: "Mapping[str, Array]", tensor: Tensor) -> "Array":
        import numpy as np
        if name in inputs and tensor.dtype not in _NUMPY_TYPES:  # blocks of the type, as bytes
            return np.ascontiguousarray(inputs[name]).view(np.uint8)
        return self._checked(name, inputs, tensor, {})

    def _checked(self, name: str, inputs: "Mapping[str, Array]", tensor: Tensor,
                 extents: dict[int, tuple[int, str]]) -> "Array":
        """The array of an input, contiguous."""
        import numpy as np
        if name not in inputs:
            raise ArgumentError(f"no array for input {name!r}")
        _, dtype, dims = tensor._info()
        wanted = _NUMPY_TYPES.get(dtype.lower())
        array = inputs[name]
        if not isinstance(array, np.ndarray):
            array = np.asarray(array, wanted)
        if array.dtype != wanted:
            raise DTypeError(f"input {name!r} must be {wanted or dtype}, got {array.dtype}")
        fits = array.ndim == len(dims) and all(
            n <= bound if number else n == bound for n, (bound, number) in zip(array.shape, dims))
        if not fits:
            raise ShapeError(f"input {name!r} must have the shape {shape_of(dims)}, got {array.shape}")
        if dims and dims[0][1]:
            n, other = extents.setdefault(dims[0][1], (array.shape[0], name))
            if n != array.shape[0]:
                raise ShapeError(f"inputs {other!r} and {name!r} must have as many rows, "
                                 f"got {n} and {array.shape[0]}")
        return np.ascontiguousarray(array)

    def plan(self) -> Plan:
        """How run() computes it; after a run, the plan of that run."""
        with self._running:
            computation = self._computation or _weft.Computation.open(self._native, {})
            return Plan(*computation.plan())

    def __len__(self) -> int:
        n: int = self._native.size()
        return n

    def __bool__(self) -> bool:
        return True

    def __iter__(self) -> Iterator[Node]:
        graph = json.loads(self._native.json())
        for node in graph["nodes"]:
            yield Node(node["path"], node["op"] or node["kind"],
                       shape_of(self._native.info(node["id"])[2]), node["dtype"].lower(),
                       tuple(node["inputs"]), node["attributes"], node["where"], node["made_by"])

    def dot(self) -> str:
        """The graph as text for Graphviz."""
        return self._picture or self._native.dot()

    def svg(self) -> str:
        """The graph as a picture, which Graphviz draws: UnsupportedError if it is not installed."""
        text: str = _weft.dot_svg(self.dot())
        return text

    def _repr_svg_(self) -> Optional[str]:
        try:
            return self.svg()
        except UnsupportedError:  # a notebook shows the text instead
            return None

    def __repr__(self) -> str:
        return f"<weft.Graph of {len(self)} nodes>"
