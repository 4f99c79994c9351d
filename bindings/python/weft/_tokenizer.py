"""Tokenizers."""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Optional, Union

from . import _weft
from ._objects import Unpicklable

if TYPE_CHECKING:
    import numpy as np

Ids = Union[Sequence[int], "np.ndarray[Any, Any]"]


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

    def token_text(self, id: int) -> str:
        """A token as the file writes it: "\u2581the"."""
        result: bytes = self._native.token_text(id)
        return result.decode("utf-8", "replace")

    def find_token(self, text: Union[str, bytes]) -> Optional[int]:
        """The token of a text as the file writes it; None if there is none."""
        token: int = self._native.find_token(text)
        return None if token < 0 else token

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
