"""Formulas that several publishers share. Rows are tokens; heads are [tokens, heads, width]."""

import math

import numpy as np


def rms(x, eps):
    """Zhang and Sennrich 2019, without a weight."""
    return x / np.sqrt(np.mean(x * x, axis=-1, keepdims=True) + x.dtype.type(eps))


def rms_norm(m, name, x):
    """RMSNorm: Zhang and Sennrich 2019, with a weight."""
    return rms(x, m.eps) * m.weight(f"{name}.weight", x.shape[-1])


def layer_norm(m, name, x, bias=True):
    """LayerNorm: Ba, Kiros and Hinton 2016."""
    centred = x - x.mean(axis=-1, keepdims=True)
    out = rms(centred, m.eps) * m.weight(f"{name}.weight", x.shape[-1])
    return out + m.weight(f"{name}.bias", x.shape[-1]) if bias else out


def linear(m, name, x, width, bias=False):
    """torch.nn.Linear."""
    out = x @ m.weight(f"{name}.weight", width, x.shape[-1]).T
    return out + m.weight(f"{name}.bias", width) if bias else out


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def softplus(x):
    return np.logaddexp(x, x.dtype.type(0))


def silu(x):
    """Elfwing et al. 2017."""
    return x * sigmoid(x)


def gelu(x):
    """GELU by the hyperbolic tangent: Hendrycks and Gimpel 2016."""
    return x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def gelu_erf(x):
    """GELU as it is defined: Hendrycks and Gimpel 2016."""
    erf = np.vectorize(math.erf, otypes=[x.dtype])
    return x / 2 * (1 + erf(x / x.dtype.type(math.sqrt(2))))


def relu(x):
    return np.maximum(x, 0)


def relu2(x):
    """So et al. 2021 (Primer)."""
    return relu(x)**2


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def angles(m, n_rot, base, divisors=None):
    """Su et al. 2021: the angle of every position and pair. Llama 3.1 divides the frequencies."""
    frequency = base**(-np.arange(0, n_rot, 2) / n_rot)
    if divisors is not None:
        frequency = frequency / divisors
    return np.outer(np.arange(m.T), frequency)


