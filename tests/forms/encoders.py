"""Forms of encoders, whose results are the vectors of all tokens."""

import math

import numpy as np

from blocks import (attention, embedded, fused_ffn, gated_ffn, gelu, gelu_erf, layer_norm, linear,
                    mask, norm_heads, plain_ffn, rms_norm, rope)
from mixture import experts, router, softmax_weights, use_experts

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


def gemma_embedding_pooled(m, ids):
    """The modules of google/embeddinggemma-300m for sentence-transformers: mean, two matrices
    without an activation, normalized."""
    y = gemma_embedding(m, ids).mean(axis=0, keepdims=True)
    m.command = ["embed", "--normalize", "2"]
    m.keys(pooling_type=1, dense_2_feat_in=m.D, dense_2_feat_out=90, dense_3_feat_in=90,
           dense_3_feat_out=m.D)
    y = linear(m, "dense_3", linear(m, "dense_2", y, 90), m.D)
    return y / np.sqrt((y * y).sum())


def modern_bert(m, ids, act=gelu):
    """Warner et al. 2024, arXiv:2412.13663: every third layer sees everything, from the first. Other
    readers of GGUF files compute GELU by the hyperbolic tangent, so a file must ask for the exact
    one."""
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
        x = x + fused_ffn(l, norm(l, "ffn_norm", x), act)
    return norm(m, "output_norm", x)


def modern_bert_exact(m, ids):
    """As transformers computes it."""
    m.keys(hidden_activation="gelu")
    return modern_bert(m, ids, gelu_erf)


def nomic_bert_moe(m, ids):
    """nomic-ai's modeling_hf_nomic_bert.py: norms behind the sums, experts without gates in every
    second layer, weights not normalized. GELU by the hyperbolic tangent, in files of GGUF."""
    m.L, m.G, m.D, m.command = 4, m.H, m.H * m.E, COMMAND
    use_experts(m, dense=0, shared=0, moe_every_n_layers=2)
    m.FX = m.F
    x = embedded(m, ids) + m.weight("token_types.weight", 1, m.D)[0]
    x = layer_norm(m, "token_embd_norm", x)
    for l in map(m.layer, range(m.L)):
        y = attention(l, x, [rope(m)], seen=mask(m, causal=False), bias=True, out_bias=True,
                      fused=True)
        x = layer_norm(l, "attn_output_norm", x + y)
        if l.index % 2 == 1:
            y = experts(l, x, softmax_weights(l, router(l, x), False), gelu, gated=False)
        else:
            y = plain_ffn(l, x, gelu, bias=True)
        x = layer_norm(l, "layer_output_norm", x + y)
    return x


FORMS = {"gemma-embedding": gemma_embedding, "gemma-embedding pooled": gemma_embedding_pooled,
         "modern-bert": modern_bert, "modern-bert exact": modern_bert_exact,
         "nomic-bert-moe": nomic_bert_moe}
