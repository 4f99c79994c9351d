#!/usr/bin/python3
"""Runs a model file with numpy alone: to look at what it writes, to write down what a
correct implementation must answer (`--expected`), and to count how often the model
keeps to a wish (`--score`)."""

import argparse
import hashlib
import json
import re

import numpy as np

import gguf_writer
import wishes
from bpe import Tokenizer

PROMPTS = (
    "Once upon a time",
    "<|im_start|>user\nTell me a story about a fox named Pip.<|im_end|>\n<|im_start|>assistant\n",
    "<|im_start|>user\nWhat is your name?<|im_end|>\n<|im_start|>assistant\n")
LOOKS = (
    "", "Once upon a time", "One day",
    "<|im_start|>user\nTell me a story about a rabbit named Sarah.<|im_end|>\n"
    "<|im_start|>assistant\n",
    "<|im_start|>user\nA story about a girl and a red kite, please.<|im_end|>\n"
    "<|im_start|>assistant\n",
    "<|im_start|>user\nHello!<|im_end|>\n<|im_start|>assistant\n")


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


class NumpyModel:
    """The forward pass in double precision over the dequantized weights, with a cache."""

    def __init__(self, path):
        self.keys, self.w = gguf_writer.read(path)

        def key(name):
            return self.keys["llama." + name]

        self.layers, self.dim = key("block_count"), key("embedding_length")
        self.heads, self.kv = key("attention.head_count"), key("attention.head_count_kv")
        self.eps, self.context = key("attention.layer_norm_rms_epsilon"), key("context_length")
        self.size = self.dim // self.heads
        half = np.arange(0, self.size, 2) / self.size
        angles = np.outer(np.arange(self.context), key("rope.freq_base")**-half)
        self.cos, self.sin = np.cos(angles), np.sin(angles)
        self.tokenizer = Tokenizer([m.split(" ") for m in self.keys["tokenizer.ggml.merges"]])
        assert self.tokenizer.tokens == self.keys["tokenizer.ggml.tokens"]
        self.reset()

    def reset(self):
        empty = np.zeros((0, self.kv, self.size))
        self.cache = [(empty, empty) for _ in range(self.layers)]
        self.length = 0

    def norm(self, x, name):
        return x / np.sqrt((x * x).mean(-1, keepdims=True) + self.eps) * self.w[name]

    def rotate(self, x):
        at = slice(self.length, self.length + len(x))
        cos, sin = self.cos[at, None], self.sin[at, None]
        out = np.empty_like(x)
        out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
        out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
        return out

    def attention(self, x, layer):
        """Causal attention of the new positions to all positions so far."""
        w, n, name = self.w, len(x), f"blk.{layer}.attn_"
        q = self.rotate((x @ w[name + "q.weight"].T).reshape(n, self.heads, self.size))
        k = self.rotate((x @ w[name + "k.weight"].T).reshape(n, self.kv, self.size))
        v = (x @ w[name + "v.weight"].T).reshape(n, self.kv, self.size)
        k, v = (np.concatenate(pair) for pair in zip(self.cache[layer], (k, v)))
        self.cache[layer] = (k, v)
        group = self.heads // self.kv
        scores = np.einsum("nhd,mhd->hnm", q, k.repeat(group, 1)) / np.sqrt(self.size)
        late = np.arange(len(k))[None, :] > self.length + np.arange(n)[:, None]
        y = np.einsum("hnm,mhd->nhd", softmax(np.where(late, -np.inf, scores)), v.repeat(group, 1))
        return y.reshape(n, self.dim) @ w[name + "output.weight"].T

    def forward(self, ids):
        """Logits after the last of the given ids, which follow those given before."""
        w = self.w
        x = w["token_embd.weight"][np.asarray(ids)]
        for i in range(self.layers):
            b = f"blk.{i}."
            x = x + self.attention(self.norm(x, b + "attn_norm.weight"), i)
            y = self.norm(x, b + "ffn_norm.weight")
            gate = y @ w[b + "ffn_gate.weight"].T
            x = x + (gate / (1 + np.exp(-gate)) *
                     (y @ w[b + "ffn_up.weight"].T)) @ w[b + "ffn_down.weight"].T
        self.length += len(ids)
        return self.norm(x[-1], "output_norm.weight") @ w["token_embd.weight"].T

    def generate(self, ids, count: int, temperature: float = 0.0, rng=None):
        """New ids (including the token that stops), and the lead of each over the second best."""
        self.reset()
        if len(ids) > self.context:
            return [], []
        logits, out, margins = self.forward(ids), [], []
        while len(out) < count and self.length < self.context:
            top = np.sort(logits)[-2:]
            if temperature == 0:
                pick = int(logits.argmax())
            else:
                pick = int(rng.choice(len(logits), p=softmax(logits / temperature)))
            out.append(pick)
            margins.append(float(top[1] - top[0]))
            if pick in (self.tokenizer.end, self.tokenizer.im_end):
                break
            logits = self.forward([pick])
        return out, margins

    def prompt(self, text: str) -> list:
        return [self.tokenizer.end] + self.tokenizer.encode(text)


