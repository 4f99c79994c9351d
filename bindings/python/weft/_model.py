"""Models."""

import json
import operator
import os
import pathlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _weft
from ._opened_model import OpenedModel
from ._report import Proof
from ._session import Session, native_options
from ._tokenizer import Ids

if TYPE_CHECKING:
    from ._graph import Graph


def bundled_model() -> pathlib.Path:
    """The path of the model that comes with the package."""
    return pathlib.Path(__file__).parent / "models" / "weft-stories.gguf"


def _with_adapters(options: dict[str, Any],
                   progress: Optional[Callable[[float], Any]]) -> dict[str, Any]:
    """The options of the native module, with adapters as pairs of a path and a scale."""
    result: dict[str, Any] = {**options, "progress": progress}
    if result.get("draft_file") is not None:
        result["draft_file"] = os.fsencode(result["draft_file"])
    for name in ("loras", "control_vectors"):
        if result.get(name) is not None:
            if isinstance(result[name], (str, os.PathLike)):
                raise TypeError(f"{name} must be a list of paths, or of pairs of a path and a scale")
            pairs = [x if isinstance(x, tuple) else (x, 1.0) for x in result[name]]
            result[name] = [(os.fsencode(path), float(scale)) for path, scale in pairs]
    return result


class Model(OpenedModel):
    """A model: a GGUF file, or a folder of safetensors. Without a path, the bundled one.

    `progress` is called with numbers from 0 to 1; False cancels. Keywords: vocabulary_only,
    quantize (a type such as "Q4_K_M" to use weights in), overrides (a dict of keys of the file),
    loras and control_vectors (paths of GGUF files, or pairs of a path and a scale), control_layers
    (the first and the last layer that control vectors change), draft_file (a GGUF file with a layer
    or a head that drafts for the model, see Speculation), allow_unknown_settings."""

    def __init__(self, path: Union[str, "os.PathLike[str]", None] = None, *,
                 progress: Optional[Callable[[float], Any]] = None, **options: Any) -> None:
        name = os.fspath(bundled_model() if path is None else path)
        if not isinstance(name, str):
            raise TypeError("path must be str or os.PathLike, not bytes")
        self._open(_weft.Model.open(os.fsencode(name), _with_adapters(options, progress)))

    @classmethod
    def from_bytes(cls, buffer: Any, *, progress: Optional[Callable[[float], Any]] = None,
                   **options: Any) -> "Model":
        """From the bytes of a GGUF file: bytes are used in place, other buffers are copied."""
        return cls._made(_weft.Model.open_buffer(buffer, _with_adapters(options, progress)))

    @classmethod
    def from_fd(cls, fd: int, *, progress: Optional[Callable[[float], Any]] = None,
                **options: Any) -> "Model":
        """From an open file, which may be closed at once."""
        return cls._made(_weft.Model.open_descriptor(fd, _with_adapters(options, progress)))

    @classmethod
    def _made(cls, native: Any) -> "Model":
        model = cls.__new__(cls)
        model._open(native)
        return model

    def session(self, **options: Any) -> Session:
        """A session of this model: Session(model, **options)."""
        return Session(self, **options)

    def graph(self, tokens: int = 1) -> "Graph":
        """The graph of steps of up to that many tokens. Its nodes are those before passes; its
        picture shows how a session would run it, as `weft dot` does."""
        from ._graph import Graph  # which programs that only write text do not need
        n = operator.index(tokens)
        native = self._opened()
        graph = Graph._made(_weft.Graph.of_model(native, n))
        graph._picture = native.dot(n)
        return graph

    def verify(self, ids: Ids = (), **options: Any) -> Proof:
        """Compares every node of steps with its scalar definition, as `weft verify` does. Without
        ids: steps of random tokens. Options: those of a session."""
        return Proof(*_weft.verify_model(self._opened(), ids, native_options(options)))

    def bench(self, *, prompt_tokens: Optional[int] = None, generated_tokens: Optional[int] = None,
              depth: int = 0, repeats: Optional[int] = None, **options: Any) -> dict[str, Any]:
        """Tokens, bytes and multiply-adds per second, as `weft bench --no-limits --json`. Options:
        those of a session."""
        measured: dict[str, Any] = json.loads(_weft.bench_json(self._opened(), {
            "prompt_tokens": prompt_tokens, "generated_tokens": generated_tokens, "depth": depth,
            "repeats": repeats, "session": native_options(options)}))
        return measured

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
