"""RWKV 7: Peng et al. 2025, arXiv:2503.14456, and BlinkDL's rwkv_v7_demo_rnn.py."""

import numpy as np

from blocks import embedded, head, layer_norm, linear, relu2, sigmoid

RANK, GATE_RANK, WIDTH = 12, 20, 16


def before(x):
    """The vector of the token before, zero for the first one."""
    return np.concatenate([np.zeros_like(x[:1]), x[:-1]])


def low_rank(l, name, x, act, rank=RANK):
    return linear(l, f"{name}2", act(linear(l, f"{name}1", x, rank)), l.D)


def shifted(l, name, x, act=lambda t: t):
    """A low-rank change of a learned vector."""
    return l.weight(f"{name}0.weight", l.D) + low_rank(l, name, x, act)


def head_norm(l, y):
    """A group norm whose groups are heads, with an epsilon of 64e-5."""
    y = y - y.mean(axis=-1, keepdims=True)
    y = y / np.sqrt((y * y).mean(axis=-1, keepdims=True) + y.dtype.type(64e-5))
    return (y.reshape(len(y), -1) * l.weight("time_mix_ln.weight", l.D)
            + l.weight("time_mix_ln.bias", l.D))


def rwkv7_state(r, w, k, v, kk, a):
    """The state of every head [values, keys], and the receptance's output from it."""
    state, y = np.zeros((r.shape[1], WIDTH, WIDTH), r.dtype), []
    for t in range(len(r)):
        removed = np.einsum("hvk,hk->hv", state, -kk[t])
        state = (state * w[t][:, None] + removed[:, :, None] * (kk[t] * a[t])[:, None]
                 + v[t][:, :, None] * k[t][:, None])
        y.append(np.einsum("hvk,hk->hv", state, r[t]))
    return np.array(y)


def time_mix(l, x, first):
    """RWKV_x070_TMix_seq. `first` holds the values of the first layer."""
    D, mix = l.D, l.weight("time_mix_lerp_fused.weight", 6, 1, 1, l.D)[:, 0]
    xr, xw, xk, xv, xa, xg = (x + (before(x) - x) * m for m in mix)
    r, k, v = (linear(l, f"time_mix_{name}", y, D)
               for name, y in (("receptance", xr), ("key", xk), ("value", xv)))
    if l.index == 0:
        first.append(v)
    else:
        v = v + (first[0] - v) * sigmoid(shifted(l, "time_mix_v", xv))
    w = np.exp(-np.exp(-0.5).astype(x.dtype) * sigmoid(shifted(l, "time_mix_w", xw, np.tanh)))
    a = sigmoid(shifted(l, "time_mix_a", xa))
    gate = low_rank(l, "time_mix_g", xg, sigmoid, GATE_RANK)
    kk = (k * l.weight("time_mix_k_k.weight", D)).reshape(len(x), -1, WIDTH)
    kk = kk / np.maximum(np.sqrt((kk * kk).sum(axis=-1, keepdims=True)), 1e-12)
    k = k * (1 + (a - 1) * l.weight("time_mix_k_a.weight", D))
    r, w, k, v, a = (t.reshape(kk.shape) for t in (r, w, k, v, a))
    y = head_norm(l, rwkv7_state(r, w, k, v, kk, a))
    bonus = (r * k * l.weight("time_mix_r_k.weight", D).reshape(kk.shape[1:])).sum(-1)[..., None]
    y = (y + (bonus * v).reshape(len(x), D)) * gate
    return linear(l, "time_mix_output", y, D)


def channel_mix(l, x):
    """RWKV_x070_CMix_seq."""
    y = x + (before(x) - x) * l.weight("channel_mix_lerp_k.weight", l.D)
    return linear(l, "channel_mix_value", relu2(linear(l, "channel_mix_key", y, l.F)), l.D)


def rwkv7(m, ids):
    """RWKV_RNN of rwkv_v7_demo_rnn.py."""
    m.H = 0
    m.keys(wkv__head_size=WIDTH, token_shift_count=2, attention__head_count_kv=None,
           attention__key_length=None, attention__value_length=None, rope__dimension_count=None,
           attention__gate_lora_rank=GATE_RANK,
           **{f"attention__{name}_lora_rank": RANK
              for name in ("decay", "iclr", "value_residual_mix")})
    first = []
    x = layer_norm(m, "token_embd_norm", embedded(m, ids))
    for l in map(m.layer, range(m.L)):
        x = x + time_mix(l, layer_norm(l, "attn_norm", x), first)
        x = x + channel_mix(l, layer_norm(l, "attn_norm_2", x))
    return head(m, x, layer_norm)


FORMS = {"rwkv7": rwkv7}
