"""Models and tokenizers."""

import json
import operator
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _weft
from ._errors import ClosedError, UnsupportedError
from ._objects import Unpicklable
from ._report import Proof

if TYPE_CHECKING:
    import numpy as np

    from ._graph import Graph
    from ._session import Session

Ids = Union[Sequence[int], "np.ndarray[Any, Any]"]

_SHOWN_ELEMENTS = 1 << 40


def bundled_model() -> pathlib.Path:
    """The path of the model that comes with the package."""
    return pathlib.Path(__file__).parent / "models" / "weft-stories.gguf"


class Tokenizer(Unpicklable):
    """Text as ids of a vocabulary, and back."""

    _instead = "use Model.tokenizer of the other process"

    def __init__(self, native: Any, n_vocab: int) -> None:
        self._native = native
        self._n_vocab = n_vocab

    def __len__(self) -> int:
        return self._n_vocab

    def __repr__(self) -> str:
        return f"<weft.Tokenizer of {self._n_vocab} tokens>"

    @property
    def bos_id(self) -> Optional[int]:
        """The token that begins a text; None if there is none."""
        return self._special(_weft.SPECIAL_BOS)

    @property
    def eos_id(self) -> Optional[int]:
        """The token that ends a text; None if there is none."""
        return self._special(_weft.SPECIAL_EOS)

    def _special(self, which: int) -> Optional[int]:
        token: int = self._native.special(which)
        return None if token < 0 else token

    def token_bytes(self, id: int) -> bytes:
        """The bytes of one token, which may be part of a character."""
        result: bytes = self._native.token_bytes(id)
        return result

    def encode(self, text: Union[str, bytes], *, add_special: bool = True,
               parse_special: bool = False) -> list[int]:
        """The ids of a text. add_special: with BOS and the like, as the file says. parse_special:
        control tokens may be spelled out."""
        ids: list[int] = self._native.encode(text, add_special, parse_special)
        return ids

    def decode(self, ids: Ids, *, show_special: bool = False) -> str:
        """The text of ids, with U+FFFD for bytes that are not UTF-8."""
        return self.decode_bytes(ids, show_special=show_special).decode("utf-8", "replace")

    def decode_bytes(self, ids: Ids, *, show_special: bool = False) -> bytes:
        """The bytes of ids."""
        result: bytes = self._native.decode(ids, show_special, True)
        return result

    def apply_chat_template(self, messages: Sequence[Mapping[str, Any]], *,
                            tools: Optional[Sequence[Mapping[str, Any]]] = None,
                            add_generation_prompt: bool = True, **variables: Any) -> str:
        """The messages as the text that the model was trained on."""
        text: str = self._native.render(
            json.dumps(list(messages)), None if tools is None else json.dumps(list(tools)),
            json.dumps(variables) if variables else None, add_generation_prompt)
        return text


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


