# mypy: ignore-errors
"""Embeddings of texts."""

from ctypes import c_void_p, string_at

from . import functions as api
from . import structs
from .calls import finish
from .classes import Embedder, Model, Session
from .handles import handle_of, method, optional_handle, static
from .options import begun, refer, session_options, take
from .tables import WEFT_EMBEDDER_OPTIONS
from .values import bytes_of, filled, ids_of, numpy, strings_of

_NO_NORM, _EUCLIDEAN = -1, 2


def _info_of(embedder, handle):
    info, error = filled(structs.weft_embedder_info), c_void_p()
    finish(api.weft_embedder_get_info(handle, info, error), error)
    return info


@static(Embedder, "open")
def open_embedder(model, session, options, beside=None):
    """Beside a session, whose budget it shares."""
    o = begun(structs.weft_embedder_options, api.weft_embedder_options_init)
    refer(o, "session", session_options(session))
    o.beside = optional_handle(beside, Session, "beside")
    take(o, WEFT_EMBEDDER_OPTIONS, options, "Embedder()")
    handle, embedder, error = handle_of(model, Model, "model"), c_void_p(), c_void_p()
    finish(api.weft_embedder_open(handle, o, embedder, error), error)
    return Embedder(embedder.value)


def _copy_of(one, info):
    """A copy of an embedding, [width] or without pooling [n, width], and the tokens of its text."""
    data = string_at(one.values, 4 * one.n_values) if one.n_values else b""
    values = numpy().frombuffer(bytearray(data), numpy().float32)
    return values.reshape(-1, info.width) if info.pooling == b"none" else values, one.n_tokens


def _set_output(handle, normalize, truncate):
    norm, error = _EUCLIDEAN if normalize else _NO_NORM, c_void_p()
    finish(api.weft_embedder_set_output(handle, norm, bool(truncate), error), error)


@method(Embedder, "embed")
def embed(embedder, texts, normalize, truncate):
    given = [bytes_of(text, "texts") for text in texts]
    handle = embedder._handle or embedder._refuse()
    found, error = (structs.weft_embedding * len(given))(), c_void_p()
    with embedder._lock:
        info = _info_of(embedder, handle)
        _set_output(handle, normalize, truncate)
        finish(api.weft_embedder_embed(handle, strings_of(given), len(given), found, error), error)
        return [_copy_of(one, info) for one in found]


@method(Embedder, "embed_tokens")
def embed_tokens(embedder, tokens, normalize):
    given, handle = ids_of(tokens), embedder._handle or embedder._refuse()
    found, error = structs.weft_embedding(), c_void_p()
    with embedder._lock:
        info = _info_of(embedder, handle)
        _set_output(handle, normalize, False)
        finish(api.weft_embedder_embed_tokens(handle, *given.buffer_info(), found, error), error)
        return _copy_of(found, info)


@method(Embedder, "rerank")
def rerank(embedder, query, documents, truncate):
    """(index, score, tokens) of the documents, best first."""
    asked, given = bytes_of(query, "query"), [bytes_of(text, "documents") for text in documents]
    handle = embedder._handle or embedder._refuse()
    scores, error = (structs.weft_rerank_score * len(given))(), c_void_p()
    with embedder._lock:
        _set_output(handle, False, truncate)
        finish(api.weft_embedder_rerank(handle, asked, len(asked), strings_of(given), len(given), scores,
                                        error), error)
    return [(s.index, s.score, s.n_tokens) for s in scores]


@method(Embedder, "width")
def width(embedder):
    return _info_of(embedder, embedder._handle or embedder._refuse()).width
