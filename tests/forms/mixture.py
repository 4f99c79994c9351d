"""Mixtures of experts: the weights of routers, and the sum of the experts."""

import numpy as np

from blocks import gated_ffn, linear, sigmoid, silu, softmax


def best(scores, count):
    """Which of the scores are among the `count` largest of their row."""
    order = np.argsort(-scores, axis=-1, kind="stable")[:, :count]
    chosen = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(chosen, order, True, axis=-1)
    return chosen


def router(l, x, bias=False):
    return linear(l, "ffn_gate_inp", x, l.X, bias)


def softmax_weights(l, logits, normalize):
    """Shazeer et al. 2017; Mixtral divides by the sum of the chosen, OLMoE does not."""
    p = softmax(logits)
    w = np.where(best(p, l.K), p, 0)
    return w / w.sum(axis=-1, keepdims=True) if normalize else w


def sigmoid_weights(l, logits, scale=1, normalize=True, groups=1, used_groups=1):
    """DeepSeek-V3 report, section 2.1.2: a bias takes part in the choice only. With groups, those
    count whose two best scores have the largest sums."""
    p = sigmoid(logits)
    choice = p + l.weight("exp_probs_b.bias", l.X)
    if groups > 1:
        parts = choice.reshape(len(p), groups, -1)
        sums = np.sort(parts, axis=-1)[:, :, -2:].sum(axis=-1)
        kept = np.repeat(best(sums, used_groups), l.X // groups, axis=-1)
        choice = np.where(kept, choice, -np.inf)
    w = np.where(best(choice, l.K), p, 0)
    if normalize:
        w = w / w.sum(axis=-1, keepdims=True)
    return w * p.dtype.type(scale)


def experts(l, x, w, act=silu, gated=True, limit=None):
    """The weighted sum of the experts, whose weights are zero for those that are not chosen.
    `limit` bounds the factor of a gate."""
    shape = (l.X, l.FX, l.D)
    up = np.einsum("td,xfd->txf", x, l.weight("ffn_up_exps.weight", *shape))
    if limit:
        up = np.clip(up, -limit, limit)
    if gated:
        gate = np.einsum("td,xfd->txf", x, l.weight("ffn_gate_exps.weight", *shape))
        hidden = act(gate) * up
    else:
        hidden = act(up)
    down = l.weight("ffn_down_exps.weight", l.X, l.D, l.FX)
    return np.einsum("txf,xdf,tx->td", hidden, down, w)


def use_experts(m, dense=1, shared=1, **keys):
    """Sets the sizes of a mixture, with `dense` layers in front."""
    m.X, m.K, m.FX, m.dense, m.shared = 8, 3, 40, dense, shared
    m.keys(expert_count=m.X, expert_used_count=m.K, expert_feed_forward_length=m.FX, **keys)
    if dense:
        m.keys(leading_dense_block_count=dense)
    if shared:
        m.keys(expert_shared_count=shared)


def mixture(l, x, weights, act=silu):
    """Routed experts and shared ones; a plain gated ffn in the first layers."""
    if l.index < l.dense:
        return gated_ffn(l, x, act)
    y = experts(l, x, weights(l, router(l, x)), act)
    return y + gated_ffn(l, x, act, l.shared * l.FX, "_shexp") if l.shared else y