class Model(Unpicklable):
    """A model: a GGUF file, or a folder of safetensors. Without a path, the bundled one.

    `progress` is called with numbers from 0 to 1; False cancels. Keywords: vocabulary_only,
    quantize (a type such as "Q4_K_M" to use weights in), overrides (a dict of keys of the file),
    loras and control_vectors (paths of GGUF files, or pairs of a path and a scale), control_layers
    (the first and the last layer that control vectors change), draft_file (a GGUF file with a layer
    or a head that drafts for the model, see Speculation), allow_unknown_settings."""

    _instead = "load it from its path in the other process"

    def __init__(self, path: Union[str, "os.PathLike[str]", None] = None, *,
                 progress: Optional[Callable[[float], Any]] = None, **options: Any) -> None:
        name = os.fspath(bundled_model() if path is None else path)
        if not isinstance(name, str):
            raise TypeError("path must be str or os.PathLike, not bytes")
        self._open(_weft.Model.open(os.fsencode(name), _with_adapters(options, progress)))

    def _open(self, native: Any) -> None:
        self._native: _weft.Model = native
        self._info = self._native.info()
        self._metadata: Optional[dict[str, Any]] = None

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

    def _opened(self) -> Any:
        if self._native.closed:
            raise ClosedError("the model is closed")
        return self._native

    @property
    def name(self) -> str:
        """general.name of the file, or ""."""
        return self._info["name"]

    @property
    def architecture(self) -> str:
        """The architecture of the file: "llama", ..."""
        return self._info["architecture"]

    @property
    def n_vocab(self) -> int:
        """Tokens of the vocabulary."""
        return self._info["n_vocab"]

    @property
    def n_embd(self) -> int:
        """Numbers of a hidden state; 0 if only the vocabulary was loaded."""
        return self._info["n_embd"]

    @property
    def n_layers(self) -> int:
        """Layers; 0 if only the vocabulary was loaded."""
        return self._info["n_layers"]

    @property
    def context(self) -> int:
        """Positions that it was trained for."""
        return self._info["context"]

    @property
    def n_params(self) -> int:
        """Elements of all weights."""
        return self._info["n_params"]

    @property
    def drafts(self) -> bool:
        """Whether it has a layer for drafts (weft.Speculation)."""
        return bool(self._info["flags"] & _weft.MODEL_DRAFTS)

    @property
    def recurrent(self) -> bool:
        """Whether it has recurrent states, perhaps beside attention."""
        return bool(self._info["flags"] & _weft.MODEL_RECURRENT)

    def _check_generates(self) -> None:
        """Refuses models that do not write token by token."""
        flags, path = self._info["flags"], self._info["path"]
        if flags & _weft.MODEL_DIFFUSES:
            raise UnsupportedError(f"{path}: a diffusion language model does not write token by "
                                   "token")
        has_text = flags & _weft.MODEL_CAUSAL and flags & _weft.MODEL_HAS_OUTPUT
        if not has_text and not flags & _weft.MODEL_ENCODES:
            raise UnsupportedError(f"{path}: the model makes embeddings, not text (see weft embed)")

    def __repr__(self) -> str:
        state = ", closed" if self.closed else ""
        return f"<weft.Model {self.name or self._info['path']!r}, {self.architecture}{state}>"

    @property
    def metadata(self) -> dict[str, Any]:
        """All keys of the file with their values."""
        if self._metadata is None:
            self._metadata = json.loads(self._opened().metadata_json(_SHOWN_ELEMENTS))
        return self._metadata

    def tensor(self, name: str) -> "np.ndarray[Any, np.dtype[np.float32]]":
        """A tensor of the file by its name, as a new array of float32, whatever its type there."""
        if not isinstance(name, str):
            raise TypeError(f"name must be str, not {type(name).__name__}")
        values: "np.ndarray[Any, np.dtype[np.float32]]" = self._opened().read_tensor(name)
        return values

    @property
    def chat_template(self) -> Optional[str]:
        """The template of the file in Jinja; None if it has none."""
        text: Optional[str] = self._opened().chat_template()
        return text

    @property
    def tokenizer(self) -> Tokenizer:
        """The tokenizer of the file."""
        return Tokenizer(self._opened(), self.n_vocab)

    def session(self, **options: Any) -> "Session":
        """A session of this model: Session(model, **options)."""
        from ._session import Session
        return Session(self, **options)

    def graph(self, tokens: int = 1) -> "Graph":
        """The graph of steps of up to that many tokens. Its nodes are those before passes; its
        picture shows how a session would run it, as `weft dot` does."""
        from ._graph import Graph
        n = operator.index(tokens)
        native = self._opened()
        graph = Graph._made(_weft.Graph.of_model(native, n))
        graph._picture = native.dot(n)
        return graph

    def verify(self, ids: Ids = (), **options: Any) -> Proof:
        """Compares every node of steps with its scalar definition, as `weft verify` does. Without
        ids: steps of random tokens. Options: those of a session."""
        return Proof(*_weft.verify_model(self._opened(), ids, options))

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        closed: bool = self._native.closed
        return closed

    def close(self) -> None:
        """Lets go of the model. Sessions that exist keep it."""
        self._native.close()

    def __enter__(self) -> "Model":
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()
