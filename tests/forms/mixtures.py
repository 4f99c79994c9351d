"""Forms of decoders with mixtures of experts on ordinary attention."""

import numpy as np

from blocks import (attention, decoder, embedded, gated_ffn, head, layer_norm, linear, mask,
                    norm_heads, norm_width, relu, rms_norm, rope, sigmoid, silu, softmax, softplus)
from mixture import (best, experts, mixture, router, sigmoid_weights, softmax_weights, use_experts)

SIGMOID = 2


def biased(scale):
    """DeepSeek-V3's router with normalized weights times `scale`."""
    return lambda l, logits: sigmoid_weights(l, logits, scale)


def chosen_sigmoid(l, logits):
    """The best logits by their sigmoids, normalized."""
    p = sigmoid(logits)
    w = np.where(best(logits, l.K), p, 0)
    return w / w.sum(axis=-1, keepdims=True)


def bailingmoe2(m, ids):
    """The published modeling_bailing_moe_v2.py: queries, keys and values in one matrix, half of a
    head is turned, experts in groups."""
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=2.5,
                expert_group_count=4, expert_group_used_count=2)
    m.n_rot = m.E // 2

    def weights(l, logits):
        return sigmoid_weights(l, logits, 2.5, groups=4, used_groups=2)

    return decoder(m, ids,
                   lambda l, x: attention(l, x, [norm_heads(l), rope(m)], fused=True),
                   lambda l, x: mixture(l, x, weights))


def cohere2_moe(m, ids):
    """transformers, Cohere2MoeForCausalLM: attention and ffn side by side behind one layer norm;
    layers with a window, and those without experts, have rotary embedding; the routed and the
    shared experts are averaged."""
    m.L = 5
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True)
    local = [False, True, True, True, False]
    m.keys(attention__sliding_window=5, attention__sliding_window_pattern=[int(b) for b in local],
           attention__layer_norm_rms_epsilon=None, logit_scale=0.3)

    def layer(l, x):
        n = layer_norm(l, "attn_norm", x, bias=False)
        seen = 5 if l.index < m.L and local[l.index] else None
        turn = seen or l.index < m.dense or l.index == m.L
        y = attention(l, n, [rope(m, adjacent=True)] if turn else [], seen=mask(m, seen))
        z = mixture(l, n, chosen_sigmoid)
        return x + y + (z if l.index < m.dense else z / 2)

    m.whole, x = layer, embedded(m, ids)
    for i in range(m.L):
        x = layer(m.layer(i), x)
    return head(m, x, lambda m, name, x: layer_norm(m, name, x, bias=False),
                tied=True) * m.dtype(0.3)


def dots1(m, ids):
    """transformers, Dots1ForCausalLM."""
    use_experts(m, shared=2, expert_gating_func=SIGMOID, expert_weights_norm=True,
                expert_weights_scale=2.5)
    return decoder(m, ids, lambda l, x: attention(l, x, [norm_heads(l), rope(m)]),
                   lambda l, x: mixture(l, x, biased(2.5)))


def exaone_moe(m, ids):
    """transformers, ExaoneMoeForCausalLM: three of four layers see a window, and only they have
    rotary embedding."""
    m.L = 5
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=2.5)
    m.keys(attention__sliding_window=5)

    def mix(l, x):
        local = (l.index + 1) % 4 != 0
        return attention(l, x, [norm_heads(l)] + [rope(m)] * local,
                         seen=mask(m, 5 if local else None))

    return decoder(m, ids, mix, lambda l, x: mixture(l, x, biased(2.5)))


def glm4moe(m, ids):
    """transformers, Glm4MoeForCausalLM: biases, norms of queries and keys, half of a head is
    turned."""
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=1.5)
    m.n_rot = m.E // 2
    return decoder(m, ids,
                   lambda l, x: attention(l, x, [norm_heads(l), rope(m)], bias=True),
                   lambda l, x: mixture(l, x, biased(1.5)),
                   names=("attn_norm", "post_attention_norm"))


def granitemoe(m, ids, shared=0):
    """transformers, GraniteMoeForCausalLM: four scales, softmax over the chosen experts; with a
    shared expert GraniteMoeSharedForCausalLM."""
    use_experts(m, dense=0, shared=shared)
    scale, residual, score, divisor = 3.0, 0.4, 0.17, 5.0
    m.keys(embedding_scale=scale, residual_scale=residual, attention__scale=score,
           logit_scale=divisor)
    x = embedded(m, ids) * m.dtype(scale)
    for l in map(m.layer, range(m.L)):
        y = attention(l, rms_norm(l, "attn_norm", x), [rope(m, adjacent=True)], scale=score)
        x = x + m.dtype(residual) * y
        y = mixture(l, rms_norm(l, "ffn_norm", x), lambda l, z: softmax_weights(l, z, True))
        x = x + m.dtype(residual) * y
    return head(m, x) / m.dtype(divisor)


def hy_v3(m, ids):
    """transformers, HYV3ForCausalLM."""
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=1.4)
    return decoder(m, ids, lambda l, x: attention(l, x, [norm_heads(l), rope(m)]),
                   lambda l, x: mixture(l, x, biased(1.4)))


