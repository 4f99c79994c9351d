"""Forms of decoders without experts."""

import numpy as np

from blocks import (attention, decoder, embedded, fused_ffn, gated_ffn, gelu, gelu_erf, head,
                    layer_norm, linear, mask, norm_heads, plain_ffn, relu2, rms, rms_norm, rope, softplus)


def divisors(m):
    """Llama 3.1's factors of the frequencies, as numbers of the file."""
    n = (m.n_rot or m.E) // 2
    return m.put("rope_freqs.weight", 1 + 7 * np.linspace(0, 1, n)**2)


def apertus(m, ids):
    """transformers, ApertusForCausalLM; xIELU: Huang and Schlag 2024, arXiv:2411.13010."""
    alpha_p, alpha_n, beta, eps = 0.4, -0.7, 0.6, -1e-2
    scale = [1 + 0.25 * i for i in range(m.L)]
    m.keys(**{"xielu.alpha_p": [alpha_p * s for s in scale],
              "xielu.alpha_n": [alpha_n * s for s in scale],
              "xielu.beta": [beta] * m.L, "xielu.eps": [eps] * m.L})
    angles = divisors(m)

    def xielu(l):
        p = softplus(np.asarray(alpha_p * scale[l.index], m.dtype))
        n = m.dtype(beta) + softplus(np.asarray(alpha_n * scale[l.index], m.dtype))
        return lambda x: np.where(x > 0, p * x * x + m.dtype(beta) * x,
                                  (np.expm1(np.minimum(x, m.dtype(eps))) - x) * n
                                  + m.dtype(beta) * x)

    return decoder(m, ids,
                   lambda l, x: attention(l, x, [norm_heads(l), rope(m, divisors=angles)]),
                   lambda l, x: plain_ffn(l, x, xielu(l)))


def chameleon(m, ids, post_norm=False):
    """transformers, ChameleonForConditionalGeneration: a layer norm with an epsilon of 1e-5 and
    weights of their own for every head; logits of image tokens are as low as possible."""
    m.V, m.G = 8210, m.H
    m.keys(swin_norm=post_norm)

    def norm(l):
        def step(x, which):
            centred = x - x.mean(axis=-1, keepdims=True)
            name = f"attn_{which}_norm"
            return (rms(centred, 1e-5) * l.weight(f"{name}.weight", *x.shape[1:])
                    + l.weight(f"{name}.bias", *x.shape[1:]))
        return step

    def mix(l, x):
        return attention(l, x, [norm(l), rope(m, adjacent=True)])

    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        for block, name in ((mix, "attn_norm"), (gated_ffn, "ffn_norm")):
            x = x + (rms_norm(l, name, block(l, x)) if post_norm else
                     block(l, rms_norm(l, name, x)))
    logits = head(m, x)
    logits[:, 4:8196] = -np.inf
    return logits


def codeshell(m, ids):
    """Xie et al. 2024 and the published modeling_codeshell.py: GPT-2 with rotary embedding and
    groups of queries."""
    return decoder(m, ids,
                   lambda l, x: attention(l, x, [rope(m)], bias=True, out_bias=True),
                   lambda l, x: plain_ffn(l, x, gelu, bias=True), layer_norm)


def ernie4_5(m, ids):
    """transformers, Ernie4_5ForCausalLM: its rotary embedding turns neighbours."""
    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m, adjacent=True)]), gated_ffn,
                   tied=True)


def exaone4(m, ids):
    """transformers, Exaone4ForCausalLM without windows: norms only behind the blocks."""
    angles = divisors(m)
    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        y = attention(l, x, [norm_heads(l), rope(m, divisors=angles)])
        x = x + rms_norm(l, "post_attention_norm", y)
        x = x + rms_norm(l, "post_ffw_norm", gated_ffn(l, x))
    return head(m, x)


def exaone4_windows(m, ids):
    """transformers, Exaone4ForCausalLM of 64 layers: of every four layers three see a window, and
    the other has no rotary embedding."""
    m.L, m.D, m.F = 64, 32, 24
    m.keys(attention__sliding_window=5)
    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        local = (l.index + 1) % 4 != 0
        y = attention(l, x, [norm_heads(l)] + [rope(m)] * local,
                      seen=mask(m, 5 if local else None))
        x = x + rms_norm(l, "post_attention_norm", y)
        x = x + rms_norm(l, "post_ffw_norm", gated_ffn(l, x))
    return head(m, x)


def falcon(m, ids):
    """transformers, FalconForCausalLM with one norm: both blocks read it; "gelu" is exact."""
    m.keys(hidden_activation="gelu")
    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        y = layer_norm(l, "attn_norm", x)
        x = x + attention(l, y, [rope(m)], fused=True) + plain_ffn(l, y, gelu_erf)
    return head(m, x, layer_norm)


def gptneox(m, ids):
    """transformers, GPTNeoXForCausalLM: both blocks read the layer's input, each behind a norm of
    its own; "gelu" is exact, part of a head is turned."""
    m.G, m.n_rot = m.H, m.E // 2
    m.keys(hidden_activation="gelu")
    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        y = attention(l, layer_norm(l, "attn_norm", x), [rope(m)], fused=True, bias=True,
                      out_bias=True)
        x = x + y + plain_ffn(l, layer_norm(l, "ffn_norm", x), gelu_erf, bias=True)
    return head(m, x, layer_norm)


def glm4(m, ids):
    """transformers, Glm4ForCausalLM: norms on both sides of a block, half of a head is turned."""
    m.n_rot = m.E // 2
    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        y = attention(l, rms_norm(l, "attn_norm", x), [rope(m, adjacent=True)], bias=True)
        x = x + rms_norm(l, "post_attention_norm", y)
        y = fused_ffn(l, rms_norm(l, "ffn_norm", x))
        x = x + rms_norm(l, "post_ffw_norm", y)
    return head(m, x)


