"""openPangu 2.0 Flash: Huawei 2026, npu_pangu.py, npu_mhc.py and pangu_v2_moe.py of
https://gitcode.com/ascend-tribe/openPangu-2.0-Infer."""

import math

import numpy as np

from blocks import angles, between_streams, embedded, head, linear, mask, relu, rms, rms_norm, sigmoid, softmax, turn
from mixture import best, mixture, sigmoid_weights, use_experts
from recurrent import causal_conv

NOPE, ROT, VALUE, KV_RANK, Q_RANK, SINKS, TAPS = 12, 8, 10, 24, 20, 70, 3
STREAMS, ROUNDS, TINY = 3, 2, 1e-6
INDEX_HEADS, INDEX_WIDTH, BEST = 8, 16, 6
WINDOWS = {0: 5, 2: 7}  # by layer; of the layers with none, an indexer chooses
NORMED = 1              # the layer that ends with a norm of all streams
SIGMOID = 2


def remembered(l, name, x):
    """MOME with a residual connection."""
    return x + causal_conv(x, l.weight(f"{name}.weight", x.shape[1], TAPS))


def turned(l, x):
    return turn(x, angles(l, ROT, l.base), adjacent=False)


def chosen(l, x, q):
    """NPUPanguIndexer: of all positions, those with the largest sums of scores of the heads. What
    is turned is the start of a head."""
    q = linear(l, "attn_indexer_q_b", q, INDEX_HEADS * INDEX_WIDTH)
    q = turned(l, q.reshape(len(x), INDEX_HEADS, -1))
    k = rms_norm(l, "attn_indexer_k_norm", linear(l, "attn_indexer_k", x, INDEX_WIDTH))
    k = turned(l, k[:, None])[:, 0]
    weights = linear(l, "attn_indexer_weights_proj", x, INDEX_HEADS)
    scores = np.einsum("qhk,qh->qk", relu(np.einsum("qhe,ke->qhk", q, k)), weights)
    return best(np.where(mask(l), scores, -np.inf), BEST) & mask(l)


def attention(l, x):
    """NPUPanguSparseAttention: convolutions of both latent vectors before their norms, and of the
    heads; learned vectors and keys in front of those of the tokens, seen by all of them."""
    T = len(x)
    latent = remembered(l, "attn_qa_conv", linear(l, "attn_q_a", x, Q_RANK))
    latent = rms_norm(l, "attn_q_a_norm", latent)
    q = linear(l, "attn_q_b", latent, l.H * (NOPE + ROT)).reshape(T, l.H, -1)
    q = np.concatenate([q[..., :NOPE], turned(l, q[..., NOPE:])], axis=2)
    both = linear(l, "attn_kv_a_mqa", x, KV_RANK + ROT)
    kv = rms_norm(l, "attn_kv_a_norm", remembered(l, "attn_compresskv_conv", both[:, :KV_RANK]))
    k_rot = turned(l, both[:, None, KV_RANK:])[:, 0]
    learned = rms_norm(l, "attn_kv_a_norm", l.weight("attn_param_sink_kv", SINKS, KV_RANK))
    kv = np.concatenate([learned, kv])
    k_rot = np.concatenate([l.weight("attn_param_sink_k_pe", SINKS, ROT), k_rot])
    to_keys = l.weight("attn_k_b.weight", l.H * KV_RANK, NOPE).reshape(l.H, KV_RANK, NOPE)
    to_values = l.weight("attn_v_b.weight", l.H * VALUE, KV_RANK).reshape(l.H, VALUE, KV_RANK)
    k = np.einsum("sc,hcn->shn", kv, to_keys)
    k = np.concatenate([k, np.repeat(k_rot[:, None], l.H, axis=1)], axis=2)
    window = WINDOWS.get(l.index)
    seen = mask(l, window) if window else chosen(l, x, latent)
    seen = np.concatenate([np.ones((T, SINKS), dtype=bool), seen], axis=1)
    scores = np.einsum("qhe,she->hqs", q, k) / x.dtype.type(math.sqrt(NOPE + ROT))
    p = softmax(np.where(seen, scores, -np.inf).astype(x.dtype))
    y = np.einsum("hqs,shv->qhv", p, np.einsum("sc,hvc->shv", kv, to_values)).reshape(T, -1)
    return linear(l, "attn_output", remembered(l, "attn_o_conv", y), l.D)


def projected(m, name, streams, width):
    flat = rms(streams.reshape(len(streams), -1), m.eps)
    flat = flat * m.weight(f"{name}_gamma", flat.shape[1])
    return linear(m, f"{name}_phi", flat, width), m.weight(f"{name}_beta", width)


def connected(l, name, block, streams):
    """NPUmHCRL."""
    n = STREAMS
    mixes, base = projected(l, name, streams, n * (n + 2))
    mixes = mixes * np.repeat(l.weight(f"{name}_alpha", 3), [n, n, n * n]) + base
    return between_streams(mixes, block, streams, TINY, ROUNDS)


def openpangu(m, ids):
    """OpenPanguV2DecoderLayer: norms before and behind each block, and behind some layers one of
    all streams together."""
    m.G, m.n_rot = m.H, ROT
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=2.5)
    m.keys(attention__q_lora_rank=Q_RANK, attention__kv_lora_rank=KV_RANK,
           attention__key_length=NOPE + ROT, attention__value_length=VALUE,
           attention__indexer__head_count=INDEX_HEADS, attention__indexer__top_k=BEST,
           attention__indexer__key_length=INDEX_WIDTH, mhc_num_stream=STREAMS,
           mhc_recur_norm=ROUNDS, param_sink_number=SINKS, swa_layers=list(WINDOWS),
           sliding_window_list=list(WINDOWS.values()))

    def mix(l, x):
        y = attention(l, rms_norm(l, "attn_norm", x))
        return rms_norm(l, "post_attention_norm", y)

    def ffn(l, x):
        y = mixture(l, rms_norm(l, "ffn_norm", x), lambda l, z: sigmoid_weights(l, z, 2.5))
        return rms_norm(l, "post_ffw_norm", y)

    h = np.repeat(embedded(m, ids)[:, None], STREAMS, axis=1)
    for l in map(m.layer, range(m.L)):
        h = connected(l, "attn_mhc", lambda x: mix(l, x), h)
        h = connected(l, "mlp_mhc", lambda x: ffn(l, x), h)
        if l.index == NORMED:
            h = rms_norm(l, "block_post_norm", h.reshape(m.T, -1)).reshape(h.shape)
    mixes, base = projected(m, "merge_mhc", h, STREAMS)
    weights = sigmoid(mixes * m.weight("merge_mhc_alpha", 1) + base) + m.dtype(TINY)
    return head(m, np.einsum("tn,tnd->td", weights, h))


FORMS = {"openpangu": openpangu}
