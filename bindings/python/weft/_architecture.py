"""Architectures, and ops, that are written in Python."""

import contextlib
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn, Optional, Union

from . import _weft
from ._errors import ArgumentError
from ._graph import Graph, Tensor
from ._report import Report


class _Step:
    """The graph of a step while it is built."""

    def __init__(self, native: Any) -> None:
        self.native = native
        self.graph = Graph._made(native.graph())
        self.block: Optional[int] = None

    def tensor(self, id: int) -> Optional[Tensor]:
        return None if id < 0 else Tensor(self.graph, id)

    def present(self, add: Callable[..., int], *args: Any) -> Tensor:
        self.graph._change()
        return Tensor(self.graph, add(*args))


class Weights:
    """The weights of a file, or of one of its blocks: w(name, shape) is one of them."""

    def __init__(self, step: _Step, block: Optional[int] = None) -> None:
        self._step = step
        self._block = block

    @contextlib.contextmanager
    def _entered(self) -> Iterator[Any]:
        """For weights of the whole file in the middle of a block, the block is left meanwhile."""
        step = self._step
        if step.block == self._block:
            yield step.native
            return
        if self._block is not None:
            raise ArgumentError(f"block {self._block} is not open any more")
        around, step.block = step.block, None
        step.native.end_block()
        try:
            yield step.native
        finally:
            step.native.begin_block(around)
            step.block = around

    def _weight(self, name: str, shape: Sequence[int], flags: int) -> Optional[Tensor]:
        with self._entered() as native:
            self._step.graph._change()
            return self._step.tensor(native.weight(name, [int(n) for n in shape], flags))

    def __call__(self, name: str, shape: Sequence[int]) -> Tensor:
        """A weight of the file, which must have this shape."""
        tensor = self._weight(name, shape, 0)
        assert tensor is not None
        return tensor

    def optional(self, name: str, shape: Sequence[int]) -> Optional[Tensor]:
        """A weight; None if the file lacks it."""
        return self._weight(name, shape, _weft.WEIGHT_OPTIONAL)

    def squeezed(self, name: str, shape: Sequence[int], *, optional: bool = False) -> Optional[Tensor]:
        """A weight whose dimensions of 1 may differ in the file."""
        return self._weight(name, shape, _weft.WEIGHT_SQUEEZED | (_weft.WEIGHT_OPTIONAL if optional else 0))

    def stacked(self, name: str, shape: Sequence[int], *, optional: bool = False) -> Optional[Tensor]:
        """A weight [X, N, K] that files may hold as [X N, K]."""
        return self._weight(name, shape, _weft.WEIGHT_STACKED | (_weft.WEIGHT_OPTIONAL if optional else 0))

    def has(self, name: str) -> bool:
        """Whether the file has it."""
        with self._entered() as native:
            result: bool = native.has(name)
            return result

    def ignore(self, name: str) -> None:
        """Says that files may have it although the graph does not use it."""
        with self._entered() as native:
            native.ignore(name)

    @contextlib.contextmanager
    def block(self, i: int) -> Iterator["Weights"]:
        """The weights of layer i, "blk.i.", whose nodes have that path as well."""
        self._step.native.begin_block(i)
        self._step.block = i
        try:
            yield Weights(self._step, i)
        finally:
            self._step.block = None
            self._step.native.end_block()

    def norm(self, name: str, x: Tensor) -> Tensor:
        """The norm of the file, with its weight and bias."""
        with self._entered() as native:
            return self._step.present(native.norm, name, self._step.graph._id(x))

    def project(self, name: str, n_out: int, n_in: int, x: Tensor) -> Tensor:
        """x NAME.weight^T, with the scale and the bias if the file has them."""
        with self._entered() as native:
            return self._step.present(native.project, name, n_out, n_in, self._step.graph._id(x))

    def rope_factors(self) -> Optional[Tensor]:
        """The divisors of the frequencies of rope, if the file has them."""
        with self._entered() as native:
            self._step.graph._change()
            return self._step.tensor(native.rope_factors())

    def head(self, h: Tensor, embeddings: Optional[Tensor]) -> Tensor:
        """The final norm, and the logits of the rows that need them."""
        id_of = self._step.graph._id
        with self._entered() as native:
            return self._step.present(native.head, id_of(h), -1 if embeddings is None else id_of(embeddings))


