"""Functions of llama.h that programs call on the parts of a Llama: `llm.model` and its vocabulary,
`llm.ctx`. Texts go to buffers of ctypes as there: the result is their number of bytes, or the
negative of what would be needed."""

import ctypes
import time
from collections.abc import Sequence
from typing import Any

from .. import _weft
from ._handles import ContextHandle, ModelHandle

llama_token = ctypes.c_int32
llama_pos = ctypes.c_int32
llama_seq_id = ctypes.c_int32
llama_token_p = ctypes.POINTER(llama_token)
llama_log_callback = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p)
llama_model_p = ModelHandle
llama_vocab_p = ModelHandle
llama_context_p = ContextHandle


def llama_backend_init() -> None:
    """Nothing to do."""


def llama_backend_free() -> None:
    """Nothing to do."""


def llama_numa_init(strategy: int = 0) -> None:
    """Nothing to do."""


def llama_print_system_info() -> bytes:
    """Processor, instruction sets, backends: JSON."""
    text: str = _weft.about_json()
    return text.encode()


def llama_supports_mmap() -> bool:
    """Files are mapped."""
    return True


def llama_supports_mlock() -> bool:
    """Pages are not locked."""
    return False


def llama_supports_gpu_offload() -> bool:
    """Weft computes on CPUs."""
    return False


def llama_supports_rpc() -> bool:
    """Weft computes on one machine."""
    return False


def llama_max_devices() -> int:
    """One: this machine."""
    return 1


def llama_max_parallel_sequences() -> int:
    """One: a Llama has one sequence."""
    return 1


def llama_time_us() -> int:
    """A clock in microseconds."""
    return time.monotonic_ns() // 1000


def llama_log_set(callback: Any = None, user_data: Any = None) -> None:
    """Weft logs nothing, so there is nothing to pass on."""


# ---- models and contexts

def llama_model_get_vocab(model: ModelHandle) -> ModelHandle:
    """The vocabulary of llm.model."""
    return _model(model)


def llama_get_model(ctx: ContextHandle) -> ModelHandle:
    """The model of llm.ctx."""
    return ctx.model


def _model(given: Any) -> ModelHandle:
    if not isinstance(given, ModelHandle):
        raise TypeError(f"want llm.model or its vocabulary, not {type(given).__name__}")
    return given


def llama_n_ctx(ctx: ContextHandle) -> int:
    """Positions of a context."""
    return ctx.n_ctx()


def llama_n_batch(ctx: ContextHandle) -> int:
    """Tokens of a step."""
    return ctx._llama.n_batch


def llama_pooling_type(ctx: ContextHandle) -> int:
    """The argument pooling_type."""
    return ctx.pooling_type()


def llama_get_logits(ctx: ContextHandle) -> Any:
    """The logits of the last step, as a pointer to floats."""
    return ctx.get_logits()


def llama_get_logits_ith(ctx: ContextHandle, i: int) -> Any:
    """Row i of the logits of the last step, as a pointer to floats."""
    return ctx.get_logits_ith(i)


def llama_model_n_ctx_train(model: ModelHandle) -> int:
    """Positions that a model was trained for."""
    return _model(model).n_ctx_train()


def llama_model_n_embd(model: ModelHandle) -> int:
    """Numbers of a hidden state."""
    return _model(model).n_embd()


def llama_model_n_layer(model: ModelHandle) -> int:
    """Layers."""
    return int(_model(model)._key("block_count"))


def llama_model_n_head(model: ModelHandle) -> int:
    """Heads of attention; of the first layer if they differ."""
    n = _model(model)._key("attention.head_count")
    return int(n[0] if isinstance(n, list) else n)


def llama_model_n_params(model: ModelHandle) -> int:
    """Elements of all weights."""
    return _model(model).n_params()


def llama_model_size(model: ModelHandle) -> int:
    """Bytes of all weights."""
    return _model(model).size()


def llama_model_desc(model: ModelHandle, buf: Any, buf_size: int) -> int:
    """The architecture and the name of a model."""
    return _put_text(_model(model).desc().encode(), buf, buf_size)


def llama_model_meta_count(model: ModelHandle) -> int:
    """Keys of the file that are not arrays."""
    return len(_model(model).metadata())


def llama_model_meta_val_str(model: ModelHandle, key: bytes, buf: Any, buf_size: int) -> int:
    """The value of a key; -1: there is none."""
    value = _model(model).metadata().get(key.decode())
    return -1 if value is None else _put_text(value.encode(), buf, buf_size)


def llama_model_meta_key_by_index(model: ModelHandle, i: int, buf: Any, buf_size: int) -> int:
    """Key number i; -1: there is none."""
    keys = list(_model(model).metadata())
    return _put_text(keys[i].encode(), buf, buf_size) if 0 <= i < len(keys) else -1


def llama_model_meta_val_str_by_index(model: ModelHandle, i: int, buf: Any, buf_size: int) -> int:
    """The value of key number i; -1: there is none."""
    values = list(_model(model).metadata().values())
    return _put_text(values[i].encode(), buf, buf_size) if 0 <= i < len(values) else -1


def _put_text(text: bytes, buf: Any, size: int) -> int:
    """Copies as much of a text as there is room for, and a zero byte; gives its length."""
    if size > 0:
        part = text[:size - 1] + b"\0"
        ctypes.memmove(buf, part, len(part))
    return len(text)


# ---- vocabularies

def llama_tokenize(vocab: ModelHandle, text: bytes, text_len: int, tokens: Any, n_tokens_max: int,
                   add_special: bool, parse_special: bool) -> int:
    """Writes the ids of a text."""
    ids = _model(vocab).tokenize(text[:text_len], add_special, parse_special)
    if len(ids) > n_tokens_max:
        return -len(ids)
    for i, token in enumerate(ids):
        tokens[i] = token
    return len(ids)


