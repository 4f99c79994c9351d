"""Tokenizers."""

import abc
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Optional


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

    # Opens a file as a Llama without weights. The module of Llama, which needs this one, sets it.
    _open_vocabulary: ClassVar[Callable[[str], Any]]

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
        return cls(cls._open_vocabulary(path))


class LlamaHFTokenizer(BaseLlamaTokenizer):
    """A tokenizer of the package transformers, for Llama(tokenizer=...)."""

    def __init__(self, hf_tokenizer: Any) -> None:
        self.hf_tokenizer = hf_tokenizer

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = True) -> list[int]:
        """The ids of a text; `special`: with what the tokenizer puts around it."""
        ids = self.hf_tokenizer.encode(
            bytes(text).decode("utf-8", "ignore"), add_special_tokens=special)
        begin = self.hf_tokenizer.bos_token_id
        if not add_bos and begin is not None and ids[:1] == [begin]:
            ids = ids[1:]
        return [int(i) for i in ids]

    def detokenize(self, tokens: Sequence[int], prev_tokens: Optional[Sequence[int]] = None,
                   special: bool = False) -> bytes:
        """The bytes of ids. With prev_tokens those that they add to the text of these."""
        if not prev_tokens:
            return self._text(list(tokens), special)
        before = self._text(list(prev_tokens), special)
        whole = self._text([*prev_tokens, *tokens], special)
        return whole[len(before):]

    def _text(self, ids: list[int], special: bool) -> bytes:
        text: str = self.hf_tokenizer.decode(ids, skip_special_tokens=not special)
        return text.encode("utf-8", "ignore")

    @classmethod
    def from_pretrained(cls, pretrained_model_name_or_path: str) -> "LlamaHFTokenizer":
        """From what AutoTokenizer.from_pretrained() of transformers takes."""
        return cls(auto_tokenizer(pretrained_model_name_or_path))


def auto_tokenizer(name_or_path: Any) -> Any:
    """A tokenizer of the package transformers."""
    try:
        from transformers import AutoTokenizer  # type: ignore[import]
    except ImportError as error:
        raise ImportError("tokenizers of Hugging Face need the package transformers, which is not "
                          "installed (pip install transformers)") from error
    return AutoTokenizer.from_pretrained(name_or_path)
