"""Forms of encoders, whose results are the vectors of all tokens."""

import math

from blocks import (attention, embedded, fused_ffn, gated_ffn, gelu, layer_norm, mask, norm_heads,
                    rms_norm, rope)

COMMAND = ["embed", "--pooling", "none"]


def gemma_embedding(m, ids):
    """transformers, Gemma3TextModel with use_bidirectional_attention: five of six layers see half
    a window to both sides, with a rotary embedding of their own."""
    m.L, m.command = 6, COMMAND
    m.keys(attention__sliding_window=8, rope__freq_base_swa=70.0)
    x = embedded(m, ids) * m.dtype(math.sqrt(m.D))
    for l in map(m.layer, range(m.L)):
        local = (l.index + 1) % 6 != 0
        y = attention(l, rms_norm(l, "attn_norm", x),
                      [norm_heads(l), rope(m, base=70.0 if local else m.base)],
                      seen=mask(m, 8 if local else None, causal=False))
        x = x + rms_norm(l, "post_attention_norm", y)
        y = gated_ffn(l, rms_norm(l, "ffn_norm", x), gelu)
        x = x + rms_norm(l, "post_ffw_norm", y)
    return rms_norm(m, "output_norm", x)


def modern_bert(m, ids):
    """Warner et al. 2024, arXiv:2412.13663: every third layer sees everything, from the first."""
    m.L, m.G, m.D, m.command = 5, m.H, m.H * m.E, COMMAND
    m.keys(attention__sliding_window=8, rope__freq_base_swa=70.0)

    def norm(l, name, x):
        return layer_norm(l, name, x, bias=False)

    x = norm(m, "token_embd_norm", embedded(m, ids))
    for l in map(m.layer, range(m.L)):
        local = l.index % 3 != 0
        y = x if l.index == 0 else norm(l, "attn_norm", x)
        x = x + attention(l, y, [rope(m, base=70.0 if local else m.base)], fused=True,
                          seen=mask(m, 8 if local else None, causal=False))
        x = x + fused_ffn(l, norm(l, "ffn_norm", x), gelu)
    return norm(m, "output_norm", x)


FORMS = {"gemma-embedding": gemma_embedding, "modern-bert": modern_bert}
