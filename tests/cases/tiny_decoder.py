"""A tiny decoder in plain Python: writes its model file and computes its logits.

Sources: the LLaMA paper (RMSNorm, rotary embedding, SwiGLU), Su et al. 2021 (rotary embedding),
Ainslie et al. 2023 (grouped queries), the code of Qwen2 (biases) and Qwen3 (norms of queries and
keys), Jiang et al. 2024 (Mixtral's experts), the Gemma report (scaled embedding, GeGLU), the OLMo 2
report (norms behind attention and feed-forward). Files of `llama` rotate neighbours, others halves.
"""

import math
import random

from gguf_writer import gguf

PRE_NORMS = ("attn_norm", "ffn_norm")
POST_NORMS = ("post_attention_norm", "post_ffw_norm")
WORDS = ["<unk>", "<s>", "</s>"] + [chr(97 + i) for i in range(21)]


def shapes(o):
    """Name and dimensions, the fastest first, of all tensors."""
    width, ff, vocab, head = o["width"], o["ff"], len(WORDS), o["head"]
    yield "token_embd.weight", (width, vocab)
    yield "output_norm.weight", (width,)
    if not o["tied"]:
        yield "output.weight", (width, vocab)
    rows = {"q": o["heads"] * head, "k": o["kv_heads"] * head, "v": o["kv_heads"] * head}
    norms = POST_NORMS if o["arch"] == "olmo2" else PRE_NORMS
    for i in range(o["layers"]):
        blk = f"blk.{i}."
        for name in norms:
            yield blk + name + ".weight", (width,)
        for name, n in rows.items():
            yield blk + f"attn_{name}.weight", (width, n)
            if o["arch"] == "qwen2":
                yield blk + f"attn_{name}.bias", (n,)
            if o["arch"] == "qwen3" and name != "v":
                yield blk + f"attn_{name}_norm.weight", (head,)
            if o["arch"] == "olmo2" and name != "v":
                yield blk + f"attn_{name}_norm.weight", (n,)
        yield blk + "attn_output.weight", (rows["q"], width)
        experts = (o["experts"],) if o["experts"] else ()
        end = "_exps.weight" if experts else ".weight"
        if experts:
            yield blk + "ffn_gate_inp.weight", (width, *experts)
        yield blk + "ffn_gate" + end, (width, ff, *experts)
        yield blk + "ffn_up" + end, (width, ff, *experts)
        yield blk + "ffn_down" + end, (ff, width, *experts)


def metadata(o):
    a = o["arch"]
    own = {"context_length": 64, "embedding_length": o["width"], "block_count": o["layers"],
           "feed_forward_length": o["ff"], "attention.head_count": o["heads"],
           "attention.head_count_kv": o["kv_heads"], "attention.key_length": o["head"],
           "attention.value_length": o["head"], "rope.dimension_count": o["head"],
           "rope.freq_base": o["base"], "attention.layer_norm_rms_epsilon": o["eps"]}
    if o["experts"]:
        own.update({"expert_count": o["experts"], "expert_used_count": o["used"]})
    if o["slower"] != 1:
        own.update({"rope.scaling.type": "linear", "rope.scaling.factor": o["slower"]})
    return {"general.architecture": a, "general.alignment": 32,
            **{f"{a}.{k}": v for k, v in own.items()},
            "tokenizer.ggml.model": "llama", "tokenizer.ggml.tokens": WORDS,
            "tokenizer.ggml.scores": [0.0] * len(WORDS),
            "tokenizer.ggml.token_type": [2, 3, 3] + [1] * (len(WORDS) - 3)}


def options(**changes):
    return {"arch": "llama", "width": 32, "ff": 64, "heads": 4, "kv_heads": 2, "head": 8,
            "layers": 2, "tied": False, "base": 10000.0, "eps": 1e-5,
            "experts": 0, "used": 0, "slower": 1.0, **changes}


def make(o, seed=1):
    """Random weights, multiples of 1/256 that are exact in binary32."""
    rng, weights = random.Random(seed), {}
    for name, dims in shapes(o):
        centre = 256 if "norm" in name else 0
        n = math.prod(dims)
        weights[name] = dims, [(centre + rng.randint(-96, 96)) / 256 for _ in range(n)]
    return weights


def file_of(o, weights):
    return gguf(metadata(o), [(name, dims, v) for name, (dims, v) in weights.items()])


def silu(x):
    return x / (1 + math.exp(-x))


def gelu(x):
    return x / 2 * (1 + math.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x ** 3)))