class Config:
    """The hyper-parameters by the letters of docs/glossary.md: c.D, c.H, c.eps, c.rope, ... What
    configure() read is here by its key: c["attention.scale"]. Values that differ from layer to
    layer are those of c.layer(i)."""

    def __init__(self, native: Any, layer: int = -1) -> None:
        self._native = native
        self._layer = layer

    def layer(self, i: int) -> "Config":
        """The hyper-parameters of one layer."""
        return Config(self._native, i)

    @property
    def rope(self) -> dict[str, Any]:
        """The attributes of ops.rope_angles as the file says."""
        values: dict[str, Any] = self._native.rope()
        return values

    def __getitem__(self, name: str) -> Any:
        try:
            number: float = self._native.number(self._layer, name)  # of integers as well
        except ArgumentError as e:
            raise KeyError(str(e)) from None
        try:
            return self._native.integer(self._layer, name)
        except ArgumentError:
            return number

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        try:
            return self[name]
        except KeyError as e:
            raise AttributeError(e.args[0]) from None


class Keys:
    """The keys "ARCH.*" of a file, for configure(), by their names without the architecture."""

    def __init__(self, native: Any) -> None:
        self._native = native

    def integer(self, key: str, fallback: int = 0, *, min: int = 0, max: int = 1 << 31) -> int:
        """An integer from min to max."""
        value: int = self._native.integer(key, min, max, fallback)
        return value

    def number(self, key: str, fallback: float = 0, *, min: float = 0, max: float = 1e30) -> float:
        """A number from min to max."""
        value: float = self._native.number(key, min, max, fallback)
        return value

    def flag(self, key: str, fallback: bool = False) -> bool:
        """A bool."""
        value: bool = self._native.flag(key, fallback)
        return value

    def text(self, key: str) -> Optional[str]:
        """A text; None if it is absent."""
        value: Optional[str] = self._native.text(key)
        return value

    def refuse(self, key: str, problem: str) -> NoReturn:
        """Refuses the file: "FILE: key 'ARCH.KEY' PROBLEM"."""
        self._native.refuse(key, problem)
        raise AssertionError


class Cache:
    """The memory of the sequences."""

    def __init__(self, step: _Step) -> None:
        self._step = step

    def _attend(self, layer: int, tensors: Sequence[Tensor], options: dict[str, Any]) -> Tensor:
        id_of = self._step.graph._id
        given = {name: id_of(x) if isinstance(x, Tensor) else x for name, x in options.items()}
        return self._step.present(self._step.native.attend, layer, [id_of(x) for x in tensors], given)

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
        """Stores k [T, G, E] and v [T, G, Ev]; every token of q [T, H, E] attends to those up to
        itself: [T, H, Ev]. Options: scale (of q.k; else 1 / sqrt(E)), window, chunk, both_ways,
        softcap, alibi, sinks, distances."""
        return self._attend(layer, [q, k, v], options)

    def attend_stored(self, layer: int, q: Tensor, **options: Any) -> Tensor:
        """Attends to what attend() stored for an earlier layer."""
        return self._attend(layer, [q], options)

    def attend_latent(self, layer: int, q: Tensor, c: Tensor, **options: Any) -> Tensor:
        """As attend(), with vectors c [T, G, E] that are both key and value."""
        return self._attend(layer, [q, c], options)

    def recurrent(self, kind: str, state: str, shape: Sequence[int],
                  inputs: Sequence[Optional[Tensor]]) -> Tensor:
        """A recurrent op with a state per sequence: "scan", "token_shift", "causal_conv",
        "gated_linear_attention", "delta_rule", "selective_scan"."""
        ids = [-1 if x is None else self._step.graph._id(x) for x in inputs]
        return self._step.present(self._step.native.recurrent, kind, state, [int(n) for n in shape], ids)


