"""Embeddings."""

from collections.abc import Iterable, Mapping
from typing import Any, Optional, Union

from .. import _weft
from .._errors import ArgumentError
from ._evaluation import Evaluation

_POOLINGS = {0: "none", 1: "mean", 2: "cls", 3: "last"}


def _pooling(llama: Evaluation) -> Optional[str]:
    """The pooling of the argument, else the file's; a file that says nothing gives rows."""
    if llama._pooling_type in _POOLINGS:
        return _POOLINGS[llama._pooling_type]
    says = any(key.endswith(".pooling_type") for key in llama.metadata)
    return None if says else "none"


def _embedder(llama: Evaluation) -> Any:
    if llama._embedder is None:
        # Long texts are computed in parts of n_batch, or in one step if each token sees all others.
        llama._embedder = _weft.Embedder.open(
            llama._weft_model._native,
            {"context": llama.n_ctx(), "prefill_width": min(llama.n_ctx(), llama.n_batch)},
            {"pooling": _pooling(llama), "max_tokens": llama.n_ctx()})
    return llama._embedder


def embed(llama: Evaluation, given: Union[str, Iterable[str]], normalize: bool, truncate: bool
          ) -> tuple[Any, int]:
    """The embeddings, and how many tokens were read."""
    llama._opened()
    if not llama._embedding:
        raise RuntimeError("embeddings need Llama(embedding=True)")
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise TypeError(f"input must be str or a list of str, not {type(given).__name__}")
    texts = [given] if isinstance(given, str) else list(given)
    for text in texts:
        if not isinstance(text, str):
            raise TypeError(f"input must be str or a list of str, not {type(text).__name__}")
    with llama._lock:
        embedder = _embedder(llama)
        filled = [text for text in texts if text]
        found = iter(embedder.embed(filled, normalize, truncate))
        rows, count = [], 0
        for text in texts:
            values, n = next(found) if text else _of_nothing(llama, embedder, normalize)
            rows.append(values.tolist())
            count += n
    return (rows[0] if isinstance(given, str) else rows), count


def _of_nothing(llama: Evaluation, embedder: Any, normalize: bool) -> tuple[Any, int]:
    """The embedding of an empty text: of the tokens that the model adds to every text."""
    ids = llama._weft_model.tokenizer.encode("")
    if not ids:
        raise ArgumentError("input has an empty text, and the model adds no token to it")
    result: tuple[Any, int] = embedder.embed_tokens(ids, normalize)
    return result


def create_embedding(llama: Evaluation, given: Union[str, Iterable[str]], model: Optional[str]
                     ) -> dict[str, Any]:
    """The embeddings in OpenAI's form."""
    texts = [given] if isinstance(given, str) else list(given)
    rows, count = embed(llama, texts, False, True)
    return {"object": "list", "model": model if model is not None else llama.model_path,
            "data": [{"object": "embedding", "embedding": row, "index": i}
                     for i, row in enumerate(rows)],
            "usage": {"prompt_tokens": count, "total_tokens": count}}
