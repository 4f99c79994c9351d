"""A small Llama-type model: RMSNorm, SwiGLU, grouped-query attention, rotary positions.

The layout follows what GGUF calls the "llama" architecture, so that the export
is a plain renaming: rotary pairs are neighbours (2i, 2i+1), the input embedding
doubles as the output matrix, and no layer has a bias.
"""

from dataclasses import asdict, dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    """The sizes of the model; every row length is a multiple of 32 (a Q8_0 block)."""

    vocab: int = 2048
    dim: int = 256
    layers: int = 4
    heads: int = 4
    kv_heads: int = 2
    hidden: int = 512
    context: int = 512
    rope_base: float = 10000.0
    eps: float = 1e-5

    @property
    def head_dim(self) -> int:
        return self.dim // self.heads

    def as_dict(self) -> dict:
        return asdict(self)


class RMSNorm(nn.Module):
    """Scales a vector to unit mean square, then by a learnt weight."""

    def __init__(self, dim: int, eps: float):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(dim))
        self.eps = eps

    def forward(self, x):
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps) * self.weight


def rope_tables(cfg: Config, length: int):
    """Cosines and sines of shape [length, head_dim / 2]."""
    half = torch.arange(0, cfg.head_dim, 2, dtype=torch.float64)
    angles = torch.outer(torch.arange(length, dtype=torch.float64),
                         cfg.rope_base**(-half / cfg.head_dim))
    return angles.cos().float(), angles.sin().float()


def rotate(x, cos, sin):
    """Rotates the neighbouring pairs of x, which is [batch, heads, length, head_dim]."""
    even, odd = x[..., 0::2], x[..., 1::2]
    return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).flatten(-2)


class Block(nn.Module):
    """One layer: attention, then the gated feed-forward part."""

    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        kv = cfg.kv_heads * cfg.head_dim
        self.attn_norm = RMSNorm(cfg.dim, cfg.eps)
        self.attn_q = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.attn_k = nn.Linear(cfg.dim, kv, bias=False)
        self.attn_v = nn.Linear(cfg.dim, kv, bias=False)
        self.attn_output = nn.Linear(cfg.dim, cfg.dim, bias=False)
        self.ffn_norm = RMSNorm(cfg.dim, cfg.eps)
        self.ffn_gate = nn.Linear(cfg.dim, cfg.hidden, bias=False)
        self.ffn_up = nn.Linear(cfg.dim, cfg.hidden, bias=False)
        self.ffn_down = nn.Linear(cfg.hidden, cfg.dim, bias=False)

    @torch.no_grad()
    def begin_as_copy(self, share: float):
        """Makes each head, at first, hand on a share of what it attends to.

        Names must be copied from earlier in the story. A head which already copies
        only has to learn where to look, and that saves much of a short training.
        """
        size, group = self.cfg.head_dim, self.cfg.heads // self.cfg.kv_heads
        for head in range(self.cfg.heads):
            value = self.attn_v.weight[head // group * size:(head // group + 1) * size]
            self.attn_output.weight[:, head * size:(head + 1) * size] = share * value.T

    def attention(self, x, cos, sin, mask):
        cfg = self.cfg
        batch, length, _ = x.shape
        group = cfg.heads // cfg.kv_heads

        def split(y, heads):
            return y.view(batch, length, heads, cfg.head_dim).transpose(1, 2)

        q = rotate(split(self.attn_q(x), cfg.heads), cos, sin) * cfg.head_dim**-0.5
        k = rotate(split(self.attn_k(x), cfg.kv_heads), cos, sin)
        v = split(self.attn_v(x), cfg.kv_heads)
        # Heads of one group share a key: fold the group into the rows instead of
        # repeating the keys, which saves both memory and time.
        q = q.reshape(batch, cfg.kv_heads, group * length, cfg.head_dim)
        scores = (q @ k.transpose(-1, -2)).view(batch, cfg.kv_heads, group, length, length)
        with torch.autocast("cpu",
                            enabled=False):  # stay in the narrow type: half the memory traffic
            weights = torch.softmax(scores.add_(mask.to(scores.dtype)), -1)
        weights = weights.view(batch, cfg.kv_heads, group * length, length)
        y = (weights @ v).view(batch, cfg.heads, length, cfg.head_dim)
        return self.attn_output(y.transpose(1, 2).reshape(batch, length, cfg.dim))

    def forward(self, x, cos, sin, mask):
        x = x + self.attention(self.attn_norm(x), cos, sin, mask)
        y = self.ffn_norm(x)
        return x + self.ffn_down(F.silu(self.ffn_gate(y)) * self.ffn_up(y))


class Model(nn.Module):
    """The whole model; forward gives the logits of the chosen positions, [chosen, vocab]."""

    def __init__(self, cfg: Config):
        super().__init__()
        self.cfg = cfg
        self.token_embd = nn.Embedding(cfg.vocab, cfg.dim)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.layers))
        self.output_norm = RMSNorm(cfg.dim, cfg.eps)
        cos, sin = rope_tables(cfg, cfg.context)
        self.register_buffer("cos", cos, persistent=False)
        self.register_buffer("sin", sin, persistent=False)
        self.apply(self._init)
        # A part that all embeddings share changes no probability, and gives the layers a constant
        # to read.
        shared = torch.nn.functional.normalize(torch.randn(cfg.dim), dim=0)
        self.token_embd.weight.data.add_(6 * shared)
        # Embeddings are large, so that a token stays visible beside what the layers
        # add to it; the small weight of the last norm keeps the first logits small.
        self.output_norm.weight.data.fill_(0.05)
        for i, block in enumerate(self.blocks):
            block.ffn_down.weight.data.mul_((2 * cfg.layers)**-0.5)
            if i > 0:
                block.begin_as_copy(0.5)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear):
            nn.init.normal_(module.weight, std=module.in_features**-0.5)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.5)

    def forward(self, ids, chosen):
        length = ids.shape[1]
        cos, sin = self.cos[:length], self.sin[:length]
        mask = torch.full((length, length), float("-inf")).triu(1)
        x = self.token_embd(ids)
        for block in self.blocks:
            x = block(x, cos, sin, mask)
        return F.linear(self.output_norm(x[chosen]), self.token_embd.weight)

    def parameter_count(self) -> int:
        return sum(p.numel() for p in self.parameters())
