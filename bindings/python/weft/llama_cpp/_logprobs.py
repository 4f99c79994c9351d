"""Log-probabilities of tokens, as completions and chats list them."""

import codecs
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, Optional

import numpy as np

from ._words import Words


class Row(NamedTuple):
    """What a model said of one token."""

    token: int
    value: Optional[float]  # None: nothing is known, as of the first token
    top: list[tuple[int, float]]  # the likeliest tokens, and the token itself as the last one


def row_of(logits: Any, token: int, n: int) -> Row:
    """The row of a token that was chosen after logits [V], with the n likeliest ones."""
    wide = logits.astype(np.float64)
    wide -= wide.max()
    logs = wide - np.log(np.exp(wide).sum())
    top = [int(i) for i in np.argsort(-logs, kind="stable")[:n]]
    return Row(token, float(logs[token]), [(i, float(logs[i])) for i in [*top, token]])


class TokenNames:
    """The bytes of tokens after a prompt, and texts for them."""

    def __init__(self, llama: Words, prompt: Sequence[int]) -> None:
        self._llama = llama
        self._prompt = list(prompt)

    def bytes_of(self, token: int) -> bytes:
        """The bytes of a token, also of a control token."""
        return self._llama.detokenize([token], prev_tokens=self._prompt, special=True)

    def name(self, token: int) -> str:
        """Its text, or the bytes in OpenAI's form if they are not whole characters."""
        raw = self.bytes_of(token)
        try:
            return raw.decode()
        except UnicodeDecodeError:
            return "bytes:" + "".join(f"\\x{byte:02x}" for byte in raw)

    def completion(self, rows: Iterable[Row], offset: int) -> dict[str, list[Any]]:
        """The member `logprobs` of a completion, whose first token begins at a character."""
        result: dict[str, list[Any]] = {"tokens": [], "text_offset": [], "token_logprobs": [],
                                        "top_logprobs": []}
        text = Characters()
        for row in rows:
            result["tokens"].append(self.name(row.token))
            result["text_offset"].append(offset + text.n)
            result["token_logprobs"].append(row.value)
            result["top_logprobs"].append(
                None if row.value is None else {self.name(i): x for i, x in row.top})
            text.add(self.bytes_of(row.token))
        return result

    def chat(self, rows: Iterable[Row], n: int) -> dict[str, Any]:
        """The member `logprobs` of a chat completion, with n alternatives of each token."""
        return {"content": [{**self._entry(row.token, row.value), "top_logprobs": [
            self._entry(i, x) for i, x in row.top[:n]]} for row in rows], "refusal": None}

    def _entry(self, token: int, value: Optional[float]) -> dict[str, Any]:
        raw = self.bytes_of(token)
        return {"token": raw.decode("utf-8", "replace"), "logprob": value, "bytes": list(raw)}


class Characters:
    """Counts the characters that end within bytes, which come in pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("ignore")
        self.n = 0

    def add(self, piece: bytes) -> None:
        """Appends bytes."""
        self.n += len(self._decoder.decode(piece))
