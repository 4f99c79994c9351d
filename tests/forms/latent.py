"""Forms of decoders with latent attention (DeepSeek-V2, arXiv:2405.04434)."""

import math

import numpy as np

from blocks import (angles, attend, decoder, layer_norm, linear, mask, relu, rms_norm, turn,
                    yarn_angles)
from mixture import best, mixture, sigmoid_weights, softmax_weights, use_experts

NOPE, ROT, VALUE, KV_RANK, Q_RANK = 12, 8, 10, 24, 20
SIGMOID = 2


def use_latents(m):
    """Sets the sizes of the latent vectors. In the file, the one that all heads share counts as
    their key and value."""
    m.G, m.n_rot = 1, ROT
    m.keys(attention__q_lora_rank=Q_RANK, attention__kv_lora_rank=KV_RANK,
           attention__key_length=KV_RANK + ROT, attention__value_length=KV_RANK,
           attention__key_length_mla=NOPE + ROT, attention__value_length_mla=VALUE)


def latent_attention(l, x, seen, temperature=1, gate=1, yarn=None):
    """transformers, DeepseekV3Attention: a part of a head that is turned, and one that is not.
    The file holds the matrices of keys and values by head, those of keys transposed."""
    T = len(x)
    angle, magnitude = yarn or (angles(l, ROT, l.base), 1)
    q = rms_norm(l, "attn_q_a_norm", linear(l, "attn_q_a", x, Q_RANK))
    heads = linear(l, "attn_q_b", q, l.H * (NOPE + ROT)).reshape(T, l.H, -1)
    q_rot = turn(heads[..., NOPE:], angle, adjacent=True) * x.dtype.type(magnitude)
    both = linear(l, "attn_kv_a_mqa", x, KV_RANK + ROT)
    latent = rms_norm(l, "attn_kv_a_norm", both[:, :KV_RANK])
    k_rot = turn(both[:, None, KV_RANK:], angle, adjacent=True) * x.dtype.type(magnitude)
    k = np.einsum("tc,hcn->thn", latent, l.weight("attn_k_b.weight", l.H, KV_RANK, NOPE))
    v = np.einsum("tc,hvc->thv", latent, l.weight("attn_v_b.weight", l.H, VALUE, KV_RANK))
    keys = np.concatenate([k, np.repeat(k_rot, l.H, axis=1)], axis=2)
    queries = np.concatenate([heads[..., :NOPE], q_rot], axis=2) * temperature
    y = attend(queries, keys, v, 1 / math.sqrt(NOPE + ROT), seen(q) if callable(seen) else seen)
    return linear(l, "attn_output", (y * gate).reshape(T, -1), l.D)


def mistral4(m, ids, yarn=False):
    """transformers, Mistral4ForCausalLM: queries grow with the logarithm of the position beyond the
    original context; with YaRN, what is turned has the magnitude of the paper."""
    beta, original, factor, fast, slow = 0.3, 8 if yarn else 4, 6.0, 2.0, 0.1
    use_latents(m)
    use_experts(m, expert_gating_func=1, expert_weights_norm=True, expert_weights_scale=1.6)
    m.keys(attention__temperature_scale=beta, rope__scaling__original_context_length=original)
    growth = 1 + beta * np.log1p(np.arange(len(ids)) // original)

    def weights(l, logits):
        return softmax_weights(l, logits, True) * m.dtype(1.6)

    if yarn:
        m.keys(rope__scaling__type="yarn", rope__scaling__factor=factor,
               rope__scaling__yarn_beta_fast=fast, rope__scaling__yarn_beta_slow=slow)

    def mix(l, x):
        turned = yarn_angles(m, ROT, m.base, factor, original, fast, slow) if yarn else None
        return latent_attention(l, x, mask(m), growth.astype(m.dtype)[:, None, None], yarn=turned)

    return decoder(m, ids, mix, lambda l, x: mixture(l, x, weights))


def chosen_keys(l, x, q, heads=8, width=16, count=6):
    """transformers, GlmMoeDsaIndexer: of the keys that a token may see, those whose products with
    its queries, weighted by head, are largest. Pairs are neighbours, at the start of a head. With
    few heads, many scores would be 0 and the choice open."""
    T, angle = len(x), angles(l, ROT, l.base)
    q = linear(l, "indexer.attn_q_b", q, heads * width).reshape(T, heads, width)
    l.model.eps, eps = 1e-6, l.eps
    k = layer_norm(l, "indexer.k_norm", linear(l, "indexer.attn_k", x, width))
    l.model.eps = eps
    q, k = turn(q, angle, adjacent=True), turn(k[:, None], angle, adjacent=True)[:, 0]
    scores = relu(np.einsum("qhe,ke->qhk", q, k)) / x.dtype.type(math.sqrt(width))
    weights = linear(l, "indexer.proj", x, heads) / x.dtype.type(math.sqrt(heads))
    scores = np.where(mask(l), np.einsum("qhk,qh->qk", scores, weights), -np.inf)
    return best(scores, count) & mask(l)


def glm_dsa(m, ids, shared=()):
    """transformers, GlmMoeDsaForCausalLM: every token attends to the keys that an indexer chooses.
    Layers of `shared` take the choice of the layer before."""
    use_latents(m)
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=2.5)
    m.keys(attention__indexer__head_count=8, attention__indexer__key_length=16,
           attention__indexer__top_k=6)
    if shared:
        m.keys(attention__indexer__types=[int(i not in shared) for i in range(m.L)])
    latest = []

    def mix(l, x):
        def seen(q):
            if l.index not in shared:
                latest.append(chosen_keys(l, x, q))
            return latest[-1]
        return latent_attention(l, x, seen)

    return decoder(m, ids, mix,
                   lambda l, x: mixture(l, x, lambda l, z: sigmoid_weights(l, z, 2.5)))


def deepseek2(m, ids):
    """transformers, DeepseekV3ForCausalLM, without groups of experts and YaRN."""
    use_latents(m)
    use_experts(m, expert_gating_func=SIGMOID, expert_weights_norm=True, expert_weights_scale=2.5)
    return decoder(m, ids, lambda l, x: latent_attention(l, x, mask(m)),
                   lambda l, x: mixture(l, x, lambda l, z: sigmoid_weights(l, z, 2.5)))


FORMS = {"deepseek2": deepseek2, "glm-dsa": glm_dsa, "glm-dsa shared": lambda m, ids: glm_dsa(m, ids, shared=(1,)),
         "mistral4": mistral4, "mistral4 yarn": lambda m, ids: mistral4(m, ids, yarn=True)}