def step35(m, ids):
    """The published modeling_step3p5.py: a gate per head, more heads and another rotary embedding
    in layers with a window; half of what is turned there is turned in the others."""
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=1.7)
    m.n_rot = m.E
    m.keys(attention__head_count=[4, 6, 6], attention__sliding_window=6,
           attention__sliding_window_pattern=[0, 1, 1], rope__freq_base_swa=90.0)

    def mix(l, x):
        local, H = l.index > 0, 6 if l.index else 4
        turn = rope(m, base=90.0) if local else rope(m, n_rot=m.E // 2)
        gate = sigmoid(linear(l, "attn_gate", x, H))
        return attention(l, x, [norm_heads(l), turn], seen=mask(m, 6 if local else None),
                         gate=lambda l, x, y: y * gate[:, :, None], H=H)

    return decoder(m, ids, mix, lambda l, x: mixture(l, x, biased(1.7)))


def mimo2(m, ids):
    """The published modeling_mimo_v2_flash.py: values are narrower than keys, and what attention
    gives is scaled; layers with a window have more kv heads, sinks, and another rotary
    embedding."""
    value, scale = 10, 0.6
    use_experts(m, shared=0, expert_gating_func=SIGMOID, expert_weights_norm=True)
    m.n_rot = 8
    m.keys(attention__head_count_kv=[2, 4, 4], attention__value_length=value,
           attention__sliding_window=6, attention__sliding_window_pattern=[0, 1, 1],
           rope__freq_base_swa=90.0, attention__value_scale=scale)

    def mix(l, x):
        T, local, G = len(x), l.index > 0, 4 if l.index else 2
        q = linear(l, "attn_q", x, l.H * l.E).reshape(T, l.H, l.E)
        k = linear(l, "attn_k", x, G * l.E).reshape(T, G, l.E)
        v = linear(l, "attn_v", x, G * value).reshape(T, G, value)
        q, k = (rope(m, base=90.0 if local else m.base)(a, "") for a in (q, k))
        k, v = (np.repeat(a, l.H // G, axis=1) for a in (k, v))
        scores = np.einsum("qhe,khe->hqk", q, k) / x.dtype.type(np.sqrt(l.E))
        scores = np.where(mask(m, 6 if local else None), scores, -np.inf)
        if local:
            sinks = l.weight("attn_sinks.weight", l.H)[:, None, None]
            scores = np.concatenate([scores, np.broadcast_to(sinks, (l.H, T, 1))], axis=2)
        y = np.einsum("hqk,khv->qhv", softmax(scores)[:, :, :T], v) * x.dtype.type(scale)
        return linear(l, "attn_output", y.reshape(T, -1), l.D)

    return decoder(m, ids, mix, lambda l, x: mixture(l, x, biased(1)))


def laguna(m, ids):
    """transformers, LagunaForCausalLM: a softplus gate per head, more heads and another rotary
    embedding in layers with a window."""
    m.L, m.n_rot = 5, 8
    heads = [4 if i % 4 == 0 else 6 for i in range(m.L)]
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=1.7)
    m.keys(attention__head_count=heads, attention__sliding_window=6,
           attention__sliding_window_pattern=4, rope__dimension_count_swa=16,
           rope__freq_base_swa=90.0)

    def mix(l, x):
        local = l.index % 4 != 0
        turn = rope(m, base=90.0, n_rot=16) if local else rope(m)
        gate = softplus(linear(l, "attn_gate", x, heads[l.index]))
        return attention(l, x, [norm_heads(l), turn], seen=mask(m, 6 if local else None),
                         gate=lambda l, x, y: y * gate[:, :, None], H=heads[l.index])

    return decoder(m, ids, mix, lambda l, x: mixture(l, x, biased(1.7)))


def minimax_m2(m, ids):
    """transformers, MiniMaxM2ForCausalLM: norms over all heads, half of a head is turned."""
    use_experts(m, dense=0, shared=0, expert_gating_func=SIGMOID)
    m.n_rot = m.E // 2
    return decoder(m, ids, lambda l, x: attention(l, x, [norm_width(l), rope(m)]),
                   lambda l, x: mixture(l, x, biased(1)))


def olmoe(m, ids):
    """Muennighoff et al. 2024, arXiv:2409.02060: weights are not normalized."""
    use_experts(m, dense=0, shared=0)
    return decoder(m, ids, lambda l, x: attention(l, x, [norm_width(l), rope(m)]),
                   lambda l, x: mixture(l, x, lambda l, z: softmax_weights(l, z, False)))


def qwen2moe(m, ids):
    """transformers, Qwen2MoeForCausalLM: a shared expert behind a gate of its own."""
    use_experts(m, dense=0, shared=0)
    m.keys(expert_shared_feed_forward_length=56)

    def ffn(l, x):
        gate = sigmoid(x @ l.weight("ffn_gate_inp_shexp.weight", l.D))[:, None]
        return (experts(l, x, softmax_weights(l, router(l, x), False))
                + gate * gated_ffn(l, x, silu, 56, "_shexp"))

    return decoder(m, ids, lambda l, x: attention(l, x, [rope(m)], bias=True), ffn)


def smallthinker(m, ids):
    """PowerInfer's modeling_smallthinker.py: the router sees the input of the layer; gates are
    ReLUs; three of four layers see a window of 4096, and only they have rotary embedding."""
    m.L = 5
    use_experts(m, dense=0, shared=0, expert_gating_func=SIGMOID)
    m.keys(attention__sliding_window=4096)
    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        local = l.index % 4 != 0
        w = chosen_sigmoid(l, router(l, x))
        x = x + attention(l, rms_norm(l, "attn_norm", x), [rope(m)] * local)
        x = x + experts(l, rms_norm(l, "ffn_norm", x), w, relu)
    return head(m, x)


FORMS = {"bailingmoe2": bailingmoe2, "dots1": dots1, "exaone-moe": exaone_moe, "glm4moe": glm4moe,
         "granitemoe": granitemoe, "granitemoe shared": lambda m, ids: granitemoe(m, ids, 1),
         "laguna": laguna, "minimax-m2": minimax_m2, "olmoe": olmoe,
         "qwen2moe": qwen2moe, "hy_v3": hy_v3, "step35": step35, "mimo2": mimo2, "cohere2_moe": cohere2_moe, "smallthinker": smallthinker}
