"""Forms of decoders whose layers keep a state."""

import numpy as np

from blocks import (attention, decoder, embedded, gated_ffn, head, linear, mask, norm_heads,
                    relu2, rms, rms_norm, rope, sigmoid, silu, softmax, softplus)
from latent import latent_attention, use_latents
from mixture import (experts, mixture, router, sigmoid_weights, softmax_weights, use_experts)

SIGMOID = 2


def causal_conv(x, w):
    """A convolution of every channel [T, C] with its taps [C, K], the last for the token itself."""
    T, taps = len(x), w.shape[1]
    padded = np.concatenate([np.zeros((taps - 1, x.shape[1]), x.dtype), x])
    return sum(padded[k:k + T] * w[:, k] for k in range(taps))


def centred_conv(x, w):
    """The same with the tap in the middle for the token itself."""
    T, reach = len(x), w.shape[1] // 2
    ends = np.zeros((reach, x.shape[1]), x.dtype)
    padded = np.concatenate([ends, x, ends])
    return sum(padded[k:k + T] * w[:, k] for k in range(w.shape[1]))


def lfm2_layers(m, ids, ffn, causal=True):
    """transformers, Lfm2ForCausalLM and Lfm2MoeForCausalLM: gates before and behind a short
    convolution. Lfm2BidirectionalModel: attention to all tokens, and convolutions that see as many
    tokens behind as before."""
    m.L, kv = 4, [0, 2, 0, 2]
    m.keys(attention__head_count_kv=kv, shortconv__l_cache=3)
    mix = causal_conv if causal else centred_conv

    def convolution(l, x):
        before, behind, y = np.split(linear(l, "shortconv.in_proj", x, 3 * m.D), 3, axis=1)
        y = behind * mix(before * y, l.weight("shortconv.conv.weight", m.D, 3))
        return linear(l, "shortconv.out_proj", y, m.D)

    x = embedded(m, ids)
    for l in map(m.layer, range(m.L)):
        n = rms_norm(l, "attn_norm", x)
        x = x + (attention(l, n, [norm_heads(l), rope(m)], seen=mask(m, causal=causal))
                 if kv[l.index] else convolution(l, n))
        x = x + ffn(l, rms_norm(l, "ffn_norm", x))
    x = rms_norm(m, "token_embd_norm", x)
    if causal:
        return x @ m.weight("token_embd.weight", m.V, m.D).T
    m.command = ["embed", "--pooling", "none"]
    m.keys(attention__causal=False)
    return x


def lfm2moe(m, ids, causal=True):
    use_experts(m, shared=0, expert_gating_func=SIGMOID)
    return lfm2_layers(m, ids, lambda l, x: mixture(l, x, sigmoid_weights), causal)


