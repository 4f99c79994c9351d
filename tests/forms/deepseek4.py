"""DeepSeek V4: DeepSeek-AI 2026, and transformers, DeepseekV4ForCausalLM."""

import math

import numpy as np

from blocks import (angles, between_streams, embedded, head, linear, mask, relu, rms, rms_norm, sigmoid,
                    silu, softmax, softplus, turn)
from mixture import best, experts, router, use_experts

ROT, RANK, GROUPS, OUT_RANK, WINDOW, LIMIT, SHARED_LIMIT = 8, 20, 2, 12, 6, 0.8, 0.5
STREAMS, ROUNDS, TINY, SCALE = 3, 4, 1e-4, 1.7
INDEX_HEADS, INDEX_WIDTH, BEST, INDEXED = 8, 16, 3, 4
BASE, POOLED_BASE = 500.0, 90.0
RATIOS, HASHED = [0, 4, 128, 4], 1


def turn_tail(x, angle):
    """Rotates the neighbours among the last elements of every head."""
    n = 2 * angle.shape[1]
    return np.concatenate([x[..., :-n], turn(x[..., -n:], angle, adjacent=True)], axis=-1)


def positions(l, base):
    return angles(l, ROT, base)


def pooled(l, name, x, width, ratio):
    """DeepseekV4CSACompressor and DeepseekV4HCACompressor: a vector for every `ratio` tokens, their
    mean weighted by channel. Short ones overlap: a half of each row belongs to the next vector."""
    n, parts = len(x) // ratio, 2 if ratio == INDEXED else 1
    values, scores = (linear(l, f"{name}_{c}", x[:n * ratio], parts * width)
                      .reshape(n, ratio, parts * width) for c in ("kv", "gate"))
    scores = scores + l.weight(f"{name}_ape.weight", ratio, parts * width)
    if parts == 2:
        ahead = [np.roll(a[..., :width], 1, axis=0) for a in (values, scores)]
        ahead[1][:1] = -np.inf
        values, scores = (np.concatenate([a, b[..., width:]], axis=1)
                          for a, b in zip(ahead, (values, scores)))
    scores = np.exp(scores - scores.max(axis=1, keepdims=True))
    y = (values * scores / scores.sum(axis=1, keepdims=True)).sum(axis=1)
    y = rms_norm(l, f"{name}_norm", y)
    return turn_tail(y[:, None], positions(l, POOLED_BASE)[:n * ratio:ratio])[:, 0]


def chosen(l, x, q):
    """DeepseekV4Indexer: which pooled vectors a token attends to."""
    angle = positions(l, POOLED_BASE)
    q = linear(l, "indexer.attn_q_b", q, INDEX_HEADS * INDEX_WIDTH)
    q = turn_tail(q.reshape(len(x), INDEX_HEADS, -1), angle)
    k = pooled(l, "indexer_compressor", x, INDEX_WIDTH, INDEXED)
    scores = relu(np.einsum("qhe,ke->qhk", q, k)) / x.dtype.type(math.sqrt(INDEX_WIDTH))
    weights = linear(l, "indexer.proj", x, INDEX_HEADS) / x.dtype.type(math.sqrt(INDEX_HEADS))
    scores = np.einsum("qhk,qh->qk", scores, weights)
    closed = closed_windows(len(x), len(k), INDEXED)
    return best(np.where(closed, scores, -np.inf), BEST) & closed


def closed_windows(n_tokens, n, ratio):
    """Which vectors stand for tokens up to this one alone."""
    return np.arange(n) < (np.arange(n_tokens)[:, None] + 1) // ratio