def look(model: NumpyModel, seed: int, temperature: float):
    """Prints samples, and for the chats some questions about the story just told."""
    rng = np.random.default_rng(seed)
    for text in LOOKS:
        print(f"=== {text!r} (seed {seed}, temperature {temperature})")
        out, _ = model.generate(model.prompt(text), 300, temperature, rng)
        print(model.tokenizer.decode(out))
        if "story" not in text:
            continue
        text += model.tokenizer.decode(out)
        for question in wishes.QUESTIONS:
            text += f"\n<|im_start|>user\n{question}<|im_end|>\n<|im_start|>assistant\n"
            out, _ = model.generate(model.prompt(text), 80)
            text += model.tokenizer.decode(out)
            print(f"  {question} -> {model.tokenizer.decode(out)}")


def expected(model: NumpyModel, path) -> dict:
    """Greedy continuations for the tests of the engine."""
    with open(path, "rb") as f:
        digest = hashlib.sha256(f.read()).hexdigest()
    runs = []
    for text in PROMPTS:
        ids = model.prompt(text)
        out, margins = model.generate(ids, 48)
        runs.append({
            "prompt": text,
            "prompt_ids": ids,
            "ids": out,
            "text": model.tokenizer.decode(out),
            "margins": [round(m, 4) for m in margins]
        })
    return {
        "file": "weft-stories.gguf",
        "sha256": digest,
        "arithmetic": "float64 over dequantized weights",
        "runs": runs
    }


def main():
    args = argparse.ArgumentParser(description=__doc__)
    args.add_argument("model", nargs="?", default="examples/models/weft-stories.gguf")
    args.add_argument("--expected", metavar="JSON", help="write the expected answers to this file")
    args.add_argument("--score",
                      type=int,
                      metavar="N",
                      help="count over N wishes what the model gets right")
    args.add_argument("--verbose",
                      action="store_true",
                      help="with --score: print every story and answer")
    args.add_argument("--seed", type=int, default=1)
    args.add_argument("--temperature", type=float, default=0.3)
    o = args.parse_args()
    model = NumpyModel(o.model)
    if o.expected:
        text = json.dumps(expected(model, o.model), ensure_ascii=False, indent=1)
        text = re.sub(r"\s*\n\s*(?=[-\d\]])", " ",
                      text).replace("[ ", "[").replace(" ]", "]")  # a list on a line
        with open(o.expected, "w", encoding="utf-8") as f:
            f.write(text + "\n")
    elif o.score:
        wishes.score(model, o.score, o.temperature, np.random.default_rng(o.seed), o.verbose)
    else:
        look(model, o.seed, o.temperature)


if __name__ == "__main__":
    main()