def mamba2(l, x, heads=6, width=8, groups=2, states=8, taps=4):
    """Dao and Gu 2024, arXiv:2405.21060, and transformers' Zamba2MambaMixer."""
    T, inner, shared = len(x), heads * width, groups * states
    z, u, dt = np.split(linear(l, "ssm_in", x, 2 * inner + 2 * shared + heads),
                        [inner, 2 * inner + 2 * shared], axis=1)
    u = silu(causal_conv(u, l.weight("ssm_conv1d.weight", inner + 2 * shared, taps))
             + l.weight("ssm_conv1d.bias", inner + 2 * shared))
    u, b, c = np.split(u, [inner, inner + shared], axis=1)
    u = u.reshape(T, heads, width)
    b, c = (np.repeat(a.reshape(T, groups, states), heads // groups, axis=1) for a in (b, c))
    dt = softplus(dt + l.weight("ssm_dt.bias", heads))
    rate = l.put("ssm_a", -np.linspace(0.3, 2, heads)[:, None])[:, 0]
    skip, state, y = l.weight("ssm_d", heads, 1), np.zeros((heads, width, states), x.dtype), []
    for t in range(T):
        state = (state * np.exp(dt[t] * rate)[:, None, None]
                 + (dt[t][:, None] * u[t])[:, :, None] * b[t][:, None])
        y.append(np.einsum("hws,hs->hw", state, c[t]) + skip * u[t])
    y = np.reshape(y, (T, inner)) * silu(z)
    y = rms(y.reshape(T, groups, -1), l.eps) * l.weight("ssm_norm.weight", groups, inner // groups)
    return linear(l, "ssm_out", y.reshape(T, inner), l.D)


def latent_mixture(l, x, latent=20, shared=36):
    """transformers, NemotronHMoE: squared ReLUs without gates, experts in a narrower space."""
    w = sigmoid_weights(l, router(l, x), 2.5)
    narrow = linear(l, "ffn_latent_down", x, latent)
    up = np.einsum("td,xfd->txf", narrow, l.weight("ffn_up_exps.weight", l.X, l.FX, latent))
    y = np.einsum("txf,xdf,tx->td", relu2(up), l.weight("ffn_down_exps.weight", l.X, latent, l.FX),
                  w)
    both = linear(l, "ffn_down_shexp", relu2(linear(l, "ffn_up_shexp", x, shared)), l.D)
    return linear(l, "ffn_latent_up", y, l.D) + both


def nemotron_h_moe(m, ids):
    """transformers, NemotronHForCausalLM: one block per layer, attention without rotary
    embedding."""
    m.L, blocks = 5, "MEAEM"
    use_experts(m, dense=0, shared=1, expert_gating_func=SIGMOID, expert_weights_norm=True,
                expert_weights_scale=2.5)
    m.keys(attention__head_count_kv=[m.G if b == "A" else 0 for b in blocks],
           feed_forward_length=[m.F if b == "E" else 0 for b in blocks],
           expert_shared_feed_forward_length=36, moe_latent_size=20, ssm__conv_kernel=4,
           ssm__inner_size=48, ssm__state_size=8, ssm__time_step_rank=6, ssm__group_count=2)
    mixers = {"M": mamba2, "E": latent_mixture, "A": attention}
    x = embedded(m, ids)
    for l, block in zip(map(m.layer, range(m.L)), blocks):
        x = x + mixers[block](l, rms_norm(l, "attn_norm", x))
    return head(m, x)


def delta_net(l, x, key_heads=2, value_heads=4, width=8, taps=4):
    """Yang et al. 2024, arXiv:2412.06464 (gated delta networks), and transformers'
    Qwen3_5GatedDeltaNet. In the file, value heads are sorted so that key heads take turns."""
    T, keys, values = len(x), key_heads * width, value_heads * width
    mixed = linear(l, "attn_qkv", x, 2 * keys + values)
    mixed = silu(causal_conv(mixed, l.weight("ssm_conv1d.weight", 2 * keys + values, taps)))
    q, k, v = np.split(mixed, [keys, 2 * keys], axis=1)
    q, k = (a.reshape(T, key_heads, width) for a in (q, k))
    q, k = (a / np.sqrt((a * a).sum(axis=-1, keepdims=True) + a.dtype.type(1e-6)) for a in (q, k))
    q, k = (np.tile(a, (1, value_heads // key_heads, 1)) for a in (q, k))
    q, v = q / x.dtype.type(np.sqrt(width)), v.reshape(T, value_heads, width)
    beta = sigmoid(linear(l, "ssm_beta", x, value_heads))
    rate = l.put("ssm_a", -np.linspace(0.3, 2, value_heads))
    decay = np.exp(rate * softplus(linear(l, "ssm_alpha", x, value_heads)
                                   + l.weight("ssm_dt.bias", value_heads)))
    state, y = np.zeros((value_heads, width, width), x.dtype), []
    for t in range(T):
        state = state * decay[t][:, None, None]
        change = beta[t][:, None] * (v[t] - np.einsum("hkv,hk->hv", state, k[t]))
        state = state + k[t][:, :, None] * change[:, None]
        y.append(np.einsum("hkv,hk->hv", state, q[t]))
    gate = silu(linear(l, "attn_gate", x, values).reshape(T, value_heads, width))
    y = rms(np.array(y), l.eps) * l.weight("ssm_norm.weight", width) * gate
    return linear(l, "ssm_out", y.reshape(T, values), l.D)


def gated_attention(l, x):
    """transformers, Qwen3_5Attention: a gate per element comes with the queries of its head."""
    T = len(x)
    both = linear(l, "attn_q", x, 2 * l.H * l.E).reshape(T, l.H, 2, l.E)
    q, gate = both[:, :, 0], both[:, :, 1]
    k, v = (linear(l, f"attn_{c}", x, l.G * l.E).reshape(T, l.G, l.E) for c in "kv")
    for step in (norm_heads(l), rope(l.model)):
        q, k = step(q, "q"), step(k, "k")
    group = l.H // l.G
    k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
    scores = np.einsum("qhe,khe->hqk", q, k) / x.dtype.type(np.sqrt(l.E))
    scores = np.where(np.tri(T, dtype=bool), scores, -np.inf)
    y = np.einsum("hqk,khe->qhe", softmax(scores), v) * sigmoid(gate)
    return linear(l, "attn_output", y.reshape(T, -1), l.D)


def use_qwen35(m):
    """Sets the sizes."""
    m.L, m.n_rot = 4, 8
    m.keys(ssm__conv_kernel=4, ssm__state_size=8, ssm__group_count=2, ssm__time_step_rank=4,
           ssm__inner_size=32, rope__dimension_sections=[2, 1, 1, 0], full_attention_interval=4)


def qwen35moe(m, ids):
    """transformers, Qwen3_5MoeForConditionalGeneration, text alone: three of four layers are delta
    nets, the others have gates; a shared expert behind a gate of its own."""
    use_qwen35(m)
    use_experts(m, dense=0, shared=0, expert_shared_feed_forward_length=36)

    def ffn(l, x):
        gate = sigmoid(x @ l.weight("ffn_gate_inp_shexp.weight", l.D))[:, None]
        return (experts(l, x, softmax_weights(l, router(l, x), True))
                + gate * gated_ffn(l, x, silu, 36, "_shexp"))

    return qwen35_layers(m, ids, ffn)


def qwen35_layers(m, ids, ffn):
    """Delta nets in the first three layers."""
    def mixer(l, x):
        return delta_net(l, x) if l.index < 3 else gated_attention(l, x)

    return decoder(m, ids, mixer, ffn, names=("attn_norm", "post_attention_norm"))


def qwen35(m, ids):
    """transformers, Qwen3_5ForConditionalGeneration, text alone: the same with plain ffns."""
    use_qwen35(m)
    return qwen35_layers(m, ids, gated_ffn)


def channel_delta_net(l, x, width=8, taps=4, bound=-5.0):
    """Kimi Team 2025, arXiv:2510.26692 (KDA), with Ling 3's bounded decay: the published
    modeling_bailing_moe_v3.py with kda_safe_gate, and the gate of flash-linear-attention's KDA."""
    T, inner = len(x), l.H * width

    def convolved(c):
        w = l.weight(f"ssm_conv1d_{c}.weight", inner, 1, taps)[:, 0]
        return silu(causal_conv(linear(l, f"attn_{c}", x, inner), w)).reshape(T, l.H, width)

    q, k, v = map(convolved, "qkv")
    q, k = (a / np.sqrt((a * a).sum(axis=-1, keepdims=True) + a.dtype.type(1e-6)) for a in (q, k))
    q = q / x.dtype.type(np.sqrt(width))
    z = linear(l, "ssm_f_a", x, inner) + l.weight("ssm_dt.bias", inner)
    rate = l.put("ssm_a", np.linspace(0.3, 2, l.H)[:, None])
    decay = np.exp(x.dtype.type(bound) * sigmoid(rate * z.reshape(T, l.H, width)))
    beta = sigmoid(linear(l, "ssm_beta", x, l.H))
    state, y = np.zeros((l.H, width, width), x.dtype), []
    for t in range(T):
        state = state * decay[t][:, :, None]
        change = beta[t][:, None] * (v[t] - np.einsum("hkv,hk->hv", state, k[t]))
        state = state + k[t][:, :, None] * change[:, None]
        y.append(np.einsum("hkv,hk->hv", state, q[t]))
    y = rms(np.array(y), l.eps) * l.weight("ssm_norm.weight", width)
    y = y.reshape(T, inner) * sigmoid(linear(l, "ssm_g_a", x, inner))
    return linear(l, "attn_output", y, l.D)


def bailingmoe3(m, ids):
    """The published modeling_bailing_moe_v3.py: three of four layers are delta nets with a decay
    per channel, the others latent attention with a gate per head; experts in groups. Limits of
    experts: SwigluStepAndMul of the publisher's model for vLLM."""
    m.L, limit, shared_limit = 4, 0.4, 0.3
    use_latents(m)
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=2.5,
                expert_group_count=4, expert_group_used_count=2)
    m.keys(attention__head_count_kv=[0, 0, 0, 1], kda__head_dim=8, ssm__conv_kernel=4,
           kda__gate_lower_bound=-5.0, kda__safe_gate=True,
           swiglu_clamp_exp=[0.0] + [limit] * 3, swiglu_clamp_shexp=[0.0] + [shared_limit] * 3)

    def mix(l, x):
        if l.index < 3:
            return channel_delta_net(l, x)
        gate = sigmoid(linear(l, "attn_gate", x, l.H))
        return latent_attention(l, x, mask(l), gate=gate[:, :, None])

    def ffn(l, x):
        if l.index == 0:
            return gated_ffn(l, x)
        w = sigmoid_weights(l, router(l, x), 2.5, groups=4, used_groups=2)
        y = experts(l, x, w, lambda z: np.minimum(silu(z), m.dtype(limit)), limit=m.dtype(limit))
        gate = np.minimum(silu(linear(l, "ffn_gate_shexp", x, l.FX)), m.dtype(shared_limit))
        up = np.clip(linear(l, "ffn_up_shexp", x, l.FX), -m.dtype(shared_limit),
                     m.dtype(shared_limit))
        return y + linear(l, "ffn_down_shexp", gate * up, l.D)

    return decoder(m, ids, mix, ffn)


FORMS = {"bailingmoe3": bailingmoe3,
         "lfm2 encoder": lambda m, ids: lfm2_layers(m, ids, gated_ffn, causal=False),
         "lfm2moe": lfm2moe, "lfm2moe encoder": lambda m, ids: lfm2moe(m, ids, causal=False),
         "nemotron_h_moe": nemotron_h_moe, "qwen35": qwen35, "qwen35moe": qwen35moe}
