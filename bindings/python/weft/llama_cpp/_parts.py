"""A Llama with its parts, which wrappers and functions of llama.h use."""

from typing import Any

from ._context import Context
from ._handles import Batch, ContextHandle, ContextParams, ModelHandle


class Parts(Context):
    """A text of a model, with the attributes of llama-cpp-python that are not documented."""

    def _prepare(self, given: dict[str, Any]) -> None:
        self.context_params = ContextParams(self._n_ctx, self.n_batch, self._logits_all)
        self._last_batch = Batch()
        super()._prepare(given)

    @property
    def _ctx(self) -> ContextHandle:
        return ContextHandle(self)

    @property
    def _batch(self) -> Batch:
        return self._last_batch

    @property
    def ctx(self) -> ContextHandle:
        """What functions of llama.h take as a context."""
        return ContextHandle(self)

    @property
    def model(self) -> ModelHandle:
        """What functions of llama.h take as a model."""
        return ModelHandle(self)

    @property
    def _n_vocab(self) -> int:
        return self.n_vocab()

    @property
    def _model(self) -> ModelHandle:
        return ModelHandle(self)
