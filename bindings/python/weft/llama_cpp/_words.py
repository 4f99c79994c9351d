"""The vocabulary of a Llama."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Optional

from .. import _weft
from .._errors import ClosedError, UnsupportedError
from .._model import Model
from .._tokenizer import Tokenizer
from .llama_tokenizer import BaseLlamaTokenizer, LlamaTokenizer

# They precede the prompt, the suffix and the answer.
_INFILL = (_weft.SPECIAL_FIM_PREFIX, _weft.SPECIAL_FIM_SUFFIX, _weft.SPECIAL_FIM_MIDDLE)


def ids_of(tokens: Any) -> list[int]:
    """Ids as a list: of any sequence, array or iterator of integers."""
    ids: list[int] = _weft.ids(list(tokens) if isinstance(tokens, Iterator) else tokens)
    return ids


class Words:
    """Texts as ids of a model, and back."""

    _weft_model: Model
    _tokens: Tokenizer
    _session: Any
    _closed: bool
    _own_tokenizer: Optional[BaseLlamaTokenizer]
    _spm_infill: bool
    _n_ctx: int
    metadata: dict[str, str]

    def _opened(self) -> Any:
        if self._closed:
            raise ClosedError("the object is closed")
        if self._session is None:
            raise UnsupportedError("only the vocabulary was loaded (vocab_only)")
        return self._session

    def _words(self) -> Any:
        if self._closed:
            raise ClosedError("the object is closed")
        return self._tokens

    def tokenize(self, text: bytes, add_bos: bool = True, special: bool = False) -> list[int]:
        """The ids of a text in UTF-8."""
        tokens = self._words()
        if self._own_tokenizer is not None:
            return self._own_tokenizer.tokenize(text, add_bos, special)
        if not isinstance(text, (bytes, bytearray, memoryview)):
            raise TypeError(f"text must be bytes, not {type(text).__name__}: use text.encode()")
        ids: list[int] = tokens.encode(bytes(text), add_special=False, parse_special=special)
        if add_bos and self.token_bos() >= 0 and self._adds_bos():
            ids.insert(0, self.token_bos())
        return ids

    def detokenize(self, tokens: Iterable[int], prev_tokens: Optional[Sequence[int]] = None,
                   special: bool = False) -> bytes:
        """The bytes of ids."""
        words = self._words()
        if self._own_tokenizer is not None:
            return self._own_tokenizer.detokenize(list(tokens), prev_tokens, special)
        ids = ids_of(tokens)
        strip = prev_tokens is None and bool(ids) and ids[0] == self.token_bos()
        result: bytes = words._native.decode(ids, special, strip)
        return result

    def tokenizer(self) -> LlamaTokenizer:
        """The tokenizer of the model."""
        self._words()
        return LlamaTokenizer(self)

    def _adds_bos(self) -> bool:
        if self.token_bos() < 0:
            return False
        ids: list[int] = self._words().encode("a", add_special=True)
        return ids[:1] == [self.token_bos()]

    def _can_infill(self) -> bool:
        return all(self._special(which) >= 0 for which in _INFILL)

    def _infill_ids(self, prompt: list[int], suffix: str) -> list[int]:
        """The ids that ask for what is between a prompt and a suffix."""
        before, behind, between = (self._special(which) for which in _INFILL)
        bos = prompt[:1] if prompt[:1] == [self.token_bos()] else []
        texts = ([before, *prompt[len(bos):]], [behind, *self._ids_in_the_middle(suffix)])
        first, second = reversed(texts) if self._spm_infill else texts
        return [*bos, *first, *second, between]

    def _ids_in_the_middle(self, text: str) -> list[int]:
        """The ids of a text that does not begin a text: without a space that vocabularies put in
        front."""
        words = self._words()
        space = words._native.decode(words.encode("a", add_special=False), False, False) == b" a"
        line: list[int] = words.encode("\n", add_special=False) if space else []
        ids: list[int] = words.encode(("\n" if space else "") + text, add_special=False)
        if ids[:len(line)] != line:
            ids = words.encode(text, add_special=False)
            line = []
        return ids[len(line):]

    def n_ctx(self) -> int:
        """Positions of the context."""
        self._words()
        return self._n_ctx

    def n_embd(self) -> int:
        """Numbers of a hidden state."""
        self._words()
        return int(self._weft_model.n_embd or self.metadata.get(
            f"{self._weft_model.architecture}.embedding_length", 0))

    def n_vocab(self) -> int:
        """Tokens of the vocabulary."""
        self._words()
        return self._weft_model.n_vocab

    def _special(self, which: int) -> int:
        token: int = self._words()._native.special(which)
        return token

    def _ends_text(self, token: int) -> bool:
        """Whether a token ends a text. A vocabulary may have several that do."""
        ends: bool = self._words()._native.ends_text(token)
        return ends

    def token_bos(self) -> int:
        """The token that begins a text; -1: none."""
        return self._special(_weft.SPECIAL_BOS)

    def token_eos(self) -> int:
        """The token that ends a text; -1: none."""
        return self._special(_weft.SPECIAL_EOS)

    def token_nl(self) -> int:
        """The token of a line break; -1: none."""
        return self._special(_weft.SPECIAL_NEWLINE)