def attention(l, x):
    """DeepseekV4Attention: one head of keys, which are the values too, so that results are turned
    back; a sink per head takes a share of the weights."""
    T, ratio = len(x), RATIOS[l.index]
    angle = positions(l, POOLED_BASE if ratio else BASE)
    latent = rms_norm(l, "attn_q_a_norm", linear(l, "attn_q_a", x, RANK))
    q = linear(l, "attn_q_b", latent, l.H * l.E).reshape(T, l.H, l.E)
    q = turn_tail(rms(q, l.eps), angle)
    k = turn_tail(rms_norm(l, "attn_kv_a_norm", linear(l, "attn_kv", x, l.E))[:, None], angle)[:, 0]
    seen = mask(l, WINDOW)
    if ratio:
        more = pooled(l, "attn_compressor", x, l.E, ratio)
        visible = chosen(l, x, latent) if ratio == INDEXED else closed_windows(T, len(more), ratio)
        k, seen = np.concatenate([k, more]), np.concatenate([seen, visible], axis=1)
    scores = np.einsum("qhe,ke->hqk", q, k) / x.dtype.type(math.sqrt(l.E))
    sinks = np.broadcast_to(l.weight("attn_sinks.weight", l.H)[:, None, None], (l.H, T, 1))
    scores = np.concatenate([np.where(seen, scores, -np.inf).astype(x.dtype), sinks], axis=2)
    y = turn_tail(np.einsum("hqk,ke->qhe", softmax(scores)[..., :-1], k), -angle)
    y = np.einsum("tgi,goi->tgo", y.reshape(T, GROUPS, -1),
                  l.weight("attn_output_a.weight", GROUPS, OUT_RANK, l.H // GROUPS * l.E))
    return linear(l, "attn_output_b", y.reshape(T, -1), l.D)


def ffn(l, x):
    """DeepseekV4SparseMoeBlock, and Expert of DeepSeek's inference/model.py: scores are roots of
    softplus; gates are limited before SiLU, and what they multiply. In the first layer, the id of
    a token says which experts it has (DeepseekV4HashRouter)."""
    p = np.sqrt(softplus(router(l, x)))
    if l.index < HASHED:
        table = (7 * np.arange(l.V)[:, None] + [0, 2, 3]) % l.X
        at = np.zeros(p.shape, dtype=bool)
        np.put_along_axis(at, l.put_ids("ffn_gate_tid2eid.weight", table)[l.ids], True, axis=1)
    else:
        at = best(p + l.weight("exp_probs_b.bias", l.X), l.K)
    w = np.where(at, p, 0)
    w = w / w.sum(axis=1, keepdims=True) * x.dtype.type(SCALE)

    def limited(limit):
        return lambda gate: silu(np.minimum(gate, x.dtype.type(limit)))

    y = experts(l, x, w, limited(LIMIT), limit=x.dtype.type(LIMIT))
    up = np.clip(linear(l, "ffn_up_shexp", x, l.FX), -SHARED_LIMIT, SHARED_LIMIT)
    gate = limited(SHARED_LIMIT)(linear(l, "ffn_gate_shexp", x, l.FX))
    return y + linear(l, "ffn_down_shexp", gate * up.astype(x.dtype), l.D)


def weighted(m, name, streams, width):
    """The projection of the streams [T, n, D] by hyper-connections."""
    flat = rms(streams.reshape(len(streams), -1), m.eps)
    return linear(m, f"{name}_fn", flat, width), m.weight(f"{name}_base.weight", width)


def connected(l, name, block, streams):
    """DeepseekV4HyperConnection."""
    n = STREAMS
    mixes, base = weighted(l, name, streams, n * (n + 2))
    scale = np.repeat(l.weight(f"{name}_scale.weight", 3), [n, n, n * n])
    mixes = mixes * scale + base
    return between_streams(mixes, block, streams, TINY, ROUNDS)


def deepseek4(m, ids):
    """DeepseekV4Model: of the layers, one sees a window alone, two also vectors for 4 tokens that
    an indexer chooses, one also vectors for 128 tokens."""
    m.L, m.G, m.n_rot = len(RATIOS), 1, ROT
    use_experts(m, dense=0, shared=1, expert_gating_func=4, expert_weights_norm=True,
                expert_weights_scale=SCALE, swiglu_clamp_exp=[LIMIT] * m.L,
                swiglu_clamp_shexp=[SHARED_LIMIT] * m.L)
    m.keys(context_length=256, attention__q_lora_rank=RANK, attention__sliding_window=WINDOW,
           attention__output_group_count=GROUPS, attention__output_lora_rank=OUT_RANK,
           attention__compress_rope_freq_base=POOLED_BASE, attention__compress_ratios=RATIOS,
           attention__indexer__head_count=INDEX_HEADS, attention__indexer__top_k=BEST,
           attention__indexer__key_length=INDEX_WIDTH, hyper_connection__count=STREAMS,
           hyper_connection__sinkhorn_iterations=ROUNDS, hyper_connection__epsilon=TINY,
           hash_layer_count=HASHED)
    m.ids = np.array(ids)
    h = np.repeat(embedded(m, ids)[:, None], STREAMS, axis=1)
    for l in map(m.layer, range(m.L)):
        h = connected(l, "hc_attn", lambda x: attention(l, rms_norm(l, "attn_norm", x)), h)
        h = connected(l, "hc_ffn", lambda x: ffn(l, rms_norm(l, "ffn_norm", x)), h)
    mixes, base = weighted(m, "output_hc", h, STREAMS)
    weights = sigmoid(mixes * m.weight("output_hc_scale.weight", 1) + base) + m.dtype(TINY)
    return head(m, np.einsum("tn,tnd->td", weights, h))


FORMS = {"deepseek4": deepseek4}
