#!/usr/bin/env python3
"""Granite 3 (dense) in Python: the architecture of granite.cpp, with the same graph and the same
bits.

    granite.py                   makes a tiny model and checks the builder: exit code 1 on failure
    granite.py MODEL.gguf 1 2 3  prints the logits of every position; without tokens, the plan's hash"""

import pathlib
import sys

import numpy as np

import weft
from weft import ops

SNAPSHOT = pathlib.Path(__file__).parent / "granite.dot"


def configure(keys):
    if not keys.flag("rope.scaling.finetuned", True):
        raise weft.UnsupportedError("models without rope are not supported")
    for key in ("embedding_scale", "residual_scale", "logit_scale"):
        keys.number(key, 1, min=1e-6, max=1e6)
    keys.number("attention.scale", 0, min=1e-6, max=1e6)  # 0: 1 / sqrt(E)


def attention(blk, c, inp, layer, x, angles):
    q = blk.project("attn_q", c.H * c.E, c.D, x)
    k = blk.project("attn_k", c.G * c.E, c.D, x)
    v = blk.project("attn_v", c.G * c.Ev, c.D, x)
    q, k, v = (ops.split_heads(y, n) for y, n in ((q, c.H), (k, c.G), (v, c.G)))  # [T, H, E], ...
    q = ops.rope(q, angles, pairs="adjacent").named("attn_q_rope")
    k = ops.rope(k, angles, pairs="adjacent").named("attn_k_rope")
    y = inp.cache.attend(layer, q, k, v, scale=c["attention.scale"])
    return blk.project("attn_output", c.D, c.H * c.Ev, ops.merge_heads(y).named("attn_merged"))


def feed_forward(blk, c, x):
    gate, up = (blk.project(name, c.F, c.D, x) for name in ("ffn_gate", "ffn_up"))
    return blk.project("ffn_down", c.D, c.F, (ops.silu(gate) * up).named("ffn_act"))


@weft.register_architecture("granit3", configure=configure)
def granite(w, c, inp):
    embd = w("token_embd.weight", (c.V, c.D))
    angles = ops.rope_angles(inp.pos, c.rope, w.rope_factors())
    h = ops.get_rows(embd, inp.tokens) * c.embedding_scale
    for i in range(c.L):
        with w.block(i) as blk:
            y = attention(blk, c, inp, i, blk.norm("attn_norm", h), angles)
            h = (h + y * c.residual_scale).named("attn_residual")
            y = feed_forward(blk, c, blk.norm("ffn_norm", h))
            h = (h + y * c.residual_scale).named("ffn_residual")
    result = w.head(h, embd)
    return result if inp.embeddings else result * (np.float32(1) / np.float32(c.logit_scale))


def main(arguments):
    if not arguments:
        report = weft.new_model_check("granit3", snapshot=str(SNAPSHOT), keys={
            "granit3.embedding_scale": 12.0, "granit3.residual_scale": 0.22,
            "granit3.attention.scale": 0.3, "granit3.logit_scale": 4.0})
        print(report)
        return not report
    with weft.Model(arguments[0]) as model, model.session(cache_k="F32", cache_v="F32") as session:
        if len(arguments) == 1:
            print(session.plan().hash)
        for token in arguments[1:]:
            print(*(f"{x:.9g}" for x in session.feed([int(token)])))
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1:]))
    except weft.Error as error:
        sys.exit(f"granite.py: {error}")
