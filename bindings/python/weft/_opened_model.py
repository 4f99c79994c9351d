"""Models that are open: what their files say, without what computes."""

import json
from typing import TYPE_CHECKING, Any, Optional

from . import _weft
from ._errors import ClosedError, UnsupportedError
from ._objects import Unpicklable
from ._tokenizer import Tokenizer

if TYPE_CHECKING:
    import numpy as np

_SHOWN_ELEMENTS = 1 << 40


class OpenedModel(Unpicklable):
    """What sessions and grammars need of a weft.Model."""

    _instead = "load it from its path in the other process"

    def _open(self, native: Any) -> None:
        self._native: _weft.Model = native
        self._info = self._native.info()
        self._metadata: Optional[dict[str, Any]] = None

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

    @property
    def warnings(self) -> list[str]:
        """What loading found wrong with the file, but not so wrong that it was refused."""
        lines: list[str] = json.loads(self._opened().warnings_json())
        return lines

    def check_files(self) -> None:
        """Raises IoError if files of the weights have changed since they were opened."""
        self._opened().check_files()

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

    @property
    def closed(self) -> bool:
        """Whether close() was called."""
        closed: bool = self._native.closed
        return closed

    def close(self) -> None:
        """Lets go of the model. Sessions that exist keep it."""
        self._native.close()
