"""Tokenizers."""

import abc
from collections.abc import Sequence
from typing import Any, Optional


class BaseLlamaTokenizer(abc.ABC):
    """A tokenizer in place of the file's."""

    @abc.abstractmethod
    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = True) -> list[int]:
        """The ids of a text."""
        raise NotImplementedError

    @abc.abstractmethod
    def detokenize(self, tokens: list[int], prev_tokens: Optional[Sequence[int]] = None,
                   special: bool = False) -> bytes:
        """The bytes of ids."""
        raise NotImplementedError


class LlamaTokenizer(BaseLlamaTokenizer):
    """The tokenizer of a model."""

    def __init__(self, llama: Any) -> None:
        self._llama = llama

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = True) -> list[int]:
        result: list[int] = self._llama.tokenize(text, add_bos, special)
        return result

    def detokenize(self, tokens: list[int], prev_tokens: Optional[Sequence[int]] = None,
                   special: bool = False) -> bytes:
        result: bytes = self._llama.detokenize(tokens, prev_tokens, special)
        return result

    def encode(self, text: str, add_bos: bool = True, special: bool = True) -> list[int]:
        """The ids of a text."""
        return self.tokenize(text.encode("utf-8", "ignore"), add_bos, special)

    def decode(self, tokens: list[int]) -> str:
        """The text of ids, without bytes that are not UTF-8."""
        return self.detokenize(tokens).decode("utf-8", "ignore")

    @classmethod
    def from_ggml_file(cls, path: str) -> "LlamaTokenizer":
        """The tokenizer of a file, without its weights."""
        from .llama import Llama
        return cls(Llama(model_path=path, vocab_only=True, verbose=False))
