"""Parts of a Llama that are not documented, and that wrappers touch."""

from typing import TYPE_CHECKING

from .._errors import UnsupportedError

if TYPE_CHECKING:
    from ._context import Context as Llama


class ContextHandle:
    """llm._ctx: what wrappers touch."""

    def __init__(self, llama: "Llama") -> None:
        self._llama = llama

    def kv_cache_clear(self) -> None:
        """Forgets all tokens."""
        self._llama.reset()

    def kv_cache_seq_rm(self, seq_id: int, p0: int, p1: int) -> bool:
        """Forgets the tokens from p0 on. p1 must be behind the last one, or -1."""
        llama = self._llama
        with llama._lock:
            if 0 <= p1 < llama.n_tokens:
                raise UnsupportedError("kv_cache_seq_rm: only the end of a sequence can be removed")
            llama.n_tokens = min(llama.n_tokens, max(p0, 0))
        return True


class ModelHandle:
    """llm._model: what wrappers touch."""

    def __init__(self, llama: "Llama") -> None:
        self._llama = llama

    def token_get_text(self, token: int) -> str:
        """The text of a token."""
        return self._llama.detokenize([token], special=True).decode("utf-8", "replace")

    def add_bos_token(self) -> bool:
        """Whether texts begin with BOS."""
        return self._llama._adds_bos()

    def n_vocab(self) -> int:
        """Tokens of the vocabulary."""
        return self._llama.n_vocab()


class ContextParams:
    """llm.context_params."""

    def __init__(self, n_ctx: int, n_batch: int) -> None:
        self.n_ctx = n_ctx
        self.n_batch = n_batch
