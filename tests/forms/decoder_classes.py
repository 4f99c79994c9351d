"""Forms of embedders that are decoders, under the names of their publishers' tensors: what the
classes of transformers compute for one text."""

import math

from blocks import attend, gelu, linear, mask, rms, rope, silu


def norm(m, name, x, plus=0):
    """RMSNorm (Zhang and Sennrich 2019), whose weights Gemma's files have less 1."""
    return rms(x, m.eps) * (m.dtype(plus) + m.weight(f"{name}.weight", x.shape[-1]))


def attention(m, l, x, base, scale, seen, plus=0):
    """Attention with a norm over every query and key head."""
    q, k, v = (linear(m, f"{l}self_attn.{part}_proj", x, n * m.E).reshape(m.T, n, m.E)
               for part, n in (("q", m.H), ("k", m.G), ("v", m.G)))
    turned = rope(m, base=base)
    q = turned(norm(m, l + "self_attn.q_norm", q, plus), "q")
    k = turned(norm(m, l + "self_attn.k_norm", k, plus), "k")
    y = attend(q, k, v, scale, seen)
    return linear(m, l + "self_attn.o_proj", y.reshape(m.T, -1), m.D)


def gated(m, l, x, act):
    """Shazeer 2020."""
    y = act(linear(m, l + "mlp.gate_proj", x, m.F)) * linear(m, l + "mlp.up_proj", x, m.F)
    return linear(m, l + "mlp.down_proj", y, m.D)


def embedded(m, ids):
    m.T = len(ids)
    return m.weight("embed_tokens.weight", m.V, m.D)[ids]


def qwen3(m, ids):
    """Qwen3Model (Yang et al. 2025, arXiv:2505.09388)."""
    x = embedded(m, ids)
    for i in range(m.L):
        l = f"layers.{i}."
        x = x + attention(m, l, norm(m, l + "input_layernorm", x), m.c["rope_theta"],
                          1 / math.sqrt(m.E), mask(m))
        x = x + gated(m, l, norm(m, l + "post_attention_layernorm", x), silu)
    return norm(m, "norm", x)


def gemma3(m, ids):
    """Gemma3TextModel with use_bidirectional_attention (Vera et al. 2025, arXiv:2509.20354): a
    token sees all others, in layers with a window those at most half of it away."""
    x = embedded(m, ids) * m.dtype(math.sqrt(m.D))
    scale = 1 / math.sqrt(m.c["query_pre_attn_scalar"])
    for i in range(m.L):
        l, local = f"layers.{i}.", m.c["layer_types"][i] == "sliding_attention"
        seen = mask(m, m.c["sliding_window"] if local else None, causal=False)
        y = attention(m, l, norm(m, l + "input_layernorm", x, 1),
                      m.c["rope_local_base_freq" if local else "rope_theta"], scale, seen, 1)
        x = x + norm(m, l + "post_attention_layernorm", y, 1)
        y = gated(m, l, norm(m, l + "pre_feedforward_layernorm", x, 1), gelu)
        x = x + norm(m, l + "post_feedforward_layernorm", y, 1)
    return norm(m, "norm", x, 1)
