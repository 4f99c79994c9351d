"""Gives a model, by hand, the circuit that continues a text with tokens that it has seen before.

In layer 0 one pair of heads looks at the token before and notes it; in layer 1 one
pair looks for places whose note is the current token, and hands on what stands
there. Names of several tokens, endings and kinds are copied that way. A short
training does not find this circuit by itself: after 5 million tokens it had not.
"""

import torch

PREVIOUS_PAIRS = 4  # rotary pairs (the fastest) that tell how far back a token is
CONTENT_FROM = 17  # rotary pairs from here on turn so slowly that they can compare contents


def _fit(x, y, ridge: float = 1e-2):
    """The matrix w that makes x @ w.T closest to y."""
    gram = x.T @ x
    return torch.linalg.solve(
        gram + ridge * gram.diagonal().mean() * torch.eye(len(gram), dtype=x.dtype), x.T @ y).T


@torch.no_grad()
def _inputs(model, ids, layer: int):
    """What the attention of a layer reads, for each token of some rows."""
    cos, sin = model.cos[:ids.shape[1]], model.sin[:ids.shape[1]]
    mask = torch.full((ids.shape[1], ids.shape[1]), float("-inf")).triu(1)
    x = model.token_embd(ids)
    for block in model.blocks[:layer]:
        x = block(x, cos, sin, mask)
    return model.blocks[layer].attn_norm(x).double()


def _main_directions(x, count: int):
    """Mean, the main directions [count, dim], and the spread along them."""
    mean = x.mean(0)
    _, values, directions = torch.linalg.svd(x - mean, full_matrices=False)
    return mean, directions[:count], values[:count] / len(x)**0.5


@torch.no_grad()
def install(model,
            ids,
            group: int = 1,
            strength: float = 6.0,
            previous: float = 16.0,
            match: float = 1.0,
            loud: float = 0.5):
    """Replaces a group of heads in the layers 0 and 1; `ids` are rows of tokens to fit the circuit
    to."""
    cfg, first, second = model.cfg, model.blocks[0], model.blocks[1]
    size, heads = cfg.head_dim, cfg.heads // cfg.kv_heads
    kv = slice(group * size, (group + 1) * size)
    tokens = model.token_embd.weight.double()
    every = first.attn_norm(model.token_embd.weight).double()

    # Layer 0: a constant, read from any token, turned so that it fits best one place back.
    seen = torch.cat([every, _inputs(model, ids, 0).flatten(0, 1)])
    constant = _fit(seen, torch.ones(len(seen), 1, dtype=seen.dtype))[0]
    angles = torch.atan2(model.sin[1], model.cos[1])[:PREVIOUS_PAIRS].double()
    high = (previous * size**0.5)**0.5
    query, key = torch.zeros(size, dtype=seen.dtype), torch.zeros(size, dtype=seen.dtype)
    for i, angle in enumerate(angles):
        query[2 * i] = high
        key[2 * i], key[2 * i + 1] = high * angle.cos(), high * angle.sin()
    mean, main, spread = _main_directions(every, size)
    first.attn_k.weight[kv] = torch.outer(key, constant).float()
    first.attn_v.weight[kv] = (main / spread[:, None]).float() * loud
    note = torch.linalg.qr(torch.randn(cfg.dim, size,
                                       generator=torch.Generator().manual_seed(1)))[0]
    for head in range(group * heads, (group + 1) * heads):
        first.attn_q.weight[head * size:(head + 1) * size] = torch.outer(query, constant).float()
        first.attn_output.weight[:, head * size:(head + 1) * size] = note

    # Layer 1: the query is the current token, the key the note; both are fitted to the same
    # signature.
    x = _inputs(model, ids, 1)
    width = size - 2 * CONTENT_FROM
    signature = ((every - mean) @ main[:width].T / spread[:width])[ids]
    place = slice(2 * CONTENT_FROM, size)
    scale = (match * size**0.5)**0.5
    second.attn_k.weight[kv] = 0
    second.attn_k.weight[kv][place] = (
        scale * _fit(x[:, 1:].flatten(0, 1), signature[:, :-1].flatten(0, 1))).float()
    compare = torch.zeros(size, cfg.dim)
    compare[place] = (scale * _fit(x.flatten(0, 1), signature.flatten(0, 1))).float()
    mean, main, _ = _main_directions(tokens, size)
    value = ((tokens - mean) @ main.T)[ids].flatten(0, 1)
    second.attn_v.weight[kv] = _fit(x.flatten(0, 1), value).float()
    for head in range(group * heads, (group + 1) * heads):
        second.attn_q.weight[head * size:(head + 1) * size] = compare
        second.attn_output.weight[:, head * size:(head + 1) *
                                  size] = strength / heads * main.T.float()