def llama_token_to_piece(vocab: ModelHandle, token: int, buf: Any, length: int, lstrip: int,
                         special: bool) -> int:
    """Writes the bytes of a token, without up to `lstrip` spaces in front."""
    piece = _model(vocab).token_to_piece(int(getattr(token, "value", token)), bool(special))
    spaces = len(piece) - len(piece.lstrip(b" "))
    return _put_bytes(piece[min(spaces, lstrip):], buf, length)


def llama_detokenize(vocab: ModelHandle, tokens: Sequence[int], n_tokens: int, text: Any,
                     text_len_max: int, remove_special: bool, unparse_special: bool) -> int:
    """Writes the bytes of ids."""
    model = _model(vocab)
    ids = [int(tokens[i]) for i in range(n_tokens)]
    if remove_special:
        ids = ids[1:] if ids[:1] == [model.token_bos()] else ids
        ids = ids[:-1] if ids[-1:] == [model.token_eos()] else ids
    return _put_bytes(model.detokenize(ids, bool(unparse_special)), text, text_len_max)


def _put_bytes(data: bytes, buf: Any, size: int) -> int:
    if len(data) > size:
        return -len(data)
    ctypes.memmove(buf, data, len(data))
    return len(data)


def llama_vocab_n_tokens(vocab: ModelHandle) -> int:
    """Tokens of a vocabulary."""
    return _model(vocab).n_vocab()


def llama_vocab_type(vocab: ModelHandle) -> int:
    """A LLAMA_VOCAB_TYPE_*."""
    return _model(vocab).vocab_type()


def llama_vocab_get_text(vocab: ModelHandle, token: int) -> bytes:
    """The text of a token."""
    return _model(vocab).token_get_text(token).encode()


def llama_vocab_get_score(vocab: ModelHandle, token: int) -> float:
    """The score of a token."""
    return _model(vocab).token_get_score(token)


def llama_vocab_get_attr(vocab: ModelHandle, token: int) -> int:
    """The LLAMA_TOKEN_ATTR_* of a token."""
    return _model(vocab).token_get_attr(token)


def llama_vocab_is_eog(vocab: ModelHandle, token: int) -> bool:
    """Whether a token ends a text."""
    return _model(vocab).is_eog(token)


def llama_vocab_is_control(vocab: ModelHandle, token: int) -> bool:
    """Whether a token is a control token rather than text."""
    return _model(vocab).is_control(token)


def llama_vocab_get_add_bos(vocab: ModelHandle) -> bool:
    """Whether texts begin with BOS."""
    return _model(vocab).add_bos_token()


def llama_vocab_get_add_eos(vocab: ModelHandle) -> bool:
    """Whether texts end with EOS."""
    return _model(vocab).add_eos_token()


def llama_vocab_bos(vocab: ModelHandle) -> int:
    """The token that begins a text; -1: none. So are the others."""
    return _model(vocab).token_bos()


def llama_vocab_eos(vocab: ModelHandle) -> int:
    """The token that ends a text."""
    return _model(vocab).token_eos()


def llama_vocab_eot(vocab: ModelHandle) -> int:
    """The token that ends a turn."""
    return _model(vocab).token_eot()


def llama_vocab_nl(vocab: ModelHandle) -> int:
    """The token of a line break."""
    return _model(vocab).token_nl()


def llama_vocab_cls(vocab: ModelHandle) -> int:
    """The token that begins a text for a classifier."""
    return _model(vocab).token_cls()


def llama_vocab_sep(vocab: ModelHandle) -> int:
    """The token between two texts."""
    return _model(vocab).token_sep()


def llama_vocab_pad(vocab: ModelHandle) -> int:
    """The token that fills up."""
    return _model(vocab).token_pad()


def llama_vocab_mask(vocab: ModelHandle) -> int:
    """The token to be guessed."""
    return _model(vocab).token_mask()


def llama_vocab_fim_pre(vocab: ModelHandle) -> int:
    """The token before what precedes a gap."""
    return _model(vocab).token_prefix()


def llama_vocab_fim_mid(vocab: ModelHandle) -> int:
    """The token before what fills a gap."""
    return _model(vocab).token_middle()


def llama_vocab_fim_suf(vocab: ModelHandle) -> int:
    """The token before what follows a gap."""
    return _model(vocab).token_suffix()


# The older names of functions on vocabularies and models.
llama_n_vocab = llama_vocab_n_tokens
llama_n_ctx_train = llama_model_n_ctx_train
llama_n_embd = llama_model_n_embd
llama_n_layer = llama_model_n_layer
llama_n_head = llama_model_n_head
llama_token_get_text = llama_vocab_get_text
llama_token_get_score = llama_vocab_get_score
llama_token_get_attr = llama_vocab_get_attr
llama_token_is_eog = llama_vocab_is_eog
llama_token_is_control = llama_vocab_is_control
llama_token_bos = llama_vocab_bos
llama_token_eos = llama_vocab_eos
llama_token_eot = llama_vocab_eot
llama_token_nl = llama_vocab_nl
llama_token_cls = llama_vocab_cls
llama_token_sep = llama_vocab_sep
llama_token_pad = llama_vocab_pad
llama_token_fim_pre = llama_vocab_fim_pre
llama_token_fim_mid = llama_vocab_fim_mid
llama_token_fim_suf = llama_vocab_fim_suf
llama_add_bos_token = llama_vocab_get_add_bos
llama_add_eos_token = llama_vocab_get_add_eos