def yarn_angles(m, n_rot, base, factor, original, fast, slow):
    """YaRN, Peng et al. 2023, arXiv:2309.00071: pairs that turn less than `slow` times within the
    original context are slowed down by the factor, those that turn more than `fast` times are not.
    Whole pairs are the ends of the ramp, as in transformers. The second result is the magnitude of
    what is turned."""
    low, high = (n_rot * math.log(original / (turns * 2 * math.pi)) / (2 * math.log(base))
                 for turns in (fast, slow))
    low, high = max(math.floor(low), 0), min(math.ceil(high), n_rot - 1)
    ramp = np.clip((np.arange(n_rot // 2) - low) / max(high - low, 0.001), 0, 1)
    frequency = base**(-np.arange(0, n_rot, 2) / n_rot)
    frequency = frequency / factor * ramp + frequency * (1 - ramp)
    return np.outer(np.arange(m.T), frequency), 0.1 * math.log(factor) + 1


def turn(x, angle, adjacent):
    """Rotates the first pairs of every head: neighbours, or one element of each half."""
    n = 2 * angle.shape[1]
    cos, sin = (f(angle).astype(x.dtype)[:, None] for f in (np.cos, np.sin))
    first, second = (slice(0, n, 2), slice(1, n, 2)) if adjacent else (slice(0, n // 2),
                                                                      slice(n // 2, n))
    out = x.copy()
    out[..., first] = x[..., first] * cos - x[..., second] * sin
    out[..., second] = x[..., first] * sin + x[..., second] * cos
    return out


def rope(m, adjacent=False, base=None, divisors=None, n_rot=None):
    """A step for queries or keys: rotary embedding with the model's settings."""
    angle = angles(m, n_rot or m.n_rot or m.E, base or m.base, divisors)
    return lambda x, which: turn(x, angle, adjacent)


def norm_heads(m):
    """A step: RMSNorm of every head with one weight for all heads."""
    return lambda x, which: rms_norm(m, f"attn_{which}_norm", x)


def norm_width(m):
    """A step: RMSNorm of all heads of a token as one row (OLMo 2, OLMoE)."""
    return lambda x, which: rms_norm(m, f"attn_{which}_norm",
                                     x.reshape(len(x), -1)).reshape(x.shape)


def mask(m, window=None, causal=True):
    """Which keys [queries, keys] are seen. A causal window counts the token itself; a symmetric
    one reaches half of it to both sides."""
    distance = np.arange(m.T)[:, None] - np.arange(m.T)[None, :]
    if causal:
        return (distance >= 0) & (distance < (window or m.T))
    return np.abs(distance) <= (window // 2 if window else m.T)


def attend(q, k, v, scale, seen):
    """Vaswani et al. 2017, with groups of queries per key (Ainslie et al. 2023)."""
    group = q.shape[1] // k.shape[1]
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = np.einsum("qhe,khe->hqk", q, k) * q.dtype.type(scale)
    scores = np.where(seen, scores, -np.inf).astype(q.dtype)
    return np.einsum("hqk,khe->qhe", softmax(scores), v)


def projected(l, x, H, G, bias=False, fused=False):
    """Queries, keys and values as heads."""
    rows = (H * l.E, G * l.E, G * l.E)
    if fused:
        q, k, v = np.split(linear(l, "attn_qkv", x, sum(rows), bias), np.cumsum(rows)[:-1], axis=1)
    else:
        q, k, v = (linear(l, f"attn_{c}", x, n, bias) for c, n in zip("qkv", rows))
    return (a.reshape(len(x), -1, l.E) for a in (q, k, v))


def attention(l, x, steps=(), scale=None, seen=None, bias=False, out_bias=False, fused=False,
              gate=None, H=None):
    """Attention whose queries and keys go through `steps`; `gate` changes its heads."""
    q, k, v = projected(l, x, H or l.H, l.G, bias, fused)
    for step in steps:
        q, k = step(q, "q"), step(k, "k")
    y = attend(q, k, v, scale or 1 / math.sqrt(l.E), mask(l) if seen is None else seen)
    if gate:
        y = gate(l, x, y)
    return linear(l, "attn_output", y.reshape(len(x), -1), l.D, out_bias)


def gated_ffn(l, x, act=silu, width=None, end="", bias=False):
    """Shazeer 2020: down(act(gate(x)) * up(x))."""
    F = width or l.F
    hidden = act(linear(l, "ffn_gate" + end, x, F, bias)) * linear(l, "ffn_up" + end, x, F, bias)
    return linear(l, "ffn_down" + end, hidden, l.D, bias)


def fused_ffn(l, x, act=silu):
    """The same with gate and up in one matrix, the gate first."""
    gate, up = np.split(linear(l, "ffn_up", x, 2 * l.F), 2, axis=1)
    return linear(l, "ffn_down", act(gate) * up, l.D)


def plain_ffn(l, x, act, bias=False):
    """down(act(up(x)))."""
    return linear(l, "ffn_down", act(linear(l, "ffn_up", x, l.F, bias)), l.D, bias)


def embedded(m, ids):
    m.T = len(ids)
    return m.weight("token_embd.weight", m.V, m.D)[ids]


def head(m, x, norm=rms_norm, tied=False):
    """The last norm and the logits. Both hidden states stay in the model."""
    m.hidden = x
    m.normed = x = norm(m, "output_norm", x)
    w = m.weight("token_embd.weight" if tied else "output.weight", m.V, m.D)
    return x @ w.T


def decoder(m, ids, mixer, ffn, norm=rms_norm, names=("attn_norm", "ffn_norm"), tied=False):
    """Xiong et al. 2020: two residuals per layer, each behind a norm. `mixer` and `ffn` get the
    layer and its normed input."""
    m.parts = mixer, ffn, norm, names
    x = embedded(m, ids)
    for i in range(m.L):
        x = residuals(m.layer(i), x)
    return head(m, x, norm, tied)


def residuals(l, x, other_ffn=None):
    """A layer as the decoder's."""
    mixer, ffn, norm, names = l.parts
    x = x + mixer(l, norm(l, names[0], x))
    return x + (other_ffn or ffn)(l, norm(l, names[1], x))


def between_streams(mixes, block, streams, tiny, rounds):
    """Hyper-connections: Xie et al. 2026. Streams [T, n, D] are mixed by a matrix whose rows and
    columns have a sum of 1, by Sinkhorn's algorithm. `mixes` [T, n (n + 2)]: what decides how much
    of each the block reads, gets back, and keeps."""
    n, tiny = streams.shape[1], streams.dtype.type(tiny)
    before, after = sigmoid(mixes[:, :n]) + tiny, 2 * sigmoid(mixes[:, n:2 * n])
    mix = softmax(mixes[:, 2 * n:].reshape(-1, n, n)) + tiny
    for i in range(rounds):
        if i > 0:
            mix = mix / (mix.sum(axis=2, keepdims=True) + tiny)
        mix = mix / (mix.sum(axis=1, keepdims=True) + tiny)
    y = block(np.einsum("tn,tnd->td", before, streams))
    return after[:, :, None] * y[:, None] + np.einsum("tnm,tnd->tmd", mix, streams)