class Decoder:
    def __init__(self, o, weights):
        self.o, self.w = o, weights

    def matrix(self, name, x, expert=0):
        (n, rows, *_), w = self.w[name + ".weight"]
        first = expert * n * rows
        out = [sum(map(float.__mul__, w[i:i + n], x)) for i in range(first, first + n * rows, n)]
        bias = self.w.get(name + ".bias")
        return [a + b for a, b in zip(out, bias[1])] if bias else out

    def norm(self, name, x):
        scale = 1 / math.sqrt(sum(v * v for v in x) / len(x) + self.o["eps"])
        return [v * scale * g for v, g in zip(x, self.w[name + ".weight"][1])]

    def rotate(self, x, position):
        n, out = len(x), list(x)
        for i in range(n // 2):
            a, b = (2 * i, 2 * i + 1) if self.o["arch"] == "llama" else (i, i + n // 2)
            angle = position / self.o["slower"] * self.o["base"] ** (-2 * i / n)
            out[a] = x[a] * math.cos(angle) - x[b] * math.sin(angle)
            out[b] = x[a] * math.sin(angle) + x[b] * math.cos(angle)
        return out

    def heads(self, blk, kind, x, position):
        """The heads of queries, keys or values of one token."""
        rows, n = self.matrix(f"{blk}attn_{kind}", x), self.o["head"]
        if self.o["arch"] == "olmo2" and kind != "v":
            rows = self.norm(f"{blk}attn_{kind}_norm", rows)
        parts = [rows[i:i + n] for i in range(0, len(rows), n)]
        if kind == "v":
            return parts
        if self.o["arch"] == "qwen3":
            parts = [self.norm(f"{blk}attn_{kind}_norm", p) for p in parts]
        return [self.rotate(p, position) for p in parts]

    def attend(self, q, keys, values):
        scores = [sum(map(float.__mul__, q, k)) / math.sqrt(len(q)) for k in keys]
        top = max(scores)
        weights = [math.exp(s - top) for s in scores]
        return [sum(w * v[i] for w, v in zip(weights, values)) / sum(weights)
                for i in range(len(q))]

    def attention(self, blk, xs):
        """The output of the attention for every token."""
        group, keys, values, out = self.o["heads"] // self.o["kv_heads"], [], [], []
        for position, x in enumerate(xs):
            keys.append(self.heads(blk, "k", x, position))
            values.append(self.heads(blk, "v", x, position))
            mixed = []
            for h, q in enumerate(self.heads(blk, "q", x, position)):
                mixed += self.attend(q, [k[h // group] for k in keys],
                                     [v[h // group] for v in values])
            out.append(self.matrix(blk + "attn_output", mixed))
        return out

    def gated(self, blk, x, end="", expert=0):
        act = gelu if self.o["arch"] == "gemma" else silu
        gate = self.matrix(f"{blk}ffn_gate{end}", x, expert)
        up = self.matrix(f"{blk}ffn_up{end}", x, expert)
        return self.matrix(f"{blk}ffn_down{end}", [act(g) * u for g, u in zip(gate, up)], expert)

    def feed_forward(self, blk, x):
        if not self.o["experts"]:
            return self.gated(blk, x)
        scores = [math.exp(s) for s in self.matrix(blk + "ffn_gate_inp", x)]
        best = sorted(range(len(scores)), key=lambda e: -scores[e])[:self.o["used"]]
        total, out = sum(scores[e] for e in best), [0.0] * len(x)
        for e in best:
            part = self.gated(blk, x, "_exps", e)
            out = [a + scores[e] / total * b for a, b in zip(out, part)]
        return out

    def layer(self, blk, xs):
        def before(i, x):
            return x if self.o["arch"] == "olmo2" else self.norm(blk + PRE_NORMS[i], x)

        def after(i, x):
            return self.norm(blk + POST_NORMS[i], x) if self.o["arch"] == "olmo2" else x

        out = []
        for x, y in zip(xs, self.attention(blk, [before(0, x) for x in xs])):
            x = [a + b for a, b in zip(x, after(0, y))]
            y = after(1, self.feed_forward(blk, before(1, x)))
            out.append([a + b for a, b in zip(x, y)])
        return out

    def logits(self, tokens):
        n, table = self.o["width"], self.w["token_embd.weight"][1]
        scale = math.sqrt(n) if self.o["arch"] == "gemma" else 1.0
        xs = [[scale * v for v in table[t * n:t * n + n]] for t in tokens]
        for i in range(self.o["layers"]):
            xs = self.layer(f"blk.{i}.", xs)
        output = "token_embd" if self.o["tied"] else "output"
        return [self.matrix(output, self.norm("output_norm", x)) for x in xs]