class Inputs:
    """What a step gets: tokens [T], pos [T], out_rows [O] (the rows that need logits), and the
    cache. embeddings: the result is the normalized rows [O, D] instead of logits [O, V]."""

    def __init__(self, step: _Step) -> None:
        native = step.native
        self.tokens = Tensor(step.graph, native.input(_weft.INPUT_TOKENS))
        self.pos = Tensor(step.graph, native.input(_weft.INPUT_POSITIONS))
        self.out_rows = Tensor(step.graph, native.input(_weft.INPUT_OUT_ROWS))
        self.embeddings: bool = native.wants_embeddings()
        self.cache = Cache(step)


Build = Callable[[Weights, Config, Inputs], Tensor]


def register_architecture(name: str, *, configure: Optional[Callable[[Keys], Any]] = None,
                          layer_norm: bool = False, both_ways: bool = False, experts: bool = False,
                          diffuses: bool = False) -> Callable[[Build], Build]:
    """A decorator: models whose file says general.architecture NAME are built by the function.

        @weft.register_architecture("mine")
        def build(w, c, inp):
            ...
            return logits

    build(w, c, inp) adds the nodes of a step and gives its logits [O, V]. configure(keys) reads
    keys of the file beyond those that decoders share. layer_norm: files have the epsilon of layer
    norms. both_ways: not causal unless the file says so. experts: reads the keys of mixtures.
    Registering a name again replaces what Python registered."""
    if not isinstance(name, str):
        raise TypeError(f"name must be str, not {type(name).__name__}")
    if not name:
        raise ArgumentError("the name of an architecture must not be empty")
    flags = (_weft.ARCHITECTURE_LAYER_NORM * layer_norm | _weft.ARCHITECTURE_BOTH_WAYS * both_ways
             | _weft.ARCHITECTURE_EXPERTS * experts | _weft.ARCHITECTURE_DIFFUSES * diffuses)

    def register(build: Build) -> Build:
        if not callable(build):
            raise TypeError(f"build must be a function, not {type(build).__name__}")

        def run(native: Any) -> int:
            step = _Step(native)
            result = build(Weights(step), Config(native), Inputs(step))
            if not isinstance(result, Tensor):
                raise TypeError(f"the builder of {name!r} must return a weft.Tensor, "
                                f"not {type(result).__name__}")
            return step.graph._id(result)

        read = None if configure is None else lambda native: configure(Keys(native))
        _weft.register_architecture(name, run, read, flags)
        return build
    return register


def new_model_check(name: str, *, keys: Optional[Mapping[str, Any]] = None,
                    snapshot: Optional[str] = None) -> Report:
    """Checks an architecture on a tiny model with random weights, as `weft new-model-check` does:
    every node against its definition, prefill against decoding, memory, and more. keys: further
    keys of the tiny model, or other values. snapshot: a file with the graph as text, which is made
    if it does not exist."""
    if not isinstance(name, str):
        raise TypeError(f"name must be str, not {type(name).__name__}")
    return Report(*_weft.check_new_model(name, dict(keys or {}), snapshot))


def write_made_model(name: str, path: "Union[str, os.PathLike[str]]", *,
                     keys: Optional[Mapping[str, Any]] = None) -> None:
    """Writes a tiny model of an architecture with random weights as a GGUF file, always the same.
    keys: further keys, or other values."""
    if not isinstance(name, str):
        raise TypeError(f"name must be str, not {type(name).__name__}")
    _weft.write_made_model(name, dict(keys or {}), os.fspath(path))
