#!/usr/bin/env python3
"""Measures what taking parts of prompts from other positions costs in exactness and saves in time
(`weft serve --cache-reuse`). A prompt of three passages is held; another one has them in another
order, behind another beginning. For each share of tokens that is computed again, the next token's
distribution is compared with that of a whole computation, as are the next greedy tokens.

  kl         KL divergence of the next token, exact || moved, over the most likely 1000 tokens and
             the rest; in nats
  same       the most likely token is the same
  greedy     tokens until a greedy continuation differs, of 32
  needle     probability of a name that one of the passages has, where the text asks for it
  computed   tokens of the prompt that were computed
  time       to the first token, of a whole computation (meaningful on a quiet machine)

  bench/moved_parts.py -m examples/models/weft-stories.gguf -n 40
"""

import argparse
import asyncio
import math
import pathlib
import random
import statistics
import sys
import tempfile

from agents import make_model
from serve_client import Program, ask, post

ROOT = pathlib.Path(__file__).resolve().parent.parent
SHARES = (0.0, 0.05, 0.15, 0.3, 1.0)
NAMES = ("Tim", "Ben", "Tom", "Max", "Jack", "Sam", "Bob", "Jim")
TOP = 1000  # tokens of a distribution
GREEDY = 32


class Model:
    """A server of one model, and texts for it."""

    def __init__(self, server, n_passage):
        self.server, self.n_passage = server, n_passage

    def call(self, path, body):
        answer = asyncio.run(ask(self.server, post(path, body)))
        if answer.status != 200:
            sys.exit(f"{path}: status {answer.status}: {answer.body[:300]!r}")
        return answer.json

    def tokens(self, text):
        return self.call("/tokenize", {"content": text})["tokens"]

    def passage(self, seed, begin):
        """A text of the model, with its beginning."""
        start = self.tokens(begin)
        answer = self.call("/completion", {
            "prompt": start, "n_predict": self.n_passage - len(start), "seed": seed,
            "temperature": 0.8, "ignore_eos": True, "return_tokens": True, "cache_prompt": False})
        return start + answer["tokens"]

    def complete(self, prompt, moved):
        body = {"prompt": prompt, "n_predict": GREEDY, "temperature": 0, "n_probs": TOP,
                "return_tokens": True, "ignore_eos": True}
        body |= {"n_cache_reuse": 32} if moved else {"cache_prompt": False}
        return self.call("/completion", body)


def distribution(answer):
    """Probabilities of the next token by id."""
    return {p["id"]: math.exp(p["logprob"])
            for p in answer["completion_probabilities"][0]["top_logprobs"]}


def divergence(exact, moved):
    """KL divergence over the tokens that both lists have; the others count as one."""
    both = exact.keys() & moved.keys()
    pairs = [(exact[i], moved[i]) for i in both]
    rest = [max(1e-12, 1 - sum(p[k] for p in pairs)) for k in (0, 1)]
    return sum(p * math.log(p / q) for p, q in [*pairs, rest] if p > 0)


def same_until(a, b):
    return next((i for i, (x, y) in enumerate(zip(a, b)) if x != y), min(len(a), len(b)))


def trial(model, seed):
    """The figures of one prompt."""
    name = random.Random(seed).choice(NAMES)
    begins = (f" There was a boy named {name}. {name} had a dog. {name} and the dog played.",
              " There was a girl who had a cat. The cat liked to run.",
              " There was an old bird that lived in a big tree.")
    parts = [model.passage(seed * 3 + i, text) for i, text in enumerate(begins)]
    begin, other = model.tokens("These are stories."), model.tokens(
        "Here are some of the stories that everyone liked best of all.")
    end = model.tokens(" The boy's name was")
    wanted = model.tokens(f" The boy's name was {name}")[len(end)]
    model.complete([*begin, *parts[0], *parts[1], *parts[2], *end], moved=True)
    prompt = [*other, *parts[2], *parts[1], *parts[0], *end]
    exact, moved = model.complete(prompt, False), model.complete(prompt, True)
    p, q = distribution(exact), distribution(moved)
    timings = moved["timings"]
    return {"kl": divergence(p, q), "same": max(p, key=p.get) == max(q, key=q.get),
            "greedy": same_until(exact["tokens"], moved["tokens"]),
            "exact needle": p.get(wanted, 0), "needle": q.get(wanted, 0),
            "computed": timings["prompt_n"] / len(prompt),
            "time": timings["prompt_ms"] / exact["timings"]["prompt_ms"]}


def report(share, trials):
    mean = lambda key: statistics.mean(t[key] for t in trials)
    kl = sorted(t["kl"] for t in trials)
    return (f"| {share:.0%} | {mean('kl'):.4f} | {kl[len(kl) // 2]:.4f} | {kl[-1]:.4f} "
            f"| {mean('same'):.0%} | {mean('greedy'):.1f} | {mean('exact needle'):.3f} "
            f"| {mean('needle'):.3f} | {mean('computed'):.0%} | {mean('time'):.2f} |")


def main():
    p = argparse.ArgumentParser(description=__doc__,
                                formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("-m", "--model", type=pathlib.Path)
    p.add_argument("--make", nargs=2, metavar=("SHAPE", "TYPE"), help="a model of random weights")
    p.add_argument("-n", type=int, default=20, help="prompts (20)")
    p.add_argument("--passage", type=int, default=120, help="tokens of a passage (120)")
    p.add_argument("--bin", type=pathlib.Path, default=ROOT / "build/release/bin")
    args = p.parse_args()
    if bool(args.model) == bool(args.make):
        p.error("give either a model or --make")
    print("| again | KL | median | most | same | greedy | needle, exact | needle | computed | time |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        path = args.model or make_model(args.bin / "weft", *args.make, pathlib.Path(folder))
        for share in SHARES:
            command = (f"weft={args.bin}/weft serve -m {{model}} --port {{port}} -np {{slots}} "
                       f"--cache-reuse-share {share} --cache-ram 256")
            with Program(command).start(path, 1, 0) as server:
                model = Model(server, args.passage)
                print(report(share, [trial(model, seed) for seed in range(args.n)]), flush=True)


if __name__ == "__main__":
    main()