def hunyuan_dense(m, ids):
    """transformers, HunYuanDenseV1ForCausalLM: rotary embedding before the norms of queries and
    keys; alpha makes its base larger."""
    alpha = 6.0
    m.keys(rope__scaling__alpha=alpha)
    base = m.base * alpha**(m.E / (m.E - 2))
    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m, base=base), norm_heads(l)]),
                   gated_ffn, tied=True)


def internlm2(m, ids):
    """Cai et al. 2024, arXiv:2403.17297; files hold its rows as neighbours."""
    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m, adjacent=True)]), gated_ffn)


def jais2(m, ids):
    """transformers, Jais2ForCausalLM: layer norms, squared ReLU, biases everywhere."""
    return decoder(m, ids,
                   lambda l, x: attention(l, x, [rope(m)], bias=True, out_bias=True),
                   lambda l, x: plain_ffn(l, x, relu2, bias=True), layer_norm)


def llada(m, ids):
    """Nie et al. 2025, arXiv:2502.09992: Llama whose attention sees later tokens too."""
    return decoder(m, ids,
                   lambda l, x: attention(l, x, [rope(m, adjacent=True)],
                                          seen=mask(m, causal=False)), gated_ffn)


def orion(m, ids):
    """Chen et al. 2024, arXiv:2401.12246, and modeling_orion.py: Llama with layer norms."""
    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m)]), gated_ffn, layer_norm)


def pangu_embedded(m, ids):
    """The published modeling_openpangu_dense.py: Llama with biases in the attention."""
    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m)], bias=True, out_bias=True),
                   gated_ffn)


def qwen2vl(m, ids):
    """transformers, Qwen2VLForConditionalGeneration: for text, the three positions are the same,
    which leaves plain rotary embedding."""
    m.keys(rope__dimension_sections=[2, 3, 3, 0])
    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m)], bias=True), gated_ffn)


def qwen3vl(m, ids):
    """transformers, Qwen3VLForConditionalGeneration, text alone: as above with norms. The sections
    take turns and cover all pairs. In published models two pairs of the lowest frequencies are in
    none of the turns; transformers turns them, files of GGUF are run without."""
    m.keys(rope__dimension_sections=[3, 3, 2, 0])
    return decoder(m, ids, lambda l, x: attention(l, x, [norm_heads(l), rope(m)]), gated_ffn)


def seed_oss(m, ids):
    """transformers, SeedOssForCausalLM: biases of queries, keys and values."""
    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m)], bias=True), gated_ffn,
                   names=("attn_norm", "post_attention_norm"))


def nanbeige(m, ids):
    """The published modeling_nanbeige.py: Llama that runs through its layers twice, with the last
    norm after each time."""
    m.keys(num_loops=2)
    x = embedded(m, ids)
    for loop in range(2):
        if loop > 0:
            x = rms_norm(m, "output_norm", x)
        for l in map(m.layer, range(m.L)):
            x = x + attention(l, rms_norm(l, "attn_norm", x), [rope(m, adjacent=True)])
            x = x + gated_ffn(l, rms_norm(l, "ffn_norm", x))
    return head(m, x)


def plamo3(m, ids):
    """Preferred Networks' Plamo3DecoderLayer, as published for vLLM: norms on both sides of a
    block; seven of eight layers see a window and have a rotary embedding of their own."""
    m.L = 9
    m.keys(attention__sliding_window=5, rope__freq_base_swa=70.0)
    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        local = (l.index + 1) % 8 != 0
        y = attention(l, rms_norm(l, "attn_norm", x),
                      [norm_heads(l), rope(m, base=70.0 if local else m.base)], fused=True,
                      seen=mask(m, 5 if local else None))
        x = x + rms_norm(l, "post_attention_norm", y)
        x = x + rms_norm(l, "post_ffw_norm", fused_ffn(l, rms_norm(l, "ffn_norm", x)))
    return head(m, x)


def bitnet_2b(m, ids):
    """transformers, BitNetForCausalLM without the rounding of activations: squared ReLU as the
    gate, norms before the last matrix of both blocks."""
    def mix(l, x):
        return attention(l, x, [rope(m)], gate=lambda l, x, y: rms_norm(
            l, "attn_sub_norm", y.reshape(len(x), -1)))

    def ffn(l, x):
        y = relu2(linear(l, "ffn_gate", x, l.F)) * linear(l, "ffn_up", x, l.F)
        return linear(l, "ffn_down", rms_norm(l, "ffn_sub_norm", y), l.D)

    return decoder(m, ids, mix, ffn, tied=True)


FORMS = {"apertus": apertus, "chameleon": chameleon, "codeshell": codeshell, "ernie4_5": ernie4_5,
         "exaone4": exaone4, "exaone4 windows": exaone4_windows, "falcon": falcon,
         "glm4": glm4, "gptneox": gptneox,
         "chameleon swin": lambda m, ids: chameleon(m, ids, True),
         "hunyuan-dense": hunyuan_dense, "internlm2": internlm2, "jais2": jais2, "llada": llada,
         "nanbeige": nanbeige, "plamo3": plamo3,
         "orion": orion, "pangu-embedded": pangu_embedded, "qwen2vl": qwen2vl, "qwen3vl": qwen3vl,
         "seed_oss": seed_oss, "xverse": internlm2, "bitnet-b1.58": bitnet_2b,
         "bitnet-25": bitnet_2b}
