"""Embeddings and scores of texts, beside a session."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Optional

from . import _weft
from ._objects import Lock

if TYPE_CHECKING:
    import numpy as np

    Floats = np.ndarray[Any, np.dtype[np.float32]]


def _texts(given: Sequence[str], name: str) -> list[str]:
    texts = list(given)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"{name} must be str, not {type(text).__name__}")
    return texts


class Embedders:
    """What computes texts in the budget of a session, by its pooling; opened when it is used."""

    def __init__(self, model: "_weft.Model", session: "_weft.Session", options: dict[str, Any]) -> None:
        # The texts come one by one. The usage of experts is that of the session.
        self._options = {**options, "sequences": 1, "rewind": 0, "draft_layer": False,
                         "expert_usage": None}
        self._model, self._session = model, session
        self._opened: dict[Optional[str], _weft.Embedder] = {}
        self._using = Lock()

    def _embedder(self, pooling: Optional[str]) -> "_weft.Embedder":
        if pooling not in self._opened:
            self._opened[pooling] = _weft.Embedder.open(
                self._model, self._options, {"texts_per_step": 1, "pooling": pooling}, self._session)
        return self._opened[pooling]

    def embed(self, texts: Sequence[str], normalize: bool) -> tuple[list["Floats"], int]:
        """The embeddings of texts, and their width."""
        given = _texts(texts, "texts")
        with self._using:
            embedder = self._embedder(None)
            return [row for row, _ in embedder.embed(given, normalize, False)], embedder.width()

    def rerank(self, query: str, documents: Sequence[str], truncate: bool) -> list[tuple[int, float]]:
        """Indices of documents with their scores, best first."""
        (asked,), given = _texts([query], "query"), _texts(documents, "documents")
        with self._using:
            found = self._embedder("rank").rerank(asked, given, truncate)
        return [(index, score) for index, score, _ in found]

    def cancel(self) -> None:
        """Ends the running call, from any thread."""
        for embedder in list(self._opened.values()):
            embedder.cancel()

    def close(self) -> None:
        """Frees their memory."""
        for embedder in list(self._opened.values()):
            embedder.close()
